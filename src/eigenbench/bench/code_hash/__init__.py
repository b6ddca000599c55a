"""Hashes of the code that a job runs, found from the code itself."""
