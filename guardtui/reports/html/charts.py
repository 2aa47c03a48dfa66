"""Charts of a report as SVG: specified with Altair, drawn by vl-convert, coloured by the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from guardtui.reports.html.page import Markup, tag, text

MISSING = (
    "Charts need two more packages: pip install 'guardtui[html]'. "
    "All of their figures are here as tables."
)
"""Shown instead of charts."""

WIDTH, HEIGHT = 400, 240
_MOST_TICKS = 12  # of whole numbers

Values = Sequence[Mapping[str, Any]]

# Placeholder colours in the drawing, and the page's colours that replace them. No theme has these
# colours, so a test can detect one that is left.
_PLACES = {
    "#a1b001": "var(--series-1)",
    "#a1b002": "var(--series-2)",
    "#a1b003": "var(--series-3)",
    "#a1b004": "var(--mark)",
    "#a1b005": "var(--ink)",
    "#a1b006": "var(--muted)",
    "#a1b007": "var(--grid)",
    "#a1b008": "var(--ground)",
}
_SERIES = tuple(_PLACES)[:3]
_MARK, _INK, _MUTED, _GRID, _GROUND = tuple(_PLACES)[3:]
_PLACE = re.compile("|".join(_PLACES))
_DASHES = ([1, 0], [7, 3], [1, 0])
_WIDTHS = (2, 2, 7)
_OPACITIES = (1, 1, 0.35)
_SHAPES = ("circle", "square", "triangle-up")
_CONFIG = {
    "background": "transparent",
    "aria": False,
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": _MUTED,
        "titleColor": _INK,
        "gridColor": _GRID,
        "domainColor": _MUTED,
        "tickColor": _MUTED,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    },
    "legend": {"labelColor": _INK, "labelFontSize": 12, "titleColor": _INK, "symbolSize": 300},
    "text": {"fontSize": 12, "color": _INK},
}


_MARK_ROLES = re.compile(r' (?:role|aria-[a-z]+)="[^"]*"')


class ChartRenderer:
    """Draws charts if their packages are installed; otherwise every drawing is None."""

    def __init__(self) -> None:
        self._packages: tuple[Any, Any] | None = None
        try:
            import altair
            import vl_convert
        except ImportError:
            return
        self._packages = (altair, vl_convert)

    def draw(self, make: Callable[[Any], Any], label: str, **data: Values) -> Markup | None:
        """Return the chart of `make`, which gets the module altair, as an image named `label`.

        `data` are its plain values by name.
        """
        if self._packages is None:
            return None
        altair, convert = self._packages
        specification = make(altair).to_dict(validate=False)
        specification["config"] = _CONFIG
        specification["datasets"] = data
        version = ".".join(altair.SCHEMA_VERSION.lstrip("v").split(".")[:2])
        try:
            drawn = convert.vegalite_to_svg(specification, vl_version=version, allowed_base_urls=[])
        except ValueError:  # incompatible versions of the two packages
            drawn = convert.vegalite_to_svg(specification, allowed_base_urls=[])
        return _themed(drawn, label)


def _themed(drawn: str, label: str) -> Markup:
    # The label is that of the whole drawing; its marks are not images of their own.
    coloured = _PLACE.sub(lambda match: _PLACES[match.group()], _MARK_ROLES.sub("", drawn))
    return Markup(coloured.replace("<svg ", f'<svg role="img" aria-label="{text(label)}" ', 1))


def missing_note() -> Markup:
    """Return the sentence shown instead of charts."""
    return tag("p", MISSING, class_="muted")


def _rate_axis(alt: Any, field: str, title: str, **more: Any) -> Any:
    axis = alt.Axis(tickCount=5, format=".1f")
    return alt.Y(f"{field}:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=axis, **more)


def _by_series(alt: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return encodings that distinguish series by colour, dashes and width.

    The third series is a wide band behind the others: it must come first in the data, since later
    series are drawn over it.
    """
    legend = alt.Legend(title=None, orient="top", symbolType="stroke")
    count = len(names)

    def scale(values: Sequence[Any]) -> Any:
        return alt.Scale(type="ordinal", domain=list(names), range=list(values[:count]))

    return {
        "color": alt.Color("series:N", scale=scale(_SERIES), legend=legend),
        "strokeDash": alt.StrokeDash("series:N", scale=scale(_DASHES), legend=legend),
        "strokeWidth": alt.StrokeWidth("series:N", scale=scale(_WIDTHS), legend=legend),
        "opacity": alt.Opacity("series:N", scale=scale(_OPACITIES), legend=legend),
    }


