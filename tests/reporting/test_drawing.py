"""Small SVG: what is drawn stays, and each identifier that is referred to is there once."""

import re
from xml.etree import ElementTree

import pytest

from eigenbench.reporting.drawing import Drawing, hover_id, marker_style

SVG = "{http://www.w3.org/2000/svg}"


def draw(axes):
    for place in range(20):
        style = marker_style(place)
        axes.plot([place, place], [1, 3], color=style["color"], marker="_", gid=hover_id(f"m{place}"))
        text = hover_id(f"m{place}", f'm{place}: 1 [0, <2], "a" & b')
        axes.plot([place], [2], linestyle="none", **style, gid=text)


@pytest.fixture(scope="module")
def svg() -> ElementTree.Element:
    return ElementTree.fromstring(Drawing(draw, (5, 4)).svg("k"))


def test_what_is_referred_to_is_there_once_and_nothing_else_has_a_name(svg):
    text = ElementTree.tostring(svg, encoding="unicode")
    named = re.findall(r' id="([^"]*)"', text)
    referred = re.findall(r'href="#([^"]*)"|url\(#([^)]*)\)', text)
    assert sorted(named) == sorted({first or second for first, second in referred})


def test_each_point_has_one_hover_text(svg):
    groups = [group for group in svg.iter(f"{SVG}g") if group.get("data-method")]
    titles = [title for group in groups if (title := group.findtext(f"{SVG}title"))]
    assert titles == [f'm{place}: 1 [0, <2], "a" & b' for place in range(20)]
    methods = [group.get("data-method") for group in groups]
    assert methods == [f"m{place}" for place in range(20) for _ in range(2)], "the bar and the mark"
