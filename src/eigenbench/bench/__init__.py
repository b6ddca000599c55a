"""The benchmark: suite file → plan → jobs → records.

In: suite files, registered components, prepared datasets. Out: records, models, predictions.
Imports `atomic_files`, `datasets` and `methods`; knows nothing of reports, MLflow and the command line.
"""
