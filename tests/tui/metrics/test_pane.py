"""The metrics pane: focus and scrolling, and its chart in numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from textual.pilot import Pilot

from guardtui.app.state import AppState, Connection, ScanStatus
from guardtui.domain.comparison import compare
from guardtui.domain.estimates import PartialRates, partial_rates
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import rate_text
from guardtui.domain.prompts import build_prompt_set
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered, Verdicts
from guardtui.scanners.base import Progress, Traffic
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.metrics.pane import Dashboard, MetricsPane, dashboard_text, sparkline
from guardtui.tui.scan.pane import scan_text, with_counts_of
from tests.guardrails import airs_settings, engine_settings
from tests.tui.tax_app import drive, frame, settled, topic_path, until

__all__ = ["topic_path"]

PROMPTS = build_prompt_set(
    pl.DataFrame({"prompt": ["a cat", "a dog"], "expected": ["true", "false"]}),
    np.array([2, 3], np.uint32),
    "cats.csv",
    Intent.BLOCK,
)


def test_before_an_evaluation_it_shows_what_happens_next() -> None:
    text = dashboard_text(None).plain
    assert "starts by itself" in text


async def test_the_history_is_shown_once_with_its_range(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("tab", *" The weather, soup, dogs")
        await until(pilot, lambda: settled(main) and main.services.workspace.unsaved)
        await pilot.press("f3")
        await until(pilot, lambda: len(main.services.session.iterations) == 2 and settled(main))
        shown = main.query_one(MetricsPane).dashboard
        assert shown is not None
        text = dashboard_text(shown).plain
        known = [value for value in shown.history if value is not None]
        ends = f"{rate_text(min(known))}–{rate_text(max(known))}"
        if min(known) == max(known):
            ends = rate_text(min(known))
        assert f"history {sparkline(shown.history)} {ends}" in text
        assert text.count("history") == 1
        assert "newest first" not in text

    await drive(topic_path, run)


def test_the_bars_reach_from_the_lowest_value_to_the_highest() -> None:
    assert sparkline([0.67, 0.7, 0.74]) == "▁▄█"
    assert sparkline([0.67, None, 0.74]) == "▁·█"
    assert sparkline([0.5]) == sparkline([0.9]) == "▅"
    assert sparkline([]) == ""
    assert sparkline([0.1] + [0.5, 0.6] * 12) == "▁█" * 12


def dashboard(
    evaluation: Evaluation,
    baseline: Evaluation | None = None,
    partial: PartialRates | None = None,
) -> Dashboard:
    return Dashboard(
        AppState(
            evaluation.topic,
            PROMPTS,
            evaluation=evaluation,
            comparison=None if baseline is None else compare(baseline, evaluation),
            partial=partial,
        ),
        evaluation,
        baseline=None if baseline is None else 0,
        history=[],
        best=None,
        best_coverage=None,
        best_recorded=None,
        discards=0,
        changes=(),
        recorded=False,
    )


def evaluated(positive: int, negative: int, wrong: int = 0) -> Evaluation:
    """Of a prompt set with so many prompts of each class, of which the first were got wrong."""
    expected = np.array([True] * positive + [False] * negative)
    triggered = expected.copy()
    triggered[:wrong] ^= True
    count = positive + negative
    scores, parts = np.zeros(count, np.float32), np.zeros(count, np.int16)
    return Evaluation(
        Topic(name="t"),
        engine_settings("test-1", 0.5, "shipped"),
        "prompts",
        np.arange(count, dtype=np.uint64),
        expected,
        Verdicts(triggered.astype(np.int8), scores, parts),
    )


def half_scanned() -> tuple[Evaluation, PartialRates]:
    """Of 100 prompts of each class, none that should not trigger was asked."""
    whole = evaluated(100, 100)
    codes = whole.verdicts.triggered.copy()
    codes[40:] = Triggered.NOT_ASKED
    part = replace(
        whole,
        settings=airs_settings("p"),
        verdicts=replace(whole.verdicts, triggered=codes),
    )
    partial = partial_rates(part, whole.verdicts.triggered)
    assert partial is not None
    return part, partial


def test_a_rate_of_which_no_prompt_is_answered_has_no_figure() -> None:
    part, partial = half_scanned()
    lines = dashboard_text(dashboard(part, partial=partial)).plain.splitlines()
    assert next(line for line in lines if line.startswith("TNR")).split() == [
        "TNR", "n/a", "0/100", "answered",
    ]  # fmt: skip
    assert any(line.startswith("TPR        ≈") for line in lines)


def test_estimates_and_what_is_possible_fit_into_the_pane_at_120_columns() -> None:
    part, partial = half_scanned()
    lines = dashboard_text(dashboard(part, partial=partial)).plain.splitlines()
    coverage = next(line for line in lines if line.startswith("coverage"))
    assert coverage.endswith("0.00 to 1.00 possible")
    assert len(coverage) <= 56


def test_the_line_of_a_scan_counts_the_verdicts_that_are_shown() -> None:
    part, _ = half_scanned()
    ahead = ScanStatus("scanning", Progress("scanning", 57, 200), Traffic())
    shown = with_counts_of(part, ahead)
    assert shown is not None
    assert "40/200" in scan_text(shown, 120).plain
    assert with_counts_of(evaluated(100, 100), ahead) is ahead
    assert with_counts_of(None, ahead) is ahead


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ((3, 2), "5 prompts: too few to tell (3 to trigger, 2 not)"),
        ((4, 50), "4 prompts that should trigger: too few to tell"),
        ((50, 9), "9 prompts that should not trigger: too few to tell"),
    ],
)
def test_too_few_prompts_lead_to_a_warning(counts: tuple[int, int], told: str) -> None:
    text = dashboard_text(dashboard(evaluated(*counts)))
    assert told in text.plain
    bold = [
        text.plain[span.start : span.end].strip() for span in text.spans if span.style == "bold"
    ]
    assert "1.000" not in bold if max(counts) < 10 else bold.count("1.000") == 1
    assert "[" in text.plain  # the interval stays


def test_enough_prompts_are_not_warned_of() -> None:
    text = dashboard_text(dashboard(evaluated(10, 10)))
    assert "too few" not in text.plain
    assert "coverage   1.000" in text.plain


def test_a_sentence_summarises_the_change_of_coverage() -> None:
    before, after = evaluated(50, 50), evaluated(50, 50, wrong=30)
    lines = dashboard_text(dashboard(after, before)).plain.splitlines()
    place = next(at for at, line in enumerate(lines) if line.startswith("regressions 30"))
    assert lines[place + 1].startswith("coverage is worse [−")
    assert not any("p =" in line or "chance" in line for line in lines)


async def test_it_takes_the_focus_and_scrolls(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("f5")
        panel = main.query_one(MetricsPane)
        panel.focus()
        await until(pilot, lambda: main.focused is panel)
        await until(pilot, lambda: panel.max_scroll_y > 0)
        await pilot.press("end")
        await until(pilot, lambda: "engine, version" in frame(app))

    await drive(topic_path, run, (60, 15))


async def test_the_header_says_when_the_revision_of_the_figures_is_no_longer_in_effect(
    topic_path: Path,
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        store = main.services.store
        evaluation = store.state.evaluation
        assert evaluation is not None
        settings = airs_settings("p", "3 (452dbc34-d5e4)")
        scanned = replace(evaluation, settings=settings)
        for revision, told in ((3, "AIRS p r3"), (4, "AIRS p r3, no longer in effect")):
            connection = Connection("AIRS", "p at host", revision)
            store.publish(replace(store.state, evaluation=scanned, connection=connection))
            await pilot.pause()
            assert frame(app).splitlines()[0].rstrip().endswith(told)
        assert "452dbc34" not in frame(app)

    await drive(topic_path, run)
