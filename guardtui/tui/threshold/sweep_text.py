"""Texts of the threshold sweep: three charts, a table for each, and the best threshold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from guardtui.domain.figures import bracketed, rate_text
from guardtui.domain.statistics import rate_intervals
from guardtui.domain.sweep import Best, Sweep
from guardtui.domain.topic import Intent
from guardtui.reports.thresholds import COLUMNS, Floors, short, threshold_cells
from guardtui.tui.kit.block_chart import columns

RATES, ROC, PRECISION = "rates", "roc", "precision"
VIEWS = (RATES, ROC, PRECISION)
TITLES = {RATES: "TPR and TNR", ROC: "ROC", PRECISION: "Precision-recall"}
_TPR, _TNR, _BOTH, _HERE = "●", "○", "◉", "◆"
_TPR_STYLE, _TNR_STYLE = "bold $text-primary", "bold $text-warning"
_AXIS = 4


def read_floors(text: str) -> Floors:
    """Return floors from "0.9 0.8": TPR, then TNR, which is optional; empty for none.

    Raises ValueError for an invalid text.
    """
    words = text.replace(",", " ").replace(";", " ").split()
    if len(words) > 2:
        raise ValueError("write two numbers: the floor of TPR, then that of TNR")
    floors = []
    for word in words:
        try:
            value = float(word)
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise ValueError("a floor is a number from 0 to 1, such as 0.9")
        floors.append(value)
    return Floors(*floors)


# --- the threshold ------------------------------------------------------------------------


def views_line(shown: str, *, table: bool) -> Text:
    """Return the names of the views, the shown one in brackets."""
    line = Text()
    names = [(view, f"{index} {TITLES[view]}") for index, view in enumerate(VIEWS, start=1)]
    for view, name in (*names, (None, "t table")):
        if view == (None if table else shown):
            line.append(f"[{name}]", "bold")
            line.append(" ")
        else:
            line.append(f" {name}  ", "$text-muted")
    return line


def here_text(curves: Sweep, threshold: float, before: float) -> Text:
    """Return the threshold and its rates with intervals.

    One that was moved here, or is the best on these labels, was chosen on them.
    """
    place, best = curves.index(threshold), curves.best()
    metrics = curves.metrics(place)
    chosen = threshold != before or (best is not None and curves.index(best) == place)
    spans = rate_intervals(metrics, fitted=chosen)
    text = Text(f"threshold {short(threshold)}", "bold")
    if threshold != before:
        text.append(f"  (was {short(before)})", "$text-muted")
    text.append(f"  FP {metrics.fp}  FN {metrics.fn}")
    text.append(f"\n{_TPR} ", _TPR_STYLE)
    text.append(f"TPR {rate_text(metrics.true_positive_rate)} ")
    text.append(bracketed(spans["true_positive_rate"]), "$text-muted")
    text.append(f"  {_TNR} ", _TNR_STYLE)
    text.append(f"TNR {rate_text(metrics.true_negative_rate)} ")
    text.append(bracketed(spans["true_negative_rate"]), "$text-muted")
    text.append(f"\ncoverage {rate_text(metrics.coverage)} ", "bold")
    return text.append(bracketed(spans["coverage"]), "$text-muted")


def best_text(curves: Sweep, best: Best | None, floors: Floors) -> Text:
    """Return the best threshold with its coverage, or why there is none."""
    within = f" with {floors}" if str(floors) else ""
    if best is None:
        nearest = curves.nearest(min_tpr=floors.tpr, min_tnr=floors.tnr)
        metrics = curves.metrics(curves.index(nearest))
        text = Text(f"⚠ no threshold gives {floors}\n", "$text-warning")
        text.append(f"nearest {short(nearest)}: TPR {rate_text(metrics.true_positive_rate)}")
        return text.append(f" TNR {rate_text(metrics.true_negative_rate)}")
    text = Text(f"best{within}: {short(best.threshold)}\n", "bold")
    metrics = best.metrics
    text.append(f"coverage {rate_text(metrics.coverage)} on these labels, which chose it")
    if str(floors):
        text.append(f": TPR {rate_text(metrics.true_positive_rate)}")
        text.append(f" TNR {rate_text(metrics.true_negative_rate)}")
    return text.append(f"\n{bracketed(best.interval)}")


def areas_text(curves: Sweep, view: str) -> str:
    """Return the summary figure of a view's curve."""
    if view == ROC:
        return f"area {rate_text(curves.roc_area)} (0.5: chance)"
    if view == PRECISION:
        return f"average precision {rate_text(curves.average_precision)}"
    return f"░ coverage  {_BOTH} both"


# --- charts -------------------------------------------------------------------------------


def chart_text(
    curves: Sweep,
    view: str,
    cuts: NDArray[np.intp],
    threshold: float,
    best: Best | None,
    width: int,
    height: int,
) -> Text:
    """Return a view of `width` × `height` characters with its axes; at least 20 × 4.

    `cuts` are the thresholds that stand for all, from `thinned`.
    """
    width, height = max(width - _AXIS, 16), max(height - 2, 2)
    if view == RATES:
        return _rates_chart(curves, threshold, best, width, height)
    return _area_chart(curves, cuts, view, curves.index(threshold), width, height)


