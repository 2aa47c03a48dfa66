"""Charts as inline SVG, coloured by the page and described for screen readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from guardtui.domain.document import (
    RATE_TICKS,
    Bar,
    BarChart,
    Chart,
    Group,
    Kind,
    Mark,
    Series,
)
from guardtui.domain.figures import ON_NEW_PROMPTS, capitalized
from guardtui.reports.html.page import Content, Markup, join, tag

WIDTH, HEIGHT = 320.0, 200.0
"""Size of the area of a chart, in pixels."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 48.0, 16.0, 30.0, 44.0  # round the area, for texts
_LEGEND = 26.0  # height of the legend of marks, below the area
_FONT = 12
_LETTER = 7.0  # width of a letter, about
_INSIDE = 8.0  # from a line of an axis to the first mark
_BAR = 18.0  # height of a bar
_ROW = 58.0  # from a bar to the next one
_GAP = "\u2003"  # an em space: others are joined to one blank
_COLOURS = ("var(--series-1)", "var(--series-2)", "var(--series-3)")
_DASHES = (None, "7 3", None)
_THICK = 7.0  # the third line, a band behind the others
_MARK, _INK, _MUTED, _GRID, _GROUND = (
    f"var(--{name})" for name in ("mark", "ink", "muted", "grid", "ground")
)


@dataclass(frozen=True, slots=True)
class _Area:
    """Area of a chart: `x` and `y` return the pixels of a value."""

    x: Callable[[float], float]
    y: Callable[[float], float]


def drawing(chart: Chart | BarChart) -> Markup:
    """Return the chart as an image with the chart's title as its name.

    A description says where the figures are. All texts are ours or numbers.
    """
    return _bar_chart(chart) if isinstance(chart, BarChart) else _line_chart(chart)


def _line_chart(chart: Chart) -> Markup:
    area = _area(chart)
    kinds = {mark.kind: mark.sign for mark in chart.marks if mark.kind}
    width = _LEFT + WIDTH + _RIGHT
    top = 0.0 if any(series.name for series in chart.series) else _TOP - 12
    height = _TOP + HEIGHT + _BOTTOM + (_LEGEND if kinds else 0) - top
    parts: list[Content] = [
        tag("title", chart.title),
        tag("desc", _description(chart)),
        *_axes(chart, area),
        *_lines(chart, area),
        *(_marked(mark, area) for mark in chart.marks),
        *_series_legend(chart.series),
        *_marks_legend(kinds, chart.limit[1] if chart.limit else ""),
    ]
    return tag(
        "svg",
        *parts,
        role="img",
        aria_label=chart.title,
        viewbox=f"0 {_number(top)} {_number(width)} {_number(height)}",
        width=_number(width),
        height=_number(height),
        font_size=_FONT,
    )


def _area(chart: Chart) -> _Area:
    low, high = chart.x.low, chart.x.high
    inside = _INSIDE if chart.marks and chart.series else 0.0

    def across(value: float) -> float:
        share = 0.5 if high == low else (value - low) / (high - low)
        return _LEFT + inside + share * (WIDTH - 2 * inside)

    return _Area(across, lambda rate: _TOP + (1 - rate) / (1 - chart.floor) * HEIGHT)


def _description(chart: Chart) -> str:
    names = ", ".join(series.name for series in chart.series if series.name)
    lines = f"Lines of {names}. " if names else ""
    now = f"Marked: {chart.now[1]}. " if chart.now else ""
    return f"{chart.y} by {chart.x.title}. {lines}{now}A table has the figures."


# --- axes ---------------------------------------------------------------------------------


