"""The sentence of judgement: never more than the evidence, and what would decide."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.advice.judgement import (
    LIKELY,
    Code,
    Judgement,
    Worth,
    judge,
    labels_to_decide,
)
from guardtui.domain.comparison import compare
from guardtui.domain.estimates import partial_rates
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings, forecast_settings
from guardtui.domain.significance import Pairs, change_intervals
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, Verdicts
from guardtui.session.session import PLATEAU
from tests.guardrails import airs_settings, engine_settings

ENGINE, AIRS = engine_settings("test-1", 0.5, "built-in"), airs_settings("prod")
DECIDERS = ("decide", "add", "try", "use", "narrow", "widen", "pin", "Keep", "scan", "think again")


def evaluated(
    right: tuple[int, int],
    of: tuple[int, int],
    settings: ScannerSettings = ENGINE,
    name: str = "edit",
    scores: tuple[float, float] = (1.0, 0.0),
    seed: int = 0,
) -> Evaluation:
    """Of so many prompts of each class, of which so many are right, in an order of the seed."""
    order = np.random.default_rng(seed)
    parts = [
        order.permutation(np.arange(count) < good) for good, count in zip(right, of, strict=True)
    ]
    correct, expected = np.concatenate(parts), np.repeat([True, False], of)
    triggered = np.where(correct, expected, ~expected)
    count = len(expected)
    noise = order.normal(0, 0.2, count).astype(np.float32)
    score = np.where(expected, *scores).astype(np.float32) + noise
    return Evaluation(
        Topic(name=name),
        settings,
        "prompts",
        np.arange(count, dtype=np.uint64),
        expected,
        Verdicts(triggered.astype(np.int8), score, np.zeros(count, np.int16)),
    )


def judged(
    now: Evaluation, before: Evaluation | None = None, discards: int = 0, **state: Any
) -> Judgement:
    comparison = None if before is None else compare(before, now)
    number = None if before is None else 6
    return judge(now, comparison, number, discards=discards, **state)


def with_codes(evaluation: Evaluation, code: Triggered, rows: slice) -> Evaluation:
    triggered = evaluation.verdicts.triggered.copy()
    triggered[rows] = code
    return replace(evaluation, verdicts=replace(evaluation.verdicts, triggered=triggered))


counts = st.tuples(st.integers(0, 60), st.integers(0, 60))


@given(counts, counts, counts, st.sampled_from([ENGINE, AIRS]), st.integers(0, 9))
def test_a_judgement_never_exceeds_its_interval_and_names_what_decides(
    of: tuple[int, int],
    right: tuple[int, int],
    right_before: tuple[int, int],
    settings: ScannerSettings,
    seed: int,
) -> None:
    now, before = (
        evaluated((min(good[0], of[0]), min(good[1], of[1])), of, settings, name, seed=seed + index)
        for index, (good, name) in enumerate(((right, "new"), (right_before, "old")))
    )
    judgement = judged(now, before)
    assert (judgement.code is Code.BETTER) == (judgement.worth is Worth.BETTER)
    assert (judgement.code is Code.WORSE) == (judgement.worth is Worth.WORSE)
    interval = compare(before, now).significance.intervals["coverage"]
    if judgement.worth is Worth.BETTER:
        assert interval is not None
        assert interval.low > 0
        assert min(of) >= 10
    if judgement.worth is Worth.WORSE:
        assert interval is not None
        assert interval.high < 0
    if judgement.worth in (Worth.UNSURE, Worth.WARNING):
        assert any(word in judgement.text for word in DECIDERS), judgement.text
        assert not judgement.text.startswith(("better", "worse"))
    if settings is ENGINE and judgement.worth in (Worth.BETTER, Worth.WORSE):
        assert "for the engine; a scan of the guardrail decides" in judgement.text
    sign = 2 * (judgement.worth is Worth.WARNING)
    assert len(judgement.text) + sign <= 56, "it fits into the pane at 120 columns"
    assert judgement.text[-1] != "."


@pytest.mark.parametrize(
    ("of", "text"),
    [
        ((0, 0), "no coverage: add prompts that should trigger"),
        ((30, 0), "no coverage: add prompts that should not trigger"),
        ((30, 9), "too few to tell: add 1 that should not trigger"),
        ((3, 2), "too few to tell: add 7 to trigger, 8 not to"),
    ],
)
def test_without_enough_labels_it_says_which_to_add(of: tuple[int, int], text: str) -> None:
    code = Code.NO_COVERAGE if 0 in of else Code.TOO_FEW_LABELS
    assert judged(evaluated(of, of)) == Judgement(code, Worth.WARNING, text)


def test_without_a_baseline_keep_makes_one() -> None:
    assert "a kept definition is the baseline" in judged(evaluated((30, 30), (30, 30))).text


@pytest.mark.parametrize(
    ("code", "rows", "text"),
    [
        (Triggered.NO_VERDICT, slice(0, 2), "2 prompts failed: a scan of what is missing decides"),
        (Triggered.NOT_ASKED, slice(0, 1), "not sure yet: 1 open prompt decides"),
        (Triggered.NOT_ASKED, slice(0, 60), "not sure yet: 60 open prompts decide"),
    ],
)
def test_missing_verdicts_decide(code: Triggered, rows: slice, text: str) -> None:
    before = evaluated((10, 30), (30, 30), AIRS, "old")
    now = with_codes(evaluated((30, 30), (30, 30), AIRS), code, rows)
    judgement = judged(now, before, partial=partial_rates(now, None))
    assert (judgement.code, judgement.text) == (Code.INCOMPLETE, text)
    assert judgement.worth in (Worth.UNSURE, Worth.WARNING)


def test_an_estimate_above_the_baseline_is_probably_better_and_the_open_prompts_decide() -> None:
    before, whole = evaluated((10, 30), (30, 30), AIRS, "old"), evaluated((30, 30), (30, 30), AIRS)
    now = with_codes(whole, Triggered.NOT_ASKED, slice(25, 32))
    partial = partial_rates(now, whole.verdicts.triggered)
    assert judged(now, before, partial=partial).text == "probably better; 7 open prompts decide"
    for settings in (airs_settings("staging"), replace(AIRS, threshold=0.7)):
        other = replace(before, settings=settings)
        assert judged(now, other, partial=partial).worth is Worth.UNSURE


@pytest.mark.parametrize("better", [None, 0.0, 0.2, 0.5, LIKELY, 1.0])
@pytest.mark.parametrize("before", [0.5, 0.6])
def test_a_forecast_is_probable_at_most_and_a_scan_decides(
    better: float | None, before: float
) -> None:
    last = evaluated((15, 30), (30, 30), AIRS, "old")
    now = replace(evaluated((30, 30), (30, 30), AIRS), settings=forecast_settings(AIRS))
    rates = SimpleNamespace(better=better)
    changes = np.array([np.nan, 0.2, 0.001, 0.5])
    forecast = cast("Any", SimpleNamespace(rates=rates, changes=changes, before=before))
    judgement = judged(now, last, forecast=forecast)
    assert judgement.code is Code.FORECAST
    assert judgement.text.endswith(" decides")
    assert len(judgement.text) <= 56
    assert ("a scan of 3 prompts decides" in judgement.text) == (before == 0.5 or better is None)
    assert ("than the last scan" in judgement.text) == (before != 0.5 and better is not None)
    expected = Worth.UNSURE
    if better is not None and better >= LIKELY:
        expected = Worth.BETTER
    elif better is not None and better <= 1 - LIKELY:
        expected = Worth.WORSE
    assert judgement.worth is expected
    assert ("probably" in judgement.text) == (expected is not Worth.UNSURE)


def test_an_unchanged_definition_says_so_or_counts_the_discards() -> None:
    best = evaluated((30, 30), (40, 40))
    unchanged = Judgement(Code.UNCHANGED, Worth.NEUTRAL, "unchanged: no edit to judge yet")
    assert judged(best, best) == unchanged
    assert judged(best).code is Code.NO_BASELINE
    assert judged(best, best, 1).text == "1 discard in a row; after 5, try another angle"
    plateau = judged(best, best, PLATEAU)
    assert plateau == Judgement(
        Code.DISCARDED, Worth.WARNING, "5 discards in a row: try another angle"
    )
    edit = replace(best, topic=Topic(name="edit again"))
    assert judged(edit, best, PLATEAU).text == "no verdicts changed"


def test_labels_that_move_the_fitted_threshold_of_the_same_definition_are_named() -> None:
    fitted = replace(ENGINE, threshold_source="fitted to 80 labels")
    before = evaluated((30, 30), (40, 40), fitted)
    relabelled = before.expected.copy()
    relabelled[:2] = False
    now = replace(before, expected=relabelled, prompt_set="relabelled")
    said = judged(now, before)
    assert said.text == "same definition: threshold fitted to 80 labels now"
    # A changed figure is explained before discards are counted.
    assert judged(now, before, discards=1) == said
    assert judged(before, before, discards=1).code is Code.DISCARDED
    assert said.code is Code.UNCHANGED
    other = replace(now, topic=Topic(name="other"))
    assert "threshold" not in judged(other, before).text
    by_hand = replace(now, settings=ENGINE)
    assert "threshold" not in judged(by_hand, replace(before, settings=ENGINE)).text


def test_other_guardrails_thresholds_and_prompts_are_not_compared() -> None:
    now, before = evaluated((40, 40), (40, 40)), evaluated((10, 10), (40, 40), name="old")
    other = replace(before, settings=AIRS)
    assert judged(now, other).text == "another guardrail than #6: pin one of the same"
    moved = replace(before, settings=engine_settings("test-1", 0.7, "by hand"))
    assert judged(now, moved).text == "another threshold than #6: the same one decides"
    alien = replace(before, keys=before.keys + np.uint64(99), prompt_set="others")
    assert judged(now, alien).text == "other prompts than #6: Keep makes this the baseline"


@pytest.mark.parametrize(
    ("right", "examples", "text"),
    [
        ((40, 20), 5, "better scores, but catches too much: use fewer examples"),
        ((40, 20), 2, "better scores, but catches too much: narrow the wording"),
        ((20, 40), 4, "better scores, but catches too little: add an example"),
        ((20, 40), 5, "better scores, but catches too little: widen the wording"),
    ],
)
def test_an_edit_that_only_moves_the_level_says_how_to_move_it_back(
    right: tuple[int, int], examples: int, text: str
) -> None:
    before = evaluated((32, 32), (40, 40), name="old", scores=(0.55, 0.45))
    now = evaluated(right, (40, 40), scores=(0.9, 0.1), seed=1)
    now = replace(now, topic=Topic(name="new", examples=tuple(f"e{k}" for k in range(examples))))
    assert judged(now, before) == Judgement(Code.SEPARATES_BETTER, Worth.UNSURE, text)


@given(st.integers(20, 80), st.integers(0, 8), st.integers(0, 8))
def test_so_many_times_as_many_labels_would_show_the_observed_change(
    size: int, fixed: int, broken: int
) -> None:
    before = evaluated((size - 10, size), (size, size), name="old")
    triggered = before.verdicts.triggered.copy()
    wrong, right = (np.flatnonzero(triggered[:size] == value) for value in (0, 1))
    triggered[wrong[:fixed]], triggered[right[:broken]] = 1, 0
    now = replace(
        before, topic=Topic(name="n"), verdicts=replace(before.verdicts, triggered=triggered)
    )
    significance = compare(before, now).significance
    times = labels_to_decide(significance)
    if fixed == broken:
        assert times is None
        return
    if times is None or not significance.could_be_chance:
        return
    positive, negative = np.round(significance.pairs.table * times).astype(int).tolist()
    grown = Pairs(tuple(positive), tuple(negative))
    interval = change_intervals(grown)["coverage"]
    assert interval is not None
    assert interval.low > 0 or interval.high < 0


def test_the_documentation_lists_every_code() -> None:
    page = (Path(__file__).parents[2] / "docs" / "pages" / "formats.md").read_text("utf-8")
    for code in Code:
        assert f"| `{code}` |" in page
