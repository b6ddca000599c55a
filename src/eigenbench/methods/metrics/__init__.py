"""Metrics of multilabel predictions, computed in blocks from the best-scored labels of each row."""
