"""The dashboard: rates with their change and interval, counts, regressions, fixes, history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.reactive import reactive

from guardtui.domain.figures import bracketed, change_text, count_text, rate_text, threshold_text
from guardtui.domain.guardrail import ENGINE, FORECAST, badge, revision_of
from guardtui.domain.metrics import RATE_TITLES, missing_counts
from guardtui.domain.operating_point import SHIPPED, is_fitted_with
from guardtui.domain.significance import Difference
from guardtui.domain.text import display_start
from guardtui.session.session import PLATEAU
from guardtui.tui.kit.inert import Static
from guardtui.tui.kit.styled_text import themed

if TYPE_CHECKING:
    from guardtui.app.state import AppState
    from guardtui.domain.comparison import Comparison
    from guardtui.domain.estimates import PartialRates, RateEstimate
    from guardtui.domain.evaluation import Evaluation
    from guardtui.forecast.forecaster import Forecast

ESTIMATED = ("coverage", "true_positive_rate", "true_negative_rate")
"""Rates of a sample that estimate those of all prompts, whatever the shares of its classes."""

_NAME_CHARACTERS = 40  # name of a user-defined metric

_BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, eq=False)
class Dashboard:
    """A state with its `evaluation`, and what the pane shows of the session and the files."""

    state: AppState
    evaluation: Evaluation
    baseline: int | None
    history: Sequence[float | None]
    best: int | None
    best_coverage: float | None
    best_recorded: float | None
    discards: int
    changes: Sequence[str]
    recorded: bool
    sample: str = ""
    """Text about the sample that the prompts are; "" for a complete prompt set."""
    shipped: float | None = None
    """The engine's shipped threshold."""
    proportional: bool = True
    """Whether the sample has the shares of the classes, so that all rates are estimates."""


def delta(value: float | None) -> tuple[str, str]:
    """Return a change with its sign, and its style."""
    if value is None:
        return "", ""
    if abs(value) < 0.0005:
        return "─", "$text-muted"
    return (f"▲ {value:+.3f}", "$text-success") if value > 0 else (f"▼ {value:+.3f}", "$text-error")


_NOTHING_YET = (
    "Nothing is evaluated yet. The first evaluation starts by itself as soon as the encoder is "
    "loaded; from then on every pause in typing makes a new one, and its rates appear here."
)

BARS = 24
"""Iterations whose coverage is drawn."""

_SAME = 0.0005


class MetricsPane(VerticalScroll):
    """Draws a `Dashboard`; None before the first evaluation."""

    BORDER_TITLE = "Metrics"

    dashboard: reactive[Dashboard | None] = reactive(None, always_update=True)

    def __init__(self) -> None:
        super().__init__(id="metrics")
        self._text = Static(themed(dashboard_text(None)))

    def compose(self) -> ComposeResult:
        yield self._text

    @property
    def heading(self) -> str:
        """The title with the guardrail of the figures; it does not scroll."""
        badge = badge_text(self.dashboard)
        return f"{self.BORDER_TITLE} · {badge}" if badge else self.BORDER_TITLE

    def watch_dashboard(self, shown: Dashboard | None) -> None:
        kind = "" if shown is None else badge(shown.evaluation.settings)[0]
        self.set_class(kind == "ENGINE", "-engine")
        self.set_class(kind == "FORECAST", "-forecast")
        self.set_class(kind not in ("", "ENGINE", "FORECAST"), "-guardrail")
        self._text.update(themed(dashboard_text(shown)))


def badge_text(shown: Dashboard | None) -> str:
    """Return the guardrail of the figures, `FORECAST AIRS prod r3`; "" before an evaluation."""
    return "" if shown is None else " ".join(filter(None, badge(shown.evaluation.settings)))


_BADGE_STYLES = {"ENGINE": "bold $text-warning", "FORECAST": "bold $text-accent"}


def badge_style(evaluation: Evaluation) -> str:
    """Return the style of the badge: embedded engine, forecast or guardrail."""
    return _BADGE_STYLES.get(badge(evaluation.settings)[0], "bold $text-success")


