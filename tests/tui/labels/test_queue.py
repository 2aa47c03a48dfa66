"""The queue on the screen: keys, what is hidden, failures, and the figures afterwards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from guardtui.advice.label_queue import FIRST
from guardtui.app.advice.ideas import Idea, IdeaKind, Ideas
from guardtui.app.labels.inbox import Inbox
from guardtui.app.labels.logged_verdicts import VerdictSources
from guardtui.domain.inbox import Production, State, WhyAsked
from guardtui.domain.topic import Intent
from guardtui.files.problems import FileError
from guardtui.files.prompt_logs import LoggedPrompt
from guardtui.files.topic_files import load_topic
from guardtui.scanners.base import Progress, Report
from guardtui.session.session import Recorder
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.labels.app import LabelApp
from guardtui.tui.labels.feature import AddLogDialog
from guardtui.tui.labels.screen import LabelScreen
from guardtui.tui.main.screen import MainScreen
from tests.tui.tax_app import all_figures, frame, make_app, ready, topic_path, until

__all__ = ["topic_path"]

ATTACK = "[/INST] [@click=app.quit]x[/] \x1b]52;c;aGk=\x07 tax \u202erules"


def fill(topic: Path, *texts: str) -> Inbox:
    inbox = Inbox(topic.with_suffix(".csv"), Intent.BLOCK)
    inbox.add(
        LoggedPrompt(text, f"app.log:{line}", (Production("tax" in text, "corp"),))
        for line, text in enumerate(texts, start=1)
    )
    inbox.refresh()
    return inbox


def many(count: int) -> list[str]:
    return [f"{thing} number {n}" for n in range(count // 2) for thing in ("my tax", "a soup")]


class Play:
    """The driven queue."""

    def __init__(self, pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        self.pilot, self.app, self.main = pilot, app, main

    @property
    def text(self) -> str:
        return " ".join(frame(self.app).replace("│", " ").split())

    @property
    def queue(self) -> LabelScreen:
        screen = self.app.screen
        assert isinstance(screen, LabelScreen)
        return screen

    async def prompt(self) -> str:
        """Return the text of the prompt that waits for an answer."""
        await until(self.pilot, lambda: self.queue.prompt is not None)
        assert self.queue.prompt is not None
        return self.queue.prompt.text

    async def opens(self, *keys: str) -> str:
        await self.pilot.press(*keys or ("l",))
        await until(self.pilot, lambda: isinstance(self.app.screen, LabelScreen))
        return await self.prompt()

    async def answers(self, key: str) -> str:
        """Answer, and return the text of the prompt that comes."""
        await self.pilot.press(key)
        return await self.prompt()

    async def shows(self, text: str) -> None:
        await until(self.pilot, lambda: text in self.text)

    async def hears(self, text: str) -> None:
        await until(self.pilot, lambda: any(text in one.message for one in self.app.said.messages))

    async def leaves(self) -> None:
        await self.pilot.press("escape")
        await until(self.pilot, lambda: self.app.screen is self.main)


@asynccontextmanager
async def playing(topic: Path, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Play]:
    app = make_app(topic)
    async with app.run_test(size=size) as pilot:
        main = await ready(pilot, app)
        main.query_one("#table").focus()
        await pilot.pause()
        yield Play(pilot, app, main)


async def test_a_key_labels_a_prompt_and_the_next_comes_with_what_machines_said_before(
    topic_path: Path,
) -> None:
    fill(topic_path, *many(40))
    async with playing(topic_path) as play:
        first = await play.opens()
        await play.shows("to measure corp (definition unknown, perhaps several)")
        await play.shows(f"{FIRST} more labels until the first estimate")
        assert f"topic {play.main.state.topic.description[:40]}" in play.text
        assert first in play.text
        assert "said" not in play.text
        assert "score" not in play.text
        second = await play.answers("t" if "tax" in first else "f")
        assert second != first
        await play.shows("39 wait · 1 labelled · 1 given now")
        await play.shows(f"{FIRST - 1} more labels until the first estimate")
        verb = "belongs" if "tax" in first else "does not belong"
        corp = f"corp said {verb} ✓ (which definition answered is not known)"
        assert f"before {first} you said {verb} {corp} the engine said" in play.text
        before, evaluation = len(play.main.state.prompts), play.main.state.evaluation
        await play.leaves()
        await until(play.pilot, lambda: len(play.main.state.prompts) == before + 1)
        assert first in play.main.state.prompts.prompts.to_list()
        assert len(play.main.state.prompts.waiting) == 39
        await until(play.pilot, lambda: play.main.state.evaluation is not evaluation)


async def test_each_label_is_one_key_and_enough_give_an_estimate_on_the_figures_page(
    topic_path: Path,
) -> None:
    fill(topic_path, *many(40))
    async with playing(topic_path) as play:
        text = await play.opens()
        for _ in range(FIRST):
            text = await play.answers("t" if "tax" in text else "f")
        await play.shows("coverage 1.00 in production (")
        assert "in production" not in all_figures(play.main)
        await play.leaves()
        await until(play.pilot, lambda: "in production, corp" in all_figures(play.main))
        line = (
            "in production, corp (definition unknown, perhaps several): estimated from "
            f"{FIRST} labels on a random sample of a log of 40 prompts\n"
            "coverage   1.000"
        )
        assert line in all_figures(play.main)
    async with playing(topic_path) as play:  # it is there when the topic is opened again
        await until(play.pilot, lambda: line in all_figures(play.main))


async def test_undo_brings_the_prompt_back_and_a_reason_is_kept(topic_path: Path) -> None:
    inbox = fill(topic_path, *many(10))
    csv = topic_path.with_suffix(".csv")
    before = csv.read_text()
    async with playing(topic_path) as play:
        first = await play.opens()
        await play.pilot.press("u")
        await play.hears("Nothing was answered")
        second = await play.answers("t")
        await play.pilot.press("u")
        await until(play.pilot, lambda: "you said" not in play.text)
        assert await play.prompt() == first
        assert csv.read_text() == before
        await play.pilot.press("r", *"fun", "enter")
        await play.shows("fun")
        assert await play.answers("f") == second
        await play.shows("(fun)")
        await play.leaves()
    inbox.refresh()
    (labelled,) = [one for one in inbox.own if one.state is State.LABELLED]
    assert (labelled.text, labelled.expected, labelled.reason) == (first, False, "fun")


async def test_letters_of_a_reason_are_no_answers_and_escape_leaves_it_first(
    topic_path: Path,
) -> None:
    fill(topic_path, *many(10))
    async with playing(topic_path) as play:
        first = await play.opens()
        await play.pilot.press("r", *"tfsu", "escape")
        assert await play.prompt() == first
        assert play.queue.query_one(Input).value == ""
        await play.answers("s")
        await play.shows("you said set aside")
        await play.leaves()


async def test_chosen_prompts_come_instead_of_the_audit_and_back(topic_path: Path) -> None:
    fill(topic_path, *many(10))
    async with playing(topic_path) as play:
        await play.opens()
        await play.pilot.press("c")
        await play.shows("to improve edits, by prompts that teach most")
        await play.prompt()
        assert play.queue.prompt is not None
        await play.answers("f")
        sitting = play.queue.sitting
        assert sitting is not None
        assert sitting.given[0].prompt.why_asked is WhyAsked.CHOSEN
        await play.pilot.press("c")
        await play.shows("10 more labels")


async def test_the_step_of_labels_opens_the_queue_with_prompts_like_its_own(
    topic_path: Path,
) -> None:
    fill(topic_path, "soup of fish", "weather today", "Recipe for lentil stew")
    async with playing(topic_path) as play:
        key = int(play.main.state.prompts.keys[7])  # the lentil soup
        step = Idea(IdeaKind.LABEL, "Not sure yet", keys=(key,), labels=90)
        play.main.services.store.publish(
            replace(play.main.state, ideas=Ideas(play.main.state.topic, (step,)))
        )
        assert await play.opens("ctrl+@", "y") == "Recipe for lentil stew"
        await play.shows("about 90 more would tell whether an edit helps")


async def test_an_attack_of_10_kb_is_shown_inert_and_scrolls(topic_path: Path) -> None:
    fill(topic_path, ATTACK + "\nlong " * 2_000 + "end of it")
    async with playing(topic_path, (60, 20)) as play:
        await play.opens()
        assert "[@click=app.quit]x[/]" in play.text
        assert "\x1b" not in frame(play.app)
        assert "\u202e" not in frame(play.app)
        assert "end of it" not in play.text
        await play.pilot.press("G")
        await play.shows("end of it")
        await play.pilot.press("t")
        await play.shows("No prompt is left here.")
        await play.leaves()


async def test_the_name_of_the_topic_is_shown_as_it_is(topic_path: Path) -> None:
    text = topic_path.read_text()
    topic_path.write_text(text.replace("Tax advice", "'[b]Tax[/b] [@click=app.quit]x'", 1))
    fill(topic_path, *many(10))
    async with playing(topic_path, (120, 40)) as play:
        await play.opens()
        await play.shows("Label: [b]Tax[/b] [@click=app.quit]x · 10 wait")


async def test_an_empty_inbox_says_how_to_fill_it_and_a_log_is_added_from_the_menu(
    topic_path: Path,
) -> None:
    log = topic_path.with_name("app.log")
    log.write_text("Is my bonus taxed?\nWhere is the bank?\nIs my bonus taxed?\n")
    async with playing(topic_path) as play:
        await play.pilot.press("l")
        await play.hears("guardtui inbox add TOPIC LOG")
        await play.pilot.press("ctrl+@", "f", "l")
        await until(play.pilot, lambda: isinstance(play.app.screen, AddLogDialog))
        await play.pilot.press("enter")
        await play.shows("write the path of a log")
        field = play.app.screen.query_one("#path", Input)
        field.value = "missing.log"
        await play.pilot.press("enter")
        await play.shows("! missing.log")
        field.value = "app.log"
        await play.pilot.press("enter")
        await until(play.pilot, lambda: play.app.screen is play.main)
        await until(play.pilot, lambda: len(play.main.state.prompts.waiting) == 2)
        told = "2 prompts added to tax.inbox.jsonl; left out: 1 repeated"
        await play.hears(told)
        await play.opens()


async def test_verdicts_of_a_log_are_in_the_history_once_the_queue_is_left(
    topic_path: Path,
) -> None:
    log = topic_path.with_name("app.jsonl")
    rows = [{"prompt": f"log {number}", "triggered": number < 2} for number in range(4)]
    log.write_text("\n".join(map(json.dumps, rows)))
    async with playing(topic_path) as play:
        await play.pilot.press("ctrl+@", "f", "l")
        await until(play.pilot, lambda: isinstance(play.app.screen, AddLogDialog))
        for field, value in (("#path", "app.jsonl"), ("#guardrail", "airs:prod")):
            play.app.screen.query_one(field, Input).value = value
        await play.pilot.press("enter")
        await play.hears("4 verdicts of airs:prod in production with this definition")
        asked = await play.opens()
        await play.answers("t")
        verb = "belongs ✓" if asked < "log 2" else "does not belong ✗"
        await play.shows(f"airs:prod said {verb} (with this definition)")
        await play.leaves()
        session = play.main.services.session
        await until(play.pilot, lambda: session.iterations[-1].by is Recorder.LOG)
        metrics = session.iterations[-1].evaluation.metrics
        assert (metrics.total, metrics.open) == (1, metrics.prompts - 1)
        assert play.main.state.evaluation is not None
        assert play.main.state.evaluation.settings.kind == "engine"


async def test_a_log_added_by_a_command_is_counted_soon_and_edits_can_still_be_undone(
    topic_path: Path,
) -> None:
    async with playing(topic_path) as play:
        before = play.main.state.prompts
        await play.pilot.press("d")
        await until(play.pilot, lambda: len(play.main.state.prompts) == len(before) + 1)
        fill(topic_path, "Is my bonus taxed?", "Where is the bank?")
        await play.hears(
            "tax.inbox.jsonl was changed by another program: 2 prompts without a label now."
        )
        assert len(play.main.state.prompts.waiting) == 2
        await play.pilot.press("u")
        await until(play.pilot, lambda: len(play.main.state.prompts) == len(before))


async def test_drafts_are_counted_beside_the_figures(topic_path: Path) -> None:
    before = topic_path.with_suffix(".csv").read_text()
    async with playing(topic_path) as play:
        play.main.perform("draft_near_misses")
        await play.shows(" unlabelled")
        drafts = Inbox.of_workspace(play.main.services.workspace).own
        assert drafts
        assert all(prompt.draft for prompt in drafts)
        assert f"{len(drafts)} unlabelled" in play.text
    assert topic_path.with_suffix(".csv").read_text() == before


async def test_an_answer_that_cannot_be_written_is_said_kept_and_asked_about_before_leaving(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(topic_path, *many(10))
    csv = topic_path.with_suffix(".csv")

    def fail(path: Path, *_: object, **__: object) -> None:
        raise FileError(path, "no space left on device")

    async with playing(topic_path) as play:
        first = await play.opens()
        with monkeypatch.context() as broken:
            broken.setattr("guardtui.files.label_edits.write_atomically", fail)
            await play.answers("t")
            await play.shows("1 answer not on disk yet:")
            await play.shows("no space left on device")
            await play.pilot.press("escape")
            await until(play.pilot, lambda: isinstance(play.app.screen, ConfirmDialog))
            assert "1 answer cannot be written and would be lost" in play.text
            await play.pilot.press("escape")
            await until(play.pilot, lambda: isinstance(play.app.screen, LabelScreen))
        assert first not in csv.read_text()
        await play.pilot.press("enter")
        await until(play.pilot, lambda: first in csv.read_text())
        await until(play.pilot, lambda: "not on disk yet" not in play.text)
        await play.leaves()


async def test_a_folder_that_cannot_be_written_is_said_and_tried_again(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(topic_path, *many(10))

    def fail(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    async with playing(topic_path) as play:
        with monkeypatch.context() as broken:
            broken.setattr("guardtui.files.inbox_file.InboxFile._opened", fail)
            await play.pilot.press("l")
            await play.shows("Enter tries again")
            assert "tax.inbox.jsonl" in play.text
        await play.pilot.press("enter")
        await play.prompt()
        assert "Enter tries again" not in play.text


async def test_a_label_of_somebody_else_is_said_and_stands(topic_path: Path) -> None:
    inbox = fill(topic_path, *many(10))
    async with playing(topic_path) as play:
        await play.opens()
        assert play.queue.prompt is not None
        inbox.refresh()
        inbox.label(play.queue.prompt.id, True)
        await play.pilot.press("f")
        await play.hears("someone else labelled this prompt")
        await play.shows("1 labelled · 0 given now")


async def test_the_last_answer_is_written_when_the_app_is_left(topic_path: Path) -> None:
    fill(topic_path, *many(10))
    async with playing(topic_path) as play:
        first = await play.opens()
        await play.pilot.press("t", "ctrl+q")
    assert first in topic_path.with_suffix(".csv").read_text()


async def test_the_queue_says_how_far_the_inbox_is_read(topic_path: Path) -> None:
    begun = asyncio.Event()

    async def begin(report: Report) -> None:
        report(Progress("embedding prompts", 512, 1_940))
        await begun.wait()

    async with playing(topic_path) as play:
        play.app.push_screen(LabelScreen(play.main.state.topic, begin))
        await play.shows("Reading the inbox … embedding prompts: 512 of 1,940")
        begun.set()
        await until(play.pilot, lambda: play.app.screen is play.main)


async def test_the_topic_fits_a_screen_that_grows(topic_path: Path) -> None:
    shown = "how to pay less of it than in the year before"
    text = topic_path.read_text()
    topic_path.write_text(text.replace("Personal tax advice", f"Personal tax advice, {shown}"))
    fill(topic_path, *many(10))
    async with playing(topic_path, (60, 24)) as play:
        await play.opens()
        assert shown not in play.text
        await play.pilot.resize_terminal(120, 40)
        await play.shows(shown)


async def test_the_queue_alone_works_without_a_prompt_set(topic_path: Path) -> None:
    csv = topic_path.with_suffix(".csv")
    csv.unlink()
    inbox = fill(topic_path, *many(10))
    app = LabelApp(inbox, load_topic(topic_path).topic, VerdictSources(topic_path, inbox))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.queue.prompt is not None)
        first = app.queue.prompt
        assert first is not None
        await pilot.press("t")
        await until(pilot, lambda: app.queue.prompt not in (None, first))
        await pilot.press("escape")
        await until(pilot, lambda: csv.exists())
    assert first.text in csv.read_text()
    assert app.return_code == 0
