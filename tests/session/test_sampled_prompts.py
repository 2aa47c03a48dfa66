"""A large set opened as a session's prompts: a sample, that nobody edits."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardtui.domain.prompt_edit import Remove
from guardtui.files.problems import FileError
from guardtui.session.recent_topics import last_opened, remember_opened
from guardtui.session.sampled_prompts import load_prompts_of
from guardtui.session.workspace import Workspace
from guardtui.shards.large_set import cut, open_set
from tests.shards.conftest import write_prompts

TOPIC = "name: Tax\ndescription: Advice on taxes\nexamples: [a deduction, VAT]\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GUARDTUI_DATA", str(tmp_path / "data"))
    (tmp_path / "topic.yaml").write_text(TOPIC, encoding="utf-8")
    cut(write_prompts(tmp_path / "prompts.csv"), tmp_path / "set", 3)
    return tmp_path


def test_session_of_a_large_set_is_restored(folder: Path) -> None:
    workspace = Workspace.open(folder / "topic.yaml", folder / "set")
    assert workspace.large is not None
    large, sample = workspace.large
    assert (large.rows, len(workspace.prompts)) == (120, 120)
    assert sample.text == "all 120 prompts"
    assert workspace.topic_file.topic.intent is large.intent
    assert workspace.changed_prompts() is None
    remember_opened(workspace)
    assert last_opened() == (folder / "topic.yaml", folder / "set")
    again = Workspace.open(folder / "topic.yaml")
    assert again.large is not None
    assert again.prompts.frame.equals(workspace.prompts.frame)
    assert load_prompts_of(folder / "topic.yaml", again.store).frame.equals(workspace.prompts.frame)


def test_prompts_of_a_sample_cannot_be_edited(folder: Path) -> None:
    workspace = Workspace.open(folder / "topic.yaml", folder / "set")
    before = {path: path.read_bytes() for path in (folder / "set").rglob("*.*")}
    with pytest.raises(FileError, match=r"are of a large set(.|\n)*change prompts\.csv"):
        workspace.edit_prompts(Remove(frozenset()))
    assert {path: path.read_bytes() for path in (folder / "set").rglob("*.*")} == before


def test_prompt_file_path_opens_a_prompt_file(folder: Path) -> None:
    workspace = Workspace.open(folder / "topic.yaml", folder / "prompts.csv")
    assert workspace.large is None
    assert load_prompts_of(folder / "topic.yaml", workspace.store).frame.equals(
        workspace.prompts.frame
    )


def test_undo_on_a_sample_is_rejected(folder: Path) -> None:
    workspace = Workspace.open(folder / "topic.yaml", folder / "set")
    assert "are of a large set" in workspace.prompts_refusal
    with pytest.raises(FileError, match="are of a large set"):
        workspace.undo_prompts()
    assert Workspace.open(folder / "topic.yaml", folder / "prompts.csv").prompts_refusal == ""


def test_set_with_missing_rows_names_their_shards(folder: Path) -> None:
    for shard in open_set(folder / "set").all_shards()[1:]:
        open_set(folder / "set").rows_path(shard).unlink()
    with pytest.raises(FileError, match=r"rows of 2 of 3 shards are missing: 1-2\n  cut them"):
        Workspace.open(folder / "topic.yaml", folder / "set")
