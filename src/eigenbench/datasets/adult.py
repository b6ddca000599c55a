"""Rebuild LIBSVM's a9a, byte for byte, from the census records of UCI Adult."""

from collections.abc import Sequence

from eigenbench.datasets.errors import MalformedData

_UPPER_EDGES: dict[int, tuple[int, tuple[float, ...]]] = {
    0: (1, (25, 32, 40, 49)),
    2: (14, (106640, 158660, 196337.5, 259870)),
    4: (35, (8, 9, 10, 12)),
    10: (74, (0,)),
    11: (76, (0,)),
    12: (78, (34, 39, 40, 47)),
}
"""Column: number of its first feature, and the upper edges of all its bins but the last."""

_CATEGORIES: dict[int, tuple[int, str]] = {
    1: (6, "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked"),
    3: (
        19,
        "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters "
        "1st-4th 10th Doctorate 5th-6th Preschool",
    ),
    5: (
        40,
        "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse",
    ),
    6: (
        47,
        "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
        "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv "
        "Armed-Forces",
    ),
    7: (61, "Wife Own-child Husband Not-in-family Other-relative Unmarried"),
    8: (67, "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black"),
    9: (72, "Female Male"),
    13: (
        83,
        "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan "
        "Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal "
        "Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary Guatemala Nicaragua "
        "Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands",
    ),
}
"""Column: number of its first feature, and its values in the order of their features."""

_CODES: dict[int, dict[str, int]] = {
    column: {value: first + i for i, value in enumerate(values.split())}
    for column, (first, values) in _CATEGORIES.items()
}
_N_COLUMNS = 15
_MISSING = "?"
_TARGETS = {">50K": "+1", "<=50K": "-1"}


def adult_to_a9a(data: bytes) -> bytes:
    """Turn ``adult.data`` or ``adult.test`` into the svmlight text of ``a9a`` or ``a9a.t``.

    Six numeric columns are binned (a value belongs to the first bin whose upper edge it doesn't exceed),
    eight categorical ones are coded one-hot, a missing value sets no feature: 123 binary features in all.
    The bin edges and the order of the codes were found by aligning the two published data sets row by row.

    Parameters
    ----------
    data : bytes
        The records; lines without 15 columns (a comment, blank lines) are left out.

    Returns
    -------
    bytes
        One line per record, with the trailing space that the published files have.

    Raises
    ------
    MalformedData
        A value that Adult doesn't know, with its line.
    """
    lines = []
    for number, line in enumerate(data.decode("latin-1").splitlines(), start=1):
        fields = [field.strip() for field in line.rstrip().rstrip(".").split(",")]
        if len(fields) != _N_COLUMNS:
            continue
        try:
            lines.append(_encode(fields))
        except (KeyError, ValueError) as error:
            raise MalformedData("adult", f"line {number}", f"unknown value ({error})") from None
    return "".join(lines).encode("ascii")


def _encode(fields: Sequence[str]) -> str:
    features = []
    for column in range(_N_COLUMNS - 1):
        value = fields[column]
        if column in _UPPER_EDGES:
            first, edges = _UPPER_EDGES[column]
            features.append(first + sum(float(value) > edge for edge in edges))
        elif value != _MISSING:
            features.append(_CODES[column][value])
    return _TARGETS[fields[-1]] + " " + "".join(f"{feature}:1 " for feature in features) + "\n"
