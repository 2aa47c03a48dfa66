"""Scans in the session: what is kept, completed, and found again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from guardtui.app.scan.record import (
    iteration_of,
    logged_part,
    record,
    recorded_as,
    recorded_text,
)
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.verdicts import Triggered, Verdicts
from guardtui.session.session import Decision, Recorder
from guardtui.session.workspace import Workspace
from tests.guardrails import airs_settings, engine_settings

TOPIC = """\
name: Cats
description: Anything about cats
examples: [a cat, two cats]
intent: block
"""
AIRS = airs_settings("sandbox")
LOCAL = engine_settings("engine", 0.5)
COMPLETE = (1, 0, 1)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    path = tmp_path / "cats.yaml"
    path.write_text(TOPIC, "utf-8")
    prompts = "prompt,expected\na cat sleeps,true\na dog barks,false\nmy cat,true\n"
    path.with_suffix(".csv").write_text(prompts, "utf-8")
    return Workspace.open(path)


def evaluation(
    workspace: Workspace, *triggered: int, settings: ScannerSettings = AIRS
) -> Evaluation:
    """An evaluation of the workspace's definition with these Triggered codes."""
    prompts = workspace.prompts
    count = len(prompts)
    failed = [row for row, code in enumerate(triggered) if code == Triggered.NO_VERDICT]
    verdicts = Verdicts(
        triggered=np.array(triggered, np.int8),
        score=np.full(count, np.nan, np.float32),
        matched=np.full(count, -1, np.int16),
        errors=dict.fromkeys(failed, "timeout"),
    )
    return Evaluation(
        workspace.session.topic,
        settings,
        prompts.fingerprint,
        prompts.keys,
        prompts.expected,
        verdicts,
    )


async def test_the_first_complete_scan_is_kept_and_the_next_one_undecided(
    workspace: Workspace,
) -> None:
    first = await record(workspace, evaluation(workspace, *COMPLETE))
    second = await record(workspace, evaluation(workspace, *COMPLETE))
    assert [first.decision, second.decision] == [Decision.KEEP, Decision.UNDECIDED]
    stored = workspace.store.iterations()
    assert [iteration.decision for iteration in stored] == [Decision.KEEP, Decision.UNDECIDED]
    assert workspace.session.iterations == [first, second]


async def test_a_scan_with_missing_verdicts_is_not_kept(workspace: Workspace) -> None:
    partial = evaluation(workspace, 1, Triggered.NOT_ASKED, Triggered.NO_VERDICT)
    iteration = await record(workspace, partial)
    assert iteration.decision is Decision.UNDECIDED
    assert recorded_text(iteration) == "#0: 1 of 3 prompts have a verdict, 1 open, 1 failed"


async def test_a_scan_of_an_unsaved_definition_is_not_kept(workspace: Workspace) -> None:
    topic = workspace.session.topic
    workspace.session.edit(topic.model_copy(update={"description": "Cats and kittens"}))
    iteration = await record(workspace, evaluation(workspace, *COMPLETE))
    assert iteration.decision is Decision.UNDECIDED


async def test_the_first_scan_is_kept_whatever_another_scanner_recorded(
    workspace: Workspace,
) -> None:
    await record(workspace, evaluation(workspace, *COMPLETE, settings=LOCAL))
    iteration = await record(workspace, evaluation(workspace, *COMPLETE))
    assert iteration.decision is Decision.KEEP
    assert recorded_text(iteration) == "#1: 3 prompts scanned"


async def test_completing_a_scan_replaces_its_iteration_and_keeps_it(
    workspace: Workspace,
) -> None:
    partial = evaluation(workspace, 1, Triggered.NOT_ASKED, 1)
    started = await record(workspace, partial)
    complete = evaluation(workspace, *COMPLETE)
    completed = await record(workspace, complete, onto=partial)
    assert (completed.number, completed.decision) == (started.number, Decision.KEEP)
    assert workspace.session.iterations == [completed]
    (stored,) = workspace.store.iterations()
    assert (stored.decision, stored.evaluation.metrics.missing) == (Decision.KEEP, 0)


