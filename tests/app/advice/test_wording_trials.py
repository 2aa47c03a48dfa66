"""Wordings in a session: questions, a writer, and no repeated requests."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from guardtui.advice.candidates import CandidateKind
from guardtui.app.advice.wording_trials import (
    TypeWordings,
    WordingDraft,
    WordingError,
    WordingRequest,
    WordingTrials,
)
from guardtui.app.guardrails.choice import BEFORE, with_guardrail
from guardtui.app.guardrails.named import NamedGuardrail
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.app.ports import ChooseAnswer
from guardtui.app.services import Services
from guardtui.app.task_jobs import TaskJobs
from guardtui.http.secret import Secret
from guardtui.scanners.configuration import configure
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.budget import Prices
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.decision import DecisionOptions
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.scanners.session_keys import KEYRING
from guardtui.session.workspace import Workspace
from tests.app.headless import ScriptedAuthor, resting_jobs
from tests.http.server import Answer, Received, Server, Step, silence
from tests.http.test_system_keyring import Backend, use
from tests.scanners.models.decision_service import Service, serving
from tests.scanners.models.judges import refused, said
from tests.tui.stages import first_is_fast

TAX = ("Can I deduct the {} from my tax?", "What tax do I pay on my {}?", "{}: tax return?")
OTHER = ("Where do I buy a {}?", "Write a poem about my {}", "How big is a {}?")
PLACES = (
    "office",
    "car",
    "laptop",
    "rent",
    "books",
    "travel",
    "gifts",
    "phone",
    "house",
    "boat",
    "garden",
    "camera",
    "bicycle",
    "piano",
    "desk",
    "shop",
)
TOPIC = """\
name: Tax advice
description: Poems and shopping
examples:
  - Where can I buy it?
  - Write a poem
  - How far is it?
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


def runs_of(path: Path, service: Service | None, *answers: Any) -> tuple[Any, WordingTrials]:
    services, author, _ = services_of(path, service, *answers)
    return author, services.wordings


def services_of(
    path: Path, service: Service | None, *answers: Any, **others: Any
) -> tuple[Services, ScriptedAuthor, TaskJobs]:
    decision = (
        None
        if service is None
        else DecisionOptions(service.address, calls=CallOptions(Prices(1.0)))
    )
    others = {"environment": {}, **others}
    options = RemoteOptions(config=path / "none", model=decision, **others)
    author, jobs = ScriptedAuthor(list(answers)), resting_jobs()
    workspace = Workspace.open(path)
    return Services(workspace, LocalScanner("static"), options, (), author, jobs), author, jobs


async def drafted(runs: WordingTrials) -> WordingDraft | None:
    """Gather wordings for an experiment like the screen."""
    draft = await runs.begin("decide-1")
    if draft is not None:
        await draft.write()
    return draft


NOTHING = WordingRequest()


async def test_own_wordings_are_measured_like_other_edits(
    topic_path: Path,
) -> None:
    author, runs = runs_of(
        topic_path, None, WordingRequest(f"{GOOD}\nMore poems and shopping"), NOTHING
    )
    draft = await runs.begin()
    assert draft is not None
    assert author.questions[0].tried_on == ""
    found = await runs.measured(draft)
    best, worst = found.proposals
    assert best.topic.description == GOOD
    assert (best.origin, best.kinds) == ("line 1 as typed", (CandidateKind.TYPED,))
    assert best.is_advised
    assert not worst.is_advised
    assert found.advised == (best,)
    assert found.notes == ()
    draft = await runs.begin()
    assert draft is not None
    with pytest.raises(WordingError, match="type a description, or name a writer"):
        await runs.measured(draft)


# --- the writer ------------------------------------------------------------------------------

GOOD = "Advice on personal income taxes, returns, deductions, rates and refunds"
PROPOSED = {"why": "it is about taxes", "description": GOOD, "examples": ["tax", "a return"]}
HOSTILE = {"description": "Taxes \x1b]0;owned\x07", "examples": ["tax", "a return"]}
WRITING = json.dumps({"proposals": [PROPOSED, HOSTILE]})
KEY = "sk-writer"
MODEL = "writer"


def with_key(request: Received) -> Step:
    """Wordings for whoever has the key."""
    if request.headers.get("authorization") != f"Bearer {KEY}":
        return refused("who are you", 401)
    return said(WRITING)


def asking(server: Server, key: str = KEY, **others: Any) -> WordingRequest:
    return WordingRequest(writer=f"{server.url}/v1#{MODEL}", key=key, **others)


@pytest.fixture(autouse=True)
def keyring(monkeypatch: pytest.MonkeyPatch) -> Backend:
    backend = Backend()
    use(monkeypatch, backend)
    return backend


