"""Scores that come from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guardtui.scorer import SampleScore, Score, Target, TaskState, mean, precomputed_scores
from guardtui.scorer.registry import registry_info, registry_params
from tests.scorer.samples import run


def _metrics(scorer: Any) -> Any:
    return registry_info(scorer).metadata["metrics"]


def scored(scorer: Any, sample: str, epoch: int = 1) -> object:
    score = run(scorer(TaskState("x", sample_id=sample, epoch=epoch), Target("x")))
    return None if score is None else score.value


def test_scores_are_found_by_id_and_epoch(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text('{"id": 1, "value": "C"}\n\n{"id": "1", "epoch": 2, "value": {"a": 0.5}}\n')
    scorer = precomputed_scores(str(path))
    assert [scored(scorer, "1"), scored(scorer, "1", 2), scored(scorer, "2")] == [
        "C", {"a": 0.5}, None,
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"scores\.jsonl has no score for id '2', epoch 1"):
        scored(precomputed_scores(str(path), "error"), "2")


def test_metrics_may_be_given(tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    path.write_text("[]")
    names = [registry_info(one).name for one in _metrics(precomputed_scores(str(path)))]
    assert names == ["guardtui/accuracy", "guardtui/stderr"]
    own = precomputed_scores(str(path), metrics=[mean()])
    assert [one([SampleScore(score=Score(value=1))]) for one in _metrics(own)] == [1.0]
    assert registry_params(own)["scores"] == str(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"id": 1, "value": 1}\n{', "scores.jsonl:2: not JSON: "),
        ('{"id": 1, "value": 1}\n5', "scores.jsonl:2: not an object with id and value"),
        ('{"id": 1}', "scores.jsonl:1: no value"),
        ('{"id": 1, "value": null}', "scores.jsonl:1: not a score: "),
        ('{"id": 1, "value": 1, "epoch": 1.5}', "scores.jsonl:1: the epoch is not a whole number"),
        ('{"id": 1, "value": 1}\n{"id": "1", "value": 0}', ":2: the id '1' has a score already"),
    ],
)
def test_a_file_that_is_no_scores_is_located(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"scores\.jsonl") as raised:
        precomputed_scores(str(path))
    assert problem in str(raised.value)
