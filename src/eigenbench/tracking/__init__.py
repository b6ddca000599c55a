"""From records to MLflow: one writer imports finished runs, as often as wanted, and the dashboard shows them.

Only this package imports MLflow, and only when it writes or shows something.
"""

from eigenbench.tracking.addresses import TrackingError, TrackingUnavailable
from eigenbench.tracking.importer import ImportSummary, compare_records, import_records

__all__ = ["ImportSummary", "TrackingError", "TrackingUnavailable", "compare_records", "import_records"]