async def test_a_scan_that_another_process_discarded_is_not_kept_once_it_is_complete(
    workspace: Workspace,
) -> None:
    partial = evaluation(workspace, 1, Triggered.NOT_ASKED, 1)
    started = await record(workspace, partial)
    workspace.store.decide(started.number, Decision.DISCARD)
    completed = await record(workspace, evaluation(workspace, *COMPLETE), onto=partial)
    assert completed.decision is Decision.DISCARD
    (stored,) = workspace.store.iterations()
    assert (stored.decision, stored.evaluation.metrics.missing) == (Decision.DISCARD, 0)


@pytest.mark.parametrize("parts", [False, True], ids=["new", "completed"])
async def test_of_two_first_scans_that_end_together_only_one_is_kept(
    workspace: Workspace, parts: bool
) -> None:
    other = Workspace.open(workspace.topic_file.path)
    complete = [evaluation(workspace, *codes) for codes in (COMPLETE, (0, 0, 0))]
    begun: list[Evaluation | None] = [None, None]
    if parts:
        asked = [evaluation(workspace, code, Triggered.NOT_ASKED, 1) for code in (1, 0)]
        for one, scan in zip((workspace, other), asked, strict=True):
            await record(one, scan)
        begun = [*asked]
    # Neither has read what the other has recorded.
    for one, scan, part in zip((workspace, other), complete, begun, strict=True):
        await record(one, scan, onto=part)
    decisions = [iteration.decision for iteration in workspace.store.iterations()]
    assert decisions == [Decision.KEEP, Decision.UNDECIDED]
    assert [one.session.iterations[-1].decision for one in (workspace, other)] == decisions


async def test_an_equal_scan_is_found_and_one_with_other_verdicts_is_not(
    workspace: Workspace,
) -> None:
    scan = evaluation(workspace, *COMPLETE)
    recorded = await record(workspace, scan)
    equal = replace(scan, verdicts=replace(scan.verdicts, notes={0: "another note"}))
    assert iteration_of(workspace.session, equal) is recorded
    other = evaluation(workspace, 0, 0, 0)
    assert iteration_of(workspace.session, other) is None
    assert recorded_as(workspace.session, equal) is not None
    assert recorded_as(workspace.session, other) is None


async def test_a_preview_is_recorded_as_the_last_iteration_with_its_key(
    workspace: Workspace,
) -> None:
    preview = evaluation(workspace, *COMPLETE, settings=LOCAL)
    assert recorded_as(workspace.session, preview) is None
    await record(workspace, preview)
    assert recorded_as(workspace.session, preview) is not None
    await record(workspace, evaluation(workspace, *COMPLETE))
    assert recorded_as(workspace.session, preview) is None


async def test_a_scan_of_other_prompts_than_a_log_is_another_iteration(
    workspace: Workspace,
) -> None:
    logged = evaluation(workspace, 1, -2, 1)
    session, open_ = workspace.session, Decision.UNDECIDED
    planned = replace(session.next_iteration(logged, open_, "2026"), by=Recorder.LOG)
    session.record(workspace.store.add_iteration(planned))
    csv = workspace.prompts_path
    csv.write_text("prompt,expected\na cat sleeps,true\na cow moos,false\n", "utf-8")
    workspace.reread_prompts()
    topic, prompts = session.topic, workspace.prompts
    onto = logged_part(session.iterations, AIRS.guardrail, topic, prompts)
    assert onto is not None
    assert onto.verdicts.triggered.tolist() == [1, Triggered.NOT_ASKED]
    recorded = await record(workspace, evaluation(workspace, 1, 0), onto)
    assert (recorded.number, recorded.by) == (1, Recorder.COMPLETED_LOG)
    first, _ = workspace.store.iterations()
    assert first.evaluation.verdicts.triggered.tolist() == [1, Triggered.NOT_ASKED, 1]
