"""Trying wordings in a session: what is asked before, what comes of it, and nothing twice."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from guardtui.app.ports import Confirm
from guardtui.app.remote import RemoteOptions
from guardtui.app.scan_plan import ScanChoice
from guardtui.app.services import Services
from guardtui.app.wording_runs import (
    NO_DECISION_MODEL,
    TypeWordings,
    WordingRunError,
    WordingRuns,
)
from guardtui.domain.operating_point import BY_HAND
from guardtui.scanners.budget import Prices
from guardtui.scanners.decision.options import DecisionOptions
from guardtui.scanners.decision.scanner import THRESHOLD
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from tests.app.headless import ScriptedAuthor, TaskJobs
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
    services, author, _ = services_of(path, service, *answers)
    return author, services.wording_runs


def services_of(
    path: Path, service: Service | None, *answers: Any
) -> tuple[Services, ScriptedAuthor, TaskJobs]:
    decision = None if service is None else DecisionOptions(service.address, prices=Prices(1.0))
    options = RemoteOptions(environment={}, config=path / "none", decision=decision)
    author, jobs = ScriptedAuthor(list(answers)), TaskJobs()
    workspace = Workspace.open(path)
    return Services(workspace, LocalScanner("static"), options, (), author, jobs), author, jobs


async def test_requests_and_cost_are_asked_about_before(topic_path: Path) -> None:
    async with serving() as service:
        author, runs = runs_of(topic_path, service, "", False)
        assert await runs.prepare() is None
        typing, question = author.questions
        assert typing == TypeWordings(59)
        assert isinstance(question, Confirm)
        assert "48 requests for 48 prompts, about " in question.text
        assert " tokens for 0." in question.text
        assert service.stats["requests"] == 0


async def test_a_run_proposes_what_is_better_and_a_second_asks_nothing(topic_path: Path) -> None:
    async with serving() as service:
        author, runs = runs_of(topic_path, service, "", True, "")
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
        assert [type(question) for question in author.questions] == [
            TypeWordings,
            Confirm,
            TypeWordings,
        ]
        assert (await again.run(nothing)).best is not None
        assert service.stats["requests"] == 48


async def test_own_wordings_come_first_and_a_cancel_there_sends_nothing(topic_path: Path) -> None:
    async with serving() as service:
        _, runs = runs_of(
            topic_path, service, "Advice on taxes\n\n# a note\nTax advice", True, None
        )
        run = await runs.prepare()
        assert run is not None
        assert len(run.wordings) == 60
        assert [wording.topic.description for wording in run.wordings[:3]] == [
            "Poems and shopping",
            "Advice on taxes",
            "Tax advice",
        ]
        assert [wording.origin for wording in run.wordings[1:3]] == [
            "line 1 as typed",
            "line 4 as typed",
        ]
        assert await runs.prepare() is None
        assert service.stats["requests"] == 0


async def test_a_wording_is_applied_with_its_threshold(topic_path: Path) -> None:
    async with serving() as service:
        services, author, jobs = services_of(topic_path, service, "", True)
        run = await services.wording_runs.prepare()
        assert run is not None
        found = await run.run(nothing)
        best = found.best
        assert best is not None
        assert best.threshold != THRESHOLD
        services.wording_runs.apply(best, found)
        assert services.session.topic == best.wording.topic
        author.answers.append(ScanChoice(apply=False, likely=False, agreed=False))
        services.scans.scan()
        await jobs.finished()
        (iteration,) = services.session.iterations
        settings = iteration.evaluation.settings
        assert (settings.threshold, settings.threshold_source) == (best.threshold, BY_HAND)
        assert service.stats["requests"] == 48  # those of the run: the scan needs none
        services.editing.undo()
        assert services.session.topic == run.topic


async def test_a_cancelled_run_keeps_its_answers(topic_path: Path) -> None:
    async with serving(latency="20ms") as service:
        _, runs = runs_of(topic_path, service, "", True, "", True)
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
