"""The metrics pane: focus and scrolling, and its chart in numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from textual.pilot import Pilot

from guardtui.advice.judgement import judge
from guardtui.app.state import AppState, Connection, ScanStatus
from guardtui.domain.comparison import compare
from guardtui.domain.estimates import PartialRates, partial_rates
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import rate_text
from guardtui.domain.findings import Finding
from guardtui.domain.findings import Severity as PromptSeverity
from guardtui.domain.prompts import build_prompt_set
from guardtui.domain.series import BestOfSeries
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered, Verdicts
from guardtui.scanners.base import Progress, Traffic
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.kit.dialogs import TextPage
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.metrics.page import page_text
from guardtui.tui.metrics.pane import Dashboard, MetricsPane, pane_text, sparkline, summary
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
    text = pane_text(None, 56).plain
    assert "starts by itself" in text


async def test_the_history_is_shown_once_with_its_range(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("tab", *" The weather, soup, dogs")
        await until(pilot, lambda: settled(main) and main.services.workspace.unsaved)
        await pilot.press("f3")
        await until(pilot, lambda: len(main.services.session.iterations) == 2 and settled(main))
        shown = main.query_one(MetricsPane).dashboard
        assert shown is not None
        known = [value for value in shown.history if value is not None]
        ends = f"{rate_text(min(known))}–{rate_text(max(known))}"
        if min(known) == max(known):
            ends = rate_text(min(known))
        assert f"history {sparkline(shown.history)} {ends}" in page_text(shown).plain
        last = pane_text(shown, 56).plain.splitlines()[-1]
        assert last.startswith(sparkline(shown.history))
        assert last.endswith(" more ⏎")

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
    **changes: Any,
) -> Dashboard:
    comparison = None if baseline is None else compare(baseline, evaluation)
    state = AppState(
        evaluation.topic,
        PROMPTS,
        evaluation=evaluation,
        comparison=comparison,
        partial=partial,
    )
    number = None if baseline is None else 0
    shown = Dashboard(
        state,
        evaluation,
        judge(evaluation, comparison, number, partial=partial),
        baseline=number,
        history=[],
        best=None,
        best_coverage=None,
        best_recorded=None,
        discards=0,
        changes=(),
        recorded=False,
    )
    return replace(shown, **changes)


def lines_of(shown: Dashboard, width: int = 56) -> list[str]:
    return pane_text(shown, width).plain.splitlines()


def evaluated(positive: int, negative: int, wrong: int = 0) -> Evaluation:
    """Of a prompt set with so many prompts of each class, of which the first were got wrong."""
    expected = np.array([True] * positive + [False] * negative)
    triggered = expected.copy()
    triggered[:wrong] ^= True
    count = positive + negative
    scores, parts = np.zeros(count, np.float32), np.zeros(count, np.int16)
    return Evaluation(
        Topic(name="t"),
        engine_settings("test-1", 0.5, "built-in"),
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
    shown = dashboard(part, partial=partial)
    lines = page_text(shown).plain.splitlines()
    assert next(line for line in lines if line.startswith("TNR")).split() == [
        "TNR", "n/a", "0/100", "answered",
    ]  # fmt: skip
    assert any(line.startswith("TPR        ≈") for line in lines)
    assert lines_of(shown)[1].endswith("TNR n/a")


def test_of_an_open_scan_the_bounds_are_shown_and_what_decides() -> None:
    part, partial = half_scanned()
    lines = lines_of(dashboard(part, partial=partial))
    assert lines[0] == "coverage ≈1.000  (0.00 to 1.00 of all 200)"
    assert lines[2] == "0 missed · 0 wrongly stopped so far · 160 open"
    assert lines[4] == "not sure yet: 160 open prompts decide"


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
        ((3, 2), "⚠ too few to tell: add 7 to trigger, 8 not to"),
        ((4, 50), "⚠ too few to tell: add 6 that should trigger"),
        ((50, 9), "⚠ too few to tell: add 1 that should not trigger"),
    ],
)
def test_too_few_prompts_lead_to_a_warning(counts: tuple[int, int], told: str) -> None:
    text = pane_text(dashboard(evaluated(*counts)), 56)
    assert text.plain.splitlines()[4] == told
    heavy = [
        text.plain[span.start : span.end].strip()
        for span in text.spans
        if "reverse" in str(span.style)
    ]
    assert heavy == ([] if min(counts) < 10 else ["1.000"])
    assert "on new prompts" in text.plain  # the interval stays


@pytest.mark.parametrize("intent", Intent)
def test_six_lines_say_what_an_edit_did(intent: Intent) -> None:
    before, after = (
        replace(one, topic=Topic(name=name, intent=intent))
        for one, name in ((evaluated(50, 50, 5), "old"), (evaluated(50, 50, wrong=30), "new"))
    )
    if intent is Intent.ALLOW:  # prompts that do not belong should trigger
        before, after = (replace(one, expected=~one.expected) for one in (before, after))
    shown = replace(dashboard(after, before), history=[0.9, 0.4], best=0, best_coverage=0.9)
    lines = lines_of(shown)
    assert lines == [
        "coverage 0.400 ▼ −0.500  (0.27 to 0.54 on new prompts)",
        "TPR 0.400 ▼       TNR 1.000",
        "30 missed · 0 wrongly stopped",
        "0 fixed · 25 broke since #0 (first)",
        "worse for the engine; a scan of the guardrail decides",
        "█▁  best #0                                       more ⏎",
    ]
    assert all(len(line) <= 56 for line in lines)


def test_where_prompts_left_the_set_or_came_back_coverage_without_them_is_said() -> None:
    before, after = evaluated(50, 50, wrong=10), evaluated(50, 50)
    kept = np.arange(100) >= 5  # five of the wrong ones became examples
    verdicts = after.verdicts
    left = replace(
        after,
        prompt_set="fewer",
        keys=after.keys[kept],
        expected=after.expected[kept],
        verdicts=Verdicts(verdicts.triggered[kept], verdicts.score[kept], verdicts.matched[kept]),
    )
    shown = dashboard(left, before)
    lines = lines_of(shown)
    assert lines[0].startswith("coverage 1.000 ▲ +0.111")
    assert lines[3] == "5 fixed · 0 broke since #0 (0.889 without 5 removed)"
    assert "there the former coverage was 0.889" in page_text(shown).plain
    assert lines_of(shown, 40)[3] == "5 fixed · 0 broke since #0"
    back = dashboard(before, left)  # as after undo
    lines = lines_of(back)
    assert lines[0].startswith("coverage 0.800 ▼ −0.111")
    assert lines[3] == "0 fixed · 5 broke since #0 (0.889 without 5 added)"


@pytest.mark.parametrize("intent", Intent)
@pytest.mark.parametrize("belongs", [True, False])
def test_missed_and_wrongly_stopped_are_what_the_guardrail_did_wrong(
    intent: Intent, belongs: bool
) -> None:
    whole = evaluated(50, 50)
    right = whole.expected if intent is Intent.BLOCK else ~whole.expected
    stopped = right ^ ((np.arange(100) % 50 < 3) & (whole.expected == belongs))
    verdicts = replace(whole.verdicts, triggered=stopped.astype(np.int8))
    shown = replace(whole, topic=Topic(name="t", intent=intent), verdicts=verdicts)
    missed = belongs is (intent is Intent.BLOCK)
    told = "3 missed · 0 wrongly stopped" if missed else "0 missed · 3 wrongly stopped"
    assert lines_of(dashboard(shown))[2] == told


def test_the_best_of_a_series_says_what_to_expect_of_it() -> None:
    shown = dashboard(evaluated(50, 50), history=[0.5] * 24, best=17, best_coverage=0.5)
    shown = replace(shown, state=replace(shown.state, series=BestOfSeries(20, 0.04)))
    last = lines_of(shown)[-1]
    assert last.endswith("  best #17 of 20, expect 0.04 less  more ⏎")
    assert len(last) == 56
    assert "best of 20: expect about 0.04 less on new prompts" in page_text(shown).plain


def test_contradictory_labels_stay_in_sight() -> None:
    finding = Finding(PromptSeverity.WARNING, "contradictory-label", "2 prompts contradict", (2, 3))
    shown = dashboard(evaluated(50, 50, 9))
    assert "⚠" not in "".join(lines_of(shown))
    prompts = replace(PROMPTS, findings=(finding,))
    shown = replace(shown, state=replace(shown.state, prompts=prompts))
    assert lines_of(shown)[2] == "9 missed · 0 wrongly stopped · ⚠ contradictory labels"
    assert "⚠ 2 prompts contradict" in page_text(shown).plain


def test_prompts_that_wait_for_a_label_are_counted_beside_the_figures() -> None:
    shown = dashboard(evaluated(50, 50, 9))
    prompts = replace(PROMPTS, waiting=frozenset(range(37)))
    shown = replace(shown, state=replace(shown.state, prompts=prompts))
    assert lines_of(shown)[2] == "9 missed · 0 wrongly stopped · 37 unlabelled"


@pytest.mark.parametrize(("chosen", "where"), [(0, "new prompts"), (1, "such prompts")])
def test_an_interval_says_that_chosen_prompts_make_the_set_harder(chosen: int, where: str) -> None:
    shown = dashboard(evaluated(50, 50, 9))
    prompts = replace(PROMPTS, chosen=chosen)
    shown = replace(shown, state=replace(shown.state, prompts=prompts))
    assert lines_of(shown)[0].endswith(f"on {where})")
    told = "1 of 2 prompts were chosen since they teach edits most: intervals are of"
    assert (told in page_text(shown).plain) == bool(chosen)


def test_the_page_has_every_figure_with_its_origin() -> None:
    shown = dashboard(evaluated(50, 50, 30), evaluated(50, 50, 5))
    text = page_text(shown).plain
    for part in (
        "coverage   0.400", "TPR", "TNR", "accuracy", "precision", "F1",
        "TP 20  FN 30  FP 0  TN 50  errors 0",
        "worse: coverage −0.500 (−0.", "25 regressions", "TPR −0.500 (−0.",
        "edit: unchanged · not recorded",
        "engine, encoder static, version test-1", "threshold 0.50, built-in",
    ):  # fmt: skip
        assert part in text


def test_the_line_of_a_small_screen_has_guardrail_rates_and_judgement() -> None:
    shown = dashboard(evaluated(50, 50, 30), evaluated(50, 50, 5))
    figures, judgement = summary(shown, 78).plain.splitlines()
    assert figures == "engine coverage 0.400 ▼ −0.500  0 fixed · 25 broke  TPR 0.400  TNR 1.000"
    assert judgement == "worse for the engine; a scan of the guardrail decides"


@pytest.mark.parametrize("width", range(36, 79))
def test_the_line_of_a_small_screen_cuts_no_figure(width: int) -> None:
    shown = dashboard(evaluated(50, 50, 30), evaluated(50, 50, 5))
    figures, _ = summary(shown, width).plain.splitlines()
    assert len(figures.rstrip()) <= width
    assert re.findall(r"\d+\.\d*", figures)[:2] == ["0.400", "0.500"]
    assert all(len(rate) == 5 for rate in re.findall(r"\d+\.\d*", figures))


def test_nothing_unchanged_is_drawn_as_a_change() -> None:
    same = dashboard(evaluated(50, 50, 5), evaluated(50, 50, 5))
    for text in (pane_text(same, 56), summary(same, 78)):
        assert not set(text.plain) & set("▲▼─")
        styles = {span.style for span in text.spans}
        assert not styles & {"$text-success", "$text-error"}


async def test_enter_shows_all_figures_and_enter_closes_them(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.panes.show("metrics")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, TextPage))
        await until(pilot, lambda: "accuracy" in frame(app))
        await pilot.press("end")
        await until(pilot, lambda: "engine, encoder" in frame(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is main)
        assert main.focused is main.query_one(MetricsPane)

    await drive(topic_path, run, (80, 24))


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
