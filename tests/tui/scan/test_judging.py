"""A judge in the app: scans by a model behind a real socket, epochs, and its proposals."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from guardtui.app.advice.ideas import Idea, IdeaKind
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.app.state import ScanStatus, StopReason
from guardtui.domain.estimates import RateEstimate
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.forecast_record import CheckedCoverage
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.budget import Prices
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.session.epochs import Epochs
from guardtui.session.session import Decision
from guardtui.session.workspace import Workspace
from guardtui.tui.advice.edit_preview import EditPreviewPage
from guardtui.tui.advice.ideas import IdeasPage
from guardtui.tui.advice.wording_dialogs import WordingsDialog
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.kit.dialogs import AnswersDialog
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.scan.dialogs import ScanDialog
from tests.http.server import Received, Server, Step
from tests.scanners.models.judges import asked, prompts_of, said
from tests.tui.tax_app import ROWS, frame, ready, topic_path, until

__all__ = ["topic_path"]

COUNT = len(ROWS)
LABELS = dict(ROWS)
BETTER = {
    "why": "shorter [b]markup[/b] \x1b[31m",
    "description": "Tax",
    "examples": ["How can I pay less tax?", "Can I deduct it?"],
}


def by_label(request: Received) -> Step:
    """A model that is always right; of its two proposals, one is invalid."""
    text = request.json["messages"][-1]["content"]
    if "Propose" in text:
        broken = {"description": "x" * 300, "examples": ["a", "b"]}
        return said(json.dumps({"proposals": [BETTER, broken]}))
    return said(f"So it is.\nANSWER: {'yes' if LABELS[asked(request)] else 'no'}")


class Play:
    """The driven app."""

    def __init__(self, pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        self.pilot, self.app, self.main = pilot, app, main

    async def scan(self, *keys: str) -> None:
        """Scan; `keys` answer the dialog, where there is one."""
        count = len(self.main.services.session.iterations)
        await self.pilot.press("ctrl+r")
        if keys:
            await until(self.pilot, lambda: isinstance(self.app.screen, ScanDialog))
            await self.pilot.press(*keys)
        await until(self.pilot, lambda: len(self.main.services.session.iterations) > count)
        await until(self.pilot, lambda: not self.main.services.scans.under_way)


def shown_of(play: Play) -> Evaluation | None:
    """Evaluation of the table's rows."""
    results = play.main.rows.results
    return None if results is None else results.evaluation


@asynccontextmanager
async def playing(
    topic_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch, epochs: Epochs | None = None
) -> AsyncIterator[Play]:
    monkeypatch.setenv("GUARDTUI_CACHE", str(topic_path.parent / "cache"))
    models = (ModelAddress(f"{server.url}/v1", "mock"),)
    judge = JudgeOptions(models, calls=CallOptions(Prices(1, 2)))
    options = RemoteOptions(environment={}, config=topic_path / "none", model=judge, epochs=epochs)
    app = GuardtuiApp.of(Workspace.open(topic_path), LocalScanner("static"), remote=options)
    async with app.run_test(size=(120, 40)) as pilot:
        yield Play(pilot, app, await ready(pilot, app))


