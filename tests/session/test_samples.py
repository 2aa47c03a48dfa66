"""A large prompt file opened as a session's prompts: a sample, that nobody edits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from guardtui.domain.prompt_edit import Remove
from guardtui.files.problems import FileError
from guardtui.session import prompt_file
from guardtui.session.prompt_file import load_prompts_of
from guardtui.session.recent_topics import last_opened, remember_opened
from guardtui.session.workspace import UnknownPromptsError, Workspace
from tests.large_sets.large_prompts import TOPIC, write_prompts


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A topic with 120 prompts, where more than 100 are a large set."""
    monkeypatch.setenv("GUARDTUI_DATA", str(tmp_path / "data"))
    (tmp_path / "topic.yaml").write_text(TOPIC.replace("intent: block\n", ""), encoding="utf-8")
    write_prompts(tmp_path / "prompts.csv", 120)
    monkeypatch.setattr(prompt_file, "LARGE", 100)
    draw = prompt_file.draw
    monkeypatch.setattr(prompt_file, "draw", lambda prompts: draw(prompts, 40))
    return tmp_path


def test_session_of_a_large_set_is_restored(folder: Path) -> None:
    workspace = Workspace.open(folder / "topic.yaml", folder / "prompts.csv")
    sample = workspace.sample
    assert sample is not None
    assert (sample.of, len(workspace.prompts)) == (120, 40)
    command = f"guardtui eval {folder}/topic.yaml --prompts {folder}/prompts.csv"
    assert workspace.opening_note == f"sample of 40 of 120 prompts; all: {command}"
    assert workspace.topic_file.topic.intent is workspace.prompts.intent
    (folder / "prompts.csv").touch()
    assert workspace.changed_prompts() is None
    remember_opened(workspace)
    assert last_opened() == (folder / "topic.yaml", folder / "prompts.csv")
    again = Workspace.open(folder / "topic.yaml")
    assert again.sample is not None
    assert again.prompts.frame.equals(workspace.prompts.frame)
    assert load_prompts_of(folder / "topic.yaml", again.store).frame.equals(workspace.prompts.frame)


def test_sample_cannot_be_edited(folder: Path) -> None:
    workspace = Workspace.open(folder / "topic.yaml", folder / "prompts.csv")
    before = (folder / "prompts.csv").read_bytes()
    assert "a sample of 40 of 120 prompts, which cannot be edited" in workspace.prompts_refusal
    with pytest.raises(FileError, match=r"cannot be edited here\n  edit the file with another"):
        workspace.edit_prompts(Remove(frozenset()))
    with pytest.raises(FileError, match="cannot be edited here"):
        workspace.undo_prompts()
    assert (folder / "prompts.csv").read_bytes() == before


def test_smaller_set_is_no_sample(folder: Path) -> None:
    write_prompts(folder / "prompts.csv", 100)
    workspace = Workspace.open(folder / "topic.yaml", folder / "prompts.csv")
    assert (workspace.sample, workspace.opening_note, workspace.prompts_refusal) == (None, "", "")
    assert len(workspace.prompts) == 100


def test_session_that_remembers_a_folder_of_shards_needs_a_prompt_file(folder: Path) -> None:
    (folder / "set").mkdir()
    (folder / "set" / "set.json").write_text(json.dumps({"schema_version": 1}), "utf-8")
    workspace = Workspace.open(folder / "topic.yaml", folder / "prompts.csv")
    workspace.store.use_prompt_file(str(folder / "set"))
    with pytest.raises(UnknownPromptsError, match="name one"):
        Workspace.open(folder / "topic.yaml")
    (folder / "prompts.csv").rename(folder / "topic.csv")
    assert Workspace.open(folder / "topic.yaml").prompts_path == folder / "topic.csv"
