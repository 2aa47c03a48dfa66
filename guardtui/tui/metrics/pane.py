"""The metrics pane: six lines, one of which says in words what the figures are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.reactive import reactive

from guardtui.advice.judgement import LIKELY, Judgement, Worth
from guardtui.app.shown_rates import (
    ShownRate,
    expected_changes,
    shown_mistakes,
    shown_rates,
)
from guardtui.domain.figures import bracketed, change_text
from guardtui.domain.guardrail import AIRS, ENGINE, FORECAST, badge, revision_of
from guardtui.domain.metrics import RATE_TITLES
from guardtui.domain.operating_point import LABELS_AT_LEAST
from guardtui.tui.kit.inert import Static
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.registry.actions import METRICS, bindings

if TYPE_CHECKING:
    from guardtui.app.state import AppState
    from guardtui.domain.comparison import Comparison
    from guardtui.domain.evaluation import Evaluation
    from guardtui.domain.guardrail import ScannerSettings

BARS = 24
"""Maximum number of iterations whose coverage is drawn."""

MORE = "more ⏎"
_BARS = "▁▂▃▄▅▆▇█"
_SAME = 0.0005
_LEAST_LESS = 0.005  # of coverage that the best of a series is expected to lose

_NOTHING_YET = (
    "Nothing is evaluated yet. The first evaluation starts by itself as soon as the encoder is "
    "loaded; from then on every pause in typing makes a new one, and its rates appear here."
)

_STYLES = {
    Worth.BETTER: "bold $text-success",
    Worth.WORSE: "bold $text-error",
    Worth.UNSURE: "bold",
    Worth.NEUTRAL: "$text-muted",
    Worth.WARNING: "bold $text-warning",
}


@dataclass(frozen=True, eq=False)
class Dashboard:
    """A state with its `evaluation`, and what the pane shows of the session and the files."""

    state: AppState
    evaluation: Evaluation
    judgement: Judgement
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
    proportional: bool = True
    """True if the sample has the shares of the classes, so that all rates are estimates."""


def delta(value: float | None, unchanged: str = "") -> tuple[str, str]:
    """Return a change with its sign, or `unchanged`, and its style; "" for None."""
    if value is None:
        return "", ""
    if abs(value) < _SAME:
        return unchanged, "$text-muted"
    sign, style = ("▲", "$text-success") if value > 0 else ("▼", "$text-error")
    return f"{sign} {change_text(value)}", style


def badge_text(state: AppState) -> str:
    """Return the guardrail of the figures; "" before an evaluation.

    If AIRS has another revision in effect by now, that is added.
    """
    if state.evaluation is None:
        return ""
    settings, connection = state.evaluation.settings, state.connection
    now = None if connection is None else connection.revision
    if settings.kind != AIRS or now is None or revision_of(settings) in ("", str(now)):
        return badge(settings)
    if connection is not None and connection.definition == state.evaluation.topic:
        return badge(settings)  # put back: a newer revision with the same definition
    return f"{badge(settings)}, no longer in effect"


def badge_style(settings: ScannerSettings) -> str:
    """Return the style of the badge: engine, forecast or guardrail."""
    styles = {ENGINE: "bold", FORECAST: "bold $text-accent"}
    return styles.get(settings.kind, "bold $text-success")


class MetricsPane(VerticalScroll):
    """Draws a `Dashboard`; None before the first evaluation."""

    BORDER_TITLE = "Metrics"
    BINDINGS = bindings(METRICS)

    dashboard: reactive[Dashboard | None] = reactive(None, always_update=True)

    def __init__(self) -> None:
        super().__init__(id="metrics")
        self._text = Static("")

    def compose(self) -> ComposeResult:
        yield self._text

    @property
    def heading(self) -> str:
        """The title with the guardrail of the figures; it does not scroll."""
        if self.dashboard is None:
            return self.BORDER_TITLE
        kind = self.dashboard.evaluation.settings.kind
        explained = " (approximation)" if kind == ENGINE else ""
        return f"{self.BORDER_TITLE} · {badge_text(self.dashboard.state)}{explained}"

    def watch_dashboard(self, shown: Dashboard | None) -> None:
        kind = "" if shown is None else shown.evaluation.settings.kind
        self.set_class(kind == FORECAST, "-forecast")
        self.set_class(kind not in ("", ENGINE, FORECAST), "-guardrail")
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        width = self.scrollable_content_region.width
        self._text.update(themed(pane_text(self.dashboard, width)))

    def action_show_figures(self) -> None:
        from guardtui.tui.kit.dialogs import TextPage
        from guardtui.tui.metrics.page import page_text

        if self.dashboard is not None:
            text = page_text(self.dashboard)
            self.app.push_screen(TextPage(self.heading, text, "figures"))


# --- the rates ----------------------------------------------------------------------------


def weight(shown: Dashboard, name: str) -> str:
    """Return the style of a rate: bold if its classes have enough prompts."""
    metrics = shown.evaluation.metrics
    positive, negative = metrics.tp + metrics.fn, metrics.tn + metrics.fp
    counts = {"true_positive_rate": positive, "true_negative_rate": negative}
    return "bold" if counts.get(name, min(positive, negative)) >= LABELS_AT_LEAST else ""


# --- the six lines ------------------------------------------------------------------------


def pane_text(shown: Dashboard | None, width: int) -> Text:
    """Return the text of the pane for so many cells; before the first evaluation, a hint."""
    if shown is None:
        return Text(_NOTHING_YET, "$text-muted")
    rates = shown_rates(shown.state, shown.evaluation)
    lines = (
        _coverage(shown, rates["coverage"]),
        _sides(shown, rates),
        _mistakes(shown),
        _changes(shown, width),
        judgement_text(shown),
        _history(shown, width),
    )
    return Text("\n").join(lines)


def judgement_text(shown: Dashboard) -> Text:
    """Return what the figures are worth, in a sentence."""
    judgement = shown.judgement
    sign = "⚠ " if judgement.worth is Worth.WARNING else ""
    return Text().append(f"{sign}{judgement.text}", _STYLES[judgement.worth])


def _coverage(shown: Dashboard, rate: ShownRate) -> Text:
    line = coverage_text(shown, rate)
    if rate.interval is not None:
        line.append(f" {bracketed(rate.interval, rate.note)}", "$text-muted")
    return line


def coverage_text(shown: Dashboard, rate: ShownRate) -> Text:
    """Return coverage, the heaviest figure of the screen, and its change."""
    line = Text().append("coverage", "bold")
    enough = weight(shown, "coverage")
    line.append(f" {rate.text} ", f"{enough} reverse $text-primary" if enough else "")
    sign, style = change_of(shown, rate)
    return line.append(f"{sign} ", style) if sign else line


def change_of(shown: Dashboard, rate: ShownRate) -> tuple[str, str]:
    """Return the change of a rate with its sign, and its style: no colour for a mere guess."""
    sign, style = delta(rate.change)
    if shown.state.forecast is None or rate.change is None:
        return sign, style
    better = shown.state.forecast.rates.better
    likely = better is not None and max(better, 1 - better) >= LIKELY
    return (f"{sign} likely", style) if likely else (sign, "$text-muted")


def _sides(shown: Dashboard, rates: Mapping[str, ShownRate]) -> Text:
    line = Text()
    for name in ("true_positive_rate", "true_negative_rate"):
        sign, style = delta(rates[name].change)
        line.append(f"{RATE_TITLES[name]} ")
        line.append(rates[name].text).append(f" {sign[:1]:<8}", style)
    line.rstrip()
    return line


def _mistakes(shown: Dashboard) -> Text:
    """Return the counts of the wrong verdicts, of the missing ones, and a doubt about labels."""
    metrics = shown.evaluation.metrics
    about = "≈" if shown.state.forecast is not None else ""
    missed, stopped = shown_mistakes(shown.state, shown.evaluation)
    line = Text(f"{about}{missed} missed · {about}{stopped} wrongly stopped")
    if metrics.open:
        line.append(" so far")
    for count, what in ((metrics.open, "open"), (metrics.errors, "failed")):
        if count:
            line.append(f" · {count} {what}", "bold $text-warning")
    if (waiting := len(shown.state.prompts.waiting)) and not metrics.open:
        line.append(f" · {waiting} unlabelled", "$text-muted")
    if any(finding.code == "contradictory-label" for finding in shown.state.prompts.findings):
        line.append(" · ⚠ contradictory labels", "$text-warning")
    return line


def changes_text(shown: Dashboard) -> Text:
    """Return how many prompts are fixed and broken since the baseline."""
    comparison = shown.state.comparison
    if comparison is None:
        return Text("no baseline yet", "$text-muted")
    line = counts_text(shown, comparison)
    return line.append(f" since #{shown.baseline}", "$text-muted")


def baseline_text(shown: Dashboard) -> str:
    """Return what makes an iteration the baseline."""
    if shown.state.pinned is not None:
        return "pinned"
    return "last kept" if shown.baseline else "first"


def _changes(shown: Dashboard, width: int) -> Text:
    """Return the changes, with coverage without the prompts that were removed or added since."""
    line, comparison = changes_text(shown), shown.state.comparison
    if comparison is None:
        return line
    about = baseline_text(shown)
    if shown.state.forecast is None:
        about = comparison.without or about
    note = Text(f" ({about})", "$text-muted")
    return line.append_text(note) if line.cell_len + note.cell_len <= width else line


def counts_text(shown: Dashboard, comparison: Comparison) -> Text:
    """Return how many prompts a comparison has as fixed and as broken."""
    fixed, broken, about = comparison.fixes, comparison.regressions, ""
    if (forecast := shown.state.forecast) is not None:
        fixed, broken = expected_changes(comparison, shown.evaluation, forecast)
        about = "≈"
    line = Text(f"{about}{fixed} fixed", "$text-success" if fixed else "$text-muted")
    line.append(" · ")
    return line.append(f"{about}{broken} broke", "$text-error" if broken else "$text-muted")


def _history(shown: Dashboard, width: int) -> Text:
    """Return the coverage of the iterations as bars, the best one, and the key of the page."""
    best, series = "", shown.state.series
    if shown.best is not None:
        best = f"  best #{shown.best}"
        if series is not None:
            less = f", expect {series.less:.2f} less" if series.less >= _LEAST_LESS else ""
            best += f" of {series.count}{less}"
    room = max(1, width - len(best) - len(MORE) - 2)
    line = Text(sparkline(shown.history, min(BARS, room))).append(best)
    line.append(" " * max(2, width - line.cell_len - len(MORE)))
    return line.append(MORE, "$text-accent")


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


def summary(shown: Dashboard, width: int) -> Text:
    """Return the figures in a line and what they are worth in a second one, for small screens.

    The line has whole figures only: what does not fit into `width` cells is left out.
    """
    comparison = shown.state.comparison
    rates = shown_rates(shown.state, shown.evaluation)
    line = Text().append(f"{badge(shown.evaluation.settings)} ", "$text-muted")
    line.append_text(coverage_text(shown, rates["coverage"]))
    further = [
        Text(f"  {RATE_TITLES[name]} {rates[name].text}")
        for name in ("true_positive_rate", "true_negative_rate")
    ]
    if comparison is not None and (comparison.fixes or comparison.regressions):
        further.insert(0, Text(" ").append_text(counts_text(shown, comparison)))
    for figures in further:
        if line.cell_len + figures.cell_len <= width:
            line.append_text(figures)
    return line.append("\n").append_text(judgement_text(shown))
