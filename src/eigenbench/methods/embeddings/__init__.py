"""Embeddings and expansions, by family; import them from :mod:`eigenbench`."""
