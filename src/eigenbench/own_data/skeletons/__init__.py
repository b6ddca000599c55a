"""What ``eigenbench new`` writes: the beginnings of methods, datasets, suites and protocols of one's own."""
