"""Metrics from pairs of rows that are equal or different: hyperbolic PCA."""