def dashboard_text(shown: Dashboard | None) -> Text:
    """Return the text of the pane; before the first evaluation, a hint."""
    if shown is None:
        return Text(_NOTHING_YET, "$text-muted")
    lines = [
        *([Text(shown.sample, "$text-warning")] if shown.sample else []),
        *_shown_rates(shown),
        *_own(shown),
        _counts(shown),
        *(_change(shown) if shown.state.forecast is None else _likely(shown, shown.state.forecast)),
        _history(shown),
        _edit(shown),
        *(Text(text, "$text-muted") for text in filter(None, [operating_text(shown)])),
        _scanner(shown),
    ]
    return Text("\n").join(lines)


def operating_text(shown: Dashboard) -> str:
    """Return the threshold, its source and the shipped one; "" for a scanner without one."""
    settings, fit = shown.evaluation.settings, shown.state.fit
    if settings.threshold is None:
        return ""
    text = f"threshold {threshold_text(settings.threshold)}, "
    if settings.threshold_source == SHIPPED:
        return text + SHIPPED
    if fit is not None and is_fitted_with(shown.evaluation, fit):
        text += f"fitted to {fit.labels} labels"
    else:
        text += display_start(settings.threshold_source, 40)
    return text if shown.shipped is None else f"{text} (shipped {threshold_text(shown.shipped)})"


def _shown_rates(shown: Dashboard) -> list[Text]:
    if shown.state.forecast is not None:
        return _expected_rates(shown.state.forecast)
    partial = shown.state.partial
    if partial is None:
        return [*_few(shown), *_rates(shown)]
    if partial.sampled:
        metrics = shown.evaluation.metrics
        embedded = f"{metrics.total} of {metrics.prompts} prompts embedded so far"
        return [Text(f"⚠ partial: {embedded}", "$text-warning"), *_rates(shown)]
    return _open_rates(shown, partial)


_LIKELY = 0.9
"""Least probability of a rise or fall of coverage that is coloured."""

_EXPECTED = {
    "coverage": "coverage",
    "tpr": RATE_TITLES["true_positive_rate"],
    "tnr": RATE_TITLES["true_negative_rate"],
    "accuracy": RATE_TITLES["accuracy"],
}


def _expected_rates(forecast: Forecast) -> list[Text]:
    """Return expected rates with intervals, and the change since the newest scan."""
    better = forecast.rates.better
    likely = better is not None and max(better, 1 - better) >= _LIKELY
    lines = []
    for name, title in _EXPECTED.items():
        rate: RateEstimate | None = getattr(forecast.rates, name)
        line = Text(f"{title:<11}", "bold" if name == "coverage" else "")
        line.append(f"{'n/a' if rate is None else '≈' + rate_text(rate.value):<8}", "bold")
        if name == "coverage" and rate is not None and forecast.before is not None:
            sign, style = delta(rate.value - forecast.before)
            # A change that may be noise is not coloured.
            line.append(f"{sign:<10}", style if likely else "$text-muted")
        else:
            line.append(" " * 10)
        if rate is not None:
            line.append(f"[{rate.low:.2f} – {rate.high:.2f}]", "$text-muted")
        lines.append(line)
    if better is not None and forecast.before is not None:
        lines.append(
            Text(
                f"above the {rate_text(forecast.before)} of the newest scan with probability "
                f"{better:.0%}",
                "$text-muted",
            )
        )
    return lines


def _likely(shown: Dashboard, forecast: Forecast) -> list[Text]:
    """Return likely regressions and fixes, and the grounds of the forecast."""
    lines = []
    if shown.state.comparison is not None:
        lines.append(_changes(shown, shown.state.comparison, "likely "))
    grounds = forecast.grounds
    name = " ".join(filter(None, badge(grounds.settings)))
    scans = count_text(grounds.scans, "scan")
    lines.append(Text(f"forecast from {scans}; only a scan tells what {name} says", "$text-muted"))
    return lines + [Text(f"⚠ {doubt}", "$text-warning") for doubt in grounds.doubts]


