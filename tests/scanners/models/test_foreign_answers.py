"""Answers that are not those of the prompt, or say two things: for every remote guardrail."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from guardtui.domain.verdicts import Verdicts
from guardtui.http.decisions import Api
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.models import SecurityProfile
from guardtui.scanners.airs.scanner import ActiveRevision, AirsScanner
from guardtui.scanners.base import RemoteScanner
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.decision import DecisionOptions
from tests.http.server import Answer, Received, Server, answer
from tests.http.times import JumpClock
from tests.scanners.models.judges import TOPIC, asked, judge, nothing, said, some

PROMPTS = tuple(f"{'tax' if n % 3 else 'bread'} {n}" for n in range(8))
EXPECTED = [int("tax" in prompt) for prompt in PROMPTS]


@dataclass
class Guardrail:
    """A service that stops prompts about tax, and the scanner that asks it."""

    respond: Callable[[Received], Any]
    """Returns the JSON of the response to a request."""
    scanner: Callable[[Server], RemoteScanner]
    foreign: Callable[[bool], Any]
    """Returns a response to no request, with this verdict."""


def airs_result(triggered: bool, **more: Any) -> dict[str, Any]:
    return {
        "category": "malicious" if triggered else "benign",
        "action": "block" if triggered else "allow",
        "prompt_detected": {"topic_violation": triggered},
        **more,
    }


def scanned(request: Any, **more: Any) -> dict[str, Any]:
    tr_id = request.get("tr_id")
    more |= {} if tr_id is None else {"tr_id": tr_id}
    return airs_result("tax" in request["contents"][-1]["prompt"], **more)


def airs_scanner(server: Server, batches: bool = False) -> RemoteScanner:
    flags = {"scan_endpoint": server.url, "api_key": "the-key", "profile": "mine"}
    settings = AirsSettings.load(flags, {}, Path("/nonexistent/config.json"))
    clock = JumpClock()
    now = ActiveRevision(SecurityProfile(profile_id="r", profile_name="mine"))
    return AirsScanner(settings, now, batches=batches, clock=clock)


class Batches:
    """The batch API, which gives numbers instead of UUIDs."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Any]] = {}

    def __call__(self, request: Received) -> Any:
        if request.method == "POST":
            scan_id = f"scan-{len(self.rows)}"
            self.rows[scan_id] = [
                {"scan_id": scan_id, "req_id": one["req_id"], "status": "complete",
                 "result": scanned(one["scan_req"], scan_id=scan_id)}
                for one in request.json
            ]  # fmt: skip
            return {"scan_id": scan_id, "received": "now"}
        ids = parse_qs(urlsplit(request.target).query)["scan_ids"][0].split(",")
        return [row for one in ids for row in self.rows[one]]


def foreign_row(triggered: bool) -> list[Any]:
    row = {"scan_id": "scan-0", "req_id": 1, "status": "complete", "result": airs_result(triggered)}
    return [row]


def chat(triggered: bool) -> Any:
    return json.loads(said(f"ANSWER: {'yes' if triggered else 'no'}").body)


def decided(api: Api, triggered: bool) -> Any:
    probability = 0.9 if triggered else 0.1
    entry: dict[str, Any] = {"type": "noul", "noul": probability}
    answers: Any = {"q1": entry}
    if api is Api.DECISIONS:
        answers = [{"name": "q1", "type": "predicate", "probability": probability}]
    return {"model": "decide-1", "answers": answers}


def decision(api: Api) -> Guardrail:
    field = "input" if api is Api.DECISIONS else "state"
    return Guardrail(
        lambda request: decided(api, "tax" in request.json[field]),
        lambda server: DecisionOptions(
            ModelAddress(f"{server.url}/v1", "decide-1"),
            api=api,
            calls=CallOptions(clock=JumpClock()),
        ).scanner(),
        lambda triggered: decided(api, triggered),
    )


GUARDRAILS: dict[str, Callable[[], Guardrail]] = {
    "AIRS": lambda: Guardrail(
        lambda request: scanned(request.json, scan_id="s"),
        airs_scanner,
        lambda triggered: airs_result(triggered, tr_id="that-of-another-scan"),
    ),
    "AIRS without tr_id": lambda: Guardrail(
        lambda request: airs_result("tax" in request.json["contents"][-1]["prompt"]),
        airs_scanner,
        airs_result,
    ),
    "AIRS in batches": lambda: Guardrail(
        Batches(), lambda server: airs_scanner(server, batches=True), foreign_row
    ),
    "judge": lambda: Guardrail(
        lambda request: chat("tax" in asked(request)), lambda server: judge(server), chat
    ),
    "decisions": lambda: decision(Api.DECISIONS),
    "systemone": lambda: decision(Api.SYSTEM_ONE),
}


@pytest.fixture(params=GUARDRAILS)
def guardrail(request: pytest.FixtureRequest) -> Guardrail:
    return GUARDRAILS[request.param]()


async def scan(guardrail: Guardrail, script: Callable[[Received], Answer], path: Path) -> Verdicts:
    async with Server(script) as server:
        return await guardrail.scanner(server).scan(TOPIC, some(path, *PROMPTS), nothing)


