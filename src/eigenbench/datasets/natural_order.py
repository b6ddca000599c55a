"""The order in which ``s2`` comes before ``s10``."""

import re


def natural_key(name: str) -> list[tuple[int, str, str]]:
    """Return a sort key that compares runs of digits as numbers, of any length, and the rest as text."""
    return [_key(part) for part in re.split(r"([0-9]+)", name)]


def _key(part: str) -> tuple[int, str, str]:
    digits = part.lstrip("0") if part.isascii() and part.isdigit() else ""
    is_number = part.isascii() and part.isdigit()
    return (1 + len(digits), digits, part) if is_number else (0, "", part)