def _value(shown: Dashboard, value: float | None) -> str:
    """Return a rate or area, with "≈" if it is of a part of the prompts."""
    sign = "≈" if shown.evaluation.is_of_a_part and value is not None else ""
    return f"{sign}{rate_text(value)}"


FEW = 10
"""Least prompts of a class for a meaningful rate."""

_IN_ONE_LINE = ("accuracy", "precision", "f1")
"""Secondary rates that share a line."""


def _classes(shown: Dashboard) -> tuple[int, int]:
    """Return the numbers of prompts with a verdict that should trigger, and that should not."""
    metrics = shown.evaluation.metrics
    return metrics.tp + metrics.fn, metrics.tn + metrics.fp


def _few(shown: Dashboard) -> list[Text]:
    """Return a warning for classes with too few prompts."""
    positive, negative = _classes(shown)
    few = min(positive, negative) < FEW
    if not few or not positive + negative:
        return []
    if max(positive, negative) < FEW:
        each = f"{positive} to trigger, {negative} not"
        text = f"{count_text(positive + negative, 'prompt')}: too few to tell ({each})"
    else:
        count, negation = (positive, "") if positive < FEW else (negative, "not ")
        text = f"{count_text(count, 'prompt')} that should {negation}trigger: too few to tell"
    return [Text(f"⚠ {text}", "$text-warning")]


def _weight(shown: Dashboard, name: str) -> str:
    """Return the style of a rate: bold if its classes have enough prompts."""
    positive, negative = _classes(shown)
    counts = {"true_positive_rate": positive, "true_negative_rate": negative}
    return "bold" if counts.get(name, min(positive, negative)) >= FEW else ""


def _rates(shown: Dashboard) -> list[Text]:
    metrics = shown.evaluation.metrics
    intervals = shown.evaluation.intervals
    lines = []
    others = Text()
    for name, title in RATE_TITLES.items():
        value: float | None = getattr(metrics, name)
        sign, style = delta(shown.state.comparison.deltas[name] if shown.state.comparison else None)
        if name in _IN_ONE_LINE:
            others.append(f"{title} ").append(_value(shown, value), _weight(shown, name))
            others.append(f" {sign[:1]}" if sign else "", style).append("  ")
            continue
        line = Text(f"{title:<11}", "bold" if name == "coverage" else "")
        line.append(f"{_value(shown, value):<7}", _weight(shown, name))
        line.append(f"{sign:<10}", style)
        interval = intervals.get(name)
        if not shown.proportional and name not in ESTIMATED:
            line.append("of the sample", "$text-muted")
        else:
            line.append(bracketed(interval), "$text-muted")
        lines.append(line)
        if name == "coverage":
            lines += _separation(shown)
    if not shown.proportional:
        others.append("of the sample", "$text-muted")
    others.rstrip()
    return [*lines, others]


def _separation(shown: Dashboard) -> list[Text]:
    """Return the separation, which does not depend on the threshold; [] without scores."""
    separation = shown.evaluation.separation
    if separation is None:
        return []
    line = Text(f"{'separation':<11}")
    line.append(f"{_value(shown, separation.area):<7}", "bold")
    change = shown.state.comparison.separation if shown.state.comparison else None
    sign, style = delta(None if change is None else change.value)
    line.append(f"{sign:<10}", style)
    line.append(bracketed(separation.interval), "$text-muted")
    return [line]


def _left(partial: PartialRates) -> str:
    """Return how many prompts have no verdict."""
    text = [f"{partial.waiting} open"] if partial.waiting else []
    return ", ".join([*text, f"{partial.failed} failed"] if partial.failed else text)