@pytest.mark.parametrize("when", ["together", "apart", "late"])
@pytest.mark.parametrize(
    "surplus",
    [
        lambda foreign: foreign(True).encode(),
        lambda foreign: foreign(False).encode(),
        lambda foreign: foreign(False).encode() * 3,
        lambda foreign: foreign(False).encode()[:-9],
        lambda foreign: b"{}",
        lambda foreign: answer({"message": "no"}, 403).encode(),
    ],
    ids=["yes", "no", "three", "half", "object", "refusal"],
)
async def test_surplus_bytes_are_no_verdict_of_another_prompt(
    guardrail: Guardrail, surplus: Callable[[Any], bytes], when: str, tmp_path: Path
) -> None:
    def foreign(triggered: bool) -> Answer:
        return answer(guardrail.foreign(triggered))

    def script(request: Received) -> Answer:
        own = answer(guardrail.respond(request))
        return replace(own, surplus=surplus(foreign), when=when)

    verdicts = await scan(guardrail, script, tmp_path)
    assert verdicts.triggered.tolist() == EXPECTED


DOUBLED = {
    "AIRS": ('"topic_violation": true', '"topic_violation": true, "topic_violation": false'),
    "AIRS in batches": ('"status": "complete"', '"status": "failed", "status": "complete"'),
    "judge": ('"content": "ANSWER: yes"', '"content": "ANSWER: no", "content": "ANSWER: yes"'),
    "decisions": ('"probability": 0.9', '"probability": 0.1, "probability": 0.9'),
    "systemone": ('"noul": 0.9', '"noul": 0.1, "noul": 0.9'),
}


@pytest.mark.parametrize("name", DOUBLED)
async def test_duplicate_key_in_an_answer_is_no_verdict(name: str, tmp_path: Path) -> None:
    guardrail, (key, twice) = GUARDRAILS[name](), DOUBLED[name]

    def script(request: Received) -> Answer:
        text = json.dumps(guardrail.respond(request))
        return Answer(body=text.replace(key, twice).encode())

    verdicts = await scan(guardrail, script, tmp_path)
    rows = EXPECTED if name != "AIRS in batches" else [1] * len(PROMPTS)
    assert [not one for one in rows] == [row not in verdicts.errors for row in range(len(PROMPTS))]
    assert all("duplicate key" in problem for problem in verdicts.errors.values())


@pytest.mark.parametrize("text", [
    '{"reason": "", "answer": "no", "answer": "yes"}',
    '```json\n{"answer": "yes", "reason": {"a": 1, "a": 2}}\n```',
])  # fmt: skip
async def test_duplicate_key_in_the_json_of_a_model_is_no_verdict(
    text: str, tmp_path: Path
) -> None:
    verdicts = await scan(GUARDRAILS["judge"](), lambda request: said(text), tmp_path)
    assert len(verdicts.errors) == len(PROMPTS)
    assert "duplicate key" in verdicts.errors[0]


@pytest.mark.parametrize("tr_id", ["other", "", None, 5])
async def test_scan_result_must_not_name_another_scan(tr_id: Any, tmp_path: Path) -> None:
    def script(request: Received) -> Answer:
        return answer(scanned(request.json) | {"tr_id": tr_id})

    verdicts = await scan(GUARDRAILS["AIRS"](), script, tmp_path)
    assert bool(verdicts.errors) is (tr_id in ("other", 5))
    if tr_id == "other":
        problem = "no verdict: the result is of another scan (tr_id other)"
        assert set(verdicts.errors.values()) == {problem}


@pytest.mark.parametrize("field", ["tr_id", "scan_id"])
async def test_row_of_a_batch_must_not_hold_the_result_of_another_scan(
    field: str, tmp_path: Path
) -> None:
    """Two rows of one batch have swapped results, or a result is of another batch."""
    guardrail = GUARDRAILS["AIRS in batches"]()

    def script(request: Received) -> Answer:
        data = guardrail.respond(request)
        if request.method == "GET":
            first, second, *_ = data
            if field == "tr_id":
                first["result"], second["result"] = second["result"], first["result"]
            else:
                first["result"]["scan_id"] = second["result"]["scan_id"] = "scan-1"
        return answer(data)

    verdicts = await scan(guardrail, script, tmp_path)
    assert len(verdicts.errors) == 2
    assert all(f"another scan ({field} " in problem for problem in verdicts.errors.values())


async def test_two_results_for_one_prompt_of_a_batch_are_no_verdict(tmp_path: Path) -> None:
    guardrail = GUARDRAILS["AIRS in batches"]()

    def script(request: Received) -> Answer:
        data = guardrail.respond(request)
        if request.method == "GET":
            other = data[0] | {"result": airs_result(EXPECTED[0] == 0)}
            data = [*data, data[1], other]
        return answer(data)

    verdicts = await scan(guardrail, script, tmp_path)
    (problem,) = verdicts.errors.values()
    assert "gave two results" in problem
