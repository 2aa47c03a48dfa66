"""Forecasts compared with later scans: which scans, which prompts, and what is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from guardtui.domain.estimates import RateEstimate
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.forecast_record import ForecastBefore
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.forecast.engine_features import EngineReader
from guardtui.forecast.forecaster import ForecastError, fit
from guardtui.forecast.trust import MOVED, Trust, check_forecasts
from guardtui.scanners.local.scanner import LocalScanner
from tests.guardrails import engine_settings

from .test_forecaster import AIRS, JUDGE, TOPIC, evaluation, prompt_set

THRESHOLD = 0.5
ENGINE = engine_settings("1", THRESHOLD, "by hand")
DESCRIPTIONS = ("Personal tax advice", "Tax", "Advice on income tax", "Bread", "Tax refunds")


@pytest.fixture(scope="module")
def reader() -> EngineReader:
    return EngineReader(LocalScanner("static", THRESHOLD))


def scan(
    prompts: PromptSet,
    description: str,
    triggered: np.ndarray | None = None,
    intent: Intent = Intent.BLOCK,
) -> Evaluation:
    """A scan whose odd answers differ from definition to definition, unless they are given."""
    topic = TOPIC.model_copy(update={"description": description, "intent": intent})
    if triggered is None:
        odd = np.arange(len(prompts)) % 9 == len(description) % 9
        triggered = prompts.should_trigger(intent) ^ odd
    return evaluation(prompts, topic, triggered=triggered)


def checked(evaluations: Sequence[Evaluation], prompts: PromptSet, reader: EngineReader) -> Trust:
    trust = check_forecasts(evaluations, AIRS, prompts, reader, ENGINE)
    assert trust is not None
    return trust


def engine_verdicts(topic: Topic, prompts: PromptSet) -> np.ndarray:
    evaluation = LocalScanner("static", THRESHOLD).evaluate_now(topic, prompts)
    assert evaluation is not None
    return evaluation.verdicts.triggered


@pytest.mark.parametrize("intent", list(Intent))
def test_each_scan_is_forecast_from_those_before_it(intent: Intent, reader: EngineReader) -> None:
    prompts = prompt_set(intent=intent)
    scans = [scan(prompts, description, intent=intent) for description in DESCRIPTIONS]
    trust = checked(scans, prompts, reader)
    assert [check.index for check in trust.checks] == [1, 2, 3, 4]
    for check in trust.checks:
        earlier = fit(scans[: check.index], AIRS, prompts, reader)
        assert earlier is not None
        forecast = earlier.forecast(scans[check.index].topic)
        assert forecast is not None
        came = scans[check.index].verdicts.triggered
        before = scans[check.index - 1].verdicts.triggered
        assert check.expected == forecast.rates.coverage
        assert check.coverage == pytest.approx(scans[check.index].metrics.coverage)
        assert check.before == pytest.approx(scans[check.index - 1].metrics.coverage)
        assert check.wrong.prompts == check.prompts == len(prompts)
        assert check.wrong.forecast == ((forecast.triggers > 0.5) != came).sum()
        assert check.wrong.last_verdicts == (before != came).sum()
        engine = engine_verdicts(scans[check.index].topic, prompts)
        assert check.wrong.engine == (engine != came).sum()


def test_later_scans_and_other_guardrails_change_nothing(reader: EngineReader) -> None:
    prompts = prompt_set()
    scans = [scan(prompts, description) for description in DESCRIPTIONS]
    judge = evaluation(prompts, settings=JUDGE)
    few = checked(scans[:3], prompts, reader)
    more = checked([judge, *scans[:2], judge, *scans[2:]], prompts, reader)
    assert [check.index for check in more.checks] == [2, 4, 5, 6]
    for check, other in zip(few.checks, more.checks, strict=False):
        assert (check.expected, check.coverage, check.wrong) == (
            other.expected,
            other.coverage,
            other.wrong,
        )


def test_the_interval_and_the_direction_are_told_from_the_figures(reader: EngineReader) -> None:
    prompts = prompt_set()
    trust = checked([scan(prompts, description) for description in DESCRIPTIONS], prompts, reader)
    for check in trust.checks:
        assert check.expected is not None
        assert check.coverage is not None
        assert check.before is not None
        assert check.inside == (check.expected.low <= check.coverage <= check.expected.high)
        if abs(check.coverage - check.before) <= MOVED:
            assert check.direction is None
        else:
            rises = check.coverage > check.before
            assert check.direction == ((check.expected.value > check.before) == rises)
    known = [check.direction for check in trust.checks if check.direction is not None]
    assert trust.directions == (sum(known), len(known))
    assert trust.intervals == (sum(check.inside or False for check in trust.checks), 4)
    assert f"within its interval in {trust.intervals[0]} of 4 scans" in trust.summary


def test_coverage_that_did_not_move_has_no_direction(reader: EngineReader) -> None:
    prompts = prompt_set()
    same = (prompts.expected ^ (np.arange(60) % 9 == 0)).astype(np.int8)
    scans = [scan(prompts, description, same) for description in DESCRIPTIONS[:3]]
    trust = checked(scans, prompts, reader)
    assert [check.direction for check in trust.checks] == [None, None]
    assert "no scan moved coverage by more than 0.02" in trust.summary


def test_calibration_counts_every_verdict_once(reader: EngineReader) -> None:
    prompts = prompt_set()
    scans = [scan(prompts, description) for description in DESCRIPTIONS]
    bins = checked(scans, prompts, reader).calibration
    assert sum(group.prompts for group in bins) == 4 * len(prompts)
    came = sum(int(scan.verdicts.triggered.sum()) for scan in scans[1:])
    assert sum(group.triggered for group in bins) == came
    for group in bins:
        assert group.low * group.prompts <= group.expected <= group.high * group.prompts
        assert 0 <= group.triggered <= group.prompts
    assert len({group.low for group in bins}) == len(bins)


def test_only_prompts_with_a_verdict_are_compared(reader: EngineReader) -> None:
    prompts = prompt_set()
    first = scan(prompts, "Tax").verdicts.triggered.copy()
    first[:20] = -2
    second = scan(prompts, "Tax refunds").verdicts.triggered.copy()
    second[10:25] = -1
    scans = [scan(prompts, "Tax", first), scan(prompts, "Tax refunds", second)]
    (check,) = checked(scans, prompts, reader).checks
    assert check.prompts == 45
    assert len(check.triggers) == len(check.triggered) == 45
    assert check.wrong.prompts == 35
    both = (first >= 0) & (second >= 0)
    assert check.wrong.last_verdicts == (first != second)[both].sum()
    assert check.coverage == pytest.approx(scans[1].metrics.coverage)


def test_a_scan_without_forecast_is_listed_with_the_reason(reader: EngineReader) -> None:
    prompts = prompt_set()
    few = np.full(60, -2, np.int8)
    few[:5] = 1
    failed = np.full(60, -1, np.int8)
    scans = [
        scan(prompts, "Tax", few),
        scan(prompts, "Bread"),
        scan(prompts, "Tax refunds", failed),
        scan(prompts, "Advice on income tax"),
    ]
    trust = checked(scans, prompts, reader)
    assert [check.index for check in trust.checks] == [3]
    assert [scan.index for scan in trust.unchecked] == [1, 2]
    assert "a verdict on 5 of these prompts" in trust.unchecked[0].reason
    assert trust.unchecked[1].reason == "AIRS gave no verdict."


def test_a_definition_scanned_before_is_marked(reader: EngineReader) -> None:
    prompts = prompt_set()
    scans = [scan(prompts, description) for description in ("Tax", "Bread", "Tax")]
    trust = checked(scans, prompts, reader)
    assert [check.repeated for check in trust.checks] == [False, True]
    assert "1 scan of a definition that was scanned before" in trust.summary


def test_a_scan_of_one_class_has_no_coverage(reader: EngineReader) -> None:
    prompts = prompt_set()
    second = np.where(prompts.expected, scan(prompts, "Bread").verdicts.triggered, -2)
    (check,) = checked(
        [scan(prompts, "Tax"), scan(prompts, "Bread", second)], prompts, reader
    ).checks
    assert (check.expected, check.coverage, check.inside, check.direction) == (None,) * 4
    assert check.wrong.prompts == int(prompts.expected.sum())


@pytest.mark.parametrize(
    ("scans", "message"),
    [
        ([], "AIRS has not scanned these prompts"),
        ([scan(prompt_set(), "Tax")], "AIRS has scanned these prompts once"),
        (
            [scan(prompt_set(word="ask"), description) for description in DESCRIPTIONS],
            "not scanned these prompts",
        ),
        (
            [scan(prompt_set(), description, np.ones(60, np.int8)) for description in DESCRIPTIONS],
            "no forecast can be checked.*let pass 0 of the prompts",
        ),
    ],
)
def test_nothing_to_check_is_an_error(
    scans: list[Evaluation], message: str, reader: EngineReader
) -> None:
    with pytest.raises(ForecastError, match=message):
        check_forecasts(scans, AIRS, prompt_set(), reader, ENGINE)


def test_a_check_can_be_stopped(reader: EngineReader) -> None:
    prompts = prompt_set(48)
    scans = [scan(prompts, description) for description in DESCRIPTIONS]
    trust = check_forecasts(scans, AIRS, prompts, reader, ENGINE, stopped=lambda: True)
    assert trust is None


def test_a_forecast_that_was_recorded_before_the_scan_is_the_one_that_is_checked(
    reader: EngineReader,
) -> None:
    prompts = prompt_set()
    scans = [scan(prompts, description) for description in DESCRIPTIONS[:3]]
    part = scans[2].verdicts.triggered.copy()
    part[:5] = -2
    scans[2] = scan(prompts, DESCRIPTIONS[2], part)
    before = ForecastBefore(
        {"coverage": RateEstimate(0.31, 0.3, 0.32)}, 1, 60, np.full(60, 0.75, np.float32)
    )
    trust = check_forecasts(scans, AIRS, prompts, reader, ENGINE, recorded={1: before, 2: before})
    assert trust is not None
    # That of a scan which is not complete is not of the prompts that have a verdict.
    assert [check.stored for check in trust.checks] == [True, False]
    first = trust.checks[0]
    assert first.expected == RateEstimate(0.31, 0.3, 0.32)
    assert first.inside is False
    assert set(first.triggers.tolist()) == {0.75}
    assert "The forecast of 1 scan was recorded before the scan." in trust.summary
    assert "recorded" not in checked(scans, prompts, reader).summary


def test_prompts_stopped_by_other_topics_are_counted(reader: EngineReader) -> None:
    prompts = prompt_set()
    scans = [scan(prompts, description) for description in DESCRIPTIONS[:2]]
    rows = np.flatnonzero(scans[0].verdicts.triggered == 1)[:4].tolist()
    names = dict.fromkeys(rows[:3], ("Fraud",)) | {rows[3]: ("Fraud", TOPIC.name)}
    scans[0] = replace(scans[0], verdicts=replace(scans[0].verdicts, stopped_by=names))
    told = "3 prompts were stopped by other topics of the profile"
    assert told in checked(scans, prompts, reader).summary
    forecaster = fit(scans, AIRS, prompts, reader)
    assert forecaster is not None
    assert any(doubt.startswith(told) for doubt in forecaster.grounds.doubts)
    alone = fit(scans[1:], AIRS, prompts, reader)
    assert alone is not None
    assert alone.grounds.doubts == ()
