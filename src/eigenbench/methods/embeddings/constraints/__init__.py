"""Metrics from pairs of rows with equal or different labels: hyperbolic PCA."""
