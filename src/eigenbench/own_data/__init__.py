"""A user's own data: from a file, or arrays, to a leaderboard and a saved model.

In: a table, a sparse matrix or a folder of images. Out: a folder with suite, records, report and model.
Imports all packages below it; only the command line imports it.
"""