def _open_rates(shown: Dashboard, partial: PartialRates) -> list[Text]:
    """Return rates of an incomplete scan: estimates with bounds and denominators."""
    estimates = partial.estimate.rates if partial.estimate is not None else {}
    kind = "estimates [95 % interval]" if estimates else "rates of the others"
    lines = [Text(f"⚠ {_left(partial)}: {kind}", "$text-warning")]
    for name, title in RATE_TITLES.items():
        value: float | None = getattr(shown.evaluation.metrics, name)
        probable, bounds = estimates.get(name), partial.bounds.get(name)
        done, total = partial.answered.get(name, (0, 0))
        if total and not done:
            probable = None  # it would be that of the forecast alone
        line = Text(f"{title:<11}", "bold" if name == "coverage" else "")
        line.append(
            f"{'≈' + rate_text(probable.value) if probable else rate_text(value):<8}", "bold"
        )
        if probable is not None:
            line.append(f"[{probable.low:.2f} – {probable.high:.2f}]  ", "$text-muted")
        if bounds is not None and name in ("coverage", "accuracy"):
            line.append(f"{bounds.low:.2f} to {bounds.high:.2f} possible", "$text-muted")
        if total:
            line.append(f"{done}/{total} answered", "$text-muted")
        lines.append(line)
    return lines


def _own(shown: Dashboard) -> list[Text]:
    if shown.state.figures is None:
        return [Text("own metrics …", "$text-muted")]
    lines = []
    for figure in shown.state.figures:
        line = Text(f"{display_start(figure.name, _NAME_CHARACTERS):<9} ")
        if figure.problem:
            line.append(f"error: {display_start(figure.problem, 200)}", "$text-error")
        else:
            line.append(figure.text, "bold")
        lines.append(line)
    return lines


def _counts(shown: Dashboard) -> Text:
    metrics = shown.evaluation.metrics
    return Text(
        f"TP {metrics.tp}  FN {metrics.fn}  FP {metrics.fp}  TN {metrics.tn}  "
        f"{missing_counts(metrics)}"
    )


def _change(shown: Dashboard) -> list[Text]:
    comparison = shown.state.comparison
    if comparison is None:
        return [Text("no baseline yet", "$text-muted")]
    return [
        _changes(shown, comparison),
        Text(_coverage_text(comparison), "$text-muted"),
        *(Text(f"⚠ {caveat}", "$text-warning") for caveat in comparison.caveats),
    ]


def _changes(shown: Dashboard, comparison: Comparison, likely: str = "") -> Text:
    """Return the numbers of regressions and fixes."""
    broken, fixed = comparison.regressions, comparison.fixes
    line = Text(f"{likely}regressions ")
    line.append(str(broken), "bold $text-error" if broken else "bold")
    line.append(f"   {likely}fixes ")
    line.append(str(fixed), "bold $text-success" if fixed else "bold")
    pin = " (pinned)" if shown.state.pinned is not None else ""
    return line.append(f"   against #{shown.baseline}{pin}", "$text-muted")


def _coverage_text(comparison: Comparison) -> str:
    """Return the result of the comparison for coverage, without figures shown elsewhere."""
    significance = comparison.significance
    interval = significance.intervals["coverage"]
    if comparison.caveats or interval is None or not significance.pairs.discordant:
        return comparison.sentence
    text = {
        Difference.BETTER: "coverage is better",
        Difference.WORSE: "coverage is worse",
        Difference.NOT_SHOWN: "no demonstrable change of coverage",
    }.get(significance.difference)
    if text is None:
        return comparison.sentence
    text += f" [{change_text(interval.low)}, {change_text(interval.high)}]"
    return f"{comparison.separates}; {text}" if comparison.separates else text


def _history(shown: Dashboard) -> Text:
    """Return the coverage of the iterations as bars with their range, and the best one."""
    line = Text("history ")
    known = [value for value in shown.history[-BARS:] if value is not None]
    line.append(sparkline(shown.history))
    if known:
        low, high = rate_text(min(known)), rate_text(max(known))
        line.append(f" {low}" if low == high else f" {low}–{high}", "$text-muted")
    if shown.best is not None:
        line.append(f"  best #{shown.best} {rate_text(shown.best_coverage)}")
        if shown.best_coverage != shown.best_recorded:
            line.append(" with current labels")
        if shown.state.series is not None:
            line.append(f" ({shown.state.series.text})", "$text-muted")
    if shown.discards:
        line.append(f"  discards {shown.discards}/{PLATEAU}")
    if shown.discards >= PLATEAU:
        line.append("  plateau: try another angle", "bold $text-warning")
    return line


