"""Single scans: what is sent, what is refused before it is sent, and what failures say."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from guardtui.domain.verdicts import Triggered
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.secret import Secret
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.lifecycle import apply
from guardtui.scanners.airs.scans import ScanClient
from tests.http.server import Answer, Received, Server, Step, answer
from tests.http.times import JumpClock

from .conftest import OTHER, TAX, TAX_TOPIC, Stage, allowing

RESULT = {
    "scan_id": "0c6a2f5e-3f5a-4d0b-9d1b-6c1f2f5b7a10",
    "report_id": "R0c6a2f5e-3f5a-4d0b-9d1b-6c1f2f5b7a10",
    "category": "benign",
    "action": "allow",
    "prompt_detected": {"topic_violation": False},
}


def client_of(
    server: Server, key: str = "the-key", flags: Mapping[str, str] | None = None, **more: Any
) -> ScanClient:
    given = {"scan_endpoint": server.url, "api_key": key, "profile": "mine", **(flags or {})}
    settings = AirsSettings.load(given, {}, Path("/nonexistent/config.json"))
    return ScanClient(settings, clock=JumpClock(), **more)


# Against the sandbox


async def test_verdicts_of_a_block_topic(stage: Stage) -> None:
    applied = await apply(stage.management, TAX_TOPIC, "sandbox")
    stopped = await stage.scans.scan(TAX)
    assert stopped.triggered is Triggered.YES
    assert stopped.topics == ("Tax advice",)
    assert stopped.revision == applied.profile.profile_id
    assert stopped.seconds is not None
    passed = await stage.scans.scan(OTHER)
    assert (passed.triggered, passed.doubtful, passed.note) == (Triggered.NO, False, "")


async def test_verdicts_of_an_allow_topic(stage: Stage) -> None:
    await apply(stage.management, allowing(TAX_TOPIC), "sandbox")
    outside = await stage.scans.scan(OTHER)
    assert (outside.triggered, outside.topics) == (Triggered.YES, ())
    inside = await stage.scans.scan(TAX)
    assert (inside.triggered, inside.doubtful) == (False, False)


async def test_profile_without_topics_gives_no_verdict(stage: Stage) -> None:
    answer_ = await stage.scans.scan(TAX)
    assert answer_.triggered is Triggered.NO_VERDICT
    assert "are topic guardrails on" in answer_.problem


@pytest.mark.parametrize(
    "fault",
    ["flag-timeout", "flag-error", "category-timeout", "category-error", "topic-timeout",
     "topic-error", "no-detected"],
)  # fmt: skip
@pytest.mark.parametrize("prompt", [TAX, OTHER])
async def test_spoilt_result_gives_no_verdict(stage: Stage, fault: str, prompt: str) -> None:
    await apply(stage.management, TAX_TOPIC, "sandbox")
    stage.change(faults=[f"{fault}=1"])
    answer_ = await stage.scans.scan(prompt)
    assert answer_.triggered is Triggered.NO_VERDICT
    assert answer_.problem


async def test_failure_of_another_detector_is_doubtful(stage: Stage) -> None:
    await apply(stage.management, TAX_TOPIC, "sandbox")
    stage.change(faults=["dlp-error=1"])
    answer_ = await stage.scans.scan(TAX)
    assert (answer_.triggered, answer_.doubtful) == (True, True)


@pytest.mark.parametrize(
    "fault",
    ["500@sync=first:2", "429-header=first:2", "429-body=first:2", "429-top=first:2",
     "429-date=first:2", "429-none=first:2", "reset=first:2", "html-503=first:2", "cut=first:2"],
)  # fmt: skip
async def test_single_scan_is_retried(stage: Stage, fault: str) -> None:
    await apply(stage.management, TAX_TOPIC, "sandbox")
    stage.change(faults=[fault])
    assert (await stage.scans.scan(TAX)).triggered is Triggered.YES


async def test_unknown_profile_is_reported(stage: Stage) -> None:
    scanner = await stage.scanner("no such profile")
    with pytest.raises(ServiceError, match="this key has no profile 'no such profile'"):
        await scanner.scan(TAX)


async def test_wrong_key_error_lists_all_causes(stage: Stage) -> None:
    settings = replace(stage.settings, api_key=Secret("wrong"))
    async with ScanClient(settings, clock=stage.clock) as client:
        with pytest.raises(ServiceError) as caught:
            await client.scan(TAX)
    text = str(caught.value)
    assert caught.value.kind is ErrorKind.CREDENTIALS
    assert caught.value.attempts == 1
    for reason in ("wrong, expired or revoked", "another region than 127.0.0.1", "quota"):
        assert reason in text


# Against scripted servers


@pytest.mark.parametrize("prompt", ["plain", "ümlaut 🦊 \u2028", "half \ud83d a pair", '"\\\x00'])
async def test_scan_request_has_profile_prompt_and_signature(prompt: str) -> None:
    async with Server(answer(RESULT)) as server, client_of(server) as client:
        await client.scan(prompt)
        (request,) = server.received
    assert (request.method, request.target) == ("POST", "/v1/scan/sync/request")
    body = request.json
    assert len(body.pop("tr_id")) == 32
    assert body == {"ai_profile": {"profile_name": "mine"}, "contents": [{"prompt": prompt}]}
    assert request.headers["x-pan-token"] == "the-key"
    assert request.headers["content-type"] == "application/json"
    assert "authorization" not in request.headers
    # Over the very bytes that came.
    expected = hmac.new(b"the-key", request.body, hashlib.sha256).hexdigest()
    assert request.headers["x-payload-hash"] == expected


async def test_bearer_token_is_sent_without_a_signature() -> None:
    async with Server(answer(RESULT)) as server:
        client = client_of(server, key="", flags={"api_token": "a-token"})
        async with client:
            await client.scan("x")
        (request,) = server.received
    assert request.headers["authorization"] == "Bearer a-token"
    assert "x-pan-token" not in request.headers
    assert "x-payload-hash" not in request.headers


async def test_missing_key_is_reported() -> None:
    settings = AirsSettings.load({}, {}, Path("/nonexistent/config.json"))
    with pytest.raises(AirsError, match="PANW_AI_SEC_API_KEY"):
        ScanClient(settings)


@pytest.mark.parametrize("prompt", ["", " \n", "x" * 2 * 1024**2, "\x00" * 400_000, "🦊" * 600_000])
async def test_invalid_prompt_is_not_sent(prompt: str) -> None:
    async with Server(answer(RESULT)) as server, client_of(server) as client:
        with pytest.raises(ServiceError) as caught:
            await client.scan(prompt)
        assert (caught.value.kind, caught.value.final) == (ErrorKind.REQUEST, True)
        assert server.received == []


async def test_prompt_of_the_maximum_size_is_sent() -> None:
    async with Server(answer(RESULT)) as server, client_of(server) as client:
        await client.scan("🦊" * 500_000)
        assert len(server.received) == 1


def test_long_profile_names_are_rejected() -> None:
    settings = AirsSettings.load({"api_key": "k", "profile": "p" * 101}, {}, Path("/none"))
    with pytest.raises(AirsError, match="100 characters"):
        ScanClient(settings)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (400, "the prompt is empty, or this key has no profile 'mine'"),
        (401, "the bearer token is wrong or expired"),
        (403, "or its quota is used up"),
        (404, "the profile 'mine' does not exist"),
        (405, "check the endpoint"),
        (413, "too large"),
        (415, "content type"),
    ],
)
async def test_final_statuses_are_not_retried_and_name_the_cause(status: int, told: str) -> None:
    async with Server(answer({"error": {"message": "service says"}}, status)) as server:
        async with client_of(server) as client:
            with pytest.raises(ServiceError) as caught:
                await client.scan("x")
        assert len(server.received) == 1
    assert caught.value.final
    assert f"HTTP {status}: service says (" in str(caught.value)
    assert told in str(caught.value)


@pytest.mark.parametrize("retries", [0, 2])
async def test_number_of_retries_is_a_setting(retries: int) -> None:
    async with Server(answer({}, 500)) as server:
        async with client_of(server, flags={"retries": retries}) as client:
            with pytest.raises(ServiceError):
                await client.scan("x")
        assert len(server.received) == retries + 1


@pytest.mark.parametrize(
    "step", [Answer(200, b""), Answer(200, b"[]"), Answer(200, b'"x"'), Answer(200, b"{}")]
)
async def test_answer_without_a_verdict_has_a_problem(step: Answer) -> None:
    async with Server(step) as server, client_of(server) as client:
        assert (await client.scan("x")).triggered is Triggered.NO_VERDICT


async def test_non_json_answer_is_reported() -> None:
    async with Server(Answer(200, b'{"scan_id": ')) as server, client_of(server) as client:
        with pytest.raises(ServiceError, match="truncated"):
            await client.scan("x")


async def test_echoed_key_is_not_shown() -> None:
    def echo(request: Received) -> Step:
        return answer({"message": f"bad key {request.headers['x-pan-token']}"}, 403)

    async with Server(echo) as server, client_of(server) as client:
        with pytest.raises(ServiceError) as caught:
            await client.scan("x")
    assert "the-key" not in str(caught.value)


async def test_ids_are_sent_as_one_list() -> None:
    async with Server(answer([])) as server, client_of(server) as client:
        await client.results(["a", "b"])
        assert server.received[0].target == "/v1/scan/results?scan_ids=a%2Cb"


@pytest.mark.parametrize("data", [{}, None, "x", {"results": []}])
async def test_results_that_are_not_a_list_are_reported(data: Any) -> None:
    async with Server(answer(data)) as server, client_of(server) as client:
        with pytest.raises(ServiceError, match="not a list of results"):
            await client.results(["a"])
