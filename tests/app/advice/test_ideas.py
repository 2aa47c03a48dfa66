"""The next steps: measured after a preview, with the reasons where there is none, and taken."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from guardtui.advice.candidates import CandidateKind, same
from guardtui.advice.duplicates import Duplicates
from guardtui.advice.folds import LIKELY_FROM
from guardtui.advice.judgement import missing_prompts
from guardtui.advice.measured_rows import MeasuredRows
from guardtui.advice.objective import Gain, Objective, Stopped
from guardtui.advice.prompt_set import Survey
from guardtui.advice.proposals import ForecastChange, HeldOut, Proposal
from guardtui.advice.search import SearchResult, advise
from guardtui.app.advice import refinement
from guardtui.app.advice.idea_advice import label_need, label_step, mistake_step
from guardtui.app.advice.ideas import (
    IdeaKind,
    Ideas,
    ranked_ideas,
    summary,
)
from guardtui.app.briefing import with_ideas
from guardtui.app.labels.inbox import Inbox
from guardtui.app.scan.plan import LEAST_CALLS
from guardtui.app.state import AppState
from guardtui.domain.estimates import RateEstimate
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.files.prompt_logs import LoggedPrompt
from guardtui.forecast.engine_features import EngineReader
from guardtui.forecast.forecaster import Forecast, fit
from guardtui.reports.formats import load_writer
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.scan_order import IN_DOUBT
from guardtui.session.session import Decision
from tests.app.bench import Bench, like_labels, written
from tests.app.headless import Loop, resting_jobs
from tests.guardrails import airs_settings, engine_settings

NONE = np.zeros(0, np.intp)


def proposal(topic: Topic, low: float = 0.01, change: str = "Drop example 3") -> Proposal:
    before, after = Metrics(5, 5, 5, 5), Metrics(6, 6, 4, 4)
    gain = Gain(low + 0.05, low, low + 0.1, likely=low > 0)
    return Proposal(
        topic, (CandidateKind.DROP_EXAMPLE,), (change,), gain, before, after, NONE, NONE, NONE
    )


def result(topic: Topic, *proposals: Proposal, found: int = 9) -> SearchResult:
    rows = MeasuredRows(NONE, NONE, "all prompts")
    engine = engine_settings("x", 0.5)
    return SearchResult(
        topic, engine, Metrics(5, 5, 5, 5), proposals, found, found + 1, 0.1, "exhausted", rows
    )


# --- which steps there are ------------------------------------------------------------------


def steps_of(bench: Bench, found: SearchResult | None, **known: Any) -> Ideas:
    given = {"forecast": None, **known}
    return ranked_ideas(bench.topic, bench.prompts, found, **given)


@pytest.mark.parametrize(
    ("examples", "text"),
    [
        (("new",), "Replace example 1 by “new” and drop example 2"),
        (("new", "other"), "Replace examples 1 and 2, one of them by “other”"),
        (("a", "b", "new"), "Add the example “new”"),
    ],
)
def test_several_edits_are_summed_up_each_with_what_it_brings(
    examples: tuple[str, ...], text: str
) -> None:
    before = Topic(examples=("a", "b"))
    edits = proposal(Topic(examples=examples))
    assert summary(before, replace(edits, changes=("one", "two"))) == text


def test_edits_are_offered_the_surest_first(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    lows = [0.09 - 0.01 * number for number in range(8)] + [-0.01]
    proposals = [proposal(bench.topic, low) for low in lows]
    found = steps_of(bench, result(bench.topic, *proposals))
    assert [step.proposal for step in found.ranked] == proposals[:8]
    assert found.best is found.ranked[0]
    assert found.best.line == f"Drop example 3  for the engine: {proposals[0].gain.text}"
    assert found.note == ""


def test_wordings_of_a_model_are_ranked_among_the_edits(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    edits = [proposal(bench.topic, low) for low in (0.05, 0.01)]
    worded = replace(proposal(bench.topic, 0.03), kinds=(CandidateKind.REWORD,))
    found = steps_of(bench, result(bench.topic, *edits), wordings=(worded,))
    assert [step.proposal for step in found.ranked] == [edits[0], worded, edits[1]]
    assert found.ranked[1].text == "Drop example 3 (worded by the model)"


def test_a_model_that_was_not_asked_is_the_last_step(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    found = steps_of(bench, result(bench.topic, proposal(bench.topic)), model="m\x1b")
    assert len(found.ranked) == 2
    assert found.ranked[-1].kind is IdeaKind.WORDINGS
    assert found.ranked[-1].text == "Ask m␛ for wordings: 1 call"
    alone = steps_of(bench, result(bench.topic), model="m")
    assert alone.best is not None
    assert alone.best.text == (
        "Ask m for wordings: 1 call. No edit is likely to help on new prompts: of 9 single edits "
        "none is worth an edit"
    )


def test_discarded_edits_are_not_offered(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    other = bench.topic.model_copy(update={"description": "Taxes"})
    found = result(bench.topic, proposal(bench.topic), proposal(other))
    left = steps_of(bench, found, discarded={same(bench.topic)})
    assert [step.proposal and step.proposal.topic for step in left.ranked] == [other]
    none = steps_of(bench, found, discarded={same(bench.topic), same(other)})
    assert (none.ranked, none.note) == ((), "You discarded every measured edit")


def test_of_unproven_edits_the_best_is_offered_as_a_guess(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    guess, other = proposal(bench.topic, -0.02), proposal(bench.topic, -0.03)
    found = steps_of(bench, result(bench.topic, guess, other))
    assert [idea.proposal for idea in found.ranked] == [guess]
    assert found.ranked[0].line == "Drop example 3  for the engine: best guess +0.030"
    worse = proposal(bench.topic, -0.06)
    assert steps_of(bench, result(bench.topic, worse)).note == (
        "No edit is likely to help on new prompts: of 9 single edits none gains there"
    )


def test_edits_that_held_out_prompts_deny_are_not_offered(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    unsure = proposal(bench.topic, -0.02)
    same = HeldOut(unsure.before, unsure.before)
    sure = replace(proposal(bench.topic, 0.02), held_out=same)
    assert steps_of(bench, result(bench.topic, sure)).note == (
        "Nothing measured is better on the held-out prompts: 9 single edits tried"
    )
    assert steps_of(bench, result(bench.topic)).note == (
        "No edit is likely to help on new prompts: of 9 single edits none is worth an edit"
    )
    assert (
        "bring the definition within the limits"
        in steps_of(bench, result(bench.topic, found=0)).note
    )
    assert steps_of(bench, None).note == "Nothing was measured"


def test_too_few_prompts_are_the_only_step(tmp_path: Path) -> None:
    bench = Bench(tmp_path, each=1, things=1)
    found = steps_of(bench, None)
    assert [step.kind for step in found.ranked] == [IdeaKind.ADD_PROMPTS]
    assert found.note == found.ranked[0].line == missing_prompts(bench.prompts)
    assert found.note.startswith("Add 9 prompts that belong to the topic. ")
    (tmp_path / "more").mkdir()
    assert missing_prompts(Bench(tmp_path / "more", each=2).prompts) == ""


@pytest.mark.parametrize(
    ("kept", "text"),
    [
        (20, ""),
        (19, "Add 1 prompt that does not belong to it. "),
        (11, "Add 9 prompts that do not belong to it. "),
    ],
)
def test_the_class_that_lacks_prompts_is_named(tmp_path: Path, kept: int, text: str) -> None:
    bench = Bench(tmp_path, each=2)
    prompts = PromptSet(bench.prompts.frame.head(kept), bench.prompts.intent, "")
    assert text in missing_prompts(prompts)
    assert bool(missing_prompts(prompts)) == bool(text)


def forecast_of(bench: Bench) -> Forecast:
    """Of a guardrail that answered otherwise half the time, which makes a forecast unsure."""
    scans = [
        bench.evaluated(
            lambda row, label, by=by: like_labels(row, label) ^ (row % 3 == by), topic=topic
        )
        for by, topic in enumerate(
            bench.topic.model_copy(update={"description": text}) for text in ("Tax", "Bread")
        )
    ]
    reader = EngineReader(LocalScanner("static"))
    found = fit(scans, scans[0].settings, bench.prompts, reader)
    assert found is not None
    forecast = found.forecast(bench.topic)
    assert forecast is not None
    return forecast


def test_an_unsure_forecast_is_to_be_checked(tmp_path: Path) -> None:
    bench = Bench(tmp_path, each=6)
    forecast = forecast_of(bench)
    coverage = forecast.rates.coverage
    assert coverage is not None
    assert coverage.high - coverage.low > 0.06
    assert (forecast.changes >= IN_DOUBT).sum() > LEAST_CALLS > len(forecast.flips()) > 0
    alone = steps_of(bench, result(bench.topic), forecast=forecast)
    assert [step.kind for step in alone.ranked] == [IdeaKind.CHECK]
    line = f"Check the likely changes with AIRS. At most {LEAST_CALLS} calls"
    assert alone.ranked[0].line.startswith(line)
    found = steps_of(bench, result(bench.topic, proposal(bench.topic)), forecast=forecast)
    assert [step.kind for step in found.ranked] == [IdeaKind.EDIT, IdeaKind.CHECK]
    sure = replace(coverage, low=coverage.value - 0.01, high=coverage.value + 0.01)
    certain = replace(forecast, rates=replace(forecast.rates, coverage=sure))
    assert steps_of(bench, result(bench.topic), forecast=certain).best is None


def test_an_experiment_follows_the_likely_edits(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    text = "Test 12 edits on prod: at most 240 calls"
    found = result(bench.topic, proposal(bench.topic))
    steps = steps_of(bench, found, experiment=text)
    assert [step.kind for step in steps.ranked] == [IdeaKind.EDIT, IdeaKind.EXPERIMENT]
    guess = result(bench.topic, proposal(bench.topic, -0.02))
    steps = steps_of(bench, guess, experiment=text)
    assert [step.kind for step in steps.ranked] == [IdeaKind.EXPERIMENT, IdeaKind.EDIT]
    assert steps.ranked[0].line == text


def test_an_edit_that_the_forecast_rejects_comes_last(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    harmful = ForecastChange("prod", RateEstimate(-0.1, -0.2, -0.01), 0.2)
    first, second = proposal(bench.topic, 0.05), proposal(bench.topic, 0.01)
    first = replace(first, forecast=harmful)
    found = steps_of(bench, result(bench.topic, first, second))
    assert [step.proposal for step in found.ranked] == [second, first]
    assert "forecast of prod: −0.100 (−0.200 to −0.010)" in found.ranked[1].line


def test_a_guess_that_the_forecast_denies_is_not_offered(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    denied = ForecastChange("prod", RateEstimate(-0.066, -0.15, 0.01), 0.2)
    guess = replace(proposal(bench.topic, -0.02), forecast=denied)
    other = proposal(bench.topic, -0.025)
    assert steps_of(bench, result(bench.topic, guess)).ranked == ()
    found = steps_of(bench, result(bench.topic, guess, other))
    assert [step.proposal for step in found.ranked] == [other]


# --- kept up to date ------------------------------------------------------------------------


def opened(path: Path) -> Loop:
    return Loop(path, jobs=resting_jobs("measured"))


def advises(monkeypatch: pytest.MonkeyPatch, change: Callable[[Topic], Topic]) -> list[Topic]:
    """Have one edit advised, always; returns the definitions that advice was asked for."""
    asked: list[Topic] = []

    def fake(
        objective: Objective, topic: Topic, rows: MeasuredRows, stopped: Stopped
    ) -> SearchResult:
        asked.append(topic)
        return result(topic, proposal(change(topic)))

    monkeypatch.setattr(refinement, "advise", fake)
    return asked


async def test_after_a_preview_there_are_steps_for_the_definition(tmp_path: Path) -> None:
    async with opened(written(tmp_path)) as app:
        first = app.services.state.ideas
        assert first is not None
        assert first.topic == app.services.state.topic
        assert first.result is not None
        assert first.result.settings == app.scanner.settings
        assert first.result is not None
        assert first.ranked or first.note
        await app.describe("Soup")
        second = app.services.state.ideas
        assert second is not None
        assert second.topic.description == "Soup"
        assert second.ranked or second.note
        assert all(step.proposal for step in second.ranked if step.kind is IdeaKind.EDIT)


async def test_an_edit_cancels_what_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()
    stopped_at: list[str] = []

    def slow(
        objective: Objective, topic: Topic, rows: MeasuredRows, stopped: Stopped
    ) -> SearchResult | None:
        if topic.description != "Soup":
            return advise(objective, topic, rows, stopped)
        loop.call_soon_threadsafe(begun.set)
        while not stopped():
            pass
        stopped_at.append(topic.description)
        ended.set()
        return None

    monkeypatch.setattr(refinement, "advise", slow)
    async with opened(written(tmp_path)) as app:
        shown: list[str] = []

        def note(old: AppState, new: AppState) -> None:
            if new.ideas is not old.ideas and new.ideas is not None:
                shown.append(new.ideas.topic.description)

        app.services.store.subscribe(note)
        topic = app.services.state.topic
        app.services.editing.type(topic.model_copy(update={"description": "Soup"}))
        await begun.wait()
        # No preview comes meanwhile: the edit itself ends it.
        app.services.preview.pause = 3600
        app.services.editing.type(topic.model_copy(update={"description": "Soup and tax"}))
        assert await asyncio.to_thread(ended.wait, 120)
        app.services.preview.pause = 0
        await app.describe("Tax and soup")
        assert stopped_at == ["Soup"]
        assert shown == ["Tax and soup"]


async def test_what_is_typed_back_is_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(written(tmp_path)) as app:
        asked = advises(monkeypatch, lambda topic: topic)
        topic = app.services.state.topic
        await app.describe("Soup")
        app.services.editing.type(topic)
        app.services.editing.type(topic.model_copy(update={"description": "Soup"}))
        await app.jobs.finished()
        assert app.services.state.ideas is not None
        assert app.services.state.ideas.topic.description == "Soup"
        assert asked == [app.services.state.topic]  # and not measured twice


async def test_the_same_definition_is_not_measured_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(written(tmp_path)) as app:
        asked = advises(monkeypatch, lambda topic: topic)
        await app.describe("Soup")
        shown = app.services.state.evaluation
        assert shown is not None
        await app.services.evaluations.show(replace(shown))
        await app.jobs.finished()
        assert len(asked) == 1
        assert app.services.state.ideas is not None
        assert [step.kind for step in app.services.state.ideas.ranked] == [IdeaKind.EDIT]


async def test_steps_measured_with_another_guardrail_are_withdrawn_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(written(tmp_path)) as app:
        services = app.services
        shown = services.state.evaluation
        assert shown is not None
        assert services.state.ideas is not None
        meanwhile: list[Ideas | None] = []

        def fake(
            objective: Objective, topic: Topic, rows: MeasuredRows, stopped: Stopped
        ) -> SearchResult:
            meanwhile.append(services.state.ideas)
            return result(topic)

        monkeypatch.setattr(refinement, "advise", fake)
        airs = airs_settings("prod", "3")
        services.store.publish(replace(services.state, evaluation=replace(shown, settings=airs)))
        await app.jobs.finished()
        assert meanwhile == [None]
        assert services.state.ideas is not None


async def test_too_few_prompts_are_told_after_the_preview(tmp_path: Path) -> None:
    async with opened(written(tmp_path, each=1)) as app:
        found = app.services.state.ideas
        assert found is not None
        assert [step.kind for step in found.ranked] == [IdeaKind.ADD_PROMPTS]
        assert found.result is None


async def test_what_cannot_be_measured_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object) -> None:
        raise ScannerError("the encoder is damaged")

    monkeypatch.setattr(refinement, "advise", damaged)
    async with opened(written(tmp_path)) as app:
        found = app.services.state.ideas
        assert found is not None
        assert (found.ranked, found.note) == ((), "the encoder is damaged")


async def test_another_scan_is_learnt_from(tmp_path: Path) -> None:
    async with opened(written(tmp_path)) as app:
        first = app.services.state.ideas
        assert first is not None
        shown = app.services.state.evaluation
        assert shown is not None
        assert first.result is not None
        assert first.result.settings == app.scanner.settings

        def scan(wrong: int) -> None:
            verdicts = type(shown.verdicts)(
                (shown.should_trigger ^ (np.arange(len(shown.keys)) % 8 == wrong)).astype(np.int8),
                np.full(len(shown.keys), np.nan, np.float32),
                np.full(len(shown.keys), -1, np.int16),
            )
            airs = airs_settings("prod", "3")
            workspace = app.services.workspace
            scanned = replace(shown, settings=airs, verdicts=verdicts)
            workspace.session.record(workspace.write(scanned, Decision.KEEP))

        scan(0)
        await app.describe("Personal advice on tax")
        second = app.services.state.ideas
        assert second is not None
        assert second.result is not None
        assert all(proposal.forecast is not None for proposal in second.result.proposals)
        scan(1)
        app.services.preview.request()
        await app.jobs.finished()
        third = app.services.state.ideas
        assert third is not None
        assert third.result is not second.result


# --- asked for --------------------------------------------------------------------------------


async def test_ideas_are_measured_at_once_where_they_are_not_known(tmp_path: Path) -> None:
    async with opened(written(tmp_path)) as app:
        app.services.ideas.pause = 86_400.0
        app.services.preview.pause = 86_400.0
        topic = app.services.state.topic.model_copy(update={"description": "Soup"})
        app.services.editing.type(topic)
        ideas = await app.services.ideas.current()
        assert ideas.topic == topic
        assert ideas.result is not None
        assert await app.services.ideas.current() is ideas
        app.services.preview.pause = 0


async def test_an_edit_meanwhile_is_measured_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(written(tmp_path)) as app:
        services = app.services
        services.preview.pause = 86_400.0
        first, second = (
            services.state.topic.model_copy(update={"description": text})
            for text in ("Soup", "Soup and tax")
        )
        loop = asyncio.get_running_loop()
        asked: list[Topic] = []

        def fake(
            objective: Objective, topic: Topic, rows: MeasuredRows, stopped: Stopped
        ) -> SearchResult:
            asked.append(topic)
            if topic == first:
                loop.call_soon_threadsafe(services.editing.type, second)
            return result(topic, proposal(topic))

        monkeypatch.setattr(refinement, "advise", fake)
        services.editing.type(first)
        ideas = await services.ideas.current()
        assert asked == [first, second]
        assert ideas.topic == second
        services.preview.pause = 0


async def test_a_discarded_idea_is_gone_and_a_search_replaces_what_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(written(tmp_path)) as app:
        advises(monkeypatch, lambda topic: topic.model_copy(update={"name": "A"}))
        await app.describe("Soup")
        ideas = app.services.ideas
        known = await ideas.current()
        assert known.best is not None
        await ideas.discard(known.best)
        assert known.best not in (await ideas.current()).ranked
        measure = await app.services.refinement.measure()
        here = app.services.state.topic
        better = here.model_copy(update={"description": "Income tax"})
        await ideas.use(measure, result(here, proposal(better), proposal(known.topic, -0.5)))
        (idea,) = (await ideas.current()).ranked
        assert idea.proposal is not None
        assert idea.proposal.topic == better


# --- labels ---------------------------------------------------------------------------------


def finds_nothing(monkeypatch: pytest.MonkeyPatch, *lows: float, found: int = 9) -> None:
    """Have edits measured, and none that helps for certain."""

    def fake(
        objective: Objective, topic: Topic, rows: MeasuredRows, stopped: Stopped
    ) -> SearchResult:
        return result(topic, *(proposal(topic, low) for low in lows), found=found)

    monkeypatch.setattr(refinement, "advise", fake)


@pytest.mark.parametrize("lows", [(-0.05,), (-0.02,)])
async def test_where_no_edit_of_the_engine_helps_labels_are_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lows: tuple[float, ...]
) -> None:
    finds_nothing(monkeypatch, *lows)
    async with opened(written(tmp_path)) as app:
        state = app.services.state
        assert state.ideas is not None
        assert state.evaluation is not None
        need = label_need(state.ideas.result, state.evaluation)
        assert need is not None
        *guess, step = state.ideas.ranked  # this definition makes no mistake to look at
        assert step.kind is IdeaKind.LABEL
        assert [idea.kind for idea in guess] == [IdeaKind.EDIT] * (lows > (-0.05,))
        assert step.gain is None
        assert step.line == (
            f"Label more prompts whose verdicts are unsure. With {need.labels} labels a gain under "
            f"{need.least_gain:.2f} may be chance"
        )
        assert need.least_gain - 0.01 < need.error <= need.least_gain
        rows = [state.prompts.row_of(key) for key in step.keys]
        assert len(set(rows)) == 6
        assert None not in rows
        assert ("best guess +0.030" in step.detail) == bool(guess)
        assert state.prompts.prompts[rows[0]] in step.detail


async def test_the_step_names_the_prompts_that_wait_in_the_inbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finds_nothing(monkeypatch, -0.05)
    path = written(tmp_path)
    inbox = Inbox.of_topic(path)
    inbox.add(LoggedPrompt(f"a prompt of the log, {line}", "log") for line in range(1_200))
    async with opened(path) as app:
        state = app.services.state
        assert state.ideas is not None
        step = state.ideas.ranked[0]
        assert step.line.startswith("Label prompts (1,200 wait). With 20 labels a gain under ")
        assert "The queue of the inbox has the prompts most like them first." in step.detail


async def test_reports_say_the_step_that_the_app_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finds_nothing(monkeypatch, -0.05)
    path = written(tmp_path)
    async with opened(path) as app:
        services, state = app.services, app.services.state
        assert state.ideas is not None
        assert state.evaluation is not None
        current, *_ = services.reporting.subjects(state.evaluation)
        report = services.reporting.report(state.evaluation, current)
        assert state.ideas.next_step == report.next_step
        assert report.next_step
        by_command = with_ideas(replace(report, next_step=""), path, None, services.engine.scanner)
        assert by_command.next_step == report.next_step
        for name in ("md", "html"):
            assert report.next_step in load_writer(name)(by_command)
        other = replace(state.evaluation, topic=state.topic.model_copy(update={"name": "Other"}))
        assert not services.reporting.report(other, current).next_step


async def test_labels_are_no_step_where_something_helps_or_nothing_was_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finds_nothing(monkeypatch, found=0)
    async with opened(written(tmp_path)) as app:
        state = app.services.state
        assert state.ideas is not None
        assert IdeaKind.LABEL not in [idea.kind for idea in state.ideas.ranked]
        assert state.evaluation is not None
        topic = state.topic
        assert label_need(None, state.evaluation) is None
        assert label_need(result(topic, proposal(topic, 0.01)), state.evaluation) is None
        unsure = result(topic, proposal(topic, -0.05))
        assert label_need(unsure, state.evaluation) is not None
        # A scan by another guardrail: it can be asked about other definitions.
        airs = airs_settings("prod")
        assert label_need(unsure, replace(state.evaluation, settings=airs)) is None


def test_an_edit_that_raises_coverage_nowhere_is_not_offered(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for low in (0.01, -0.02):  # likely, and a guess
        same_figures = proposal(bench.topic, low)
        same_figures = replace(same_figures, after=same_figures.before)
        assert steps_of(bench, result(bench.topic, same_figures)).ranked == ()


def test_where_nothing_is_sure_to_help_the_mistakes_are_looked_at() -> None:
    idea = mistake_step(3, "Nothing likely: 9 edits tried")
    assert idea.line == "Look at a mistake. No edit is sure to help yet"
    assert idea.detail.startswith("Nothing likely: 9 edits tried. For each mistake (3 now)")


def test_so_many_labels_do_halve_the_error_of_a_gain(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    evaluation = replace(bench.evaluated(like_labels), settings=engine_settings("x", 0.5))
    error = 2 * LIKELY_FROM
    half = error * math.sqrt(2) * NormalDist().inv_cdf(0.9)
    unsure = replace(proposal(bench.topic, -0.02), gain=Gain(0.01, 0.01 - half, 0.01 + half, False))
    need = label_need(result(bench.topic, unsure), evaluation)
    assert need is not None
    assert need.labels == 20
    assert need.error == pytest.approx(error)
    assert need.wanted == pytest.approx(80, abs=10)
    assert need.more == pytest.approx(60, abs=10)
    small = replace(unsure, gain=Gain(0.01, 0.01 - half / 2.1, 0.01 + half / 2.1, False))
    assert label_need(result(bench.topic, small), evaluation) is None
    # A scan without scores has no verdicts that are less sure than others.
    pairs = Duplicates((), 0, 0, 0.9, exact=True, among=20)
    survey = Survey(bench.prompts, evaluation, pairs, ())
    assert label_step(need, result(bench.topic, unsure), survey) is None
