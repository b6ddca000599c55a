"""Classifiers that stream over row blocks; import them from :mod:`eigenbench`."""