async def test_a_judge_scans_once_and_its_reasons_are_shown(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Server(by_label) as server, playing(topic_path, server, monkeypatch) as play:
        await play.pilot.press("ctrl+r")
        await until(play.pilot, lambda: isinstance(play.app.screen, ScanDialog))
        assert "Scan with a judge" in frame(play.app)
        assert f"{COUNT} prompts: 0 known, {COUNT} calls; about " in frame(play.app)
        assert "cost about" in frame(play.app)
        assert "estimated from the length of the texts" in " ".join(frame(play.app).split())
        await play.pilot.press("escape")
        assert not server.received
        await play.scan("g")
        judged = play.main.services.session.iterations[-1]
        assert judged.decision is Decision.KEEP  # the first complete one, on the file's definition
        assert judged.evaluation.settings.kind == "judge"
        assert judged.evaluation.metrics.coverage == 1.0
        assert judged.evaluation.verdicts.used is not None
        assert judged.evaluation.verdicts.used.calls == COUNT
        await until(play.pilot, lambda: "judge mock" in frame(play.app))
        used = f"{COUNT} prompts scanned ({COUNT} calls, "
        await until(play.pilot, lambda: used in frame(play.app))
        await until(play.pilot, lambda: shown_of(play) is judged.evaluation)
        assert (
            "So it is."
            in play.main.rows.detail_of(  # type: ignore[union-attr]
                int(judged.evaluation.keys[0])
            ).reason
        )
        template = judged.evaluation.settings.guardrail.template
        assert "{prompt}" in play.main.services.workspace.store.template(template)
        await play.scan("t", "g")  # it asks again, until the author agrees; all is known
        await play.scan()
        assert sum(prompts_of(server).values()) == COUNT


async def test_a_stopped_check_of_the_flips_resumes_as_a_check(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = CheckedCoverage(RateEstimate(0.8, 0.7, 0.9), 0.02, 12, 50, "")
    stopped = ScanStatus("stopped: 12 of 60 verdicts, kept", problem=True, who="Judge")
    async with Server(by_label) as server, playing(topic_path, server, monkeypatch) as play:
        main = play.main
        for by, check, action in (
            (StopReason.AUTHOR, status, ("check_flips",)),
            (StopReason.AUTHOR, None, ()),  # nothing of the definition was scanned
            (StopReason.EDIT, status, ()),
        ):
            main.services.store.show_scan(replace(stopped, stopped=by, check=check))
            await play.pilot.pause()
            assert main.footer_first == action
            assert ("goes on with the check" in frame(play.app)) == bool(action)


async def test_epochs_make_one_verdict_and_show_flaky_prompts(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    flaky = ROWS[0][0]

    def wavering(request: Received) -> Step:
        prompt = asked(request)
        seen.append(prompt)
        if prompt == flaky and seen.count(flaky) == 2:
            return said("Now I doubt it.\nANSWER: no")
        return by_label(request)

    epochs = Epochs.parse(3, "mode")
    async with (
        Server(wavering) as server,
        playing(topic_path, server, monkeypatch, epochs) as play,
    ):
        await play.scan("g")
        verdicts = play.main.services.session.iterations[-1].evaluation.verdicts
        assert len(server.received) == 3 * COUNT
        assert verdicts.flaky.tolist() == [True] + [False] * (COUNT - 1)
        assert verdicts.triggered.tolist() == [int(label) for _, label in ROWS]
        assert "triggered in 2 of 3 epochs" in verdicts.notes[0]
        await until(play.pilot, lambda: "8 flaky 1" in frame(play.app))
        play.main.panes.results.table.focus()
        await play.pilot.press("8")
        await until(play.pilot, lambda: len(play.main.rows.results or []) == 1)
    # What was recorded is there again.
    stored = Workspace.open(topic_path).session.iterations[-1].evaluation.verdicts
    assert stored.flaky.tolist() == verdicts.flaky.tolist()
    assert stored.reasons == verdicts.reasons


def wide_topic(topic_path: Path) -> None:
    """Thirty prompts of each kind, and a definition that misses what belongs."""
    rows = [
        f"how do I fill in line {number} of my income tax return,true,block" for number in range(30)
    ]
    rows += [
        f"what is the best guitar for song number {number},false,block" for number in range(30)
    ]
    topic_path.with_suffix(".csv").write_text(
        "\n".join(["prompt,expected,intent", *rows, ""]), "utf-8"
    )
    topic_path.write_text(
        "name: Tax\ndescription: Guitars and songs\nexamples:\n  - a guitar\n  - a song\n"
        "intent: block\n",
        "utf-8",
    )


async def test_wordings_of_the_model_join_the_ideas_and_are_shown_inert(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide_topic(topic_path)
    async with Server(by_label) as server, playing(topic_path, server, monkeypatch) as play:
        services = play.main.services
        services.ideas.pause = 0.0
        await play.pilot.press("end", "x")  # another definition, which is measured anew
        before = services.session.topic

        def offered() -> tuple[Idea, ...]:
            steps = services.state.ideas
            return () if steps is None or steps.topic != before else steps.ranked

        await until(play.pilot, lambda: any(step.kind is IdeaKind.WORDINGS for step in offered()))
        assert not server.received  # it costs a call: only on the author's key
        assert offered()[-1].text.endswith("Ask mock for wordings: 1 call")
        play.main.perform("ideas")
        for screen, key in (
            (IdeasPage, "w"),
            (WordingsDialog, "ctrl+s"),  # the judge writes, unless another is named
            (AnswersDialog, "a"),
        ):
            await until(play.pilot, lambda screen=screen: isinstance(play.app.screen, screen))
            await play.pilot.press(key)
        await until(
            play.pilot,
            lambda: isinstance(play.app.screen, IdeasPage) and play.app.screen.is_mounted,
        )
        assert len(server.received) == 1
        assert not any(step.kind is IdeaKind.WORDINGS for step in offered())
        index = next(at for at, step in enumerate(offered()) if "worded by the model" in step.text)
        await play.pilot.press(*["down"] * index)
        await until(play.pilot, lambda: "The model: shorter" in frame(play.app))
        shown = frame(play.app)
        assert "proposal 2: description has 300 bytes" in shown
        assert "[b]markup[/b]" in shown
        assert "\x1b" not in shown
        await play.pilot.press("enter")
        await until(play.pilot, lambda: isinstance(play.app.screen, EditPreviewPage))
        await play.pilot.press("enter")
        await until(play.pilot, lambda: services.session.topic.description == "Tax")
        assert services.session.topic.name == before.name
        services.session.undo()
        assert services.session.topic == before
