"""The library: embeddings, classifiers, class moments, linear algebra, metrics, methods of other packages.

In: arrays, sparse matrices, partitions of rows. Out: scikit-learn estimators and saved models.
Imports no other room; `peers` apart, only numpy, scipy, scikit-learn, joblib, threadpoolctl and skops.
"""
