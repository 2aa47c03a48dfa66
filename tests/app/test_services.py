"""The loop without a screen: edits, previews, decisions and files, driven through the services."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from guardtui.app.editing.decisions import NOTHING_TO_KEEP
from guardtui.app.labels.inbox import Inbox
from guardtui.app.ports import Confirm
from guardtui.app.state import AppState, EditKind
from guardtui.domain.evaluation import Evaluation, EvaluationKey
from guardtui.domain.prompt_edit import Relabel
from guardtui.domain.prompt_reading import Reading, Unlabelled
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, Verdicts
from guardtui.files.topic_files import load_topic
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.session import PLATEAU, Decision, Recorder
from guardtui.session.store import SessionStore
from guardtui.session.workspace import Workspace
from tests.app.headless import Loop, opened
from tests.guardrails import airs_settings
from tests.tui.tax_app import ROWS, TOPIC, topic_path

__all__ = ["topic_path"]


async def test_opening_records_the_definition_of_the_file_and_shows_it(topic_path: Path) -> None:
    loop = await opened(topic_path)
    (iteration,) = loop.state.iterations
    assert iteration.decision is Decision.KEEP
    assert loop.state.evaluation is not None
    assert loop.state.evaluation.topic == load_topic(topic_path).topic
    assert loop.state.comparison is not None
    assert loop.state.comparison.regressions == 0
    await loop.services.close()


async def test_what_a_command_records_decides_and_pins_is_in_the_history(topic_path: Path) -> None:
    loop = await opened(topic_path)
    store, (first,) = SessionStore(topic_path), loop.state.iterations
    await loop.services.decisions.learn()
    assert loop.author.messages == []  # its own
    theirs = store.add_iteration(
        replace(first, decision=Decision.UNDECIDED, by=Recorder.COMMAND, created="2026-01-01")
    )
    store.decide(0, Decision.DISCARD)
    store.pin(1)
    await loop.services.decisions.learn()
    assert [one.decision for one in loop.state.iterations] == [
        Decision.DISCARD,
        Decision.UNDECIDED,
    ]
    assert loop.state.pinned == theirs.number
    (message,) = loop.author.messages
    assert message.startswith("Another program: #0 discarded.\n#1 is recorded by a command")
    await loop.services.decisions.learn()
    assert loop.author.messages == [message]
    await loop.services.close()


async def test_opening_tells_how_many_prompts_are_left_out(topic_path: Path) -> None:
    with topic_path.with_suffix(".csv").open("a") as file:
        file.write("unlabelled,,block\n")
    reading = Reading(Unlabelled.LEAVE_OUT)
    Workspace.open(topic_path, reading=reading)  # remembered
    loop = await opened(topic_path)
    assert "1 row without a label is left out (--unlabelled leave-out)" in loop.author.messages
    await loop.services.close()


async def test_an_edit_is_evaluated_and_compared_with_the_baseline(topic_path: Path) -> None:
    loop = await opened(topic_path)
    state = await loop.describe("Lentil soup and the weather")
    assert state.evaluation is not None
    assert state.evaluation.topic.description == "Lentil soup and the weather"
    assert loop.services.engine.has_judged(state.evaluation, state.topic, state.prompts)
    assert state.comparison is not None
    assert state.comparison.regressions + state.comparison.fixes > 0
    assert len(state.iterations) == 1


async def test_the_newest_edit_is_the_one_that_is_shown(topic_path: Path) -> None:
    loop = await opened(topic_path)
    shown: list[str] = []

    def note(old: AppState, new: AppState) -> None:
        if new.evaluation is not old.evaluation and new.evaluation is not None:
            shown.append(new.evaluation.topic.description)

    loop.services.store.subscribe(note)
    for text in ("Lentil", "Lentil so", "Lentil soup"):
        topic = loop.state.topic.model_copy(update={"description": text})
        loop.services.editing.type(topic)
    await loop.settle()
    assert shown == ["Lentil soup"]


async def test_undo_and_redo_publish_the_definition_as_a_step(topic_path: Path) -> None:
    loop = await opened(topic_path)
    before = loop.state.topic
    await loop.describe("Lentil soup")
    assert loop.services.editing.undo() == ("description −8 bytes",) or loop.state.topic == before
    assert loop.state.topic == before
    assert loop.state.edit is EditKind.STEPPED
    loop.services.editing.redo()
    assert loop.state.topic.description == "Lentil soup"
    assert loop.services.editing.redo() == ()
    await loop.settle()


async def test_keys_on_their_way_are_taken_before_a_decision(topic_path: Path) -> None:
    loop = await opened(topic_path, (True,))
    typed = loop.state.topic.model_copy(update={"description": "Personal tax advice for people"})
    loop.author.typing = (typed, "description")
    await loop.services.decisions.keep()
    await loop.settle()
    assert load_topic(topic_path).topic == typed


async def test_keeping_what_is_not_better_is_asked_and_saves_the_file(topic_path: Path) -> None:
    loop = await opened(topic_path, (True,))
    await loop.describe("Lentil soup")
    await loop.services.decisions.keep()
    await loop.settle()
    (question,) = loop.author.questions
    assert isinstance(question, Confirm)
    assert "Coverage is not greater than that of #0" in question.text
    assert [iteration.decision for iteration in loop.state.iterations] == [Decision.KEEP] * 2
    assert load_topic(topic_path).topic.description == "Lentil soup"


async def test_keeping_a_definition_over_the_limits_is_asked(topic_path: Path) -> None:
    loop = await opened(topic_path, (False, True))
    await loop.describe("Personal tax advice " * 20)
    for kept in (1, 2):
        await loop.services.decisions.keep()
        await loop.settle()
        question = loop.author.questions[-1]
        assert isinstance(question, Confirm)
        assert question.text.startswith("AIRS would refuse this definition: description has ")
        assert question.text.endswith("Keep anyway?")
        assert len(loop.state.iterations) == kept


async def test_a_refused_question_keeps_nothing(topic_path: Path) -> None:
    loop = await opened(topic_path, (False,))
    await loop.describe("Lentil soup")
    await loop.services.decisions.keep()
    assert len(loop.author.questions) == 1
    assert len(loop.state.iterations) == 1
    assert load_topic(topic_path).topic.description == "Personal tax advice"
    assert loop.state.topic.description == "Lentil soup"


async def test_discarding_records_it_and_restores_the_best(topic_path: Path) -> None:
    loop = await opened(topic_path)
    before = loop.state.topic
    await loop.describe("Lentil soup")
    await loop.services.decisions.discard()
    state = await loop.settle()
    assert state.iterations[-1].decision is Decision.DISCARD
    assert state.topic == before
    assert state.edit is EditKind.REPLACED
    assert state.evaluation is not None
    assert state.evaluation.topic == before
    assert "Discarded as #1; back to #0" in loop.author.messages


async def test_a_plateau_is_reported_after_five_discards(topic_path: Path) -> None:
    loop = await opened(topic_path)
    for number in range(PLATEAU):
        await loop.describe(f"Lentil soup {number}")
        await loop.services.decisions.discard()
        await loop.settle()
    assert any("a plateau" in message for message in loop.author.messages)


async def test_the_pinned_iteration_becomes_the_baseline_at_once(topic_path: Path) -> None:
    loop = await opened(topic_path, (True,))
    await loop.describe("Lentil soup")
    await loop.services.decisions.keep()
    await loop.settle()
    loop.services.decisions.pin(0)
    state = await loop.settle()
    assert state.pinned == 0
    assert state.comparison is not None
    assert state.comparison.regressions + state.comparison.fixes > 0
    loop.services.decisions.turn_pin()
    assert (await loop.settle()).pinned is None


async def test_relabelling_evaluates_the_new_labels(topic_path: Path) -> None:
    loop = await opened(topic_path)
    before = loop.state.evaluation
    key = int(loop.state.prompts.keys[-1])
    await loop.services.sync.edit_prompts(Relabel(frozenset({key}), True))
    state = await loop.settle()
    assert state.prompts.expected[-1]
    assert state.evaluation is not None
    assert before is not None
    assert state.evaluation.prompt_set == state.prompts.fingerprint != before.prompt_set
    assert state.evaluated is state.prompts
    await loop.services.sync.edit_prompts(None)
    assert not (await loop.settle()).prompts.expected[-1]
    (_, change, undone) = Inbox.of_topic(topic_path).prompts[f"{key:016x}"].changes
    assert (change.before, change.after, undone.after) == (False, True, False)
    assert change.at


async def look_twice(loop: Loop) -> None:
    """A file is read when it stayed the same between two looks."""
    await loop.services.sync.look()
    await loop.services.sync.look()


async def test_another_program_s_change_is_merged_with_what_is_typed(topic_path: Path) -> None:
    loop = await opened(topic_path)
    await loop.describe("Advice on taxes")
    topic_path.write_text(TOPIC.replace("home office", "whole house"), "utf-8")
    await look_twice(loop)
    state = await loop.settle()
    assert state.topic.description == "Advice on taxes"
    assert state.topic.examples[1] == "Can I deduct my whole house?"
    assert loop.author.questions == []


@pytest.mark.parametrize(("answer", "kept"), [(True, "Theirs"), (False, "Mine"), (None, "Mine")])
async def test_a_conflict_is_asked_and_the_answer_holds(
    topic_path: Path, answer: bool | None, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("guardtui.app.editing.workspace_sync.CALM", 0.0)
    loop = await opened(topic_path, (answer,))
    await loop.describe("Mine")
    topic_path.write_text(TOPIC.replace("Personal tax advice", "Theirs"), "utf-8")
    await look_twice(loop)
    state = await loop.settle()
    (question,) = loop.author.questions
    assert isinstance(question, Confirm)
    assert "description, theirs:\nTheirs" in question.text
    assert state.topic.description == kept


async def test_saving_over_another_program_s_change_is_asked(topic_path: Path) -> None:
    loop = await opened(topic_path, (False, True))
    await loop.describe("Mine")
    theirs = TOPIC.replace("Personal tax advice", "Theirs")
    topic_path.write_text(theirs, "utf-8")
    await loop.services.sync.save()
    assert topic_path.read_text("utf-8") == theirs
    await loop.services.sync.save()
    assert load_topic(topic_path).topic.description == "Mine"
    assert len(loop.author.questions) == 2


async def test_deleted_files_are_told_once_and_saving_creates_the_topic_again(
    topic_path: Path,
) -> None:
    loop = await opened(topic_path, (False, True))
    topic, messages = loop.state.topic, loop.author.messages
    messages.clear()
    topic_path.unlink()
    topic_path.with_suffix(".csv").unlink()
    await look_twice(loop)
    await look_twice(loop)
    assert len(messages) == 2
    assert all("missing: it was deleted or moved" in message for message in messages)
    assert len(loop.state.prompts) == len(ROWS)
    assert loop.services.workspace.unsaved
    await loop.services.sync.save()
    assert not topic_path.exists()
    await loop.services.sync.save()  # unchanged, and yet to be written
    assert load_topic(topic_path).topic == topic
    assert not loop.services.workspace.unsaved
    assert [type(question) for question in loop.author.questions] == [Confirm, Confirm]
    assert "Create it again?" in loop.author.questions[0].text
    assert messages[-1] == "Saved to tax.yaml"


async def test_keep_writes_a_kept_definition_whose_file_is_gone(topic_path: Path) -> None:
    loop = await opened(topic_path, (True,))
    await loop.settle()
    await loop.services.decisions.keep()
    assert loop.author.messages[-1] == NOTHING_TO_KEEP
    topic, count = loop.state.topic, len(loop.state.iterations)
    topic_path.unlink()
    await look_twice(loop)
    await loop.services.decisions.keep()
    assert load_topic(topic_path).topic == topic
    assert len(loop.state.iterations) == count
    await look_twice(loop)
    await loop.services.decisions.keep()
    assert loop.author.messages[-1] == NOTHING_TO_KEEP


@pytest.mark.parametrize("suffix", [".yaml", ".csv"])
async def test_the_problem_of_a_file_is_withdrawn_once_it_is_repaired(
    topic_path: Path, suffix: str
) -> None:
    loop = await opened(topic_path)
    file = topic_path.with_suffix(suffix)
    content = file.read_bytes()
    loop.author.messages.clear()
    file.write_bytes(content + b'"oops\n')
    await look_twice(loop)
    (problem,) = loop.author.messages
    assert not loop.author.withdrawn
    file.write_bytes(content)
    await look_twice(loop)
    assert loop.author.withdrawn == [problem]
    assert not loop.services.workspace.unsaved


async def test_saving_in_a_deleted_folder_is_answered(topic_path: Path) -> None:
    loop = await opened(topic_path, (True,))
    await loop.describe("Mine")
    shutil.rmtree(topic_path.parent)
    await loop.services.sync.save()
    assert load_topic(topic_path).topic.description == "Mine"
    assert any("Saved to tax.yaml" in message for message in loop.author.messages)
    await loop.services.decisions.keep()
    assert "the file is missing" in loop.author.messages[-1]


async def test_topic_file_that_another_program_breaks_is_told_once(topic_path: Path) -> None:
    loop = await opened(topic_path)
    loop.author.messages.clear()
    topic_path.write_text("name: [half", "utf-8")
    await look_twice(loop)
    await look_twice(loop)
    (message,) = loop.author.messages
    assert f"{topic_path}:1: " in message
    assert loop.state.topic.name == "Tax advice"


async def test_a_draft_is_resumed_where_its_file_is_unchanged(topic_path: Path) -> None:
    loop = await opened(topic_path)
    await loop.describe("Half a thought")
    await loop.services.sync.save_draft()
    await loop.services.close()
    again = await opened(topic_path)
    assert again.state.topic.description == "Half a thought"
    assert any("unsaved edits are back" in message for message in again.author.messages)
    await again.services.close()


async def test_another_process_that_writes_does_not_block_the_loop(topic_path: Path) -> None:
    loop = await opened(topic_path)
    await loop.describe("Half a thought")
    store = loop.services.workspace.store
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    saving = asyncio.create_task(loop.services.sync.save_draft())
    loop.services.sync.remember({"sort": "score"})
    for _ in range(5):
        await asyncio.sleep(0)  # were the loop blocked, both would fail after their patience
    other.execute("ROLLBACK")
    other.close()
    await saving
    await loop.services.close()
    assert not loop.author.messages
    assert store.settings()["sort"] == "score"
    again = await opened(topic_path)
    assert again.state.topic.description == "Half a thought"
    await again.services.close()


@pytest.mark.parametrize(
    ("answer", "description"), [(True, "Half a thought"), (False, "Personal tax advice")]
)
async def test_a_draft_of_a_changed_file_is_offered(
    topic_path: Path, answer: bool, description: str
) -> None:
    loop = await opened(topic_path)
    await loop.describe("Half a thought")
    await loop.services.sync.save_draft()
    await loop.services.close()
    topic_path.write_text(TOPIC.replace("Tax advice", "Taxes"), "utf-8")
    again = await opened(topic_path, (answer,))
    assert again.state.topic.description == description
    await again.services.close()


async def test_companions_are_measured_and_reloaded_when_their_file_changes(
    topic_path: Path,
) -> None:
    loop = await opened(topic_path)
    other = topic_path.with_name("soup.yaml")
    other.write_text("name: Soup\ndescription: Recipes\nexamples: [soup, stew]\nintent: block\n")
    await loop.services.companions.use(["soup.yaml"])
    state = await loop.settle()
    assert loop.services.companions.names == ("Soup",)
    assert state.evaluation is not None
    assert "together with Soup" in state.evaluation.settings.guardrail.text()
    other.write_text("name: Stew\ndescription: Recipes\nexamples: [soup, stew]\nintent: block\n")
    await loop.services.sync.look()
    await loop.settle()
    assert loop.services.companions.names == ("Stew",)


async def test_lint_answers_by_text_at_once_and_with_effects_after_the_preview(
    topic_path: Path,
) -> None:
    loop = await opened(topic_path)
    topic = loop.state.topic.model_copy(update={"description": "Tax advice, not dates"})
    loop.services.editing.type(topic)
    assert loop.services.lint.measured_on is None
    assert [advice.code for advice in loop.state.advice if advice.code == "exclusion"]
    state = await loop.settle()
    (advice,) = [advice for advice in state.advice if advice.code == "exclusion"]
    assert advice.removal is not None


async def test_lint_does_not_judge_a_definition_by_a_part_of_a_scan(topic_path: Path) -> None:
    loop = await opened(topic_path)
    prompts = loop.state.prompts
    duty = prompts.expected.astype(np.int8)
    missed_one = np.where(duty, Triggered.NOT_ASKED, 0).astype(np.int8)
    missed_one[0] = 0

    def scan(triggered: NDArray[np.int8]) -> Evaluation:
        count = len(triggered)
        settings = airs_settings("us")
        key = EvaluationKey(loop.state.topic, settings, prompts.fingerprint)
        return Evaluation(
            key.topic,
            settings,
            key.prompt_set,
            prompts.keys,
            prompts.expected,
            Verdicts(triggered, np.full(count, np.nan, np.float32), np.zeros(count, np.int16)),
        )

    partial, complete = scan(missed_one), scan(duty)
    assert partial.metrics.true_positive_rate == 0
    for evaluation in (partial, complete):
        await loop.services.preview.show(evaluation)
        await loop.settle()
        assert not [advice for advice in loop.state.advice if advice.code == "no-effect"]
    nothing = scan(np.zeros_like(duty))
    await loop.services.preview.show(partial)
    await loop.settle()
    await loop.services.preview.show(nothing)
    await loop.settle()
    assert [advice for advice in loop.state.advice if advice.code == "no-effect"]


def test_a_key_belongs_to_a_definition_and_its_prompts() -> None:
    settings = LocalScanner("static").settings
    key = EvaluationKey(Topic(description="a"), settings, "prompts")
    assert key == EvaluationKey(Topic(description="a"), settings, "prompts")
    assert key != EvaluationKey(Topic(description="b"), settings, "prompts")
    assert key.same_subject(Topic(description="a"), "prompts")
    assert not key.same_subject(Topic(description="a"), "others")


async def test_closing_ends_what_runs(topic_path: Path) -> None:
    loop = await opened(topic_path)
    loop.services.editing.type(loop.state.topic.model_copy(update={"description": "Soup"}))
    await loop.services.engine.close()
    await asyncio.gather(loop.jobs.finished(), return_exceptions=True)
    await loop.services.close()


async def test_apps_that_open_a_new_topic_at_once_record_its_definition_once(
    topic_path: Path,
) -> None:
    path = topic_path
    apps = [Loop(path) for _ in range(3)]  # before any of them has recorded it
    for app in apps:
        await app.__aenter__()
    recorded = SessionStore(path, reading=True).iterations()
    assert [(one.number, one.decision) for one in recorded] == [(0, Decision.KEEP)]
    assert [app.services.session.marks for app in apps] == [{0: ("keep", 0)}] * 3
    for app in apps:
        await app.__aexit__()
