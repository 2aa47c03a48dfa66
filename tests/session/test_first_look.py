"""The first look at a topic: its definition, or the draft with which its author goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardtui.domain.topic import Intent, Topic
from guardtui.session.first_look import FirstLook
from guardtui.session.store import SessionStore, StoreError
from guardtui.session.workspace import Workspace

TOPIC = "name: Tax\ndescription: Tax advice\nexamples: [pay less tax, deduct this]\n"
PROMPTS = "prompt,expected,intent\npay less tax,true,allow\nbake a cake,false,allow\n"


@pytest.fixture
def topic_path(tmp_path: Path) -> Path:
    (tmp_path / "tax.csv").write_text(PROMPTS, "utf-8")
    path = tmp_path / "tax.yaml"
    path.write_text(TOPIC + "intent: allow\n", "utf-8")
    return path


def leave_draft(topic_path: Path, description: str) -> None:
    """Leave an unsaved edit, as an app does at its end."""
    workspace = Workspace.open(topic_path)
    workspace.session.edit(workspace.session.topic.model_copy(update={"description": description}))
    workspace.save_draft()
    workspace.store.close()


def test_a_topic_that_was_never_opened_is_read_without_creating_a_session(
    topic_path: Path,
) -> None:
    assert FirstLook(topic_path).topic.description == "Tax advice"
    assert not (topic_path.parent / ".guardtui").exists()


@pytest.mark.parametrize("intent", ["intent: allow\n", ""])
def test_the_draft_of_this_definition_is_drawn_also_if_prompts_have_the_intent(
    topic_path: Path, intent: str
) -> None:
    topic_path.write_text(TOPIC + intent, "utf-8")
    leave_draft(topic_path, "half a sen")
    topic = FirstLook(topic_path).topic
    assert (topic.description, topic.intent) == ("half a sen", Intent.ALLOW)


def test_the_draft_of_another_definition_is_not_drawn(topic_path: Path) -> None:
    leave_draft(topic_path, "half a sen")
    topic_path.write_text(topic_path.read_text("utf-8").replace("Tax advice", "Taxes"), "utf-8")
    assert FirstLook(topic_path).topic.description == "Taxes"


def test_what_was_typed_is_resumed_at_the_next_opening(topic_path: Path) -> None:
    look = FirstLook(topic_path)
    look.keep(look.topic)
    assert not (topic_path.parent / ".guardtui").exists()
    for _ in range(2):
        look.keep(Topic(name="Tax", description="half a sen", intent=Intent.ALLOW))
    assert look.unsaved is None
    assert len(SessionStore(topic_path).abandoned_drafts()) == 1
    workspace = Workspace.open(topic_path)
    assert workspace.resume_draft()
    assert workspace.session.topic.description == "half a sen"


def test_what_was_typed_takes_the_place_of_the_draft_that_was_drawn(topic_path: Path) -> None:
    leave_draft(topic_path, "half a sen")
    look = FirstLook(topic_path)
    look.keep(look.topic.model_copy(update={"description": "half a sentence"}))
    (draft,) = SessionStore(topic_path).abandoned_drafts()
    assert draft.topic.description == "half a sentence"


def test_what_cannot_be_kept_is_unsaved(topic_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(store: SessionStore, draft: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(SessionStore, "save_draft", full)
    look, typed = FirstLook(topic_path), Topic(name="Taxes")
    with pytest.raises(StoreError):
        look.keep(typed)
    assert look.unsaved == typed
