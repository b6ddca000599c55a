"""Beginnings of methods, datasets, suites and protocols of one's own, which ``eigenbench new`` writes."""
