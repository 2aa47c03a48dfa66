"""Charts as inline SVG, coloured by the page and described for screen readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from guardtui.domain.document import RATE_TICKS, Chart, Join, Mark, Series
from guardtui.reports.html.page import Content, Markup, join, tag

WIDTH, HEIGHT = 400.0, 240.0
"""Size of the area of a chart, in pixels; a wide one is twice as wide."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 48.0, 16.0, 30.0, 44.0  # round the area, for texts
_LEGEND = 26.0  # height of the legend of marks, below the area
_FONT = 12
_LETTER = 7.0  # width of a letter, about
_INSIDE = 8.0  # from a line of an axis to the first point of marks
_COLOURS = ("var(--series-1)", "var(--series-2)", "var(--series-3)")
_DASHES = (None, "7 3", None)
_THICK = 7.0  # the third line, a band behind the others
_MARK, _INK, _MUTED, _GRID, _GROUND = (
    f"var(--{name})" for name in ("mark", "ink", "muted", "grid", "ground")
)


@dataclass(frozen=True, slots=True)
class _Area:
    """Area of a chart: `x` and `y` return the pixels of a value."""

    width: float
    x: Callable[[float], float]
    y: Callable[[float], float]


def drawing(chart: Chart) -> Markup:
    """Return the chart as an image with the chart's title as its name.

    A description says where the figures are. All texts are ours or numbers.
    """
    area = _area(chart)
    kinds = {mark.kind: mark.sign for mark in chart.marks if mark.kind}
    width = _LEFT + area.width + _RIGHT
    height = _TOP + HEIGHT + _BOTTOM + (_LEGEND if kinds else 0)
    parts: list[Content] = [
        tag("title", chart.title),
        tag("desc", _description(chart)),
        *_axes(chart, area),
        *_lines(chart, area),
        *(_marked(mark, area) for mark in chart.marks),
        *_series_legend(chart.series),
        *_marks_legend(kinds),
    ]
    return tag(
        "svg",
        *parts,
        role="img",
        aria_label=chart.title,
        viewbox=f"0 0 {_number(width)} {_number(height)}",
        width=_number(width),
        height=_number(height),
        font_size=_FONT,
    )


def _area(chart: Chart) -> _Area:
    width = WIDTH * (1 + chart.wide)
    low, high = chart.x.low, chart.x.high
    inside = _INSIDE if chart.wide else 0.0

    def across(value: float) -> float:
        share = 0.5 if high == low else (value - low) / (high - low)
        return _LEFT + inside + share * (width - 2 * inside)

    return _Area(width, across, lambda value: _TOP + (1 - value) * HEIGHT)


def _description(chart: Chart) -> str:
    names = ", ".join(series.name for series in chart.series if series.name)
    lines = f"Lines of {names}. " if names else ""
    now = f"Marked: {chart.now[1]}. " if chart.now else ""
    return f"{chart.y} by {chart.x.title}. {lines}{now}A table has the figures."


# --- axes ---------------------------------------------------------------------------------


def _axes(chart: Chart, area: _Area) -> Iterator[Markup]:
    right, bottom = _LEFT + area.width, _TOP + HEIGHT
    for value in RATE_TICKS:
        y = area.y(value)
        yield _line(_LEFT, y, right, y, _GRID)
        yield _text(f"{value:.1f}", _LEFT - 6, y + 4, _MUTED, "end")
    for value in chart.x.ticks:
        x = area.x(value)
        if not chart.wide:
            yield _line(x, _TOP, x, bottom, _GRID)
        yield _line(x, bottom, x, bottom + 4, _MUTED)
        yield _text(f"{value:.{chart.x.decimals}f}", x, bottom + 17, _MUTED, "middle")
    yield _line(_LEFT, bottom, right, bottom, _MUTED)
    yield _line(_LEFT, _TOP, _LEFT, bottom, _MUTED)
    yield _text(chart.x.title, _LEFT + area.width / 2, bottom + 36, _INK, "middle")
    middle = _TOP + HEIGHT / 2
    yield tag(
        "text",
        chart.y,
        x=12,
        y=_number(middle),
        fill=_INK,
        text_anchor="middle",
        transform=f"rotate(-90 12 {_number(middle)})",
    )
    if chart.diagonal:
        yield _line(area.x(0), area.y(0), area.x(1), area.y(1), _MUTED, stroke_dasharray="3 3")
    if chart.now is not None:
        value, label = chart.now
        x = area.x(value)
        yield _line(x, _TOP, x, bottom, _MARK, stroke_width="1.5")
        before = x > _LEFT + area.width / 2
        anchor = "end" if before else "start"
        yield _text(label, x - 5 if before else x + 5, bottom - 8, _MARK, anchor)


