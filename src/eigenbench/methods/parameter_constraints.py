"""Constraints of parameters, from the private module of scikit-learn that is imported here alone."""

from __future__ import annotations

from numbers import Integral, Real

from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)

__all__ = [
    "BELOW_ONE",
    "NOT_NEGATIVE",
    "POSITIVE",
    "POSITIVE_INTEGER",
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "StrOptions",
    "validate_parameter_constraints",
]

POSITIVE_INTEGER = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
#: Numbers between zero and one, neither included.
BELOW_ONE = Interval(Real, 0, 1, closed="neither")
