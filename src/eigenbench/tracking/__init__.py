"""Import into MLflow: one writer imports finished runs, as often as wanted, and the dashboard shows them.

In: plans, records. Out: runs in a store, receipts. Only this package imports MLflow. It never
imports `own_data`.
"""
