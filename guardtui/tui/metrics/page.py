"""The page behind the metrics pane: every figure, its interval, its origin and its warnings."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from guardtui.app.shown_rates import ShownRate, shown_mistakes, shown_rates
from guardtui.domain.figures import (
    bracketed,
    change_interval_text,
    count_text,
    rate_text,
    threshold_text,
)
from guardtui.domain.guardrail import ENGINE, badge, revision_of
from guardtui.domain.metrics import RATE_TITLES, missing_counts
from guardtui.domain.operating_point import BUILT_IN, is_fitted_with
from guardtui.domain.prompts import chosen_caution
from guardtui.domain.text import display_start
from guardtui.domain.topic import Intent
from guardtui.session.session import PLATEAU, PLATEAU_ADVICE
from guardtui.tui.metrics.pane import (
    Dashboard,
    baseline_text,
    change_of,
    changes_text,
    sparkline,
    weight,
)

ESTIMATED = ("coverage", "true_positive_rate", "true_negative_rate")
"""Rates of a sample that estimate those of all prompts, whatever the shares of its classes."""

_NAME_CHARACTERS = 40  # name of a user-defined metric


def page_text(shown: Dashboard) -> Text:
    """Return all figures of a state, in paragraphs."""
    paragraphs = (
        Text(f"{shown.judgement.text}.", "bold"),
        Text("\n").join(_warnings(shown)),
        Text("\n").join(_figures(shown)),
        Text("\n").join(_against_baseline(shown)),
        Text("\n").join(_in_production(shown)),
        Text("\n").join(_iterations(shown)),
        Text("\n").join(_origin(shown)),
    )
    return Text("\n\n").join(filter(None, paragraphs))


def _warnings(shown: Dashboard) -> Iterator[Text]:
    state = shown.state
    warnings = [shown.sample] if shown.sample else []
    if state.forecast is not None:
        warnings += state.forecast.grounds.doubts
    if state.comparison is not None and state.forecast is None:
        warnings += state.comparison.caveats
    if state.partial is not None and state.partial.sampled:
        metrics = shown.evaluation.metrics
        warnings.append(f"{metrics.total} of {metrics.prompts} prompts embedded so far")
    warnings += [finding.message for finding in state.prompts.findings]
    warnings += filter(None, [chosen_caution(state.prompts)])
    for warning in warnings:
        yield Text(f"⚠ {display_start(warning, 400)}", "$text-warning")


def _figures(shown: Dashboard) -> Iterator[Text]:
    for name, rate in shown_rates(shown.state, shown.evaluation).items():
        yield _rate(shown, name, rate)
        if name == "coverage" and (separation := shown.evaluation.separation) is not None:
            change = shown.state.comparison.separation if shown.state.comparison else None
            moved = None if change is None else change.value
            part = shown.evaluation.is_of_a_part
            area = ShownRate(separation.area, part, moved, separation.interval)
            yield _rate(shown, "separation", area)
    for figure in shown.state.figures or ():
        line = Text(f"{display_start(figure.name, _NAME_CHARACTERS):<11} ")
        if figure.problem:
            line.append(f"error: {display_start(figure.problem, 200)}", "$text-error")
        else:
            line.append(figure.text, "bold")
        yield line
    if shown.state.figures is None:
        yield Text("own metrics …", "$text-muted")
    metrics, about = shown.evaluation.metrics, "≈" if shown.state.forecast is not None else ""
    missed, stopped = shown_mistakes(shown.state, shown.evaluation)
    counts = {
        "TP": metrics.tp + metrics.fn - missed,
        "FN": missed,
        "FP": stopped,
        "TN": metrics.tn + metrics.fp - stopped,
    }
    shown_counts = "  ".join(f"{name} {about}{count}" for name, count in counts.items())
    yield Text(f"{shown_counts}  {missing_counts(metrics)}")


def _rate(shown: Dashboard, name: str, rate: ShownRate) -> Text:
    line = Text(f"{RATE_TITLES.get(name, name):<11}", "bold" if name == "coverage" else "")
    line.append(f"{rate.text:<8}", weight(shown, name))
    sign, style = change_of(shown, rate)
    line.append(f"{sign:<16}", style)
    note, partial = rate.note, shown.state.partial
    if partial is not None and not partial.sampled and name in partial.answered:
        done, total = partial.answered[name]
        note = f"{note}, {done}/{total} answered".lstrip(", ")
    if not shown.proportional and name not in (*ESTIMATED, "separation"):
        note = "of the sample"
    return line.append(bracketed(rate.interval, note) or note, "$text-muted")


def _against_baseline(shown: Dashboard) -> Iterator[Text]:
    comparison, forecast = shown.state.comparison, shown.state.forecast
    line = changes_text(shown)
    yield line if comparison is None else line.append(f" ({baseline_text(shown)})", "$text-muted")
    if forecast is not None:
        better, before = forecast.rates.better, forecast.before
        if better is not None and before is not None:
            same = comparison is not None and comparison.coverage_before == before
            reference = f"#{shown.baseline}" if same else "the newest scan"
            yield Text(
                f"above the {rate_text(before)} of {reference} with probability {better:.0%}"
            )
    elif comparison is not None:
        yield Text(comparison.sentence)
        significance = comparison.significance
        intervals = significance.intervals if significance.pairs.discordant else {}
        for name, interval in intervals.items():
            change = comparison.deltas[name]
            if interval is not None and change is not None and name != "coverage":
                figures = change_interval_text(change, interval.low, interval.high)
                yield Text(f"{RATE_TITLES[name]} {figures}", "$text-muted")
    changed = ", ".join(shown.changes) or "unchanged"
    yield Text(f"edit: {changed}{'' if shown.recorded else ' · not recorded'}")


def _in_production(shown: Dashboard) -> Iterator[Text]:
    """Yield the rates over a log, which are none of the prompt set's."""
    audit = shown.state.audit
    if audit is None or audit.topic not in (None, shown.state.topic):
        return
    yield Text(display_start(audit.title, 200))
    inside, outside = "true_positive_rate", "true_negative_rate"
    if shown.state.topic.intent is Intent.ALLOW:
        inside, outside = outside, inside
    rates = {
        "coverage": audit.rates.coverage,
        inside: audit.rates.belonging,
        outside: audit.rates.others,
    }
    for name in ESTIMATED:
        rate = rates[name]
        line = Text(f"{RATE_TITLES.get(name, name):<11}{rate_text(rate.value):<8}")
        yield line.append(f"({rate_text(rate.low)} to {rate_text(rate.high)})", "$text-muted")


