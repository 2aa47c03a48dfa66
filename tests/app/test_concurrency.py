"""Commands and an app that work on one session at the same time lose nothing."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import pytest

from guardtui.app.editing.iteration_decisions import HistoryError, IterationDecisions
from guardtui.files.problems import FileError
from guardtui.session.session import Decision
from guardtui.session.store import DecidedElsewhereError, SessionStore
from guardtui.session.workspace import Workspace
from tests.app.concurrency import evaluation_of, prepare, run_together


@pytest.mark.process
@pytest.mark.parametrize("kills", [False, True])
def test_programs_that_work_at_random_lose_nothing_that_was_acknowledged(
    tmp_path: Path, kills: bool
) -> None:
    run_together(tmp_path, 4, kills=kills)


def test_of_two_programs_that_save_at_once_none_overwrites_the_other(tmp_path: Path) -> None:
    prepare(tmp_path)
    replaced: list[str] = []

    def save(name: str) -> None:
        for number in range(15):
            workspace = Workspace.open(tmp_path / "topic.yaml")
            before = workspace.topic_file.topic
            try:
                workspace.save(before.model_copy(update={"description": f"{name} {number}"}))
            except FileError:  # the other one was faster, and this one says so
                continue
            replaced.append(before.description)

    threads = [threading.Thread(target=save, args=(name,)) for name in ("first", "second")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(Counter(replaced).values()) == 1


def test_decision_of_another_program_is_not_overwritten(tmp_path: Path) -> None:
    prepare(tmp_path)
    workspace = Workspace.open(tmp_path / "topic.yaml")
    topic = workspace.topic_file.topic.model_copy(update={"description": "Other"})
    evaluation = evaluation_of(topic, workspace.prompts, slice(None), 0.8)
    iteration = workspace.write(evaluation, Decision.UNDECIDED)
    SessionStore(tmp_path / "topic.yaml").decide(iteration.number, Decision.KEEP)
    with pytest.raises(DecidedElsewhereError, match=r"decided on #1 meanwhile: keep"):
        workspace.write_discarded(evaluation, iteration)
    assert [one.decision for one in workspace.store.iterations()] == [Decision.KEEP] * 2


def test_keep_of_the_known_definition_does_not_say_saved_if_another_program_wrote_the_file(
    tmp_path: Path,
) -> None:
    prepare(tmp_path)
    path = tmp_path / "topic.yaml"
    workspace = Workspace.open(path)
    evaluation = evaluation_of(workspace.topic_file.topic, workspace.prompts, slice(None), 0.8)
    other = path.read_text().replace("description: Tax", "description: Other")
    path.write_text(other)
    iteration, problem = workspace.write_kept(evaluation)
    assert iteration.decision is Decision.KEEP
    assert "changed" in problem
    assert path.read_text() == other


def test_discard_says_which_of_its_steps_is_done_if_another_program_wrote_the_file(
    tmp_path: Path,
) -> None:
    prepare(tmp_path)
    path = tmp_path / "topic.yaml"
    workspace = Workspace.open(path)
    topic = workspace.topic_file.topic.model_copy(update={"description": "Other"})
    evaluation = evaluation_of(topic, workspace.prompts, slice(None), 0.1)
    workspace.write(evaluation, Decision.UNDECIDED)
    workspace.save(topic)
    decisions = IterationDecisions(path)
    path.write_text(path.read_text() + "more: 1\n")
    with pytest.raises(HistoryError, match=r"#1 is discarded, but #0 is not restored: .*changed"):
        decisions.discard(decisions.chosen(1))
    assert [one.decision for one in workspace.store.iterations()] == [
        Decision.KEEP,
        Decision.DISCARD,
    ]
    assert "more: 1" in path.read_text()
