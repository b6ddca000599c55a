"""What can go wrong when results are written out: by itself, as every command names these errors."""


class CrateError(Exception):
    """A crate cannot be written; the message says why and what to do."""


class ExportError(Exception):
    """Nothing can be exported; the message says why and what to do."""
