"""Embeddings and expansions, one file per method; import them from :mod:`eigenbench`."""
