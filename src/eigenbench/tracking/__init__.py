"""Import into MLflow: one writer imports finished runs, as often as wanted, and the dashboard shows them.

In: plans, records. Out: runs in a store, receipts. Only here MLflow is imported; own data never is.
"""