def _rates_chart(
    curves: Sweep, threshold: float, best: Best | None, width: int, height: int
) -> Text:
    thresholds = (np.arange(width) + 0.5) / width
    threshold_column = min(int(threshold * width), width - 1)
    thresholds[threshold_column] = threshold  # the column of the threshold shows its exact rates
    cuts = [curves.index(float(x)) for x in thresholds]
    tpr = _rows(curves.true_positive_rate[cuts], height)
    tnr = _rows(curves.true_negative_rate[cuts], height)
    # The lower rate is the lower line; no coverage if one of them is undefined.
    top = [max(pair) if min(pair) >= 0 else height for pair in zip(tpr, tnr, strict=True)]

    def cell(row: int, column: int) -> tuple[str, str]:
        if row == tpr[column] == tnr[column]:
            return _BOTH, "bold"
        if row == tpr[column]:
            return _TPR, _TPR_STYLE
        if row == tnr[column]:
            return _TNR, _TNR_STYLE
        if column == threshold_column:
            return "┃", "bold $text-accent"
        if column:
            for line, style in ((tpr, _TPR_STYLE), (tnr, _TNR_STYLE)):
                lower, upper = sorted((line[column - 1], line[column]))
                if 0 <= lower < row < upper:
                    return "│", style
        return ("░", "$text-muted") if top[column] < row else (" ", "")

    marks = {threshold_column: "▲"}
    if best is not None:
        column = min(int(best.threshold * width), width - 1)
        marks[column] = "b" if column != threshold_column else "▲"
    return _framed(cell, width, height, marks, "threshold")


def _area_chart(
    curves: Sweep, cuts: NDArray[np.intp], view: str, index: int, width: int, height: int
) -> Text:
    across, up = points(curves, cuts, view)
    x = (np.arange(width) + 0.5) / width
    values: list[float | None] = [None] * width
    if len(across):
        if view == ROC:
            # Linear, like the trapezoids of the area.
            values = np.interp(x, across, up).tolist()
        else:
            # Steps: for each recall, the precision of the next threshold that reaches it.
            after = np.minimum(np.searchsorted(across, x), len(across) - 1)
            values = up[after].tolist()
    lines = columns(values, height)
    metrics = curves.metrics(index)
    tpr, tnr = metrics.true_positive_rate, metrics.true_negative_rate
    point = None if tnr is None else 1 - tnr, tpr
    if view == PRECISION:
        point = tpr, metrics.precision
    column = row = -1
    if point[0] is not None and point[1] is not None:
        column = min(int(point[0] * width), width - 1)
        row = _rows(np.array([point[1]]), height)[0]

    def cell(line: int, cell_column: int) -> tuple[str, str]:
        if (line, cell_column) == (row, column):
            return _HERE, "bold $text-warning"
        return lines[line][cell_column], "$text-primary"

    name = "1 − TNR (false positives)" if view == ROC else "recall (TPR)"
    return _framed(cell, width, height, {column: "▲"} if column >= 0 else {}, name)


def points(
    curves: Sweep, cuts: NDArray[np.intp], view: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return x and y of a view's curve, each float64 [n] by ascending x; empty if undefined."""
    across, up = curves.true_positive_rate[cuts], curves.precision[cuts]
    if view == ROC:
        across, up = 1 - curves.true_negative_rate[cuts], across
    defined = ~(np.isnan(across) | np.isnan(up))
    across, up = across[defined], up[defined]
    # TPR and FPR both fall with the threshold of a blocking topic.
    step = -1 if curves.intent is Intent.BLOCK else 1
    return across[::step], up[::step]


def _rows(values: NDArray[np.float64], height: int) -> list[int]:
    """Return the line of each value, 0 at the top; −1 if undefined."""
    return [
        -1 if value != value else min(int((1 - value) * height), height - 1)
        for value in values.tolist()
    ]


def _framed(
    cell: Callable[[int, int], tuple[str, str]],
    width: int,
    height: int,
    marks: dict[int, str],
    name: str,
) -> Text:
    text = Text()
    for row in range(height):
        label = "1.0" if row == 0 else "0.0" if row == height - 1 else ""
        text.append(f"{label:<{_AXIS}}", "$text-muted")
        for column in range(width):
            text.append(*cell(row, column))
        text.append("\n")
    text.append(" " * _AXIS)
    text.append("".join(marks.get(column, " ") for column in range(width)).rstrip(), "bold")
    room = max(width - 6, 0)
    axis = f"0.0{name[:room]:^{room}}1.0"
    return text.append(f"\n{' ' * _AXIS}{axis}", "$text-muted")


# --- table --------------------------------------------------------------------------------


def table_text(
    curves: Sweep,
    cuts: NDArray[np.intp],
    threshold: float,
    best: Best | None,
    width: int,
    height: int,
) -> Text:
    """Return the rates as numbers, the highest threshold first, around the current one.

    Lists `cuts`, with the current threshold and the best.
    """
    current = curves.index(threshold)
    marked = [current] if best is None else [current, best.index]
    listed = np.union1d(cuts, marked)[::-1].tolist()
    room = max(height - 1, 1)
    start = min(max(listed.index(current) - room // 2, 0), max(len(listed) - room, 0))
    some = listed[start : start + room]
    rows = [COLUMNS, *threshold_cells(curves, some, threshold, best)]
    # The mark comes first: columns that do not fit are left out.
    rows = [(cells[-1], *cells[:-1]) for cells in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    fitting = sum(1 for ends in np.cumsum(np.array(widths) + 2) if ends - 2 <= width)
    lines = [
        "  ".join(f"{cell:<{size}}" for cell, size in zip(cells[:fitting], widths, strict=False))
        for cells in rows
    ]
    text = Text(lines[0].rstrip(), "$text-muted")
    for index, line in zip(some, lines[1:], strict=True):
        text.append(f"\n{line.rstrip()}", "bold" if index == current else "")
    return text
