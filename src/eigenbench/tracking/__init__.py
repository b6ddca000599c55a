"""From records to MLflow: one writer imports finished runs, as often as wanted, and the dashboard shows them.

Only this package imports MLflow, and only when it writes or shows something.
"""
