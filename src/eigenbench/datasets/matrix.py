"""The type of features and targets."""

from typing import Any

Matrix = Any
"""An ndarray or a csr_array; what they have in common has no type of its own."""
