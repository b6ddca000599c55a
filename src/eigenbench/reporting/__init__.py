"""Records and suites in, the report out: verdicts, tables, figures, one HTML page."""
