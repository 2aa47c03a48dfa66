"""Comparisons against a slow one written with dictionaries; aligned by content, never by place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.comparison import ABSENT, Change, compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.metrics import RATES
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Outcome, Triggered, Verdicts
from tests.guardrails import engine_settings

SETTINGS = engine_settings("test-1", 0.5, "built-in")

rows = st.dictionaries(
    st.integers(0, 30), st.tuples(st.booleans(), st.sampled_from([-2, -1, 0, 1])), max_size=25
)


def evaluation(
    table: dict[int, tuple[bool, int]],
    settings: ScannerSettings = SETTINGS,
    intent: Intent = Intent.BLOCK,
) -> Evaluation:
    triggered = np.array([answer for _, answer in table.values()], dtype=np.int8)
    verdicts = Verdicts(triggered, np.zeros(len(table), np.float32), np.zeros(len(table), np.int16))
    return Evaluation(
        Topic(name="t", intent=intent),
        settings,
        "prompts",
        np.array(list(table), dtype=np.uint64),
        np.array([label for label, _ in table.values()], dtype=bool),
        verdicts,
    )


def outcome(label: bool, answer: int) -> Outcome:
    if answer < 0:
        return Outcome.OPEN if answer == Triggered.NOT_ASKED else Outcome.ERROR
    if label:
        return Outcome.TP if answer else Outcome.FN
    return Outcome.FP if answer else Outcome.TN


def slow(before: tuple[bool, int] | None, now: tuple[bool, int]) -> Change:
    if before is None:
        return Change.ADDED
    if before[0] != now[0]:
        return Change.RELABELLED
    was, is_now = outcome(*before), outcome(*now)
    if Outcome.ERROR in (was, is_now):
        return Change.NO_VERDICT
    if Outcome.OPEN in (was, is_now):
        return Change.OPEN
    good = (Outcome.TP, Outcome.TN)
    if was in good and is_now not in good:
        return Change.REGRESSION
    if was not in good and is_now in good:
        return Change.FIX
    return Change.SAME


@given(rows, rows, st.randoms())
def test_every_prompt_is_compared_with_itself(
    old: dict[int, tuple[bool, int]], new: dict[int, tuple[bool, int]], random: object
) -> None:
    items = list(new.items())
    random.shuffle(items)  # type: ignore[attr-defined]
    new = dict(items)
    result = compare(evaluation(old), evaluation(new))
    expected = [slow(old.get(key), row) for key, row in new.items()]
    assert result.changes.tolist() == expected
    assert result.before.tolist() == [outcome(*old[key]) if key in old else ABSENT for key in new]
    assert result.regressions == expected.count(Change.REGRESSION)
    assert result.fixes == expected.count(Change.FIX)
    assert result.no_verdict == expected.count(Change.NO_VERDICT)
    assert result.open == expected.count(Change.OPEN)
    assert result.relabelled == expected.count(Change.RELABELLED)
    assert result.added == expected.count(Change.ADDED)
    assert result.removed == len(set(old) - set(new))


@given(rows, rows)
def test_differences_are_of_the_prompts_in_both_by_the_labels_of_now(
    old: dict[int, tuple[bool, int]], new: dict[int, tuple[bool, int]]
) -> None:
    result = compare(evaluation(old), evaluation(new))
    both = [key for key in new if key in old]
    then = evaluation({key: (new[key][0], old[key][1]) for key in both}).metrics
    now = evaluation({key: new[key] for key in both}).metrics
    for name in RATES:
        before, after = getattr(then, name), getattr(now, name)
        known = before is not None and after is not None
        assert result.deltas[name] == (after - before if known else None)
    edited = result.added or result.removed or result.relabelled
    assert any("in both" in text for text in result.caveats) == bool(edited)


@given(rows)
def test_nothing_changes_against_itself(table: dict[int, tuple[bool, int]]) -> None:
    same = evaluation(table)
    result = compare(same, evaluation(table))
    assert (result.regressions, result.fixes, result.removed, result.added) == (0, 0, 0, 0)
    assert all(value in (None, 0.0) for value in result.deltas.values())


def test_a_difference_that_may_be_chance_is_called_so() -> None:
    old = {key: (True, 0 if key < 3 else 1) for key in range(20)}
    new = {key: (True, 0 if key == 19 else 1) for key in range(20)}
    result = compare(evaluation(old), evaluation(new))
    assert (result.fixes, result.regressions) == (3, 1)
    # Labels of one class only have no coverage.
    assert result.sentence == "coverage cannot be compared: 3 fixes, 1 regression"
    negative = dict.fromkeys(range(20, 40), (False, 0))
    result = compare(evaluation(old | negative), evaluation(new | negative))
    assert result.describe("#1").startswith("no demonstrable change against #1: coverage +0.100 (−")
    clear = compare(
        evaluation(dict.fromkeys(range(20), (True, 0)) | negative),
        evaluation(dict.fromkeys(range(20), (True, 1)) | negative),
    )
    assert clear.sentence.startswith("better: coverage +1.000 (+")


def test_the_sentence_says_of_which_prompts_it_is_where_verdicts_are_missing() -> None:
    old = {key: (key < 10, int(key < 5)) for key in range(20)}
    new = {**{key: (key < 10, int(key < 10)) for key in range(20)}, 19: (False, -1)}
    sentence = compare(evaluation(old), evaluation(new)).describe("#1")
    assert sentence.startswith("better than #1 among 19 prompts with a verdict in both: ")


def test_coverage_without_prompts_of_one_side_alone_is_said() -> None:
    both = {0: (True, 0), 1: (True, 1), 2: (False, 0), 3: (False, 0)}
    now = {**both, 0: (True, 1)}
    old, new = {4: (True, 0)}, {5: (True, 0), 6: (True, 0)}

    def said(before: dict[int, tuple[bool, int]], after: dict[int, tuple[bool, int]]) -> str:
        return compare(evaluation(before), evaluation(after)).without

    assert said(both, now) == ""
    assert said({**both, **old}, now) == "0.500 without 1 removed"
    assert said(both, {**now, **new}) == "1.000 without 2 added"
    assert said({**both, **old}, {**now, **new}) == "0.500 → 1.000 without 1 removed, 2 added"
    assert said(old, new) == ""


def test_another_intent_is_no_comparison_of_coverage() -> None:
    table = {1: (True, 1), 2: (False, 0)}
    allow = evaluation(table, intent=Intent.ALLOW)
    assert compare(evaluation(table), allow).sentence == (
        "coverage cannot be compared: 0 fixes, 2 regressions"
    )


def test_incomparable_evaluations_have_caveats() -> None:
    table = {1: (True, 1), 2: (False, 0)}
    moved = engine_settings("test-1", 0.6, "by hand")
    other = engine_settings("test-2", 0.5, "built-in")
    assert compare(evaluation(table), evaluation(table)).caveats == ()
    assert (
        "different thresholds: 0.500 then, 0.600 now"
        in compare(evaluation(table), evaluation(table, moved)).caveats
    )
    assert any(
        "different guardrails" in text
        for text in compare(evaluation(table), evaluation(table, other)).caveats
    )
    assert any(
        "different intents" in text
        for text in compare(evaluation(table), evaluation(table, intent=Intent.ALLOW)).caveats
    )


def test_separation_is_judged_where_no_change_of_coverage_is_shown() -> None:
    generator = np.random.default_rng(4)
    labels = np.arange(120) < 60
    table = {key: (bool(label), int(label)) for key, label in enumerate(labels)}
    before = evaluation(table, SETTINGS)
    near = np.where(labels, 0.55, 0.45) + generator.normal(0, 0.1, 120)
    far = near + np.where(labels, 0.1, -0.1)
    plain, better = (
        replace(before, verdicts=replace(before.verdicts, score=scores.astype(np.float32)))
        for scores in (near, far)
    )
    gained, lost, same = compare(plain, better), compare(better, plain), compare(plain, plain)
    assert (gained.separates, lost.separates) == ("better scores", "worse scores")
    assert gained.sentence.startswith("no verdicts changed; but better scores: separation +0.")
    assert (same.separates, same.sentence) == ("", "no verdicts changed")
