"""Drafts in an inbox: unlabelled, in no audit, made from what was missed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from guardtui.advice.drafts import Draft, DraftKind
from guardtui.app.labels.drafts import DraftMaterial
from guardtui.app.labels.inbox import Inbox
from guardtui.domain.inbox import State, WhyAsked, prompt_id
from guardtui.files.prompt_logs import LoggedPrompt
from guardtui.files.topic_files import load_topic
from tests.sessions import Scanned

FACT = Draft("How much is a fine?", DraftKind.FACT, "line 2")
SAME = prompt_id(FACT.text)


@pytest.fixture
def topic(tmp_path: Path) -> Path:
    path = tmp_path / "fines.yaml"
    path.write_text(
        "name: Fines\ndescription: Parking fines\nintent: block\nexamples:\n"
        "- How do I appeal a parking ticket?\n- Must I pay?\n"
    )
    (tmp_path / "fines.csv").write_text(
        "prompt,expected\nDo I have to pay my fine?,true\nHow do I make soup?,false\nlater,\n"
    )
    return path


def material_of(topic: Path) -> DraftMaterial:
    return DraftMaterial.of(load_topic(topic).topic, topic, Inbox.of_topic(topic))


@pytest.fixture
def material(topic: Path) -> DraftMaterial:
    return material_of(topic)


def test_examples_and_prompts_that_belong_are_the_material(material: DraftMaterial) -> None:
    origins = [source.origin for source in material.belonging]
    assert origins == ["example 1", "example 2", "line 2"]
    assert [source.origin for source in material.missed] == ["line 2"]
    assert material.missed_by == ""


def test_a_draft_of_a_held_out_prompt_is_held_out_once_labelled(topic: Path) -> None:
    csv = topic.with_suffix(".csv")
    csv.write_text(
        "prompt,expected,split\nDo I have to pay my fine?,true,test\nHow do I make soup?,false,\n"
    )
    material = material_of(topic)
    added = material.add(material.by_rules(12))
    ours = [(draft, prompt) for draft, prompt in added if draft.source == "line 2"]
    examples = [prompt for draft, prompt in added if draft.source.startswith("example")]
    assert ours
    for prompt in (ours[0][1], examples[0]):
        Inbox.of_topic(topic).label(prompt.id, True)
    rows = csv.read_text().splitlines()
    assert rows[-2].endswith(",true,test")
    assert rows[-1].endswith(",true,")


def test_drafts_wait_for_a_label_with_their_origin(material: DraftMaterial) -> None:
    drafts = material.by_rules(8)
    added = material.add(drafts)
    assert [draft for draft, _ in added] == drafts
    for draft, prompt in added:
        assert (prompt.state, prompt.expected, prompt.draft) == (State.UNLABELLED, None, True)
        assert prompt.origin == f"draft: {draft.origin}"
    assert not {draft.text for draft in drafts} & {draft.text for draft in material.by_rules(8)}


def test_the_model_is_named_inertly(material: DraftMaterial) -> None:
    _, prompt = material.add([FACT], "evil\x1b[2J")[0]
    assert prompt.origin == "draft by evil␛[2J: advice into fact, from line 2"


def test_a_draft_is_in_no_audit_and_may_be_chosen(material: DraftMaterial) -> None:
    material.add([FACT])
    inbox = material.inbox
    assert inbox.ask({SAME: 0.5}, WhyAsked.AUDIT) == ()
    assert inbox.prompts[SAME].why_asked is None
    inbox.label(SAME, False)
    assert inbox.ask({SAME: 0.5}, WhyAsked.AUDIT) == ()
    assert inbox.prompts[SAME].chance is None
    inbox.take_back(SAME)
    assert inbox.ask({SAME: None}, WhyAsked.CHOSEN) == (SAME,)


@pytest.mark.parametrize("labelled", [False, True])
def test_a_draft_that_a_user_wrote_too_is_a_prompt_of_the_log(
    material: DraftMaterial, labelled: bool
) -> None:
    material.add([FACT])
    inbox = material.inbox
    if labelled:
        inbox.label(SAME, False)
    added = inbox.add([LoggedPrompt(FACT.text, "app.log:1")])
    inbox.refresh()
    assert added.added == 1
    assert inbox.prompts[SAME].origin == "app.log:1"
    assert not inbox.prompts[SAME].draft
    assert inbox.prompts[SAME].expected is (False if labelled else None)
    material.add([FACT])
    assert not inbox.prompts[SAME].draft
    inbox.ask({SAME: 0.5}, WhyAsked.AUDIT)
    assert inbox.prompts[SAME].chance == 0.5


def test_without_a_prompt_set_the_examples_are_the_material(topic: Path) -> None:
    topic.with_suffix(".csv").unlink()
    material = material_of(topic)
    assert [source.origin for source in material.missed] == ["example 1", "example 2"]
    assert material.add(material.by_rules(3))
    assert not topic.with_suffix(".csv").exists()


def test_prompts_that_the_newest_scan_missed_are_rephrased(tmp_path: Path) -> None:
    (tmp_path / "topic.yaml").write_text(
        "name: Tax\ndescription: Tax\nintent: block\nexamples: [one, two]\n"
    )
    scanned = Scanned(tmp_path, count=12)
    answers = np.array([0, 1, 1, 1, 1, 1, 0, 1, 1, 0, 0, 0], np.int8)
    scanned.scan(triggered=answers)
    material = DraftMaterial.of(
        scanned.topic, scanned.topic_path, Inbox.of_topic(scanned.topic_path, tmp_path / "tax.csv")
    )
    assert [source.origin for source in material.missed] == ["line 2", "line 8"]
    assert material.missed_by == "AIRS prod r3"
