"""Linear algebra that the methods share: blocks of rows, sums over shards, solvers, eigenproblems."""
