"""From suites to runs, to the jobs that make them, and what the jobs do."""
