"""Prompts edited in a session: file, undo, other programs, and which iteration is best after it."""

from __future__ import annotations

import csv
import errno
import io
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.comparison import Change, compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompt_edit import Add, Duplicate, PromptEdit, Relabel, Remove
from guardtui.domain.prompts import PromptSet, PromptSetError
from guardtui.domain.verdicts import Verdicts
from guardtui.files.problems import FileError
from guardtui.files.prompt_edits import PromptsChangedError
from guardtui.files.prompt_files import load_prompts
from guardtui.session import prompt_file
from guardtui.session.session import Decision, Session
from guardtui.session.workspace import Workspace
from tests.guardrails import engine_settings
from tests.session.test_session import TOPIC, evaluation

TEXTS = [f"tax {number}" for number in range(4)] + [f"soup {number}" for number in range(4)]


def content(labels: list[bool], texts: list[str] = TEXTS) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["prompt", "expected", "intent"])
    writer.writerows(
        [text, str(label).lower(), "block"] for text, label in zip(texts, labels, strict=True)
    )
    return stream.getvalue()


BEFORE = content([True] * 4 + [False] * 4)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "tax.csv").write_text(BEFORE)
    (tmp_path / "tax.yaml").write_text("name: Tax\ndescription: tax advice\nexamples: [one, two]\n")
    return tmp_path / "tax.csv"


@pytest.fixture
def workspace(path: Path) -> Workspace:
    return Workspace.open(path.with_suffix(".yaml"))


def keys(prompts: PromptSet, *rows: int) -> frozenset[int]:
    return frozenset(int(prompts.keys[row]) for row in rows)


def answered(prompts: PromptSet, triggered: set[int]) -> Evaluation:
    """An evaluation in which the prompts of these rows triggered."""
    count = len(prompts)
    answers = np.array([row in triggered for row in range(count)], np.int8)
    verdicts = Verdicts(answers, np.zeros(count, np.float32), np.zeros(count, np.int16))
    settings = engine_settings("test", 0.5, "built-in")
    return Evaluation(
        TOPIC, settings, prompts.fingerprint, prompts.keys, prompts.expected, verdicts
    )


def keep(session: Session, evaluation: Evaluation) -> None:
    session.record(session.next_iteration(evaluation, Decision.KEEP, "2026-01-01"))


# --- the file -----------------------------------------------------------------------------


def test_edits_are_written_reported_and_undone_in_turn(workspace: Workspace, path: Path) -> None:
    contents = [BEFORE]
    edits: dict[str, PromptEdit] = {
        "3 prompts relabelled in tax.csv": Relabel(keys(workspace.prompts, 1, 2, 5)),
        "1 prompt removed from tax.csv": Remove(keys(workspace.prompts, 0)),
        "2 prompts duplicated in tax.csv": Duplicate(keys(workspace.prompts, 3, 7)),
        "1 prompt added to tax.csv": Add("VAT?", True),
    }
    for said, edit in edits.items():
        assert workspace.edit_prompts(edit) == said
        assert workspace.prompts.frame.equals(load_prompts(path).frame)
        contents.append(path.read_text())
    assert len(set(contents)) == 5
    backups = path.parent / ".guardtui/backups"
    assert (backups / "tax.csv.1.bak").read_text() == BEFORE
    for said, before in zip(reversed(edits), reversed(contents[:-1]), strict=True):
        assert workspace.undo_prompts() == f"undone: {said}"
        assert path.read_text() == before
        assert workspace.prompts.frame.equals(load_prompts(path).frame)
    assert workspace.undo_prompts() == ""
    assert contents[-1] in [backup.read_text() for backup in backups.iterdir()]
    assert [workspace.changed_prompts() for _ in range(3)] == [None] * 3


def test_edit_without_effect_creates_no_undo_step(workspace: Workspace, path: Path) -> None:
    prompts = workspace.prompts
    message = workspace.edit_prompts(Relabel(keys(prompts, 0), expected=True))
    assert message == "no changes: the prompts already have these values"
    assert workspace.prompts is prompts
    assert workspace.undo_prompts() == ""