# --- lines and marks ----------------------------------------------------------------------


def _lines(chart: Chart, area: _Area) -> Iterator[Markup]:
    # The band of the third series lies behind the others.
    for number, series in reversed(list(enumerate(chart.series))):
        if series.points:
            yield tag("path", d=_path(series, area), fill="none", **_stroke(number))


def _stroke(number: int) -> dict[str, str | None]:
    """Return what distinguishes a series, besides its colour: dashes, or a pale band."""
    band = number == 2
    return {
        "stroke": _COLOURS[number],
        "stroke_width": _number(_THICK if band else 2),
        "stroke_dasharray": _DASHES[number],
        "opacity": "0.35" if band else None,
    }


def _path(series: Series, area: _Area) -> str:
    commands: list[str] = []
    before: tuple[float, float] | None = None
    for x, y in ((area.x(x), area.y(y)) for x, y in series.points):
        if before is None:
            commands.append(f"M{_number(x)} {_number(y)}")
        elif series.join is Join.LEVEL_FIRST:
            commands.append(f"H{_number(x)}V{_number(y)}")
        elif series.join is Join.LEVEL_LAST:
            commands.append(f"V{_number(y)}H{_number(x)}")
        else:
            commands.append(f"L{_number(x)} {_number(y)}")
        before = x, y
    return "".join(commands)


def _marked(mark: Mark, area: _Area) -> Markup:
    x, y, colour = area.x(mark.x), area.y(mark.y), _INK if mark.kind else _MARK
    sign = _text(mark.sign, x, y + 4, colour, "middle")
    if not mark.label:
        return sign
    before = mark.x > 0.6
    where = (x - 9, "end") if before else (x + 9, "start")
    return join(sign, _text(mark.label, where[0], y + 14, colour, where[1]))


# --- legends ------------------------------------------------------------------------------


def _series_legend(series: Sequence[Series]) -> Iterator[Markup]:
    x = _LEFT
    for number, name in enumerate(one.name for one in series):
        if name:
            yield tag("path", d=f"M{_number(x)} 12h26", fill="none", **_stroke(number))
            yield _text(name, x + 32, 16, _INK, "start")
            x += 32 + _LETTER * len(name) + 20


def _marks_legend(kinds: Mapping[str, str]) -> Iterator[Markup]:
    x, y = _LEFT + 5, _TOP + HEIGHT + _BOTTOM + 14
    for kind, sign in kinds.items():
        yield _text(f"{sign} {kind}", x, y, _INK, "start")
        x += _LETTER * (len(kind) + 5)


# --- elements -----------------------------------------------------------------------------


def _line(x: float, y: float, x2: float, y2: float, colour: str, **more: str) -> Markup:
    ends = f"M{_number(x)} {_number(y)}L{_number(x2)} {_number(y2)}"
    return tag("path", d=ends, fill="none", stroke=colour, **more)


def _text(content: str, x: float, y: float, colour: str, anchor: str) -> Markup:
    return tag("text", content, x=_number(x), y=_number(y), fill=colour, text_anchor=anchor)


def _number(value: float) -> str:
    """Return a coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")
