"""Profile evaluations against the rule written out prompt by prompt, and small conflicts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import jaccard_score

from guardtui.domain.metrics import metrics_of
from guardtui.domain.profile import NO_ALLOW
from guardtui.domain.profile_conflicts import ConflictKind
from guardtui.domain.profile_evaluation import (
    CONTRADICTORY,
    ProfileEvaluation,
    evaluate_scans,
)
from guardtui.domain.profile_labels import (
    Label,
    ProfileMember,
    ProfilePrompts,
    all_prompts,
    prompts_of_one,
)
from guardtui.domain.prompts import PromptSet, prompt_keys
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Verdicts, outcomes
from tests.examples import up_to

BLOCK, ALLOW = Intent.BLOCK, Intent.ALLOW
NONE, NO, YES, BOTH = Label.UNLABELLED, Label.NO, Label.YES, Label.BOTH


@dataclass
class Column:
    """A topic with its labels (values of `Label`) and what it matches (of `Triggered`)."""

    name: str
    intent: Intent
    labels: list[int]
    matches: list[int]


def evaluation(*columns: Column, closed: bool = False) -> ProfileEvaluation:
    count = len(columns[0].labels)
    texts = [f"prompt {row}" for row in range(count)]
    frame = pl.DataFrame(
        {"prompt": texts, "expected": [False] * count, "key": prompt_keys(texts)},
        schema_overrides={"prompt": pl.String, "key": pl.UInt64},
    )
    members, scans = [], []
    for column in columns:
        lines = [row + 2 if label != NONE else 0 for row, label in enumerate(column.labels)]
        source = f"{column.name}.csv" if any(lines) else ""
        topic = Topic(name=column.name, intent=column.intent)
        labels, unasked = np.array(column.labels, np.int8), np.full(count, -2, np.int8)
        members.append(ProfileMember(topic, labels, unasked, np.array(lines, np.int32), source))
        # An allow topic stops what it does not match.
        answers = [
            match if match < 0 or column.intent is BLOCK else 1 - match for match in column.matches
        ]
        nothing = np.zeros(len(answers), np.float32)
        scans.append(Verdicts(np.array(answers, np.int8), nothing, nothing.astype(np.int16)))
    prompts = ProfilePrompts(PromptSet(frame, BLOCK, "test"), tuple(members))
    return evaluate_scans(prompts, scans, closed=closed)


def conflicts_of(made: ProfileEvaluation) -> dict[ConflictKind, list[tuple[str, str, list[int]]]]:
    conflicts: dict[ConflictKind, list[tuple[str, str, list[int]]]] = {}
    for conflict in made.conflicts:
        names = made.name(conflict.first), made.name(conflict.second)
        conflicts.setdefault(conflict.kind, []).append((*names, conflict.rows.tolist()))
    return conflicts


ROWS = st.integers(1, 12)


@st.composite
def evaluations(draw: st.DrawFn) -> ProfileEvaluation:
    count = draw(ROWS)
    members = [
        Column(
            f"topic {index}",
            draw(st.sampled_from([BLOCK, ALLOW])),
            draw(st.lists(st.sampled_from([-1, 0, 1, 2]), min_size=count, max_size=count)),
            draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=count, max_size=count)),
        )
        for index in range(draw(st.integers(1, 4)))
    ]
    return evaluation(*members, closed=draw(st.booleans()))


@given(evaluations())
@settings(max_examples=up_to(300), deadline=None)
def test_verdicts_and_outcomes_follow_the_rule_prompt_by_prompt(made: ProfileEvaluation) -> None:
    counts = dict.fromkeys(("TP", "TN", "FP", "FN", "ERROR", CONTRADICTORY), 0)
    for row in range(len(made)):
        allows = [one for one in made.members if one.topic.intent is ALLOW]
        blocks = [one for one in made.members if one.topic.intent is BLOCK]

        def stops(matches: dict[str, bool], allows: list = allows, blocks: list = blocks) -> bool:
            if any(matches[one.topic.name] for one in allows):
                return False
            return made.closed or any(matches[one.topic.name] for one in blocks)

        wanted = stops({one.topic.name: one.labels[row] == YES for one in made.members})
        assert bool(made.should_stop[row]) == wanted
        # Without a verdict of some topic, both answers of it must lead to the same end.
        ends = set()
        unknown = [one for one in made.members if one.matches[row] == -1]
        for number in range(2 ** len(unknown)):
            matches = {one.topic.name: bool(one.matches[row] == 1) for one in made.members}
            for index, one in enumerate(unknown):
                matches[one.topic.name] = bool(number >> index & 1)
            ends.add(stops(matches))
        expected = ends.pop() if len(ends) == 1 else None
        got = {-1: None, 0: False, 1: True}[int(made.stopped[row])]
        assert got == expected
        contradictory = any(one.labels[row] == BOTH for one in made.members) or (
            any(one.labels[row] == YES for one in allows)
            and any(one.labels[row] == YES for one in blocks)
        )
        if contradictory:
            outcome = CONTRADICTORY
        elif got is None:
            outcome = "ERROR"
        else:
            outcome = {(1, 1): "TP", (0, 0): "TN", (0, 1): "FP", (1, 0): "FN"}[wanted, got]
        assert made.outcome(row) == outcome
        counts[outcome] += 1
        assert bool(made.stopped_by.get(row, ())) == (got is True)
    metrics = made.metrics
    assert (metrics.tp, metrics.tn, metrics.fp, metrics.fn, metrics.errors) == tuple(
        counts[name] for name in ("TP", "TN", "FP", "FN", "ERROR")
    )
    # Being right about what is undecided makes nothing worse, and changes no other row.
    right = made.metrics_if_right
    assert right.tp + right.tn == metrics.tp + metrics.tn + int(made.undecided.sum())
    assert right.total == metrics.total
    assert made.conflict_count >= int(made.conflict_rows.sum())


def test_metrics_of_a_topic_alone_ignore_the_other_topics() -> None:
    made = evaluation(
        Column("tax", BLOCK, [YES, NO, NO, NONE], [1, 0, 0, 0]),
        Column("harm", BLOCK, [NONE, NONE, NO, YES], [0, 1, 0, 1]),
    )
    alone, whole = made.members[0].alone, made.in_profile(0)
    assert (alone.tp, alone.tn, alone.fp) == (1, 2, 0)
    assert (whole.tp, whole.tn, whole.fp) == (1, 1, 1)
    assert conflicts_of(made) == {ConflictKind.STOPPED: [("tax", "harm", [1])]}
    # Nobody has said whether prompt 1 is about harm: it may rightly be stopped.
    assert made.undecided.tolist() == [False, True, False, False]
    assert made.metrics.fp == 1
    assert (made.metrics_if_right.fp, made.metrics_if_right.tp) == (0, 3)


def test_a_label_of_the_other_topic_decides_an_undecided_prompt() -> None:
    def with_label(label: int) -> ProfileEvaluation:
        return evaluation(
            Column("tax", BLOCK, [NO], [0]),
            Column("harm", BLOCK, [label], [1]),
        )

    rightly, wrongly = with_label(YES), with_label(NO)
    assert rightly.outcome(0) == "TP"
    assert not rightly.conflicts
    assert wrongly.outcome(0) == "FP"
    assert not wrongly.undecided.any()
    assert conflicts_of(wrongly) == {ConflictKind.STOPPED: [("tax", "harm", [0])]}


def test_prompts_that_a_topic_stops_itself_are_mistakes_not_conflicts() -> None:
    made = evaluation(Column("tax", BLOCK, [NO], [1]), Column("harm", BLOCK, [NONE], [1]))
    assert conflicts_of(made) == {}
    assert made.outcome(0) == "FP"
    assert made.stopped_by.get(0, ()) == ("tax", "harm")


@pytest.mark.parametrize(("closed", "stopped_by"), [(False, ()), (True, (NO_ALLOW,))])
def test_the_default_decides_prompts_that_no_topic_matches(
    closed: bool, stopped_by: tuple[str, ...]
) -> None:
    made = evaluation(
        Column("flights", ALLOW, [NO, YES], [0, 1]),
        Column("harm", BLOCK, [NONE, NONE], [0, 0]),
        closed=closed,
    )
    assert made.stopped_by.get(0, ()) == stopped_by
    assert made.stopped_by.get(1, ()) == ()
    assert [made.outcome(row) for row in (0, 1)] == (["TP", "TN"] if closed else ["TN", "TN"])
    assert made.idle == ((1,) if closed else ())


def test_an_allow_topic_wins_over_a_block_topic_and_both_is_a_conflict() -> None:
    made = evaluation(
        Column("flights", ALLOW, [NO, YES, YES, NONE], [1, 1, 0, 1]),
        Column("harm", BLOCK, [YES, NONE, NO, YES], [1, 1, 1, 0]),
    )
    assert made.stopped.tolist() == [0, 0, 1, 0]
    assert [made.outcome(row) for row in range(4)] == ["FN", "TN", "FP", "FN"]
    assert conflicts_of(made) == {
        ConflictKind.STOPPED: [("flights", "harm", [2])],
        ConflictKind.BOTH: [("flights", "harm", [0, 1])],
    }
    # The sets say what should happen to each: nothing is undecided.
    assert not made.undecided.any()
    assert made.conflict_count == 3


def test_contradictory_labels_count_in_no_rate() -> None:
    made = evaluation(
        Column("flights", ALLOW, [YES, YES], [1, 1]),
        Column("harm", BLOCK, [YES, NO], [0, 0]),
    )
    assert made.outcome(0) == CONTRADICTORY
    assert made.metrics.total == 1
    assert conflicts_of(made) == {ConflictKind.LABELS: [("flights", "harm", [0])]}
    # Stopped by the one whose set claims it, it is that same conflict and no other.
    stopped = evaluation(Column("flights", ALLOW, [YES], [0]), Column("harm", BLOCK, [YES], [1]))
    assert conflicts_of(stopped) == {ConflictKind.LABELS: [("flights", "harm", [0])]}
    # Two block topics may label one prompt differently: it belongs to one, and not to the other.
    fine = evaluation(Column("tax", BLOCK, [YES], [1]), Column("harm", BLOCK, [NO], [0]))
    assert fine.outcome(0) == "TP"
    assert not fine.conflicts


@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40),
)
@settings(deadline=None)
def test_overlap_is_the_jaccard_index_of_the_matches(rows: list[tuple[bool, bool]]) -> None:
    first, second = ([int(row[place]) for row in rows] for place in (0, 1))
    blank = [int(NONE)] * len(rows)
    made = evaluation(Column("a", BLOCK, blank, first), Column("b", BLOCK, blank, second))
    results = [one for one in made.conflicts if one.kind is ConflictKind.OVERLAP]
    either = sum(a or b for a, b in rows)
    index = jaccard_score(first, second, zero_division=0)
    assert bool(results) == (either >= 5 and index >= 0.5)
    for one in results:
        assert one.share == pytest.approx(index)
        assert one.interval is not None
        assert one.interval.low <= index <= one.interval.high


def test_the_cross_table_counts_matches_by_set_and_label() -> None:
    made = evaluation(
        Column("tax", BLOCK, [YES, YES, NO, NONE], [1, 0, 0, 1]),
        Column("harm", BLOCK, [NONE, NO, NONE, YES], [0, 1, 1, -1]),
    )
    rows = [
        (made.name(one.topic), one.belongs, one.prompts, one.matched, one.stopped, one.missing)
        for one in made.cross_table
    ]
    assert rows == [
        ("tax", True, 2, (1, 1), 2, 0),
        ("tax", False, 1, (0, 1), 1, 0),
        ("harm", True, 1, (1, 0), 1, 0),
        ("harm", False, 1, (0, 1), 1, 0),
    ]


def test_repeated_rows_are_counted_and_may_contradict() -> None:
    texts = ["a", "c", "a", "d", "c"]
    frame = pl.DataFrame(
        {
            "key": prompt_keys(texts),
            "line": pl.Series(range(2, 7), dtype=pl.UInt32),
            "prompt": texts,
            "expected": [True, True, False, False, True],
        }
    )
    prompts = PromptSet(frame, BLOCK, "p.csv")
    made = all_prompts([(Topic(name="tax"), prompts), (Topic(name="other"), None)])
    tax, other = made.members
    assert made.prompts.prompts.to_list() == ["a", "c", "d"]
    assert tax.labels.tolist() == [BOTH, YES, NO]
    assert (tax.lines.tolist(), tax.repeats) == ([2, 3, 5], 2)
    assert other.labels.tolist() == [NONE] * 3


LABELS = st.lists(st.booleans(), min_size=1, max_size=12)


@given(LABELS, st.data())
def test_metrics_with_companions_are_those_of_the_topic_under_test(
    expected: list[bool], data: st.DataObject
) -> None:
    count = len(expected)
    texts = [f"prompt {row % 3}" for row in range(count)]  # repeated texts stay apart
    frame = pl.DataFrame(
        {
            "key": prompt_keys(texts),
            "line": pl.Series(range(2, count + 2), dtype=pl.UInt32),
            "prompt": texts,
            "expected": expected,
        }
    )
    answers = st.lists(st.sampled_from([-1, 0, 1]), min_size=count, max_size=count)
    intents = st.sampled_from([BLOCK, ALLOW])
    topics = [Topic(name=f"topic {n}", intent=data.draw(intents)) for n in range(3)]
    prompts = PromptSet(frame, topics[0].intent, "prompts.csv")
    nothing = np.zeros(count, np.float32)
    scans = [
        Verdicts(np.array(data.draw(answers), np.int8), nothing, nothing.astype(np.int16))
        for _ in topics
    ]
    closed = topics[0].intent is ALLOW
    whole = evaluate_scans(prompts_of_one(topics[0], prompts, topics[1:]), scans, closed=closed)
    verdicts = whole.verdicts(scans[0])
    own = outcomes(prompts.should_trigger(), verdicts.triggered)
    assert whole.metrics == metrics_of(own) == whole.in_profile(0)
    assert verdicts.score is scans[0].score
    assert set(whole.errors) == set(np.flatnonzero(verdicts.triggered < 0).tolist())
    assert not whole.members[1].labelled
    assert whole.locations(0) == ("prompts.csv:2",)


def test_columns_of_another_length_are_rejected() -> None:
    with pytest.raises(ValueError, match="2 and 1 prompts"):
        evaluation(Column("a", BLOCK, [YES, NO], [1]))
