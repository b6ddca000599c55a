"""Statistics of the comparison: which method is better, on which data, and how sure that is.

In: metrics by test row, and tables of errors. Out: tables of differences, intervals, p-values and ranks.
It imports nothing of the project.
"""