def whole_ticks(first: int, last: int) -> list[int]:
    """Return evenly spaced whole numbers from `first` to `last`, at most `_MOST_TICKS`."""
    return list(range(first, last + 1, 1 + (last - first) // _MOST_TICKS))


def rates_by_iteration(alt: Any, series: Sequence[str], first: int, last: int) -> Any:
    """Return rates by iteration, of the data `rates` (number, rate, series).

    The data `decisions` (number, rate, decision) are marked by points. `first` and `last` are the
    numbers of the iterations shown.
    """
    numbers = alt.X(
        "number:Q",
        title="iteration",
        axis=alt.Axis(format="d", values=whole_ticks(first, last), grid=False),
        scale=alt.Scale(zero=False, nice=False, padding=8),
    )
    lines = (
        alt.Chart(alt.NamedData(name="rates"))
        .mark_line()
        .encode(x=numbers, y=_rate_axis(alt, "rate", "rate"), **_by_series(alt, series))
    )
    decisions = ["keep", "discard", "undecided"]
    shapes = alt.Scale(domain=decisions, range=list(_SHAPES))
    fills = alt.Scale(domain=decisions, range=[_SERIES[2], _GROUND, _GROUND])
    legend = alt.Legend(title=None, orient="bottom", symbolType="circle", symbolSize=60)
    points = (
        alt.Chart(alt.NamedData(name="decisions"))
        .mark_point(size=60, stroke=_INK, strokeWidth=1.5, filled=False)
        .encode(
            x=numbers,
            y=alt.Y("rate:Q"),
            shape=alt.Shape("decision:N", scale=shapes, legend=legend),
            fill=alt.Fill("decision:N", scale=fills, legend=legend),
        )
    )
    both = alt.layer(lines, points).resolve_scale(shape="independent", fill="independent")
    return both.properties(width=2 * WIDTH, height=HEIGHT)


def threshold_curve(
    alt: Any, series: Sequence[str], now: float | None, low: float, high: float
) -> Any:
    """Return rates by threshold, of the data `rates` (threshold, rate, series); `now` is marked."""
    thresholds = alt.X(
        "threshold:Q",
        title="threshold",
        scale=alt.Scale(domain=[low, high], nice=False, zero=False),
        axis=alt.Axis(tickCount=6),
    )
    lines = (
        alt.Chart(alt.NamedData(name="rates"))
        # A threshold has the verdicts of the next score above it.
        .mark_line(interpolate="step-before")
        .encode(x=thresholds, y=_rate_axis(alt, "rate", "rate"), **_by_series(alt, series))
    )
    layers = [lines]
    if now is not None:
        marked = alt.Chart(alt.Data(values=[{"threshold": now, "told": f"now {now:.3f}"}]))
        side = "right" if now > (low + high) / 2 else "left"
        layers.append(marked.mark_rule(color=_MARK, strokeWidth=1.5).encode(x=thresholds))
        layers.append(
            marked.mark_text(
                align=side, dx=-5 if side == "right" else 5, y=HEIGHT - 8, color=_MARK
            ).encode(x=thresholds, text="told:N")
        )
    return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)


def rate_curve(
    alt: Any, titles: tuple[str, str], here: float | None, *, steps: bool, diagonal: bool
) -> Any:
    """Return one rate by another, of the data `rates` (x, y, and place, the order of the line).

    The data `here` (x, y, and `told`, its label) are the current point, whose x is `here`.
    """
    axis = alt.Axis(tickCount=5, format=".1f")
    across = alt.X("x:Q", title=titles[0], scale=alt.Scale(domain=[0, 1]), axis=axis)
    layers = []
    if diagonal:
        chance = alt.Chart(alt.Data(values=[{"x": 0, "y": 0}, {"x": 1, "y": 1}]))
        layers.append(
            chance.mark_line(color=_MUTED, strokeWidth=1, strokeDash=[3, 3]).encode(
                x=across, y="y:Q"
            )
        )
    curve = alt.Chart(alt.NamedData(name="rates"))
    layers.append(
        curve.mark_line(
            color=_SERIES[0], strokeWidth=2, interpolate="step-after" if steps else "linear"
        ).encode(x=across, y=_rate_axis(alt, "y", titles[1]), order=alt.Order("place:Q"))
    )
    if here is not None:
        point = alt.Chart(alt.NamedData(name="here"))
        layers.append(
            point.mark_point(
                size=90, filled=True, fill=_MARK, stroke=_GROUND, strokeWidth=1.5, opacity=1
            ).encode(x=across, y="y:Q")
        )
        right = here > 0.6
        layers.append(
            point.mark_text(
                align="right" if right else "left", dx=-9 if right else 9, dy=14, color=_MARK
            ).encode(x=across, y="y:Q", text="told:N")
        )
    return alt.layer(*layers).properties(width=HEIGHT + 20, height=HEIGHT + 20)
