"""YAML of plain values: read with bounds and by the rules of YAML 1.2, written so that it is read back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import yaml

#: Bounds of a file: bytes, values with every alias written out, and levels of mappings and lists.
MAX_BYTES, MAX_VALUES, MAX_DEPTH = 2**20, 50_000, 24

_TAG = "tag:yaml.org,2002:"
#: Texts without quotes that are no texts: those of YAML 1.2, its merge keys, and dates, which are refused.
_RESOLVED: tuple[tuple[str, str, str], ...] = (
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
    ("merge", r"<<", "<"),
    ("timestamp", r"\d{4}-\d\d?-\d\d?([Tt ].*)?", "0123456789"),
)


class PlainYamlError(ValueError):
    """A file does not hold plain values; the message names file, line and remedy."""


def _refusal(node: yaml.Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader whose mappings have every key once, and only texts as keys."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            if key_node.tag == f"{_TAG}merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise _refusal(key_node, f"the key {key!r:.40} is not a text: put it in quotes")
            if key in seen:
                raise _refusal(key_node, f"the key {key!r:.80} is given twice")
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_int(self, node: Any) -> int:
        base = {"0o": 8, "0x": 16}.get(node.value[:2], 10)
        try:
            return int(node.value[2:] if base != 10 else node.value, base)
        except ValueError:
            raise _refusal(node, f"{node.value!r:.40} is not a number: put it in quotes") from None

    def construct_date(self, node: Any) -> NoReturn:
        raise _refusal(node, f"{node.value!r:.40} is a date: put it in quotes if it is a text")


class _Dumper(yaml.SafeDumper):
    """A dumper that puts what YAML 1.1 or 1.2 takes for something else than a text into quotes."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Loader.add_constructor(f"{_TAG}int", _Loader.construct_int)
_Loader.add_constructor(f"{_TAG}timestamp", _Loader.construct_date)
for _name, _pattern, _first in _RESOLVED:
    for _kind in (_Loader, _Dumper):
        _regexp = re.compile(f"(?:{_pattern})$")
        _kind.add_implicit_resolver(f"{_TAG}{_name}", _regexp, [*_first, *([""] if _name == "null" else [])])


def write_yaml(content: Any) -> str:
    """Return plain values as YAML that `read_yaml` reads back, keys in their order."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def read_yaml(path: Path) -> Any:
    """Read one YAML file of plain values: texts, numbers, true, false, null, lists and mappings.

    Numbers, booleans and null are those of YAML 1.2: ``1e-3`` is a number, ``010`` is ten, ``yes`` and
    ``1:30`` are texts. Raises `PlainYamlError` with the file and the line for what is not UTF-8 or not YAML,
    a key that is given twice or is not a text, a date, a tag, a value inside itself, or too large a file.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise PlainYamlError(f"more than {MAX_BYTES} bytes: split it into several files")
        text = data.decode("utf-8")
        _check_extent(text)
        return yaml.load(text, Loader=_Loader)
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise PlainYamlError(
            f"{path}: line {number}: not UTF-8 ({error.reason}): save the file as UTF-8"
        ) from None
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise PlainYamlError(f"{path}: {line}{error.problem or error.context}") from None
    except (OSError, PlainYamlError, yaml.YAMLError) as error:
        raise PlainYamlError(f"{path}: {error}") from None


def _check_extent(text: str) -> None:
    """Raise where a document is too deep or too large with its aliases written out, or has a tag."""
    anchored: dict[str, _Extent] = {}
    path = [_Extent(None)]
    for event in yaml.parse(text, Loader=_Loader):
        problem = None
        if tag := getattr(event, "tag", None):
            problem = f"the tag {tag!r:.40} is not allowed: write the value without it"
        if isinstance(event, yaml.CollectionStartEvent):
            path.append(_Extent(event.anchor, values=1, levels=1))
        elif isinstance(event, yaml.CollectionEndEvent):
            closed = path.pop()
            path[-1].add(closed)
            if closed.anchor:
                anchored[closed.anchor] = closed
        elif isinstance(event, yaml.ScalarEvent):
            path[-1].values += 1
            if event.anchor:
                anchored[event.anchor] = _Extent(event.anchor, values=1)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in anchored:
                path[-1].add(anchored[event.anchor])
            else:
                problem = f"the alias *{event.anchor:.40} names nothing before it, or what it is part of"
        if len(path) - 2 + path[-1].levels > MAX_DEPTH:
            problem = f"more than {MAX_DEPTH} levels of mappings and lists"
        if path[-1].values > MAX_VALUES:
            problem = f"more than {MAX_VALUES} values, with aliases written out"
        if problem:
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)  # type: ignore[arg-type]


@dataclass
class _Extent:
    """The values and levels of a value, or so far of an open collection, with aliases written out."""

    anchor: str | None
    values: int = 0
    levels: int = 0

    def add(self, inner: _Extent) -> None:
        self.values += inner.values
        self.levels = max(self.levels, inner.levels + 1)
