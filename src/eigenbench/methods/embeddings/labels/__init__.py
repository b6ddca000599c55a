"""Embeddings of many labels: Rembrandt, PLST, compressed sensing."""
