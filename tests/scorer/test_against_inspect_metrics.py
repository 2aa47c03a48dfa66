"""Intervals, groups, agreement and precomputed scores have the values of inspect_ai."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import guardtui.scorer as ours
from tests.scorer.samples import generated, outcome, run, told

pytest.importorskip("inspect_ai", minversion="0.3.285")

import inspect_ai.scorer as theirs
from inspect_ai.model import ModelOutput
from inspect_ai.solver import TaskState as TheirState

pytestmark = pytest.mark.exhaustive

VALUES = st.one_of(
    st.sampled_from(["C", "I", "P", "N"]), st.booleans(), st.integers(0, 1), st.floats(0, 1)
)
CLUSTERS = st.sampled_from(["a", "b", "c", 1, 1.0, True])
ROWS = st.lists(st.tuples(VALUES, CLUSTERS), max_size=30)


def samples(library: Any, rows: Sequence[tuple[Any, Any]]) -> list[Any]:
    return [
        library.SampleScore(
            score=library.Score(value=value), sample_id=index, sample_metadata={"cat": cluster}
        )
        for index, (value, cluster) in enumerate(rows)
    ]


def agree(rows: Sequence[tuple[Any, Any]], make: Callable[[Any], Any]) -> None:
    """Both libraries measure the same, or raise the same type."""

    def measured(library: Any) -> Any:
        np.random.seed(7)
        return make(library)(samples(library, rows))

    mine, expected = outcome(lambda: measured(ours)), outcome(lambda: measured(theirs))
    if isinstance(mine, str) or isinstance(expected, str):
        assert mine == expected
    else:
        assert flat(mine) == pytest.approx(flat(expected), rel=1e-9, abs=1e-12, nan_ok=True)


def flat(value: Any) -> dict[str, float]:
    if isinstance(value, dict):
        return {key: flat(item)[""] for key, item in value.items()}
    return {"": math.nan if value == "not a number" else float(value[1])}


LEVELS = st.one_of(st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.0, 1.0, 2.0]), st.floats(0.01, 0.99))


@generated
@given(ROWS, LEVELS, st.sampled_from([None, "cat", "dog"]))
def test_ci(rows: list[tuple[Any, Any]], level: float, cluster: str | None) -> None:
    agree(rows, lambda library: library.ci(level, cluster=cluster))


@generated
@given(ROWS, LEVELS, st.sampled_from([None, "cat"]), st.integers(1, 30))
def test_ci_by_the_bootstrap(
    rows: list[tuple[Any, Any]], level: float, cluster: str | None, draws: int
) -> None:
    agree(rows, lambda library: library.ci(level, "bootstrap", draws, cluster=cluster))


@generated
@given(ROWS, LEVELS, st.sampled_from([None, "cat", "dog"]))
def test_ci_wilson(rows: list[tuple[Any, Any]], level: float, cluster: str | None) -> None:
    agree(rows, lambda library: library.ci_wilson(level, cluster=cluster))


@pytest.mark.parametrize("value", [1.5, -0.1, math.nan])
def test_ci_wilson_of_a_value_outside(value: float) -> None:
    agree([(0.5, "a"), (value, "b")], lambda library: library.ci_wilson())


@generated
@given(st.lists(st.tuples(st.floats(-1e6, 1e6), CLUSTERS), max_size=20))
def test_var_and_ci_of_any_numbers(rows: list[tuple[Any, Any]]) -> None:
    agree(rows, lambda library: library.var())
    agree(rows, lambda library: library.ci())
    agree(rows, lambda library: library.ci(cluster="cat"))


@generated
@given(
    ROWS,
    st.sampled_from(["cat", "dog"]),
    st.sampled_from(["samples", "groups", False]),
    st.sampled_from(["all", "a", "cat b"]),
    st.sampled_from(["{group_name}", "cat {group_name}"]),
    st.sampled_from(["mean", "std", "accuracy", "var"]),
)
def test_grouped(
    rows: list[tuple[Any, Any]], key: str, whole: Any, label: str, template: str, name: str
) -> None:
    agree(
        rows,
        lambda library: library.grouped(
            getattr(library, name)(), key, all=whole, all_label=label, name_template=template
        ),
    )


RATINGS = st.one_of(
    st.lists(st.sampled_from(["C", "I", "P"]), max_size=4),
    st.lists(st.integers(0, 4), max_size=4),
    st.lists(st.floats(-5, 5), min_size=2, max_size=4),
    st.lists(st.booleans(), max_size=3),
    st.just("C"),
)


@generated
@given(
    st.lists(st.tuples(RATINGS, st.none()), max_size=12),
    st.sampled_from(["nominal", "ordinal", "interval", "ratio"]),
    st.booleans(),
)
def test_krippendorff_alpha(rows: list[tuple[Any, Any]], level: Any, converts: bool) -> None:
    agree(
        rows,
        lambda library: library.krippendorff_alpha(
            level, library.value_to_float() if converts else None
        ),
    )


@generated
@given(st.lists(st.one_of(VALUES, st.just(math.nan), st.just([1]), st.just({"a": 1})), max_size=5))
def test_collected_values(values: list[Any]) -> None:
    def collected(library: Any) -> Any:
        return told(library.collect_score()([library.Score(value=value) for value in values]))

    expected = outcome(lambda: collected(theirs))
    assert outcome(lambda: collected(ours)) == expected


RECORDS: list[Any] = [
    {"id": 1, "value": "C"},
    {"id": "2", "value": 0.25, "answer": "x", "explanation": "why", "metadata": {"by": "me"}},
    {"id": "2", "value": "I", "epoch": 2},
    {"id": 3, "value": {"a": 1}, "other": 5},
    {"id": 4, "value": [1, 0]},
]


@pytest.mark.parametrize("name", ["scores.json", "scores.jsonl", "SCORES.JSONL"])
@pytest.mark.parametrize("missing", ["unscored", "error", "skip"])
def test_precomputed_scores(tmp_path: Path, name: str, missing: Any) -> None:
    path = tmp_path / name
    lines = "\n\n".join(map(json.dumps, RECORDS))
    path.write_text(json.dumps(RECORDS) if name.endswith("json") else lines, "utf-8")
    for sample, epoch in ((1, 1), ("1", 3), (2, 1), ("2", 2), (3, 1), (4, 1), (5, 1)):
        given_scores = []
        for library in (ours, theirs):
            state = TheirState(
                model="none/none",  # type: ignore[arg-type]
                sample_id=sample,
                epoch=epoch,
                input="question",
                messages=[],
                output=ModelOutput.from_content("none/none", "text"),
            )

            def scored(library: Any = library, state: Any = state) -> Any:
                scorer = library.precomputed_scores(str(path), missing)
                return told(run(scorer(state, library.Target("x"))))

            given_scores.append(outcome(scored))
        assert given_scores[0] == given_scores[1]


@pytest.mark.parametrize(
    "text",
    [
        "{}", "[1]", '[{"id": 1}]', '[{"value": 1}]', '[{"id": 1, "value": 1, "epoch": "1"}]',
        '[{"id": 1, "value": 1}, {"id": "1", "value": 0}]', "[", '[{"id": 1, "value": null}]',
    ],
)  # fmt: skip
def test_files_that_are_no_scores(tmp_path: Path, text: str) -> None:
    path = tmp_path / "scores.json"
    path.write_text(text, "utf-8")
    for library in (ours, theirs):
        with pytest.raises(ValueError):  # noqa: PT011 - the texts are each one's own
            library.precomputed_scores(str(path))
