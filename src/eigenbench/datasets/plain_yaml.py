"""YAML of plain values: read with bounds and by the rules of YAML 1.2, written so that it is read back.

What is wrong with a file, as YAML or as a model of its content, is named with its place and the nearest key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import yaml
from pydantic import BaseModel, ValidationError

from eigenbench.datasets.strict_model import near_match

#: Bounds of a file: bytes, values with every alias written out, and levels of mappings and lists.
MAX_BYTES, MAX_VALUES, MAX_DEPTH = 2**20, 50_000, 24

#: So many errors of a file are listed.
_MAX_ERRORS = 20

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


class InnerError(ValueError):
    """A value inside a model is not valid as a ``model`` of its own; ``error`` says where."""

    def __init__(self, error: ValidationError, model: type[BaseModel]) -> None:
        super().__init__(str(error))
        self.error, self.model = error, model


def explained(path: Path, error: ValidationError, base: type[BaseModel]) -> str:
    """Return a line for each error of a file: its place, what is wrong, and the nearest key.

    The keys are those of ``base`` and of all models that derive from it.
    """
    lines = list(_explained(error, base, ()))
    if (left_out := len(lines) - _MAX_ERRORS) > 0:
        lines[_MAX_ERRORS:] = [f"{left_out} more errors"]
    return "\n".join(f"{path}: {line}" for line in lines)


def _explained(error: ValidationError, base: type[BaseModel], prefix: tuple[str, ...]) -> Iterator[str]:
    known = {key for model in _derived(base) for key in model.model_fields}
    for item in error.errors(include_url=False):
        location = (*prefix, *map(str, item["loc"]))
        place, given, details = ".".join(location) or "file", item["input"], item.get("ctx", {})
        if isinstance(inner := details.get("error"), InnerError):
            yield from _explained(inner.error, inner.model, location)
        elif item["type"] == "extra_forbidden" and location[-1] in known:
            yield f"{place}: the key {location[-1]!r} does not belong here: it is one of another part"
        elif item["type"] == "extra_forbidden":
            yield f"{place}: unknown key {location[-1]!r}.{near_match(location[-1], sorted(known))}"
        elif item["type"] in ("tuple_type", "list_type") and not isinstance(given, dict):
            yield f"{place}: write a list, [{given}] (found {given!r:.80})"
        else:
            found = "" if isinstance(given, dict | list | tuple | BaseModel) else f" (found {given!r:.80})"
            hint = near_match(str(given), re.findall(r"'(.*?)'", details.get("expected", "")))
            yield f"{place}: {item['msg'].removeprefix('Value error, ')}{found}{hint and '.' + hint}"


def _derived(base: type[BaseModel]) -> list[type[BaseModel]]:
    return [base, *(model for child in base.__subclasses__() for model in _derived(child))]


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


def read_yaml(path: Path, refusal: type[Exception] = PlainYamlError) -> Any:
    """Read one YAML file of plain values: texts, numbers, true, false, null, lists and mappings.

    Numbers, booleans and null are those of YAML 1.2: ``1e-3`` is a number, ``010`` is ten, ``yes`` and
    ``1:30`` are texts. Raises a ``refusal`` with the file and the line for what is not UTF-8 or not YAML,
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
        raise refusal(f"{path}: line {number}: not UTF-8 ({error.reason}): save it as UTF-8") from None
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise refusal(f"{path}: {line}{error.problem or error.context}") from None
    except (OSError, PlainYamlError, yaml.YAMLError) as error:
        raise refusal(f"{path}: {error}") from None


def _check_extent(text: str) -> None:
    """Raise where a document is too deep or too large with its aliases written out, or has a tag."""
    # Values and levels, with aliases written out: of what has an anchor, and so far of each open collection.
    anchored: dict[str, tuple[int, int]] = {}
    path: list[tuple[str | None, int, int]] = [(None, 0, 0)]
    for event in yaml.parse(text, Loader=_Loader):
        problem, closed = None, None
        if tag := getattr(event, "tag", None):
            problem = f"the tag {tag!r:.40} is not allowed: write the value without it"
        if isinstance(event, yaml.CollectionStartEvent):
            path.append((event.anchor, 1, 1))
        elif isinstance(event, yaml.CollectionEndEvent):
            closed = path.pop()
        elif isinstance(event, yaml.ScalarEvent):
            closed = (event.anchor, 1, 0)
        elif isinstance(event, yaml.AliasEvent) and event.anchor in anchored:
            closed = (None, *anchored[event.anchor])
        elif isinstance(event, yaml.AliasEvent):
            problem = f"the alias *{event.anchor:.40} names nothing before it, or what it is part of"
        if closed is not None:
            anchor, values, levels = closed
            if anchor:
                anchored[anchor] = values, levels
            path[-1] = path[-1][0], path[-1][1] + values, max(path[-1][2], levels + 1)
        if len(path) - 2 + path[-1][2] > MAX_DEPTH:
            problem = f"more than {MAX_DEPTH} levels of mappings and lists"
        if path[-1][1] > MAX_VALUES:
            problem = f"more than {MAX_VALUES} values, with aliases written out"
        if problem:
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)  # type: ignore[arg-type]
