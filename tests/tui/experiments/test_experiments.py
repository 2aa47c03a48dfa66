"""Experiments on the screen: plan, progress beside the editing, stop, resume, and what is kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input

from guardtui.app.advice.ideas import IdeaKind
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.budget import Prices
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.session.workspace import Workspace
from guardtui.tui.advice.ideas import IdeasPage
from guardtui.tui.advice.wording_dialogs import WordingsDialog
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.experiments.dialogs import ExperimentPage, ExperimentPlanDialog
from guardtui.tui.guardrail.dialog import GuardrailDialog
from guardtui.tui.inputs.fields import EdgeTextArea
from guardtui.tui.kit.dialogs import AnswersDialog, ConfirmDialog
from guardtui.tui.main.screen import MainScreen
from tests.app.bench import TAX, written
from tests.app.cloud import NO_FILE
from tests.http.server import Answer, Received, Server, Step
from tests.scanners.models.judges import asked, said
from tests.tui.tax_app import frame, ready, until

BETTER = "All good questions of taxes"
HOSTILE = "Bread \x1b]52;c;aGk=\x07 [@click=app.quit]x[/]"


def judged(request: Received) -> Step:
    """Answer rightly for a description with “good”, else miss those of even numbers of words."""
    prompt = asked(request)
    good = "good" in "".join(message["content"] for message in request.json["messages"])
    missed = int(prompt.split(" in ")[1].split()[0]) % 2 == 0 and not good
    belongs = any(thing in prompt for thing in TAX) and not missed
    return said(f"ANSWER: {'yes' if belongs else 'no'}", delay=0.001)


class HeldJudge:
    """Answers as `judged`, but holds all answers after the first ones back until it goes on."""

    def __init__(self, answers: int = 30) -> None:
        self._left, self.goes_on = answers, asyncio.Event()

    def __call__(self, request: Received) -> Step:
        self._left -= 1
        step = judged(request)
        if self._left >= 0 or self.goes_on.is_set():
            return step

        async def later(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self.goes_on.wait()
            assert isinstance(step, Answer)
            writer.write(step.encode())

        return later


class Play:
    """The driven app."""

    def __init__(self, pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        self.pilot, self.app, self.main = pilot, app, main

    @property
    def text(self) -> str:
        return " ".join(frame(self.app).replace("│", " ").split())

    async def comes(self, kind: type[Screen[object]]) -> None:
        def shown() -> bool:
            return isinstance(self.app.screen, kind) and self.app.screen.is_mounted

        await until(self.pilot, shown)
        await self.pilot.pause()

    async def hears(self, text: str) -> None:
        await until(self.pilot, lambda: any(text in one.message for one in self.app.said.messages))

    async def planned(self, wordings: str = BETTER) -> None:
        """Begin an experiment, up to the question with its plan."""
        await self.pilot.press("ctrl+t")
        await self.comes(WordingsDialog)
        self.app.screen.query_one("#own-wordings", EdgeTextArea).text = wordings
        await self.pilot.press("ctrl+s")
        await self.comes(ExperimentPlanDialog)

    async def ended(self) -> None:
        await until(self.pilot, lambda: not self.main.services.experiments.under_way)
        await self.pilot.pause()


@asynccontextmanager
async def playing(
    folder: Path, server: Server | None, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[Play]:
    path = folder / "tax.yaml"
    workspace = Workspace.open(path if path.exists() else written(folder, 15))
    judge = None
    if server is not None:
        models = (ModelAddress(f"{server.url}/v1", "mock"),)
        judge = JudgeOptions(models, calls=CallOptions(Prices(1, 2)))
    options = RemoteOptions(environment={}, config=NO_FILE, model=judge)
    app = GuardtuiApp.of(workspace, LocalScanner("static"), remote=options)
    async with app.run_test(size=size) as pilot:
        yield Play(pilot, app, await ready(pilot, app))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUARDTUI_CACHE", str(tmp_path / "cache"))


async def test_a_better_edit_is_shown_with_its_bound_and_kept(tmp_path: Path) -> None:
    async with Server(judged) as server, playing(tmp_path, server) as play:
        before = play.main.state.topic
        play.main.services.ideas.pause = 0.0
        await play.planned(f"{HOSTILE}\n{BETTER}")
        plan = play.text
        assert "Test 2 edits on the guardrail" in plan
        assert "mock at http://127.0.0.1" in plan
        assert "calls, at most 450" in plan
        assert "cost about" in plan
        assert "[@click=app.quit]x[/]" in plan
        assert "\x1b" not in frame(play.app)
        assert server.received == []
        await play.pilot.press("g")
        await play.ended()
        line = "1 edit is shown to be better, by at least "
        await until(play.pilot, lambda: line in play.text)
        await until(play.pilot, lambda: "Keep the edit shown to be better. Coverage" in play.text)
        assert "^t Test edits" in frame(play.app).splitlines()[-1]
        await play.pilot.press("ctrl+t")
        await play.comes(ExperimentPage)
        await until(play.pilot, lambda: "Enter or k keeps it" in frame(play.app))
        page = frame(play.app)
        assert "✓ better" in page
        assert page.index("good questions") < page.index("click=app.quit")
        assert "\x1b" not in page
        await play.pilot.press("enter")
        await until(play.pilot, lambda: play.main.state.topic.description == BETTER)
        await play.hears("Kept as #")
        await play.pilot.press("ctrl+z")
        await until(play.pilot, lambda: play.main.state.topic == before)


async def test_the_limit_of_calls_is_a_number_and_escape_sends_nothing(tmp_path: Path) -> None:
    async with Server(judged) as server, playing(tmp_path, server) as play:
        await play.planned()
        play.app.screen.query_one("#limit", Input).value = "0"
        await play.pilot.press("g")
        await until(play.pilot, lambda: "a whole number from 1 on" in play.text)
        await play.pilot.press("escape")
        await play.ended()
        assert play.main.state.experiment is None
        # It is among the ideas, which begin it too.
        text = "Test up to 15 edits on mock"
        ideas = await play.main.services.ideas.current()
        (idea,) = [one for one in ideas.ranked if one.kind is IdeaKind.EXPERIMENT]
        assert text in idea.text
        await play.pilot.press("ctrl+@", "full_stop")
        await until(play.pilot, lambda: isinstance(play.app.screen, IdeasPage))
        await play.pilot.press(*["down"] * ideas.ranked.index(idea), "enter")
        await play.comes(WordingsDialog)
        assert server.received == []


@pytest.mark.parametrize("size", [(120, 40), pytest.param((80, 24), marks=pytest.mark.exhaustive)])
async def test_an_experiment_runs_beside_the_editing_stops_and_goes_on(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    judge = HeldJudge()
    async with Server(judge) as server, playing(tmp_path, server, size) as play:
        experiments, before = play.main.services.experiments, play.main.state.topic
        await play.planned()
        await play.pilot.press("g")
        await until(play.pilot, lambda: len(server.received) > 20)
        await play.pilot.press("alt+p")
        await until(play.pilot, lambda: "⏸ paused" in play.text)
        judge.goes_on.set()
        assert "Stop" in frame(play.app).splitlines()[-1]
        edited = before.model_copy(update={"description": "Edited"})
        play.main.services.editing.type(edited)
        await until(play.pilot, lambda: "of the definition before your edits" in play.text)
        assert experiments.running
        await play.pilot.press("ctrl+r")
        await play.hears("An experiment is under way.")
        await play.pilot.press("ctrl+t")
        await play.comes(ExperimentPage)
        await until(play.pilot, lambda: "p continues · x stops" in frame(play.app))
        await play.pilot.press("x")
        await play.comes(ConfirmDialog)
        await play.pilot.press("y")
        await play.ended()
        await play.comes(ExperimentPage)
        await until(play.pilot, lambda: "Enter goes on" in frame(play.app))
        await play.pilot.press("escape")
        paid = len(server.received)
        play.main.services.editing.undo()
        await play.pilot.press("ctrl+t")
        await play.comes(ExperimentPage)
        await play.pilot.press("enter")
        await play.comes(AnswersDialog)
        await play.pilot.press("g")
        await play.comes(ExperimentPlanDialog)
        assert len(server.received) == paid
        await play.pilot.press("g")
        await until(play.pilot, lambda: experiments.found_better)


async def test_an_unfinished_experiment_is_named_at_opening(tmp_path: Path) -> None:
    judge = HeldJudge()
    async with Server(judge) as server:
        async with playing(tmp_path, server) as play:
            await play.planned()
            await play.pilot.press("g")
            await until(play.pilot, lambda: len(server.received) > 20)
            play.main.action_quit()
            judge.goes_on.set()
            await until(play.pilot, lambda: play.app.return_code is not None)
        async with playing(tmp_path, server) as play:
            await play.hears("is unfinished: ")


async def test_without_a_guardrail_it_says_what_to_choose(tmp_path: Path) -> None:
    async with playing(tmp_path, None) as play:
        await play.pilot.press("ctrl+t")
        await play.comes(GuardrailDialog)
        await play.pilot.press("escape")
        assert not play.main.services.experiments.under_way