def _axes(chart: Chart, area: _Area) -> Iterator[Markup]:
    right, bottom = _LEFT + WIDTH, _TOP + HEIGHT
    for value in (tick for tick in RATE_TICKS if tick >= chart.floor):
        y = area.y(value)
        yield _line(_LEFT, y, right, y, _GRID)
        yield _text(f"{value:.1f}", _LEFT - 6, y + 4, _MUTED, "end")
    for value in chart.x.ticks:
        x = area.x(value)
        yield _line(x, bottom, x, bottom + 4, _MUTED)
        yield _text(f"{value:.{chart.x.decimals}f}", x, bottom + 17, _MUTED, "middle")
    yield _line(_LEFT, bottom, right, bottom, _MUTED)
    yield _text(chart.x.title, _LEFT + WIDTH / 2, bottom + 36, _MUTED, "middle")
    middle = _TOP + HEIGHT / 2
    yield tag(
        "text",
        chart.y,
        x=12,
        y=_number(middle),
        fill=_MUTED,
        text_anchor="middle",
        transform=f"rotate(-90 12 {_number(middle)})",
    )
    if chart.limit is not None:
        y = area.y(chart.limit[0])
        yield _line(_LEFT, y, right, y, _MARK, stroke_width="1.5")
    if chart.now is not None:
        value, label = chart.now
        x = area.x(value)
        yield _line(x, _TOP, x, bottom, _MARK, stroke_width="1.5")
        before = x > _LEFT + WIDTH / 2
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
        elif series.steps:
            commands.append(f"V{_number(y)}H{_number(x)}")
        else:
            commands.append(f"L{_number(x)} {_number(y)}")
        before = x, y
    return "".join(commands)


def _marked(mark: Mark, area: _Area) -> Markup:
    x, y, colour = area.x(mark.x), area.y(mark.y), _INK if mark.kind else _MARK
    sign = _text(mark.sign, x, y + 4, colour, "middle")
    high = y - 5
    if mark.interval is not None:
        low, high = map(area.y, mark.interval)
        sign = join(_line(x, low, x, high, _MUTED, opacity="0.5"), sign)
    if not mark.label:
        return sign
    return join(sign, _text(mark.label, x, high - 5, colour, "middle"))


# --- legends ------------------------------------------------------------------------------


def _series_legend(series: Sequence[Series]) -> Iterator[Markup]:
    x = _LEFT
    for number, name in enumerate(line.name for line in series):
        if name:
            yield tag("path", d=f"M{_number(x)} 12h26", fill="none", **_stroke(number))
            yield _text(name, x + 32, 16, _INK, "start")
            x += 32 + _LETTER * len(name) + 20


def _marks_legend(kinds: Mapping[str, str], limit: str) -> Iterator[Markup]:
    x, y = _LEFT + 5, _TOP + HEIGHT + _BOTTOM + 14
    for kind, sign in kinds.items():
        yield _text(f"{sign} {kind}", x, y, _INK, "start")
        x += _LETTER * (len(kind) + 5)
    if limit:
        yield _text(f"— {limit}", x, y, _MARK, "start")


# --- bars ---------------------------------------------------------------------------------
# Places are in percent of the width: bars grow and shrink with the page, and texts do not.


def _bar_chart(chart: BarChart) -> Markup:
    end, step = _scale(chart)
    bottom = _ROW * len(chart.bars) - 6
    parts: list[Content] = [
        tag("title", chart.title),
        tag("desc", "A table has the figures."),
        *(part for row, bar in enumerate(chart.bars) for part in _bar(bar, row * _ROW, end)),
        *_bar_axis(bottom, end, step),
    ]
    if chart.limit is not None:
        tops = [row * _ROW + 18 for row in range(len(chart.bars))]
        parts += [_rectangle(chart.limit / end, None, top, _BAR + 8, _MARK) for top in tops]
    return tag(
        "svg",
        *parts,
        _bar_legend(chart, bottom + 44),
        role="img",
        aria_label=chart.title,
        width="100%",
        height=_number(bottom + 54),
        font_size=_FONT + 1,
    )


