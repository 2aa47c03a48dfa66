"""A preview of a guardrail that has answered: its forecast, and when there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.prompt_edit import Remove
from guardtui.session.history import read_measured
from guardtui.session.session import Decision
from guardtui.session.topic_places import sample_folder
from tests.app.headless import Loop, opened
from tests.guardrails import airs_settings, judge_settings

AIRS = airs_settings("prod", "3")


@pytest.fixture
def topic_path(tmp_path: Path) -> Path:
    for name in ("tax-advice.yaml", "tax-advice.csv"):
        (tmp_path / name).write_bytes((sample_folder() / name).read_bytes())
    return tmp_path / "tax-advice.yaml"


def answered(
    loop: Loop,
    settings: ScannerSettings = AIRS,
    triggered: Sequence[int] | np.ndarray | None = None,
) -> Evaluation:
    """A scan of the definition that is shown: the labels, but for every eighth prompt."""
    shown = loop.state.evaluation
    assert shown is not None
    if triggered is None:
        triggered = shown.should_trigger ^ (np.arange(len(shown.keys)) % 8 == 0)
    count = len(shown.keys)
    verdicts = type(shown.verdicts)(
        triggered=np.asarray(triggered, np.int8),
        score=np.full(count, np.nan, np.float32),
        matched=np.full(count, -1, np.int16),
    )
    return Evaluation(shown.topic, settings, shown.prompt_set, shown.keys, shown.expected, verdicts)


def scanned(
    loop: Loop,
    settings: ScannerSettings = AIRS,
    triggered: Sequence[int] | np.ndarray | None = None,
) -> Evaluation:
    """Record such a scan."""
    evaluation = answered(loop, settings, triggered)
    workspace = loop.services.workspace
    workspace.session.record(workspace.write(evaluation, Decision.KEEP))
    return evaluation


async def test_an_edit_after_a_scan_previews_the_guardrail_that_answered(topic_path: Path) -> None:
    loop = await opened(topic_path)
    scan = scanned(loop)
    state = await loop.describe("Personal tax advice: what to deduct and what to declare")
    assert state.forecast is not None
    assert state.evaluation is not None
    assert state.evaluation.settings == replace(AIRS, is_forecast=True)
    assert state.evaluation.topic.description.endswith("declare")
    assert state.forecast.before == scan.metrics.coverage
    likelier = state.forecast.triggers > 0.5
    assert np.array_equal(state.evaluation.verdicts.triggered == 1, likelier)
    assert np.allclose(state.evaluation.verdicts.score, state.forecast.triggers)
    # Compared with the guardrail's own iteration, not with the engine's.
    assert state.comparison is not None
    assert loop.services.session.baseline is not None
    assert loop.services.session.baseline.evaluation.settings == AIRS
    assert state.comparison.caveats == ()
    await loop.services.close()


async def test_a_forecast_is_compared_with_the_baseline_like_its_fixes(topic_path: Path) -> None:
    loop = await opened(topic_path)
    kept = scanned(loop)
    workspace = loop.services.workspace
    better = answered(loop, triggered=kept.should_trigger)  # later, and not kept
    workspace.session.record(workspace.write(better, Decision.UNDECIDED))
    state = await loop.describe("Personal tax advice: what to deduct and what to declare")
    assert state.forecast is not None
    assert state.comparison is not None
    assert state.comparison.evaluations[0].metrics == kept.metrics
    assert state.forecast.before == kept.metrics.coverage != better.metrics.coverage
    assert state.evaluation is not None
    assert "than the last scan" not in loop.services.judgement(state, state.evaluation).text
    loop.services.decisions.pin(workspace.session.iterations[-1].number)
    state = await loop.settle()
    assert state.forecast is not None
    assert state.forecast.before == better.metrics.coverage
    loop.services.decisions.pin(None)
    left = Remove(frozenset({int(state.prompts.keys[1])}))  # fewer prompts than were scanned
    await loop.services.sync.edit_prompts(left)
    state = await loop.settle()
    assert state.forecast is not None
    assert state.comparison is not None
    assert state.forecast.before == state.comparison.coverage_before is not None
    assert state.evaluation is not None
    assert "no whole scan yet" not in loop.services.judgement(state, state.evaluation).text
    await loop.services.close()


async def test_a_definition_that_is_discarded_by_its_forecast_is_recorded_with_what_was_shown(
    topic_path: Path,
) -> None:
    loop = await opened(topic_path)
    scanned(loop)
    state = await loop.describe("Personal tax advice: what to deduct and what to declare")
    assert state.forecast is not None
    assert state.forecast.rates.coverage is not None
    loop.author.answers.append(True)  # whatever speaks against it
    count = len(loop.services.session.iterations)
    await loop.services.decisions.discard()
    shown = state.forecast.rates.coverage.value
    assert loop.author.messages[-1].startswith(
        f"Discarded by its forecast, coverage ≈{shown:.3f}; back to #"
    )
    assert len(loop.services.session.iterations) == count  # no figure of the engine among them
    (measured,) = read_measured(loop.services.workspace.store)
    assert (measured.decision, measured.figures.coverage) == (Decision.DISCARD, shown)
    assert measured.settings == replace(AIRS, is_forecast=True)
    await loop.services.close()


async def test_a_forecast_is_not_kept_and_nothing_is_written(topic_path: Path) -> None:
    loop = await opened(topic_path)
    scanned(loop)
    before = topic_path.read_bytes()
    await loop.describe("Personal tax advice: what to deduct")
    count = len(loop.services.session.iterations)
    await loop.services.decisions.keep()
    await loop.settle()
    assert "a forecast of AIRS, profile prod, revision 3" in loop.author.messages[-1]
    assert "scan" in loop.author.messages[-1]
    assert topic_path.read_bytes() == before
    assert len(loop.services.session.iterations) == count
    await loop.services.close()


async def test_the_engines_own_view_is_one_key_away_and_can_be_kept(topic_path: Path) -> None:
    loop = await opened(topic_path, (True,))
    scanned(loop)
    await loop.describe("Personal tax advice: what to deduct")
    loop.services.scans.swap_preview()
    state = await loop.settle()
    assert state.forecast is None
    assert state.evaluation is not None
    assert state.evaluation.settings.kind == "engine"
    assert loop.author.messages[-1] == "Shown: the figures of the engine."
    loop.services.scans.swap_preview()
    assert (await loop.settle()).forecast is not None
    loop.services.scans.swap_preview()
    await loop.settle()
    await loop.services.decisions.keep()
    await loop.settle()
    assert loop.services.session.iterations[-1].evaluation.settings.kind == "engine"
    await loop.services.close()


async def test_a_scanned_definition_has_the_engines_view_beside_its_scan(topic_path: Path) -> None:
    loop = await opened(topic_path)
    scanned(loop)
    loop.services.preview.request()
    state = await loop.settle()
    assert state.evaluation is not None
    assert state.evaluation.settings == AIRS
    loop.services.scans.swap_preview()
    state = await loop.settle()
    assert loop.author.messages[-1] == "Shown: the figures of the engine."
    assert state.forecast is None
    assert state.evaluation is not None
    assert state.evaluation.settings.kind == "engine"
    await loop.services.close()


async def test_another_scan_is_learnt_from_at_the_next_edit(topic_path: Path) -> None:
    loop = await opened(topic_path)
    scanned(loop)
    state = await loop.describe("Personal tax advice: what to deduct")
    assert state.forecast is not None
    assert state.forecast.grounds.scans == 1
    scanned(loop)
    state = await loop.describe("Personal tax advice: what to declare")
    assert state.forecast is not None
    assert state.forecast.grounds.scans == 2
    await loop.services.close()


async def test_the_guardrail_that_answered_last_is_forecast(topic_path: Path) -> None:
    loop = await opened(topic_path)
    judge = judge_settings("model-1", template="1f2e")
    for settings in (judge, AIRS, judge):
        scanned(loop, settings)
    state = await loop.describe("Personal tax advice: what to deduct")
    assert state.forecast is not None
    assert state.forecast.grounds.settings == judge
    assert state.forecast.grounds.scans == 2
    await loop.services.close()


async def test_too_few_verdicts_leave_the_engines_view(topic_path: Path) -> None:
    loop = await opened(topic_path)
    count = len(loop.state.prompts)
    few = [1, 0, 1, 0, 1] + [-2] * (count - 5)
    for verdicts in (few, [0] * count):
        scanned(loop, judge_settings(f"model-{sum(verdicts)}"), verdicts)
        state = await loop.describe(f"Personal tax advice {sum(verdicts)}")
        assert state.forecast is None
        assert state.evaluation is not None
        assert state.evaluation.settings.kind == "engine"
    loop.services.scans.swap_preview()
    assert "the engine's figures are shown" in loop.author.messages[-1]
    await loop.services.close()


async def test_rates_of_a_scan_that_is_not_complete_are_forecast(topic_path: Path) -> None:
    loop = await opened(topic_path)
    scanned(loop)
    await loop.describe("Personal tax advice: what to deduct")
    shown = loop.state.evaluation
    assert shown is not None
    answers = shown.verdicts.triggered.copy()
    answers[40:] = -2
    await loop.services.preview.show(answered(loop, triggered=answers))
    state = loop.state
    assert state.forecast is None  # it is a scan, of which some rows are open
    assert state.partial is not None
    assert state.partial.estimate is not None
    estimates = state.partial.estimate.rates
    for name in ("coverage", "true_positive_rate", "true_negative_rate", "accuracy"):
        rate, bounds = estimates[name], state.partial.bounds[name]
        assert rate is not None
        assert bounds is not None
        assert bounds.low <= rate.low <= rate.value <= rate.high <= bounds.high
    await loop.services.close()


async def test_prompts_that_were_asked_since_they_may_change_do_not_stand_for_the_others(
    topic_path: Path,
) -> None:
    loop = await opened(topic_path)
    before = scanned(loop).metrics.coverage
    await loop.describe("Personal tax advice: what to deduct")
    shown = loop.state.evaluation
    assert shown is not None
    asked = np.flatnonzero(np.arange(len(shown.keys)) % 16 == 1)
    answers = np.full(len(shown.keys), -2)
    answers[asked] = ~shown.should_trigger[asked]  # each of them is wrong now
    part = scanned(loop, triggered=answers)
    await loop.services.preview.show(part)
    assert loop.state.partial is not None
    assert loop.state.partial.estimate is not None
    expected = loop.state.partial.estimate.rates["coverage"]
    assert expected is not None
    assert before is not None
    lost = len(asked) / len(answers)
    assert before - 3 * lost < expected.value < before
    await loop.services.close()
    loop = await opened(topic_path)  # the screen says the same after a restart
    estimate = await loop.services.forecasting.estimate(part, loop.state.prompts)
    assert estimate is not None
    assert estimate.rates["coverage"] == expected
    await loop.services.close()


async def test_rates_of_the_first_scan_are_forecast_from_its_own_verdicts(
    topic_path: Path,
) -> None:
    # With one thread, what is given to it later ends later.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    loop = await opened(topic_path)
    forecasting, prompts = loop.services.forecasting, loop.state.prompts
    whole = answered(loop)

    def so_far(count: int) -> Evaluation:
        verdicts = whole.verdicts.triggered.copy()
        verdicts[count:] = -2
        return answered(loop, triggered=verdicts)

    for few in (0, 60):
        assert await forecasting.estimate(so_far(few), prompts) is None
        await asyncio.to_thread(int)
    assert await forecasting.estimate(so_far(60), prompts) is None
    widths = []
    for count in (70, 120, 190):
        await forecasting.estimate(so_far(count), prompts)  # begins a fit
        await asyncio.to_thread(int)
        estimate = await forecasting.estimate(so_far(count), prompts)
        assert estimate is not None
        coverage, truth = estimate.rates["coverage"], whole.metrics.coverage
        assert coverage is not None
        assert truth is not None
        assert coverage.low <= truth <= coverage.high
        widths.append(coverage.high - coverage.low)
    assert widths == sorted(widths, reverse=True)
    # Another definition is another scan, of which nothing is known yet.
    await loop.describe("Personal tax advice: what to deduct")
    assert await forecasting.estimate(so_far(70), prompts) is None
    await loop.services.close()