def test_new_contradiction_is_reported_once(workspace: Workspace) -> None:
    message = workspace.edit_prompts(Add("TAX 0", False))
    assert message == "1 prompt added to tax.csv; the same prompt now has both labels: lines 2, 10"
    assert workspace.edit_prompts(Add("other", False)) == "1 prompt added to tax.csv"


def test_failed_edit_changes_nothing(
    workspace: Workspace, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts, best = workspace.prompts, workspace.session.best

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(FileError, match="disk is full"):
            workspace.edit_prompts(Relabel(keys(prompts, 0)))
    with pytest.raises(FileError, match="no row has expected false"):
        workspace.edit_prompts(Remove(keys(prompts, 4, 5, 6, 7)))
    assert (workspace.prompts, workspace.session.best) == (prompts, best)
    assert path.read_text() == BEFORE
    assert workspace.undo_prompts() == ""
    workspace.edit_prompts(Relabel(keys(prompts, 0)))
    changed = workspace.prompts
    path.unlink()
    with pytest.raises(FileError, match="no such file"):
        workspace.undo_prompts()
    assert workspace.prompts is changed
    assert workspace.changed_prompts() is None


def test_oldest_undo_steps_are_dropped_by_size(
    workspace: Workspace, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompt_file, "UNDO_BYTES", 2 * len(BEFORE) + 10)
    key = keys(workspace.prompts, 0)
    for _ in range(4):
        workspace.edit_prompts(Relabel(key))
    assert [workspace.undo_prompts() != "" for _ in range(3)] == [True, True, False]
    monkeypatch.setattr(prompt_file, "UNDO_BYTES", 0)
    workspace.edit_prompts(Relabel(key))
    assert workspace.undo_prompts()
    assert path.read_text() == BEFORE


# --- other programs -----------------------------------------------------------------------


def test_content_of_another_program_is_neither_edited_nor_undone(
    workspace: Workspace, path: Path
) -> None:
    workspace.edit_prompts(Relabel(keys(workspace.prompts, 0)))
    theirs = BEFORE + "more,true,block\n"
    path.write_text(theirs)
    with pytest.raises(PromptsChangedError, match="reloaded"):
        workspace.edit_prompts(Relabel(keys(workspace.prompts, 0)))
    with pytest.raises(PromptsChangedError, match="undoing would lose that"):
        workspace.undo_prompts()
    assert path.read_text() == theirs
    assert len(workspace.prompts) == 8


def test_changed_prompts_are_adopted_once_the_file_is_stable(
    workspace: Workspace, path: Path
) -> None:
    workspace.edit_prompts(Relabel(keys(workspace.prompts, 0)))
    for _ in range(3):
        assert workspace.changed_prompts() is None
    path.write_text(BEFORE[:70])
    assert workspace.changed_prompts() is None
    path.write_text(BEFORE + "more,true,block\n")
    assert workspace.changed_prompts() is None
    result = workspace.changed_prompts()
    assert result is not None
    assert len(workspace.prompts) == 8
    workspace.adopt_prompts(result)
    assert workspace.prompts is result
    assert workspace.changed_prompts() is None
    assert workspace.undo_prompts() == ""
    assert workspace.edit_prompts(Remove(keys(result, 8))) == "1 prompt removed from tax.csv"
    assert path.read_text() == BEFORE


def test_unusable_change_is_reported_once(workspace: Workspace, path: Path) -> None:
    prompts = workspace.prompts
    for broken, kind in ((BEFORE.replace("false", "perhaps"), PromptSetError), ("", FileError)):
        path.write_text(broken)
        assert workspace.changed_prompts() is None
        with pytest.raises(kind):
            workspace.changed_prompts()
        assert workspace.changed_prompts() is None
    path.unlink()
    assert workspace.changed_prompts() is None
    assert workspace.prompts is prompts
    path.write_text(BEFORE)  # as it was: nothing to take over
    assert [workspace.changed_prompts() for _ in range(3)] == [None] * 3
    assert workspace.edit_prompts(Relabel(keys(prompts, 0)))


def test_missing_prompt_file_is_reported_once_and_found_again(
    workspace: Workspace, path: Path
) -> None:
    prompts = workspace.prompts
    elsewhere = path.rename(path.with_name("elsewhere.csv"))
    assert workspace.changed_prompts() is None  # an editor may be replacing it
    with pytest.raises(FileError, match="missing: it was deleted or moved"):
        workspace.changed_prompts()
    assert [workspace.changed_prompts() for _ in range(3)] == [None] * 3
    assert workspace.prompts is prompts
    elsewhere.rename(path)
    assert [workspace.changed_prompts() for _ in range(3)] == [None] * 3
    path.unlink()
    workspace.changed_prompts()
    with pytest.raises(FileError, match="missing"):
        workspace.changed_prompts()
    path.write_text(BEFORE + "more,true,block\n")
    workspace.changed_prompts()
    assert len(workspace.changed_prompts() or ()) == 9


def test_intent_follows_the_prompts_unless_chosen(workspace: Workspace, path: Path) -> None:
    path.write_text(BEFORE.replace("block", "allow"))
    workspace.adopt_prompts(load_prompts(path))
    assert workspace.session.topic.intent == "allow"
    assert not workspace.unsaved
    assert workspace.session.undo()
    assert workspace.session.topic.intent == "block"
    path.write_text(BEFORE)
    workspace.session.redo()
    given = path.with_suffix(".yaml")
    given.write_text(given.read_text() + "intent: allow\n")
    chosen = Workspace.open(given)
    chosen.adopt_prompts(load_prompts(path))
    assert chosen.session.topic.intent == "allow"


@pytest.mark.skipif(os.name == "nt", reason="there are no such pipes")
def test_prompts_from_a_pipe_are_neither_watched_nor_edited(path: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(BEFORE,))
    writer.start()
    workspace = Workspace.open(path.with_suffix(".yaml"), pipe)
    writer.join()
    assert len(workspace.prompts) == 8
    os.utime(pipe)
    assert [workspace.changed_prompts() for _ in range(3)] == [None] * 3
    with pytest.raises(FileError, match="not a regular file"):
        workspace.edit_prompts(Relabel(keys(workspace.prompts, 0)))


# --- which iteration is best --------------------------------------------------------------


def test_best_iteration_is_determined_by_current_labels(workspace: Workspace, path: Path) -> None:
    session, prompts = workspace.session, workspace.prompts
    keep(session, answered(prompts, {0, 1, 2, 3}))
    keep(session, answered(prompts, {0, 1, 2, 3, 4}))
    assert (session.best, session.best_coverage) == (session.iterations[0], 1.0)
    workspace.edit_prompts(Relabel(keys(prompts, 4)))
    assert (session.best, session.best_coverage) == (session.iterations[1], 1.0)
    # The same verdicts are no better for being measured by better labels.
    assert not session.is_better(answered(workspace.prompts, {0, 1, 2, 3, 4}))
    workspace.undo_prompts()
    assert session.best is session.iterations[0]
    assert session.iterations[1].evaluation.metrics.coverage == 0.75


@given(st.lists(st.tuples(st.integers(0, 10), st.sampled_from(Decision)), max_size=8))
def test_best_on_equal_prompts_is_the_earliest_of_highest_coverage(
    rows: list[tuple[int, Decision]],
) -> None:
    session = Session(TOPIC)
    for hits, decision in rows:
        evaluated = evaluation(TOPIC, hits)
        best = session.best
        greatest = best.evaluation.metrics.coverage if best else None
        assert session.is_better(evaluated) == (greatest is None or hits / 10 > greatest)
        session.record(session.next_iteration(evaluated, decision, "2026-01-01"))
    kept_hits = [hits if decision is Decision.KEEP else -1 for hits, decision in rows]
    greatest_hits = max(kept_hits, default=-1)
    if greatest_hits < 0:
        assert session.best is None
    else:
        assert session.best is session.iterations[kept_hits.index(greatest_hits)]
        assert session.best_coverage == greatest_hits / 10


def test_added_hard_prompts_do_not_make_every_edit_worse(workspace: Workspace) -> None:
    session = workspace.session
    keep(session, answered(workspace.prompts, {0, 1, 2}))
    assert session.best_coverage == 0.75
    for number in range(4):
        workspace.edit_prompts(Add(f"hard {number}", True))
    # 4 of 8 found is less than 3 of 4; of the 8 prompts in both it is one more.
    better = answered(workspace.prompts, {0, 1, 2, 3})
    assert better.metrics.coverage == 0.5
    assert session.is_better(better)
    keep(session, better)
    assert (session.best, session.best_coverage) == (session.iterations[1], 0.5)
    # Now that the best has seen them, they count.
    assert session.is_better(answered(workspace.prompts, {0, 1, 2, 3, 8}))
    assert not session.is_better(answered(workspace.prompts, {0, 1, 2, 3}))


def test_removed_easy_prompts_make_nothing_better(workspace: Workspace) -> None:
    session = workspace.session
    keep(session, answered(workspace.prompts, {0, 1}))
    workspace.edit_prompts(Remove(keys(workspace.prompts, 2, 3)))
    same = answered(workspace.prompts, {0, 1})
    assert same.metrics.coverage == 1.0
    assert not session.is_better(same)


def test_another_prompt_set_starts_a_new_comparison(workspace: Workspace, path: Path) -> None:
    session = workspace.session
    keep(session, answered(workspace.prompts, {0, 1, 2, 3}))
    path.write_text(content([True, True, False, False], ["a", "b", "c", "d"]))
    workspace.adopt_prompts(load_prompts(path))
    assert session.best_coverage is None
    poor = answered(workspace.prompts, {0})
    assert session.is_better(poor)
    keep(session, poor)
    assert session.best is session.iterations[1]
    assert session.is_better(answered(workspace.prompts, {0, 1}))
    # Without prompts, those of the newest iteration are the prompts of now.
    assert Session(TOPIC, session.iterations).best is session.iterations[1]


def test_baseline_of_other_prompts_is_compared_on_shared_prompts(workspace: Workspace) -> None:
    before = answered(workspace.prompts, {0, 1})
    workspace.edit_prompts(Relabel(keys(workspace.prompts, 3)))
    workspace.edit_prompts(Remove(keys(workspace.prompts, 2)))
    workspace.edit_prompts(Add("hard", True))
    now = answered(workspace.prompts, {0, 1})
    result = compare(before, now)
    assert now.metrics.coverage == pytest.approx(2 / 3)
    assert result.deltas["coverage"] == 0
    assert result.caveats == (
        "1 prompt added",
        "1 prompt removed",
        "1 prompt relabelled",
        "differences of rates are of the 7 prompts in both, with current labels: there the former "
        "coverage was 1.000",
    )
    assert (result.regressions, result.fixes) == (0, 0)
    assert result.changes.tolist().count(Change.RELABELLED) == 1


def test_session_is_reopened_after_an_edit(workspace: Workspace, path: Path) -> None:
    kept = workspace.write(answered(workspace.prompts, {0, 1, 2}), Decision.KEEP)
    workspace.session.record(kept)
    workspace.edit_prompts(Remove(keys(workspace.prompts, 0)))
    again = Workspace.open(path.with_suffix(".yaml"))
    assert again.session.best is not None
    assert again.session.best.number == kept.number
    assert again.session.best_coverage == pytest.approx(2 / 3)
    assert again.prompts.fingerprint == workspace.prompts.fingerprint