def _iterations(shown: Dashboard) -> Iterator[Text]:
    line = Text(f"history {sparkline(shown.history)}")
    known = [value for value in shown.history if value is not None]
    if known:
        low, high = rate_text(min(known)), rate_text(max(known))
        line.append(f" {low}" if low == high else f" {low}–{high}")
    yield line
    if shown.best is not None:
        line = Text(f"best #{shown.best} {rate_text(shown.best_coverage)}")
        if shown.best_coverage != shown.best_recorded:
            line.append(" with current labels")
        if shown.state.series is not None:
            line.append(f" ({shown.state.series.text})")
        yield line
    if shown.discards:
        advice = f". {PLATEAU_ADVICE}" if shown.discards >= PLATEAU else ""
        yield Text(f"{count_text(shown.discards, 'discard')} in a row{advice}")


def _origin(shown: Dashboard) -> Iterator[Text]:
    """Yield the guardrail with its version or revision, its threshold, and a forecast's grounds."""
    settings, forecast = shown.evaluation.settings, shown.state.forecast
    guardrail = settings.guardrail.text()
    # That of models only tells their addresses apart.
    if (revision := revision_of(settings)) and not settings.guardrail.models:
        guardrail += f", revision {revision}"
    yield Text(f"{'forecast of ' if settings.is_forecast else ''}{guardrail}")
    if settings.kind == ENGINE:
        yield Text("The engine only approximates: a scan tells what your guardrail says.")
    if forecast is not None:
        name = badge(forecast.grounds.settings)
        scans = count_text(forecast.grounds.scans, "scan")
        yield Text(f"forecast from {scans}; only a scan tells what {name} says")
    if threshold := threshold_origin(shown):
        yield Text(threshold)


def threshold_origin(shown: Dashboard) -> str:
    """Return the threshold and its origin; "" for a guardrail without one."""
    settings, fit = shown.evaluation.settings, shown.state.fit
    if settings.threshold is None:
        return ""
    text = f"threshold {threshold_text(settings.threshold)}, "
    if settings.threshold_source == BUILT_IN:
        return text + BUILT_IN
    if fit is not None and is_fitted_with(shown.evaluation, fit):
        text += f"fitted to {fit.labels} labels"
    else:
        text += display_start(settings.threshold_source, 40)
    return text
