"""Compare the runs of a machine with the reference results that come with eigenbench."""
