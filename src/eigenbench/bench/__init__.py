"""The benchmark: suite file → plan → jobs → records.

In: suite files, registered components, prepared datasets. Out: a record of each run, its model and predictions.
Imports `datasets` and `methods`; knows nothing of reports, MLflow and the command line.
"""
