"""A topic, its prompts and its session on disk: what is kept, and what is never touched."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest
import xlsxwriter

from guardtui.domain.prompt_edit import Relabel
from guardtui.domain.prompt_reading import Reading, Unlabelled
from guardtui.domain.prompts import PromptSetError
from guardtui.domain.topic import Topic
from guardtui.files.problems import FileError
from guardtui.files.topic_files import ChangedOnDiskError, GoneFromDiskError, load_topic
from guardtui.session.prompt_file import load_prompts_of
from guardtui.session.recent_topics import last_opened, remember_opened
from guardtui.session.session import Decision, Iteration
from guardtui.session.store import SessionStore, StoreError
from guardtui.session.topic_places import SAMPLE, data_folder, scratch_sample, topics_in
from guardtui.session.workspace import Workspace
from tests.session.test_session import evaluation

TOPIC = """\
# a comment
name: Tax
description: tax advice
examples:
  - one
  - two
"""
PROMPTS = "prompt,expected,intent\npay less tax,true,block\nsoup,false,block\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "tax.csv").write_text(PROMPTS)
    (tmp_path / "tax.yaml").write_text(TOPIC)
    return tmp_path / "tax.yaml"


def edited(workspace: Workspace, description: str) -> Topic:
    topic = workspace.session.topic.model_copy(update={"description": description})
    workspace.session.edit(topic)
    return topic


def test_prompts_are_named_else_last_used_else_beside_the_topic(path: Path) -> None:
    assert Workspace.open(path).prompts_path == path.with_suffix(".csv")
    other = path.with_name("other.csv")
    other.write_text(PROMPTS)
    assert Workspace.open(path, other).opening_note == ""
    again = Workspace.open(path)
    assert again.prompts_path == other.resolve()
    told = "With other.csv, used last; tax.csv is beside the topic (--prompts)"
    assert again.opening_note == told
    other.unlink()
    again = Workspace.open(path)
    assert (again.prompts_path, again.opening_note) == (path.with_suffix(".csv"), "")
    path.with_suffix(".csv").unlink()
    with pytest.raises(FileError, match="no prompt set is known"):
        Workspace.open(path)


def test_opening_leaves_files_unchanged(path: Path) -> None:
    Workspace.open(path)
    assert path.read_text() == TOPIC
    assert sorted(file.name for file in path.parent.iterdir()) == [
        ".guardtui",
        "tax.csv",
        "tax.yaml",
    ]


def test_keeping_records_and_writes_the_file(path: Path) -> None:
    workspace = Workspace.open(path)
    topic = edited(workspace, "all tax advice")
    kept, problem = workspace.write_kept(evaluation(topic, 7))
    assert (kept.number, problem) == (0, "")
    assert load_topic(path).topic.description == "all tax advice"
    assert "# a comment" in path.read_text()
    assert (path.parent / ".guardtui/backups/tax.yaml.1.bak").read_text() == TOPIC
    assert not workspace.unsaved
    again = Workspace.open(path)
    assert [iteration.decision for iteration in again.session.iterations] == [Decision.KEEP]


def test_an_iteration_that_is_read_while_it_is_written_is_known_as_our_own(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, found = Workspace.open(path), list[bool]()
    add = SessionStore.add_iteration

    def look() -> None:
        found.extend(map(workspace.is_own, workspace.changed_iterations({})))

    reader = threading.Thread(target=look)

    def add_and_let_read(store: SessionStore, planned: Iteration, *, first: bool) -> Iteration:
        stored = add(store, planned, first=first)
        reader.start()
        reader.join(0.05)  # who reads must wait
        return stored

    monkeypatch.setattr(SessionStore, "add_iteration", add_and_let_read)
    workspace.write(evaluation(workspace.session.topic, 5), Decision.KEEP)
    reader.join()
    assert found == [True]


def test_changed_file_is_not_overwritten_but_the_iteration_is_recorded(path: Path) -> None:
    workspace = Workspace.open(path)
    topic = edited(workspace, "all tax advice")
    path.write_text(TOPIC + "more: theirs\n")
    _, problem = workspace.write_kept(evaluation(topic, 7))
    assert "changed by another program" in problem
    assert path.read_text() == TOPIC + "more: theirs\n"
    assert len(Workspace.open(path).session.iterations) == 1
    with pytest.raises(ChangedOnDiskError):
        workspace.save(topic)
    workspace.save(topic, force=True)
    assert "more: theirs" in path.read_text()
    assert load_topic(path).topic == topic.model_copy(update={"intent": topic.intent})


def test_draft_is_offered_and_can_be_refused(path: Path) -> None:
    workspace = Workspace.open(path)
    edited(workspace, "half a sen")
    assert not workspace.draft_is_safe
    workspace.save_draft()
    assert workspace.draft_is_safe
    workspace.store.close()
    again = Workspace.open(path)
    assert again.draft_offer is not None
    again.take_draft()
    assert again.session.topic.description == "half a sen"
    assert again.session.undo()
    assert not again.unsaved
    again.save_draft()
    again.store.close()
    assert Workspace.open(path).draft_offer is None


def test_draft_of_an_older_file_is_offered_with_a_warning(path: Path) -> None:
    workspace = Workspace.open(path)
    edited(workspace, "half a sen")
    workspace.save_draft()
    workspace.store.close()
    path.write_text(TOPIC.replace("Tax", "Taxes"))
    again = Workspace.open(path)
    assert again.draft_offer is not None
    assert not again.resume_draft()
    again.refuse_draft()
    assert Workspace.open(path).draft_offer is None


def test_intent_of_the_prompts_applies_if_the_file_has_none(path: Path) -> None:
    path.with_suffix(".csv").write_text(PROMPTS.replace("block", "allow"))
    workspace = Workspace.open(path)
    assert workspace.session.topic.intent == "allow"
    assert not workspace.unsaved


def test_pinned_baseline_is_remembered(path: Path) -> None:
    workspace = Workspace.open(path)
    for hits in (3, 5):
        iteration = workspace.write(evaluation(workspace.session.topic, hits), Decision.KEEP)
        workspace.session.record(iteration)
    workspace.pin(0)
    baseline = Workspace.open(path).session.baseline
    assert baseline is not None
    assert baseline.number == 0


def test_last_session_is_reopened_while_its_files_exist(path: Path) -> None:
    assert last_opened() is None
    remember_opened(Workspace.open(path))
    assert last_opened() == (path, path.with_suffix(".csv"))
    (data_folder() / "recent.json").write_text("[1]")
    assert last_opened() is None
    remember_opened(Workspace.open(path))
    path.unlink()
    assert last_opened() is None


def test_scratch_sample_is_a_copy_that_keeps_its_edits() -> None:
    topic, prompts = scratch_sample()
    topic.write_text("name: mine\n")
    assert scratch_sample() == (topic, prompts)
    assert topic.read_text() == "name: mine\n"
    assert data_folder() in topic.parents


def test_uncreatable_folder_is_reported(path: Path) -> None:
    (path.parent / ".guardtui").write_text("in the way")
    with pytest.raises(StoreError, match=r"\.guardtui"):
        Workspace.open(path)


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_linked_topic_file_is_written_at_its_target(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    workspace = Workspace.open(link, path.with_suffix(".csv"))
    workspace.save(edited(workspace, "by way of the link"))
    assert link.is_symlink()
    assert load_topic(path).topic.description == "by way of the link"


def test_overwritten_content_is_backed_up(path: Path) -> None:
    workspace = Workspace.open(path)
    topic = edited(workspace, "mine")
    theirs = TOPIC.replace("tax advice", "theirs")
    path.write_text(theirs)
    with pytest.raises(ChangedOnDiskError):
        workspace.save(topic)
    assert path.read_text() == theirs
    assert workspace.unsaved
    workspace.save_draft()
    workspace.save(topic, force=True)
    assert load_topic(path).topic.description == "mine"
    backups = (path.parent / ".guardtui/backups").iterdir()
    assert theirs in [backup.read_text() for backup in backups]


def test_draft_of_a_running_editor_is_not_offered(path: Path) -> None:
    mine = Workspace.open(path)
    edited(mine, "half a sen")
    mine.save_draft()
    assert Workspace.open(path).draft_offer is None
    mine.store.close()
    assert Workspace.open(path).draft_offer is not None


def test_changes_since_the_baseline_are_described(path: Path) -> None:
    workspace = Workspace.open(path)
    assert workspace.changes == ()
    edited(workspace, "tax")
    assert workspace.changes == ("description −“advice”",)
    workspace.session.record(workspace.write(evaluation(workspace.session.topic, 5), Decision.KEEP))
    assert workspace.changes == ()


def test_unwritable_data_folder_is_reported_or_ignored(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path.parent / "in the way").write_text("")
    monkeypatch.setenv("GUARDTUI_DATA", str(path.parent / "in the way" / "data"))
    remember_opened(Workspace.open(path))
    assert last_opened() is None
    with pytest.raises(FileError, match="set GUARDTUI_DATA"):
        scratch_sample()


def test_scratch_sample_opens() -> None:
    workspace = Workspace.open(*scratch_sample())
    assert workspace.topic_file.path.stem == SAMPLE
    assert len(workspace.prompts) == 200
    assert workspace.prompts.intent is workspace.session.topic.intent


def test_changed_file_is_adopted_once_it_is_stable(path: Path) -> None:
    workspace = Workspace.open(path)
    for _ in range(3):
        assert workspace.changed_file() is None
    path.write_text(TOPIC.replace("Tax", "Half"))
    assert workspace.changed_file() is None
    path.write_text(TOPIC.replace("Tax", "Taxes, whole"))
    assert workspace.changed_file() is None
    result = workspace.changed_file()
    assert result is not None
    assert result.topic.name == "Taxes, whole"
    workspace.topic_file = result
    assert workspace.changed_file() is None
    path.write_text("name: [half")
    assert workspace.changed_file() is None
    with pytest.raises(FileError, match="fix the YAML"):
        workspace.changed_file()
    assert workspace.changed_file() is None
    path.unlink()
    assert workspace.changed_file() is None
    path.write_text(TOPIC)
    assert workspace.changed_file() is None
    assert workspace.changed_file() is not None


def test_missing_topic_file_is_reported_once_and_created_again_if_forced(path: Path) -> None:
    workspace = Workspace.open(path)
    shutil.rmtree(path.parent)
    assert workspace.changed_file() is None  # an editor may be replacing it
    with pytest.raises(GoneFromDiskError):
        workspace.changed_file()
    assert [workspace.changed_file() for _ in range(3)] == [None] * 3
    topic = workspace.session.topic  # unchanged
    with pytest.raises(GoneFromDiskError):
        workspace.save(topic)
    workspace.save(topic, force=True)
    assert path.read_text().startswith(TOPIC)
    assert [workspace.changed_file() for _ in range(3)] == [None] * 3


def test_topic_file_deleted_right_after_opening_is_reported(path: Path) -> None:
    workspace = Workspace.open(path)
    path.unlink()
    workspace.changed_file()
    with pytest.raises(GoneFromDiskError):
        workspace.changed_file()


def test_own_save_is_not_a_foreign_change(path: Path) -> None:
    workspace = Workspace.open(path)
    workspace.save(edited(workspace, "mine"))
    assert [workspace.changed_file() for _ in range(3)] == [None] * 3


def test_topics_of_a_folder_with_prompts_beside_them_are_found(path: Path) -> None:
    folder = path.parent
    assert topics_in(folder) == [path]
    (folder / "settings.yaml").write_text("colour: blue\n", "utf-8")
    (folder / "settings.csv").write_text("a,b\n", "utf-8")
    (folder / "alone.yaml").write_bytes(path.read_bytes())  # without prompts of its own
    assert topics_in(folder) == [path]
    other = folder / "other.yml"
    other.write_bytes(path.read_bytes())
    other.with_suffix(".csv").write_bytes(path.with_suffix(".csv").read_bytes())
    assert topics_in(folder) == [other, path]


PARTLY = PROMPTS + "bread,,block\ntax return,true,block\n"


def test_prompts_used_last_are_read_as_they_were(path: Path) -> None:
    path.with_suffix(".csv").write_text(PARTLY)
    assert len(Workspace.open(path).prompts) == 3
    workspace = Workspace.open(path, reading=Reading(Unlabelled.FALSE))
    assert len(workspace.prompts) == 4
    assert len(load_prompts_of(path, workspace.store)) == 4
    for prompts in (None, path.with_suffix(".csv")):
        assert len(Workspace.open(path, prompts).prompts) == 4
    with pytest.raises(PromptSetError, match="--unlabelled"):
        Workspace.open(path, reading=Reading(Unlabelled.ERROR))
    other = path.with_name("other.csv")
    other.write_text(PARTLY)
    assert len(Workspace.open(path, other).prompts) == 3


def test_edits_and_undo_keep_rows_that_are_left_out(path: Path) -> None:
    file = path.with_suffix(".csv")
    file.write_text(PARTLY)
    workspace = Workspace.open(path, reading=Reading(Unlabelled.LEAVE_OUT))
    workspace.edit_prompts(Relabel(frozenset({int(workspace.prompts.keys[2])})))
    assert file.read_text() == PARTLY.replace("tax return,true", "tax return,false")
    assert workspace.undo_prompts()
    assert file.read_text() == PARTLY
    workspace.changed_prompts()
    file.write_text(PARTLY + "rent,,block\ncakes,false,block\n")
    workspace.changed_prompts()
    changed = workspace.changed_prompts()
    assert changed is not None
    assert changed.prompts.to_list() == ["pay less tax", "soup", "tax return", "cakes"]
    assert changed.left_out[0].lines == (4, 6)


@pytest.mark.parametrize("name", ["set.json", "set.xlsx"])
def test_read_only_formats_say_why_they_cannot_be_edited(path: Path, name: str) -> None:
    prompts = path.with_name(name)
    if name.endswith(".json"):
        rows = '{"prompt": "a", "expected": true}, {"prompt": "b", "expected": false}'
        prompts.write_text(f'{{"data": [{rows}]}}')
    else:
        book = xlsxwriter.Workbook(prompts)
        sheet = book.add_worksheet()
        for number, row in enumerate((("prompt", "expected"), ("a", True), ("b", False))):
            sheet.write_row(number, 0, row)
        book.close()
    workspace = Workspace.open(path, prompts)
    assert f"guardtui convert {name} -o set.csv" in workspace.prompts_refusal
    with pytest.raises(FileError, match="cannot be edited"):
        workspace.edit_prompts(Relabel(frozenset({int(workspace.prompts.keys[0])})))
