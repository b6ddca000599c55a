"""Comparison of the runs of a machine with the reference results that come with eigenbench.

In: records, and the reference's tables. Out: verdicts on published numbers, and receipts.
Imports neither reporting, tracking nor own data.
"""
