"""The loop of an agent: what it answers and records, and when its decisions are refused."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from guardtui.app.agent.errors import AgentError
from guardtui.app.agent.loop import AgentFiles, AgentLoop, OutdatedError
from guardtui.app.editing.iteration_decisions import (
    HistoryError,
    IterationDecisions,
    NotShownError,
)
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.prompt_reading import Reading, Unlabelled
from guardtui.domain.prompts import PromptSetError
from guardtui.files.topic_files import load_topic
from guardtui.session.prompt_file import usual_reading
from guardtui.session.session import Iteration
from guardtui.session.session_file import session_file
from guardtui.session.store import SessionStore, StoreError

TOPIC = """# mine
name: Tax
description: {}
examples:
- how do I pay tax
- tax rates
"""
FIRST, BETTER, WORSE = (
    "Bread and dragons",
    "Income tax, tax refunds and tax returns",
    "Bread, dragons and cakes",
)


@pytest.fixture
def files(tmp_path: Path) -> AgentFiles:
    subjects = ("income tax", "a tax refund", "my tax return", "bread", "dragons", "the train")
    rows = [f"{subjects[row % 6]} {row},{str(row % 6 < 3).lower()}" for row in range(96)]
    (tmp_path / "t.csv").write_text("\n".join(["prompt,expected", *rows, ""]))
    (tmp_path / "t.yaml").write_text(TOPIC.format(FIRST))
    return AgentFiles(tmp_path / "t.yaml", tmp_path / "t.csv")


def loop_of(files: AgentFiles, *, writes: bool = True) -> AgentLoop:
    return AgentLoop(files, encoder="static", writes=writes)


async def decisions_of(loop: AgentLoop) -> list[tuple[int, str, str]]:
    answer = await loop.history()
    return [(one["number"], one["decision"], one["by"]) for one in answer["iterations"]]


async def test_trials_are_recorded_undecided_and_a_keep_writes_the_topic_file(
    files: AgentFiles,
) -> None:
    loop = loop_of(files)
    before = files.topic.read_text()
    assert (await loop.evaluate())["iteration"] == 0
    trial = await loop.evaluate(description=BETTER)
    assert (trial["iteration"], trial["baseline"], trial["complete"]) == (1, 0, True)
    assert trial["metrics"]["coverage"] > 0.9
    assert files.topic.read_text() == before
    assert await decisions_of(loop) == [(0, "keep", "agent"), (1, "undecided", "agent")]
    kept = await loop.keep()
    assert (kept["iterations"][0]["decision"], kept["definition"]["description"]) == (
        "keep",
        BETTER,
    )
    assert files.topic.read_text() == TOPIC.format(BETTER)
    with pytest.raises(AgentError, match="only the author restores"):
        await loop.keep(0)
    await loop.evaluate(description=WORSE)
    with pytest.raises(NotShownError, match="an agent cannot keep it") as refused:
        await loop.keep()
    assert "--anyway" not in str(refused.value)
    assert (await loop.discard())["iterations"][0]["decision"] == "discard"
    assert load_topic(files.topic).topic.description == BETTER


async def test_first_trial_of_an_edited_definition_is_not_kept(files: AgentFiles) -> None:
    loop = loop_of(files)
    await loop.evaluate(description=BETTER)
    assert await decisions_of(loop) == [(0, "undecided", "agent")]


async def test_without_leave_to_write_nothing_is_written(files: AgentFiles) -> None:
    loop = loop_of(files, writes=False)
    trial = await loop.evaluate(description=BETTER)
    assert (trial["iteration"], trial["metrics"]["coverage"] > 0.9) == (None, True)
    for decide in (loop.keep, loop.discard):
        with pytest.raises(AgentError, match="--allow-write"):
            await decide()
    assert not session_file(files.topic).exists()
    assert (await loop.history())["iterations"] == []


async def test_decision_prepared_on_an_older_state_is_refused_once_with_the_newer_state(
    files: AgentFiles,
) -> None:
    loop = loop_of(files)
    await loop.evaluate()
    await loop.evaluate(description=WORSE)
    await loop.evaluate(description=BETTER)
    author = IterationDecisions(files.topic, files.prompts)
    author.discard(author.chosen(1))
    author.pin(0)
    files.topic.write_text(files.topic.read_text().replace("tax rates", "tax rules"))
    await loop.mistakes("fp")  # shows nothing of the state
    with pytest.raises(OutdatedError) as refused:
        await loop.keep()
    for change in ("#1 is discard now, and was undecided", "pinned #0", "another definition"):
        assert change in str(refused.value)
    answer: dict[str, Any] = refused.value.answer
    assert [(one["number"], one["decision"]) for one in answer["iterations"]] == [(1, "discard")]
    assert answer["definition"]["examples"][1] == "tax rules"
    # The author's own words would be lost, which no state explains away.
    with pytest.raises(AgentError, match="no iteration has"):
        await loop.keep()
    files.topic.write_text(TOPIC.format(FIRST))
    with pytest.raises(OutdatedError, match="topic file"):
        await loop.keep()
    assert (await loop.keep())["iterations"][0]["decision"] == "keep"


async def test_decision_is_refused_if_the_author_keeps_another_iteration_in_that_moment(
    files: AgentFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = loop_of(files)
    await loop.evaluate()
    await loop.evaluate(description=BETTER)
    await loop.evaluate(description=f"{BETTER} too")
    checked = IterationDecisions.require_progress

    def then_kept(self: IterationDecisions, iteration: Iteration) -> None:
        checked(self, iteration)
        author = IterationDecisions(files.topic, files.prompts)
        author.keep(author.chosen(1))

    with monkeypatch.context() as patched:
        patched.setattr(IterationDecisions, "require_progress", then_kept)
        with pytest.raises(StoreError, match="another program decided on #1"):
            await loop.keep()
    assert [one[1] for one in await decisions_of(loop)] == ["keep", "keep", "undecided"]
    assert load_topic(files.topic).topic.description == BETTER


async def test_evaluation_and_history_show_what_the_author_did(files: AgentFiles) -> None:
    loop = loop_of(files)
    await loop.evaluate()
    trial = await loop.evaluate(description=BETTER)
    assert "changes" not in trial
    IterationDecisions(files.topic, files.prompts).pin(0)
    trial = await loop.evaluate(description=BETTER)
    assert trial["changes"] == ["the author pinned #0 as the baseline"]
    IterationDecisions(files.topic, files.prompts).pin(None)
    await loop.history()
    assert (await loop.keep())["iterations"][0]["number"] == 1


async def test_better_trial_is_not_discarded_and_not_the_best_one(files: AgentFiles) -> None:
    loop = loop_of(files)
    await loop.evaluate()
    with pytest.raises(HistoryError, match="nothing to discard"):
        await loop.discard()
    await loop.evaluate(description=BETTER)
    with pytest.raises(NotShownError, match=r"Coverage is greater.*\n  keep it"):
        await loop.discard()


async def test_trial_whose_gain_is_not_demonstrable_is_neither_kept_nor_discarded(
    files: AgentFiles,
) -> None:
    rows = files.prompts.read_text().splitlines()
    files.prompts.write_text("\n".join([*rows[:25], ""]))
    loop = loop_of(files)
    await loop.evaluate()
    await loop.evaluate(description="Bread, dragons and income tax")
    for decide, verb in ((loop.keep, "kept"), (loop.discard, "discarded")):
        with pytest.raises(NotShownError, match=rf"not {verb}: .*\n[^$]*leave it undecided"):
            await decide()
    assert (await decisions_of(loop))[1][1] == "undecided"


async def test_compare_mistakes_and_ideas(files: AgentFiles) -> None:
    loop = loop_of(files)
    with pytest.raises(AgentError, match="nothing was evaluated"):
        await loop.mistakes("fn")
    await loop.evaluate()
    await loop.evaluate(description=BETTER)
    compared = await loop.compare(1, 0)
    assert (compared["baseline"], len(compared["broke"]) > 0) == (1, True)
    page = await loop.mistakes("broke", iteration=1)
    assert page["prompts"] == []
    first = await loop.mistakes("fp", iteration=0)
    pages = [await loop.mistakes("fp", number + 1, iteration=0) for number in range(first["pages"])]
    assert sum(len(page["prompts"]) for page in pages) == first["count"]
    with pytest.raises(GuardtuiError, match="no page 99"):
        await loop.mistakes("fp", 99, iteration=0)
    assert isinstance((await loop.ideas())["ideas"], list)


async def test_ideas_are_measured_before_anything_is_evaluated(files: AgentFiles) -> None:
    loop = loop_of(files, writes=False)
    known = await loop.ideas()
    assert known["ideas"][0]["definition"]
    assert (await loop.evaluate())["ideas"] == known["ideas"]
    assert not session_file(files.topic).exists()


async def test_history_has_the_newest_iterations_and_their_number(files: AgentFiles) -> None:
    loop = loop_of(files)
    for words in (FIRST, BETTER, WORSE):
        await loop.evaluate(description=words)
    history = await loop.history(newest=2)
    assert [one["number"] for one in history["iterations"]] == [1, 2]
    assert history["recorded"] == 3


async def test_bad_requests_are_explained(files: AgentFiles) -> None:
    loop = loop_of(files)
    await loop.evaluate()
    with pytest.raises(GuardtuiError, match="no iteration 7"):
        await loop.keep(7)
    with pytest.raises(GuardtuiError, match="no iteration 7"):
        await loop.mistakes("fp", iteration=7)
    with pytest.raises(GuardtuiError, match="iteration 7"):
        await loop.compare(0, 7)
    files.topic.write_text("name: [")
    with pytest.raises(GuardtuiError, match=r"t\.yaml:1"):
        await loop.evaluate()


async def test_limits_of_airs_are_a_caution_for_the_engine(files: AgentFiles) -> None:
    trial = await loop_of(files).evaluate(description="tax " * 100)
    assert any("would reject" in caution for caution in trial["cautions"])


async def test_prompts_are_read_as_the_author_reads_them(files: AgentFiles) -> None:
    files.prompts.write_text(files.prompts.read_text() + "a row without a label,\n")
    with pytest.raises(PromptSetError, match="empty"):
        loop_of(replace(files, reading=Reading(Unlabelled.ERROR)))
    leave_out = Reading(Unlabelled.LEAVE_OUT)
    await loop_of(replace(files, reading=leave_out)).evaluate()
    assert usual_reading(files.topic, files.prompts) == leave_out
    await loop_of(files).evaluate(description=BETTER)
    assert usual_reading(files.topic, files.prompts) == leave_out


async def test_changed_prompt_file_is_read_anew(files: AgentFiles) -> None:
    loop = loop_of(files)
    await loop.evaluate()
    files.prompts.write_text(files.prompts.read_text() + "a tax bill,true\n")
    await loop.evaluate()
    store = SessionStore(files.topic)
    assert [len(one.evaluation.keys) for one in store.iterations()] == [96, 97]
    assert await decisions_of(loop) == [(0, "keep", "agent"), (1, "undecided", "agent")]


async def test_evaluation_is_answered_where_it_cannot_be_recorded(
    files: AgentFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    loop = loop_of(files)
    monkeypatch.setattr("guardtui.app.agent.loop.record_evaluation", full)
    trial = await loop.evaluate()
    assert (trial["iteration"], trial["warnings"]) == (None, ["not recorded: the disk is full"])


async def test_evaluation_that_is_not_recorded_is_not_decided_on(
    files: AgentFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    loop = loop_of(files)
    await loop.evaluate()
    await loop.evaluate(description=BETTER)
    files.topic.write_text(TOPIC.format(BETTER))
    with monkeypatch.context() as patched:
        patched.setattr("guardtui.app.agent.loop.record_evaluation", full)
        await loop.evaluate(description=WORSE)
    for decide in (loop.keep, loop.discard):
        with pytest.raises(AgentError, match="newest evaluation is not recorded"):
            await decide()
    assert await decisions_of(loop) == [(0, "keep", "agent"), (1, "undecided", "agent")]
    assert (await loop.keep(1))["iterations"][0]["decision"] == "keep"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tax \ud800", "half of a surrogate pair"),
        ("tax\nrefunds", "line break"),
        ("tax " * 5000, "at most 10,000"),
    ],
)
async def test_text_that_no_topic_file_could_have_is_refused(
    files: AgentFiles, text: str, problem: str
) -> None:
    loop = loop_of(files)
    for edit in ({"description": text}, {"examples": ["one", text]}):
        with pytest.raises(AgentError, match=problem):
            await loop.evaluate(**edit)
    assert not session_file(files.topic).exists()


async def test_call_cancelled_before_its_turn_leaves_nothing(files: AgentFiles) -> None:
    loop = loop_of(files)
    first = asyncio.create_task(loop.evaluate())
    second = asyncio.create_task(loop.evaluate(description=BETTER))
    await asyncio.sleep(0)
    second.cancel()
    assert (await first)["iteration"] == 0
    await loop.close()
    assert await decisions_of(loop) == [(0, "keep", "agent")]
