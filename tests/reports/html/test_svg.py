"""Charts as SVG: names for screen readers, lines by steps, marks and their legend."""

from __future__ import annotations

import re

from guardtui.domain.document import Axis, Bar, BarChart, Chart, Kind, Mark, Series
from guardtui.reports.html.svg import HEIGHT, WIDTH, drawing

from .reading import Element, read
from .test_page import one_section

POINTS = ((0.0, 0.0), (0.5, 1.0), (1.0, 0.5))


def chart(*, steps: bool = False, **more: object) -> Chart:
    axis = Axis("threshold", 0.0, 1.0, (0.0, 0.5, 1.0))
    series = (Series("TPR", POINTS, steps),)
    return Chart("TPR by threshold", axis, "rate", series, **more)  # type: ignore[arg-type]


def image(given: Chart | BarChart) -> Element:
    return read(one_section(drawing(given))).all("svg")[0]


def path_of(*, steps: bool) -> str:
    root = image(chart(steps=steps))
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
        tuple(map(float, pair)) for pair in re.findall(r"([\d.]+) ([\d.]+)", path_of(steps=False))
    ]
    (left, bottom), (middle, top), (right, half) = corners
    assert (right - left, bottom - top) == (WIDTH, HEIGHT)
    assert (middle - left, bottom - half) == (WIDTH / 2, HEIGHT / 2)


def test_a_line_by_steps_is_level_and_upright_only() -> None:
    assert re.fullmatch(r"M[\d. ]+(V[\d.]+H[\d.]+){2}", path_of(steps=True))


def test_kinds_of_marks_are_named_once_below_the_chart() -> None:
    marks = (Mark(0.0, 0.5, "●", "keep"), Mark(0.5, 0.5, "□", "discard"), Mark(1, 0.5, "●", "keep"))
    texts = [one.text for one in image(chart(marks=marks)).all("text")]
    assert texts.count("●") == 2
    assert texts[-2:] == ["● keep", "□ discard"]


def test_a_single_iteration_lies_in_the_middle() -> None:
    axis = Axis("iteration", 3, 3, (3,), decimals=0)
    root = image(Chart("one", axis, "rate", (Series("TPR", ((3, 1.0),)),)))
    assert any(one.text == "3" for one in root.all("text"))


def test_the_vertical_axis_begins_at_the_floor_of_the_chart() -> None:
    texts = [one.text for one in image(chart(floor=0.6, limit=(0.9, "at least 0.9"))).all("text")]
    assert texts[:3] == ["0.6", "0.8", "1.0"]
    assert texts[-1] == "— at least 0.9"


def bars(*given: Bar, **more: object) -> Element:
    return image(BarChart("Mistakes", given, **more))  # type: ignore[arg-type]


def test_bars_end_where_their_share_says_on_an_axis_that_holds_all_that_is_marked() -> None:
    missed = Bar(Kind.MISSED, "1 of 8", 0.125, (0.02, 0.47), before=0.25)
    root = bars(missed, Bar(Kind.STOPPED, "n/a", None), before="iteration 3", limit=0.1)
    shares = [one.attributes["width"] for one in root.all("rect")]
    assert shares == ["100%", "25%", "90%", "90%", "2", "2", "100%", "2", "2"]
    texts = [one.text for one in root.all("text")]
    assert texts[:3] == ["Missed", "1 of 8", "▲"]
    assert texts[3:5] == ["Wrongly stopped", "n/a"]
    assert texts[5:-1] == ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]
    assert texts[-1].split("\u2003") == ["├─┤ on new prompts", "▲ iteration 3", "┃ at most 0.1"]
    (sign,) = [one for one in root.all("text") if one.text == "▲"]
    assert sign.attributes["x"] == "50%"


def test_bars_without_mistakes_have_the_shortest_axis() -> None:
    root = bars(Bar(Kind.MISSED, "0 of 900", 0.0, (0.0, 0.004)))
    assert [one.text for one in root.all("text")][2:-1] == [
        "0", "0.02", "0.04", "0.06", "0.08", "0.10",
    ]  # fmt: skip
    assert root.all("text")[-1].text == "├─┤ on new prompts"
