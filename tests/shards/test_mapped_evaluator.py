"""A whole set held ready says what its shards, evaluated one by one, say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from guardtui.domain.verdicts import Outcome
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.shards.large_set import LargeSet, cut
from guardtui.shards.mapped_evaluator import MappedEvaluator
from guardtui.shards.merge import merge
from tests.shards.conftest import TOPIC
from tests.shards.test_merge import evaluated, said


@pytest.fixture
def large(source: Path, tmp_path: Path) -> LargeSet:
    result = cut(source, tmp_path / "standing", 5)
    assert result is not None
    return result


def ready(large: LargeSet, scanner: LocalScanner) -> MappedEvaluator:
    standing = MappedEvaluator(large, scanner)
    reports: list[int] = []
    assert standing.prepare(reports.append)
    assert reports[-1] == large.rows
    return standing


def test_repeated_evaluations_equal_those_by_shards(
    source: Path, large: LargeSet, tmp_path: Path
) -> None:
    standing = ready(large, LocalScanner("static"))
    edited = TOPIC.model_copy(update={"description": "The weather and soups"})
    for topic in (TOPIC, edited, TOPIC):
        whole = standing.evaluate(topic)
        assert whole is not None
        last = whole
    run = standing.write(last)
    assert run is not None
    merged = merge(run)
    merged.write()
    assert merged.metrics == last.metrics
    assert said(merged) == said(evaluated(source, tmp_path / "one", 1))


def test_changes_of_an_edit_are_counted_by_class(large: LargeSet) -> None:
    standing = ready(large, LocalScanner("static"))
    before = standing.evaluate(TOPIC)
    other_texts = {"description": "The weather and soups", "examples": ("Hot soup?", "Rain?")}
    after = standing.evaluate(TOPIC.model_copy(update=other_texts))
    assert before is not None
    assert after is not None
    should, other = after.since(before)
    assert should.sum() + other.sum() == large.rows
    then = np.concatenate([evaluation.codes for evaluation in before.evaluations])
    now = np.concatenate([evaluation.codes for evaluation in after.evaluations])
    regressions = int(((then == Outcome.TP) & (now == Outcome.FN)).sum())
    assert should[Outcome.TP, Outcome.FN] == regressions > 0
    assert other[Outcome.TN, Outcome.FP] == ((then == Outcome.TN) & (now == Outcome.FP)).sum()
    assert not after.since(after)[0][Outcome.TP, Outcome.FN]


def test_new_threshold_applies_at_once(large: LargeSet) -> None:
    scanner = LocalScanner("static")
    standing = ready(large, scanner)
    scanner.use_threshold(0.0)
    whole = standing.evaluate(TOPIC)
    assert whole is not None
    assert whole.metrics.true_positive_rate == 1
    assert whole.settings.threshold == 0


def test_stopped_preparation_is_resumed(large: LargeSet) -> None:
    standing = MappedEvaluator(large, LocalScanner("static"))
    looks: list[int] = []

    def stopped() -> bool:
        looks.append(1)
        return len(looks) > 3

    assert not standing.prepare(stopped=stopped)
    assert standing.prepare()
    assert standing.evaluate(TOPIC, stopped=lambda: True) is None
    whole = standing.evaluate(TOPIC)
    assert whole is not None
    assert whole.metrics.total == large.rows


@pytest.mark.exhaustive
def test_more_shards_than_prompts_are_evaluated(source: Path, tmp_path: Path) -> None:
    merged = evaluated(source, tmp_path / "many", 300)
    one = evaluated(source, tmp_path / "one", 1)
    assert merged.by_category == one.by_category
    assert said(merged) == said(one)


def test_run_stopped_while_writing_is_removed(large: LargeSet) -> None:
    standing = ready(large, LocalScanner("static"))
    whole = standing.evaluate(TOPIC)
    assert whole is not None
    reports: list[int] = []
    assert standing.write(whole, reports.append, lambda: bool(reports)) is None
    assert reports
    assert not list((large.folder / "runs").iterdir())
    run = standing.write(whole, reports.append)
    assert run is not None
    assert reports[-1] == large.rows
    # What another process has begun is left to it.
    assert standing.write(whole, reports.append, lambda: True) is None
    assert merge(run).metrics == whole.metrics
