"""Verdicts of other guardrails and doubtful labels: cached while the author types."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from guardtui.app.scan.other_guardrails import OtherGuardrails
from guardtui.app.state import AppState
from guardtui.domain.evaluation import Evaluation
from guardtui.session.other_verdicts import other_verdicts
from guardtui.session.session import Decision
from tests.app.bench import Bench, like_labels
from tests.guardrails import judge_settings


def state_of(bench: Bench, evaluation: Evaluation) -> AppState:
    """Return the state that shows an evaluation."""
    iterations = tuple(bench.workspace.session.iterations)
    return replace(
        bench.store.state, evaluation=evaluation, evaluated=bench.prompts, iterations=iterations
    )


def test_verdicts_are_computed_once_while_the_author_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path)
    computed: list[str] = []

    def counted(topic, *rest):  # type: ignore[no-untyped-def]
        computed.append(topic.description)
        return other_verdicts(topic, *rest)

    monkeypatch.setattr("guardtui.app.scan.other_guardrails.other_verdicts", counted)
    scan = bench.workspace.write(bench.evaluated(like_labels), Decision.UNDECIDED)
    bench.workspace.session.record(scan)
    others = OtherGuardrails(bench.workspace, bench.engine)
    for description in ("one", "two", "Personal tax advice"):
        topic = bench.topic.model_copy(update={"description": description})
        shown = others.verdicts(state_of(bench, bench.engine.evaluate_now(topic, bench.prompts)))
        (airs,) = shown.guardrails
        assert airs.current.all() == (description == "Personal tax advice")
    assert computed == ["one", "Personal tax advice"]


def test_before_an_evaluation_there_is_nothing(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    others = OtherGuardrails(bench.workspace, bench.engine)
    assert others.verdicts(bench.store.state).guardrails == ()
    assert others.doubts(bench.store.state) is None


def test_a_confirmed_label_is_not_in_doubt(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    def turned(topic, prompts):  # type: ignore[no-untyped-def]
        return 1 - like_labels(topic, prompts)

    scan = bench.workspace.write(bench.evaluated(turned), Decision.UNDECIDED)
    bench.workspace.session.record(scan)
    judge = judge_settings("m")
    bench.workspace.session.record(
        bench.workspace.write(replace(scan.evaluation, settings=judge), Decision.UNDECIDED)
    )
    others = OtherGuardrails(bench.workspace, bench.engine)
    state = state_of(bench, scan.evaluation)
    doubts = others.doubts(state)
    assert doubts is not None
    count = int(doubts.suspect.sum())
    assert count > 2
    keys = bench.prompts.keys[doubts.suspect][:2].tolist()
    assert others.confirm(keys[:1])
    assert others.confirm(keys)  # one of them is new
    doubts = others.doubts(state)
    assert doubts is not None
    assert (int(doubts.suspect.sum()), int(doubts.confirmed.sum())) == (count - 2, 2)
    assert not others.confirm(keys)
    assert bench.workspace.store.confirmed_labels() == frozenset()
