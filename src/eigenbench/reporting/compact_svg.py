"""Compact SVG of a Matplotlib figure, with hover texts, for a page that holds many figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

_SVG = "http://www.w3.org/2000/svg"
_HREF = "{http://www.w3.org/1999/xlink}href"
ElementTree.register_namespace("", _SVG)
ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")

_NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")
_REFERENCE = re.compile(r"url\(#([^)]*)\)")
_COORDINATES = ("d", "x", "y", "width", "height", "transform", "points", "viewBox")
#: Declarations that Matplotlib repeats on every element, and on every text.
_INHERITED = "stroke-linejoin:round;stroke-linecap:butt"
_FONT = "font-family:'DejaVu Sans'"
#: An identifier of this form names the method of an element, and the text under the pointer.
_HOVER = re.compile(r"hover:(\S*) (.*)")


def compact(text: str, key: str, width: str) -> str:
    """Return an SVG element that looks the same, with hover texts and identifiers that begin with a key.

    Parameters
    ----------
    text : str
        The SVG document that Matplotlib wrote.
    key : str
        Start of identifiers, unique on the page.
    width : str
        Width on the page, as a CSS declaration.
    """
    root = ElementTree.fromstring(text)
    names = {name: f"{key}-{place}" for place, name in enumerate(dict.fromkeys(_referenced(root)))}
    for element in reversed(list(root.iter())):  # what is inside first
        element.tail = None
        element.text = element.text if (element.text or "").strip() else None
        element[:] = [part for child in element for part in _kept(child)]
        _shorten_attributes(element, names)
    for unused in ("height", "width", "version"):
        root.attrib.pop(unused, None)
    root.attrib |= {"aria-hidden": "true", "style": f"{width};{_INHERITED};{_FONT}"}
    return ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")


def _referenced(root: Element) -> Iterator[str]:
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == _HREF and value.startswith("#"):
                yield value[1:]
            yield from _REFERENCE.findall(value)


def _kept(element: Element) -> list[Element]:
    """Return what is drawn of an element: nothing, itself, or its content where the group adds nothing."""
    tag = element.tag.removeprefix(f"{{{_SVG}}}")
    unseen = tag == "path" and "id" not in element.attrib and element.get("style") == "fill:none"
    if tag in ("metadata", "style") or unseen or (tag in ("g", "defs") and not len(element)):
        return []
    return list(element) if tag == "g" and not element.attrib else [element]


def _shorten_attributes(element: Element, names: dict[str, str]) -> None:
    attributes = element.attrib
    identifier = attributes.pop("id", "")
    if hover := _HOVER.fullmatch(identifier):
        attributes["data-method"] = hover[1]
        if hover[2]:
            title = Element(f"{{{_SVG}}}title")
            title.text = hover[2]
            element.insert(0, title)
    elif identifier in names:
        attributes["id"] = names[identifier]
    if (href := attributes.get(_HREF, "")).startswith("#"):
        attributes[_HREF] = f"#{names[href[1:]]}"
    for name, value in attributes.items():
        attributes[name] = _REFERENCE.sub(lambda found: f"url(#{names[found[1]]})", value)
        if name in _COORDINATES:
            attributes[name] = _NUMBER.sub(_two_decimals, value)
    if "style" in attributes:
        attributes["style"] = re.sub(r"([:;]) ", r"\1", attributes["style"]).replace(f"{_FONT};", "")
    if "d" in attributes:
        attributes["d"] = re.sub(r"\s*([A-Za-z])\s*", r"\1", attributes["d"]).strip()


def _two_decimals(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