def _scale(chart: BarChart) -> tuple[float, float]:
    """Return the end of the axis and the step between its ticks."""
    largest = max(
        chart.limit or 0.0,
        *(bar.interval[1] if bar.interval else bar.share or 0.0 for bar in chart.bars),
        *(bar.before or 0.0 for bar in chart.bars),
    )
    end = next(end for end in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0) if largest <= end)
    return end, 0.02 if end == 0.1 else 0.1 if end <= 0.5 else 0.2


def _bar(bar: Bar, top: float, end: float) -> Iterator[Markup]:
    yield tag("text", capitalized(bar.kind), x=0, y=_number(top + 14), fill=_INK, font_weight="600")
    yield tag("text", bar.count, x="100%", y=_number(top + 14), fill=_INK, text_anchor="end")
    y, middle = top + 22, top + 22 + _BAR / 2
    yield _rectangle(0, 1, y, _BAR, _GRID)
    if bar.share is not None:
        yield _rectangle(0, bar.share / end, y, _BAR, _colour(bar.kind))
    if bar.interval is not None:
        low, high = (bound / end for bound in bar.interval)
        for colour, height in ((_GROUND, 5.0), (_INK, 1.5)):
            yield _rectangle(low, high - low, middle - height / 2, height, colour)
        for bound in (low, high):
            yield _rectangle(bound, None, middle - 4, 8, _INK)
    if bar.before is not None:
        yield tag(
            "text",
            "▲",
            x=_percent(bar.before / end),
            y=_number(y + _BAR + 9),
            fill=_INK,
            font_size=10,
            text_anchor="middle",
        )


def _bar_axis(y: float, end: float, step: float) -> Iterator[Markup]:
    ticks = [number * step for number in range(round(end / step) + 1)]
    for tick in ticks:
        anchor = "start" if not tick else "end" if tick == ticks[-1] else "middle"
        text = f"{tick:.2f}" if step < 0.1 else f"{tick:.1f}"
        yield tag(
            "text",
            text if tick else "0",
            x=_percent(tick / end),
            y=_number(y + 16),
            fill=_MUTED,
            text_anchor=anchor,
        )


def _bar_legend(chart: BarChart, y: float) -> Markup:
    signs = [f"├─┤ {ON_NEW_PROMPTS}"] * any(bar.interval for bar in chart.bars)
    signs += [f"▲ {chart.before}"] * any(bar.before is not None for bar in chart.bars)
    limit = None
    if chart.limit is not None:
        limit = tag("tspan", f"{_GAP * bool(signs)}┃ at most {chart.limit:g}", fill=_MARK)
    return tag("text", _GAP.join(signs), limit, x=0, y=_number(y), fill=_MUTED)


def group_bar(group: Group, largest: int) -> Markup:
    """Return the counts of a group beside each other; `largest` fills the whole width."""
    parts, start = [], 0.0
    for kind, count in group.counts:
        if count:
            parts.append(_rectangle(start, count / largest, 0, 12, _colour(kind)))
            start += count / largest
    return tag("svg", *parts, aria_hidden="true", width="100%", height=12)


def _colour(kind: Kind) -> str:
    return f"var(--{kind.name.lower()})"


def _rectangle(x: float, width: float | None, y: float, height: float, colour: str) -> Markup:
    """Return a rectangle of a share of the width; None is the width of a line."""
    return tag(
        "rect",
        x=_percent(x),
        width=2 if width is None else _percent(width),
        y=_number(y),
        height=_number(height),
        fill=colour,
    )


def _percent(share: float) -> str:
    return f"{_number(100 * share)}%"


# --- elements -----------------------------------------------------------------------------


def _line(x: float, y: float, x2: float, y2: float, colour: str, **more: str) -> Markup:
    ends = f"M{_number(x)} {_number(y)}L{_number(x2)} {_number(y2)}"
    return tag("path", d=ends, fill="none", stroke=colour, **more)


def _text(content: str, x: float, y: float, colour: str, anchor: str) -> Markup:
    return tag("text", content, x=_number(x), y=_number(y), fill=colour, text_anchor=anchor)


def _number(value: float) -> str:
    """Return a coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")
