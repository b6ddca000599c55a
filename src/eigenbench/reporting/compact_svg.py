"""Matplotlib's SVG made small: less is repeated, and numbers are to a hundredth of a point."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_HREF = f"{{{_XLINK}}}href"
ElementTree.register_namespace("", _SVG)
ElementTree.register_namespace("xlink", _XLINK)

_NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_COORDINATES = ("d", "x", "y", "width", "height", "transform", "points", "viewBox")
_NO_TURN = re.compile(r"rotate\(-?0 [^)]*\)")
# What Matplotlib says of all elements, and of each text.
_INHERITED = "stroke-linejoin:round;stroke-linecap:butt"
_FONT = "font-family:'DejaVu Sans'"
# An identifier of this form names the method of an element, and what the page shows where the pointer is.
_TIP = re.compile(r"tip:(\S*) (.*)")


def compact(text: str, key: str, width: str) -> str:
    """Return an SVG element that looks the same, with tips, and with identifiers that begin with a key.

    Parameters
    ----------
    text : str
        The SVG document that Matplotlib wrote.
    key : str
        What makes identifiers unique on a page.
    width : str
        How wide the page shows it, as a CSS declaration.
    """
    root = ElementTree.fromstring(text)
    _share_marks(root)
    names = {name: f"{key}-{place}" for place, name in enumerate(dict.fromkeys(_referenced(root)))}
    _shorten(root, names)
    _raise_common(root)
    for unused in ("height", "width", "version"):
        root.attrib.pop(unused, None)
    root.attrib |= {"aria-hidden": "true", "style": f"{width};{_INHERITED};{_FONT}"}
    return ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")


def _share_marks(root: Element) -> None:
    """Give the marks of one shape one definition; where they are used says their colours."""
    marks = {f"#{path.get('id')}": path for path in root.iterfind(f".//{_tag('defs')}/{_tag('path')}")}
    shapes: dict[str, str] = {}
    kept = {
        name: shapes.setdefault(_shorter_numbers(path.get("d", "")), name) for name, path in marks.items()
    }
    for use in root.iter(_tag("use")):
        if (path := marks.get(use.get(_HREF, ""))) is not None:
            use.set("style", ";".join(_declarations(use) | _declarations(path)))
            use.set(_HREF, kept[use.attrib[_HREF]])
    for path in marks.values():
        path.attrib.pop("style", None)


def _declarations(element: Element) -> dict[str, None]:
    return dict.fromkeys(part.strip() for part in element.get("style", "").split(";") if part.strip())


def _referenced(root: Element) -> Iterator[str]:
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == _HREF and value.startswith("#"):
                yield value[1:]
            yield from _REFERENCE.findall(value)


def _shorten(element: Element, names: dict[str, str]) -> None:
    """Shorten an element's attributes and all that is in it."""
    element.tail = None
    if not (element.text or "").strip():
        element.text = None
    _shorten_attributes(element, names)
    for child in element:
        _shorten(child, names)
    kept = [child for child in _unwrapped(element) if _is_seen(child)]
    if element.tag == _tag("defs"):
        kept = [child for child in kept if "id" in child.attrib]
    element[:] = _joined(kept)


def _shorten_attributes(element: Element, names: dict[str, str]) -> None:
    attributes = element.attrib
    if tip := _TIP.fullmatch(attributes.get("id", "")):
        attributes["data-method"] = tip[1]
        if tip[2]:
            title = Element(_tag("title"))
            title.text = tip[2]
            element.insert(0, title)
    identifier = names.get(attributes.pop("id", ""))
    for name in _COORDINATES:
        if name in attributes:
            attributes[name] = _shorter_numbers(attributes[name])
    for name, value in attributes.items():
        attributes[name] = _REFERENCE.sub(lambda found: f"url(#{names[found[1]]})", value)
    if (href := attributes.get(_HREF, "")).startswith("#"):
        attributes[_HREF] = f"#{names[href[1:]]}"
    if "style" in attributes:
        attributes["style"] = re.sub(r"([:;]) ", r"\1", attributes["style"]).replace(f"{_FONT};", "")
    if _NO_TURN.fullmatch(attributes.get("transform", "")):
        del attributes["transform"]
    if "d" in attributes:
        attributes["d"] = re.sub(r"\s*([A-Za-z])\s*", r"\1", attributes["d"]).strip()
    if identifier:
        attributes["id"] = identifier


def _shorter_numbers(text: str) -> str:
    return _NUMBER.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), text)


def _raise_common(element: Element) -> None:
    """Say once, of a group, what is said of all in it; what is transparent is so each by itself."""
    for child in element:
        _raise_common(child)
    drawn = [child for child in element if child.tag not in (_tag("title"), _tag("defs"))]
    if element.tag != _tag("g") or len(drawn) < 2:
        return
    for name in sorted({"clip-path", "style"} - element.attrib.keys()):
        values = {child.attrib.get(name, "opacity") for child in drawn}
        if len(values) == 1 and "opacity" not in (value := values.pop()):
            element.set(name, value)
            for child in drawn:
                del child.attrib[name]
    element[:] = _unwrapped(element)


def _unwrapped(children: Iterable[Element]) -> list[Element]:
    """Return elements without the groups around some that say nothing."""
    found: list[Element] = []
    for child in children:
        found += child if child.tag == _tag("g") and not child.attrib and not _has_title(child) else [child]
    return found


def _has_title(element: Element) -> bool:
    return len(element) > 0 and element[0].tag == _tag("title")


def _is_seen(element: Element) -> bool:
    if element.tag in (_tag("metadata"), _tag("style")):
        return False
    if element.tag in (_tag("g"), _tag("defs")):
        return len(element) > 0
    if element.tag == _tag("path") and "id" not in element.attrib:
        return element.get("style") != "fill:none"
    return True


def _joined(elements: list[Element]) -> list[Element]:
    """Put into one group what follows one another with the same tip, as an error bar and its mark."""
    joined: list[Element] = []
    for element in elements:
        before = joined[-1] if joined else None
        if before is not None and _may_join(before, element):
            before.extend(element[1 if _has_title(element) else 0 :])
            before[:] = _joined(list(before))
        else:
            joined.append(element)
    return joined


def _may_join(first: Element, second: Element) -> bool:
    """Return whether two groups can be one; a transparent one is drawn as a whole and stays as it is."""
    return (
        first.tag == second.tag == _tag("g")
        and first.attrib == second.attrib
        and first.attrib.keys() <= {"clip-path", "data-method"}
        and [one[0].text for one in (first, second) if _has_title(one)] in ([], 2 * [first[0].text])
    )


def _tag(name: str) -> str:
    return f"{{{_SVG}}}{name}"