def _edit(shown: Dashboard) -> Text:
    """Return what differs from the baseline."""
    settings = shown.evaluation.settings
    changed = ", ".join(shown.changes) or "unchanged"
    preview = "preview" if settings.kind in (ENGINE, FORECAST) else "not recorded"
    state = "" if shown.recorded else f" · {preview}"
    return Text(f"edit: {changed}{state}", "$text-muted")


def _scanner(shown: Dashboard) -> Text:
    """Return the guardrail."""
    settings = shown.evaluation.settings
    guardrail = settings.guardrail.text()
    # That of models only tells their addresses apart.
    if (revision := revision_of(settings)) and not settings.guardrail.models:
        guardrail += f", revision {revision}"
    forecast = "forecast of " if settings.is_forecast else ""
    return Text(f"{forecast}{guardrail}", "$text-muted")


def sparkline(values: Sequence[float | None], most: int = BARS) -> str:
    """Return the last values as bars between their lowest and highest; "·" for None."""
    shown = values[-most:]
    known = [value for value in shown if value is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if high - low < _SAME:
        low, high = low - 1, high + 1  # equal values have bars of half the height
    return "".join(
        "·" if value is None else _BARS[min(7, int((value - low) / (high - low) * 7.999 + 0.0005))]
        for value in shown
    )


def summary(shown: Dashboard | None) -> Text:
    """Return the figures in one line, for small screens."""
    if shown is None:
        return Text("not evaluated yet", "$text-muted")
    metrics, comparison = shown.evaluation.metrics, shown.state.comparison
    sign, style = delta(comparison.deltas["coverage"] if comparison else None)
    partial, forecast = shown.state.partial, shown.state.forecast
    if forecast is not None:
        return _forecast_summary(shown, forecast)
    line = Text(f"{badge(shown.evaluation.settings)[0]} ", badge_style(shown.evaluation))
    if partial is None:
        line.append(f"coverage {rate_text(metrics.coverage)} ", _weight(shown, "coverage"))
        line.append(sign, style)
    else:
        probable = partial.estimate.rates["coverage"] if partial.estimate is not None else None
        value = "≈" + rate_text(probable.value) if probable else _value(shown, metrics.coverage)
        line.append(f"coverage {value}", "bold")
        line.append(f" ⚠ {_left(partial)}", "$text-warning")
    line.append(f"  TPR {rate_text(metrics.true_positive_rate)}")
    line.append(f" TNR {rate_text(metrics.true_negative_rate)}")
    if comparison:
        # Signs as in the table: words do not fit on 60 columns.
        line.append(f"  ✗R {comparison.regressions} ✓F {comparison.fixes}")
    if partial is None and min(_classes(shown)) < FEW:
        line.append("  too few to tell", "$text-warning")
    return line


def _forecast_summary(shown: Dashboard, forecast: Forecast) -> Text:
    line = Text(f"{badge_text(shown)} ", badge_style(shown.evaluation))
    for name, title in (("coverage", "coverage"), ("tpr", "TPR"), ("tnr", "TNR")):
        rate: RateEstimate | None = getattr(forecast.rates, name)
        style = "bold" if name == "coverage" else ""
        line.append(f"{title} {'n/a' if rate is None else '≈' + rate_text(rate.value)} ", style)
        if name == "coverage" and rate is not None:
            line.append(f"[{rate.low:.2f} – {rate.high:.2f}] ", "$text-muted")
    if shown.state.comparison is not None:
        line.append(f" ✗R {shown.state.comparison.regressions} ✓F {shown.state.comparison.fixes}")
    return line
