"""Reports of suites: suites, records and stored predictions in; verdicts, tables, figures and one page out.

Imports neither tracking nor own data.
"""


class ReportError(Exception):
    """Results cannot be written out; the message says why and what to do."""
