"""Trying wordings in a session: what is asked before, what comes of it, and nothing twice."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from guardtui.app.connections import Connections
from guardtui.app.editing import Editing
from guardtui.app.engine import Engine
from guardtui.app.ports import Confirm
from guardtui.app.remote import RemoteOptions
from guardtui.app.state import AppState, Store
from guardtui.app.wording_runs import NO_DECISION_MODEL, WordingRunError, WordingRuns
from guardtui.scanners.budget import Prices
from guardtui.scanners.decision.options import DecisionOptions
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from tests.app.headless import ScriptedAuthor
from tests.scanners.decision.conftest import Service, nothing, serving

TAX = ("Can I deduct the {} from my tax?", "What tax do I pay on my {}?", "{}: tax return?")
OTHER = ("Where do I buy a {}?", "Write a poem about my {}", "How big is a {}?")
PLACES = ("office", "car", "laptop", "rent", "books", "travel", "gifts", "phone")
TOPIC = """\
name: Tax advice
description: Poems and shopping
examples:
  - Where can I buy it?
  - Write a poem
"""


@pytest.fixture
def topic_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GUARDTUI_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "tax.yaml"
    path.write_text(TOPIC, "utf-8")
    rows = [f'"{text.format(place)}",true,block' for place in PLACES for text in TAX]
    rows += [f'"{text.format(place)}",false,block' for place in PLACES for text in OTHER]
    (tmp_path / "tax.csv").write_text("\n".join(["prompt,expected,intent", *rows, ""]), "utf-8")
    return path


def runs_of(path: Path, service: Service | None, *answers: Any) -> tuple[Any, WordingRuns]:
    decision = None if service is None else DecisionOptions(service.address, prices=Prices(1.0))
    workspace = Workspace.open(path)
    author = ScriptedAuthor(list(answers))
    store = Store(AppState(workspace.session.topic, workspace.prompts))
    options = RemoteOptions(environment={}, config=path / "none", decision=decision)
    return author, WordingRuns(
        store,
        workspace,
        Engine(LocalScanner("static"), author),
        Editing(store, workspace.session, author),
        Connections(store, workspace.store, author, options),
        author,
    )


async def test_requests_and_cost_are_asked_about_before(topic_path: Path) -> None:
    async with serving() as service:
        author, runs = runs_of(topic_path, service, False)
        assert await runs.prepare() is None
        (question,) = author.questions
        assert isinstance(question, Confirm)
        assert "48 requests for 48 prompts, about " in question.text
        assert " tokens for 0." in question.text
        assert service.stats["requests"] == 0


async def test_a_run_proposes_what_is_better_and_a_second_asks_nothing(topic_path: Path) -> None:
    async with serving() as service:
        author, runs = runs_of(topic_path, service, True)
        run = await runs.prepare()
        assert run is not None
        assert len(run.wordings) == 60
        found = await run.run(nothing)
        assert not found.missing
        assert service.stats["requests"] == 48
        best = found.best
        assert best is not None
        assert best.report is not None
        assert best.report.gain.low > 0
        again = await runs.prepare()  # nothing to agree to
        assert again is not None
        assert len(author.questions) == 1
        assert (await again.run(nothing)).best is not None
        assert service.stats["requests"] == 48


async def test_a_cancelled_run_keeps_its_answers(topic_path: Path) -> None:
    async with serving(latency="20ms") as service:
        _, runs = runs_of(topic_path, service, True, True)
        run = await runs.prepare()
        assert run is not None
        task = asyncio.create_task(run.run(nothing))
        async with asyncio.timeout(120):
            while service.stats["prompts"]["delivered"]["total"] < 20 * 60:
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        run = await runs.prepare()
        assert run is not None
        assert run.plan.requests <= 48 - 15
        assert not (await run.run(nothing)).missing


async def test_without_a_decision_model_it_says_how_to_name_one(topic_path: Path) -> None:
    _, runs = runs_of(topic_path, None)
    assert runs.refusal == NO_DECISION_MODEL
    with pytest.raises(WordingRunError, match="--scanner decision"):
        await runs.prepare()
