"""From a suite file to records: suites are planned into tasks, jobs run tasks, runs become records."""
