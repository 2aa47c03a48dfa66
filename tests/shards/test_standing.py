"""A whole set held ready says what its shards, evaluated one by one, say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from guardtui.domain.verdicts import Outcome
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.shards.large_set import LargeSet, cut
from guardtui.shards.merge import merge
from guardtui.shards.standing import Standing
from tests.shards.conftest import TOPIC
from tests.shards.test_merge import evaluated, said


@pytest.fixture
def large(source: Path, tmp_path: Path) -> LargeSet:
    found = cut(source, tmp_path / "standing", 5)
    assert found is not None
    return found


def ready(large: LargeSet, scanner: LocalScanner) -> Standing:
    standing = Standing(large, scanner)
    told: list[int] = []
    assert standing.prepare(told.append)
    assert told[-1] == large.rows
    return standing


def test_edits_come_to_what_shards_come_to(source: Path, large: LargeSet, tmp_path: Path) -> None:
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


def test_what_an_edit_changed_is_counted_by_class(large: LargeSet) -> None:
    standing = ready(large, LocalScanner("static"))
    before = standing.evaluate(TOPIC)
    other_texts = {"description": "The weather and soups", "examples": ("Hot soup?", "Rain?")}
    after = standing.evaluate(TOPIC.model_copy(update=other_texts))
    assert before is not None
    assert after is not None
    should, other = after.since(before)
    assert should.sum() + other.sum() == large.rows
    then = np.concatenate([one.codes for one in before.evaluations])
    now = np.concatenate([one.codes for one in after.evaluations])
    regressions = int(((then == Outcome.TP) & (now == Outcome.FN)).sum())
    assert should[Outcome.TP, Outcome.FN] == regressions > 0
    assert other[Outcome.TN, Outcome.FP] == ((then == Outcome.TN) & (now == Outcome.FP)).sum()
    assert not after.since(after)[0][Outcome.TP, Outcome.FN]


def test_another_threshold_holds_at_once(large: LargeSet) -> None:
    scanner = LocalScanner("static")
    standing = ready(large, scanner)
    scanner.use_threshold(0.0)
    whole = standing.evaluate(TOPIC)
    assert whole is not None
    assert whole.metrics.true_positive_rate == 1
    assert whole.settings.threshold == 0


def test_stopped_it_goes_on_where_it_was(large: LargeSet) -> None:
    standing = Standing(large, LocalScanner("static"))
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
def test_more_shards_than_prompts(source: Path, tmp_path: Path) -> None:
    merged = evaluated(source, tmp_path / "many", 300)
    one = evaluated(source, tmp_path / "one", 1)
    assert merged.by_category == one.by_category
    assert said(merged) == said(one)


def test_a_run_that_was_stopped_while_it_was_written_is_taken_away(large: LargeSet) -> None:
    standing = ready(large, LocalScanner("static"))
    whole = standing.evaluate(TOPIC)
    assert whole is not None
    told: list[int] = []
    assert standing.write(whole, told.append, lambda: bool(told)) is None
    assert told
    assert not list((large.folder / "runs").iterdir())
    run = standing.write(whole, told.append)
    assert run is not None
    assert told[-1] == large.rows
    # What another process has begun is left to it.
    assert standing.write(whole, told.append, lambda: True) is None
    assert merge(run).metrics == whole.metrics
