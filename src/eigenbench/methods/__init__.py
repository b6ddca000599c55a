"""The library: embeddings, classifiers, class moments, linear algebra, metrics, methods of other packages.

In: arrays, sparse matrices, partitions of rows. Out: scikit-learn estimators and saved models.
Of the project it imports only `atomic_files`. Only `peers` needs more than numpy, scipy, scikit-learn,
joblib, threadpoolctl and skops.
"""
