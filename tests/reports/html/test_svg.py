"""Charts as SVG: names for screen readers, lines by steps, marks and their legend."""

from __future__ import annotations

import re

from guardtui.domain.document import Axis, Chart, Join, Mark, Series
from guardtui.reports.html.svg import HEIGHT, WIDTH, drawing

from .reading import Element, read
from .test_page import one_section

POINTS = ((0.0, 0.0), (0.5, 1.0), (1.0, 0.5))


def chart(join: Join = Join.STRAIGHT, **more: object) -> Chart:
    axis = Axis("threshold", 0.0, 1.0, (0.0, 0.5, 1.0))
    return Chart("TPR by threshold", axis, "rate", (Series("TPR", POINTS, join),), **more)  # type: ignore[arg-type]


def image(given: Chart) -> Element:
    return read(one_section(drawing(given))).all("svg")[0]


def path_of(join: Join) -> str:
    root = image(chart(join))
    (line,) = [
        one.attributes["d"] or ""
        for one in root.all("path")
        if one.attributes.get("stroke") == "var(--series-1)" and "h26" not in str(one.attributes)
    ]
    return line


def test_a_chart_has_a_name_and_a_description_for_screen_readers() -> None:
    root = image(chart(now=(0.5, "now 0.500")))
    assert root.attributes["role"] == "img"
    assert root.all("title")[0].text == root.attributes["aria-label"] == "TPR by threshold"
    assert root.all("desc")[0].text == (
        "rate by threshold. Lines of TPR. Marked: now 0.500. A table has the figures."
    )
    assert [one.text for one in root.all("text")][-1] == "TPR"  # the legend


def test_points_lie_where_their_values_say() -> None:
    corners = [
        tuple(map(float, pair)) for pair in re.findall(r"([\d.]+) ([\d.]+)", path_of(Join(0)))
    ]
    (left, bottom), (middle, top), (right, half) = corners
    assert (right - left, bottom - top) == (WIDTH, HEIGHT)
    assert (middle - left, bottom - half) == (WIDTH / 2, HEIGHT / 2)


def test_a_line_by_steps_is_level_and_upright_only() -> None:
    assert re.fullmatch(r"M[\d. ]+(H[\d.]+V[\d.]+){2}", path_of(Join.LEVEL_FIRST))
    assert re.fullmatch(r"M[\d. ]+(V[\d.]+H[\d.]+){2}", path_of(Join.LEVEL_LAST))


def test_kinds_of_marks_are_named_once_below_the_chart() -> None:
    marks = (Mark(0.0, 0.5, "●", "keep"), Mark(0.5, 0.5, "□", "discard"), Mark(1, 0.5, "●", "keep"))
    texts = [one.text for one in image(chart(marks=marks, wide=True)).all("text")]
    assert texts.count("●") == 2
    assert texts[-2:] == ["● keep", "□ discard"]


def test_a_single_iteration_lies_in_the_middle() -> None:
    axis = Axis("iteration", 3, 3, (3,), decimals=0)
    root = image(Chart("one", axis, "rate", (Series("TPR", ((3, 1.0),)),)))
    assert any(one.text == "3" for one in root.all("text"))
