"""What can go wrong between records and MLflow."""


class TrackingError(RuntimeError):
    """MLflow is set up in a way that cannot work; the message says what to change."""


class TrackingUnavailable(TrackingError):
    """The MLflow store cannot be reached or written now; the records are safe and can be imported later."""
