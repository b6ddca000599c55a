"""A user's own data: from a file, or arrays, to a leaderboard and a saved model.

In: a table, a sparse matrix or a folder of images. Out: a folder with suite, records, report and model.
It may import all packages but the command line, and only `eigenbench` itself and that import it.
"""