async def test_a_writer_is_asked_with_consent_only_and_never_twice(topic_path: Path) -> None:
    async with serving() as service, Server(with_key) as server:
        request = asking(server)
        author, runs = runs_of(topic_path, service, request, "ask", request, request, "ask")
        draft = await runs.begin("decide-1")
        assert draft is not None
        assert server.received == []
        consent = author.questions[-1]
        assert isinstance(consent, ChooseAnswer)
        assert f"Ask {MODEL} at {server.url}/v1 for wordings?" in consent.text
        assert "It is sent the definition and " in consent.text
        assert "1 call, at most about 3," in consent.text
        await draft.write()
        (written,) = draft.given
        assert (written.topic.description, written.origin) == (GOOD, f"the model {MODEL}")
        (note,) = draft.notes
        assert "proposal 2: the description has control" in note
        # The same again: the answer is known, and nothing has to be agreed to.
        assert await drafted(runs) is not None
        assert len(server.received) == 1
        # Another definition is another question.
        runs._editing.replace(draft.topic.model_copy(update={"description": "Songs and shopping"}))
        assert await drafted(runs) is not None
        assert len(server.received) == 2
        assert sum(isinstance(question, ChooseAnswer) for question in author.questions) == 2
        assert service.stats["requests"] == 0


async def test_a_writer_is_measured_on_what_it_was_not_shown(
    topic_path: Path,
) -> None:
    async with Server(with_key) as server:
        _, runs = runs_of(topic_path, None, asking(server), "ask")
        draft = await runs.begin()
        assert draft is not None
        await draft.write()
        assert draft.written is not None
        shown = draft.written.shown
        found = await runs.measured(draft)
        (proposal,) = found.proposals
        assert (proposal.topic.description, proposal.why) == (GOOD, "it is about taxes")
        left_out = draft.prompts.prompts.gather(proposal.left_out).to_list()
        assert {*shown.left_out} <= {*left_out}
        assert found.notes[0].startswith(f"The model was shown {shown.count} of ")
        assert "proposal 2: the description has control" in found.notes[-1]
        assert found.measure is not None


@pytest.mark.exhaustive
async def test_fresh_asks_a_writer_again(topic_path: Path) -> None:
    async with serving() as service, Server(with_key) as server:
        for calls in (1, 2):
            answers = (asking(server), "ask")
            services, _, _ = services_of(topic_path, service, *answers, fresh=True)
            await drafted(services.wordings)
            assert len(server.received) == calls


FAILURES: dict[str, tuple[Answer | None, str]] = {
    "no JSON": (said("I'd rather not."), "holds no proposals as JSON"),
    "empty": (said(""), "refused, or its answer is empty"),
    "refusal": (said(None, refusal="No."), "refused, or its answer is empty"),
    "invalid": (said('{"proposals": [{"description": "\\u001b[2J"}]}'), "proposal 1: "),
    "large": (said("x" * 100_000), "more than 65,536"),
    "401": (refused("the key is bad", 401), "HTTP 401: the key is bad"),
    "500": (refused("\x1b]0;owned\x07", 500), "HTTP 500: "),
    "down": (None, "cannot connect"),
}


@pytest.mark.parametrize("failure", first_is_fast(*FAILURES))
async def test_a_writer_that_fails_is_named(topic_path: Path, failure: str) -> None:
    answer, problem = FAILURES[failure]
    async with serving() as service, Server(answer or said("")) as server:
        request = asking(server)
        if answer is None:
            request = WordingRequest(writer=f"http://127.0.0.1:9/v1#{MODEL}")
        known = JudgeOptions(
            (ModelAddress("https://a.example", "other"),), calls=CallOptions(retries=0)
        )
        answers = (request, "ask")
        services, _, _ = services_of(topic_path, service, *answers, writer=known)
        draft = await drafted(services.wordings)
        assert draft is not None
        assert draft.given == ()
        (note,) = draft.notes
        assert note.startswith(f"{MODEL} at http://127.0.0.1:")
        assert problem in note
        assert "\x1b" not in note


async def test_a_writer_can_be_left_out_at_the_question(topic_path: Path) -> None:
    async with serving() as service, Server(with_key) as server:
        author, runs = runs_of(topic_path, service, asking(server), "without", asking(server), None)
        draft = await drafted(runs)
        assert draft is not None
        assert draft.given == ()
        assert await drafted(runs) is None  # Escape cancels all of it
        assert server.received == []
        assert service.stats["requests"] == 0
        assert [type(question) for question in author.questions[-2:]] == [
            TypeWordings,
            ChooseAnswer,
        ]


