"""Import into MLflow: one writer imports finished runs, as often as wanted, and the dashboard shows them.

In: plans and records. Out: runs in a store, and import receipts. Only this package imports MLflow.
"""
