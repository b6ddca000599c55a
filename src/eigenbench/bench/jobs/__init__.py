"""Plans the runs of suites, groups them into jobs, and does the work of a job."""