@pytest.mark.exhaustive
async def test_a_call_that_is_cancelled_is_a_note(topic_path: Path) -> None:
    async with serving() as service, Server(silence) as server:
        _, runs = runs_of(topic_path, service, asking(server), "ask")
        draft = await runs.begin()
        assert draft is not None
        call = asyncio.create_task(draft.write())
        async with asyncio.timeout(120):
            while not server.received:
                await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert draft.notes == (f"{MODEL} at {server.url}/v1: cancelled",)


@pytest.mark.exhaustive
async def test_without_mistakes_a_writer_is_not_asked(topic_path: Path) -> None:
    text = topic_path.read_text("utf-8").replace("Poems and shopping", GOOD)
    text = text.replace("Where can I buy it?", "my tax return").replace("Write a poem", "tax")
    topic_path.write_text(text, "utf-8")
    async with serving() as service, Server(with_key) as server:
        _, runs = runs_of(topic_path, service, asking(server))
        draft = await drafted(runs)
        assert draft is not None
        assert "was not asked: " in draft.notes[0]
        assert server.received == []


@pytest.mark.parametrize(
    ("writer", "problem"),
    [
        ("https://a.example/v1", "has no model"),
        ("http://a.example/v1#m", "unencrypted"),
        ("a b", "one model writes"),
    ],
)
async def test_an_invalid_writer_is_asked_for_again(
    topic_path: Path, writer: str, problem: str
) -> None:
    async with serving() as service:
        request = WordingRequest("Taxes", writer, "sk-1")
        author, runs = runs_of(topic_path, service, request, None)
        assert await drafted(runs) is None
        again = author.questions[1]
        assert isinstance(again, TypeWordings)
        assert problem in again.problem
        assert again.offered == request
        assert "sk-1" not in repr(again)
        assert runs._connections.options.writer is None


async def test_the_writer_in_use_is_offered_until_its_line_is_cleared(topic_path: Path) -> None:
    async with serving() as service, Server(with_key) as server:
        address = ModelAddress(f"{server.url}/v1", MODEL, Secret(KEY, "test"), "JUDGE_KEY")
        judge = JudgeOptions((address, ModelAddress("https://b.example", "second")))
        services, author, _ = services_of(topic_path, service, writer=judge)
        runs = services.wordings
        author.answers = [WordingRequest(writer=address.full), "ask", NOTHING, None]
        draft = await drafted(runs)
        assert draft is not None
        assert draft.given[0].origin == f"the model {MODEL}"
        offered = author.questions[0]
        assert isinstance(offered, TypeWordings)
        assert offered.offered == WordingRequest(writer=address.full)
        assert (offered.origin, offered.key_origin) == ("in use", "JUDGE_KEY")
        # Whoever clears the line is not offered it again.
        await drafted(runs)
        await drafted(runs)
        assert author.questions[-1].offered == NOTHING
        assert services.connections.options.writer is judge


async def test_a_writer_is_remembered_with_its_topic_and_its_key_is_not(
    topic_path: Path, keyring: Backend
) -> None:
    async with serving() as service, Server(with_key) as server:
        request = asking(server, keep=True)
        services, _, _ = services_of(topic_path, service, request, "ask")
        await drafted(services.wordings)
        assert len(server.received) == 1
        assert list(keyring.kept.values()) == [KEY]
        assert KEY in services.connections.options.secrets().values()
        await services.close()
        services, author, _ = services_of(topic_path, service)
        assert services.connections.options.wording_model is None  # only offered
        await drafted(services.wordings)
        (offered,) = author.questions
        assert isinstance(offered, TypeWordings)
        assert offered.offered == WordingRequest(writer=request.writer)
        assert (offered.origin, offered.key_origin) == (BEFORE, KEYRING)
        await services.close()
    found = [path for path in topic_path.parent.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in path.read_bytes() for path in found)


async def test_the_key_of_the_decision_model_is_never_sent_to_a_writer(topic_path: Path) -> None:
    """Nor that of the writer to the decision model."""
    variables = {"GUARDTUI_MODEL_KEY": "sandbox-key"}
    async with serving() as service, Server(with_key) as server:
        answers = (asking(server, key=""), "ask")
        services, author, _ = services_of(topic_path, service, *answers, environment=variables)
        draft = await drafted(services.wordings)
        assert draft is not None
        (request,) = server.received
        assert "authorization" not in request.headers
        assert "HTTP 401" in draft.notes[0]
        author.answers = [asking(server), "ask"]
        draft = await drafted(services.wordings)
        assert draft is not None
        assert draft.given[0].origin == f"the model {MODEL}"
        chosen = NamedGuardrail("", configure("decision", {"model": service.address.full}))
        options = with_guardrail(services.connections.options, chosen)
        assert options.model is not None
        assert options.model.keys == (Secret("sandbox-key"),)
        assert options.writer is services.connections.options.writer
