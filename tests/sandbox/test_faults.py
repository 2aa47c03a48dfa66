"""Faults: how they are written, whom they meet, and what a client sees of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
from aiohttp import ClientError, ClientPayloadError, ServerDisconnectedError
from hypothesis import given
from hypothesis import strategies as st

from guardtui.sandbox.faults import FaultError, FaultPlan, parse_fault, parse_faults
from guardtui.sandbox.settings import SandboxSettings, SettingsError

from .conftest import OTHER, TAX, Client, Start

PROMPTS = [f"prompt {number}" for number in range(400)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("429", "KIND=SHARE"),
        ("429=", "KIND=SHARE"),
        ("42=0.1", "unknown fault '42'"),
        ("399=0.1", "unknown fault"),
        ("nonsense=0.1", "choose a status"),
        ("429=1.1", "not a share from 0 to 1"),
        ("429=nan", "not a share"),
        ("429=20", "first:N"),
        ("429=first:x", "whole number"),
        ("429=last:3", "first:N"),
        ("429=every:0", "never occurs"),
        ("429@nowhere=0.1", "unknown endpoint 'nowhere'"),
        ("topic-error@results=0.1", "sync, async or verdicts"),
        ("html-after=0.1", "unknown fault"),
    ],
)
def test_invalid_fault_is_reported(text: str, said: str) -> None:
    with pytest.raises(FaultError) as caught:
        parse_fault(text)
    assert said in str(caught.value)


def test_shares_sum_to_at_most_one() -> None:
    parse_faults(["429=0.6", "500@sync=0.4", "slow=1", "topic-error=1"])
    with pytest.raises(FaultError, match=r"at sync sum to 1\.1"):
        parse_faults(["429=0.6", "500@sync=0.5"])
    parse_faults(["429@async=0.6", "500@sync=0.5"])


@given(st.text(max_size=30))
def test_any_text_is_a_fault_or_an_error(text: str) -> None:
    try:
        fault = parse_fault(text)
    except FaultError:
        return
    assert parse_fault(fault.text) == fault


@given(
    st.lists(st.floats(0, 0.3), min_size=1, max_size=3),
    st.integers(-(2**63), 2**63 - 1),
    st.permutations(range(60)),
)
def test_share_does_not_depend_on_the_order_of_requests(
    shares: list[float], seed: int, order: list[int]
) -> None:
    texts = [f"{500 + place}={share:.6f}" for place, share in enumerate(shares)]
    keys = [str(number).encode() for number in range(60)]

    def met(keys: list[bytes]) -> dict[tuple[bytes, int], str | None]:
        plan = FaultPlan(parse_faults(texts), seed)
        times: Counter[bytes] = Counter()
        results = {}
        for key in keys + keys:
            times[key] += 1
            struck = plan.draw("wire", "sync", key)
            results[key, times[key]] = struck.fault.kind if struck else None
        return results

    assert met(keys) == met([keys[place] for place in order])


def test_shares_are_accurate_and_differ_by_seed() -> None:
    faults = parse_faults(["429=0.2", "500=0.05"])
    drawn = []
    for seed in (1, 2):
        plan = FaultPlan(faults, seed)
        results = [plan.draw("wire", "sync", str(n).encode()) for n in range(10_000)]
        kinds = Counter(one.fault.kind if one else None for one in results)
        assert abs(kinds["429"] - 2000) < 5 * (10_000 * 0.2 * 0.8) ** 0.5
        assert abs(kinds["500"] - 500) < 5 * (10_000 * 0.05 * 0.95) ** 0.5
        assert plan.counts == {"429=0.2": kinds["429"], "500=0.05": kinds["500"]}
        drawn.append([one.fault.kind if one else None for one in results])
    assert drawn[0] != drawn[1]


async def statuses(client: Client, count: int) -> list[int]:
    return [(await client.scan(PROMPTS[number])).status for number in range(count)]


async def test_counted_faults_affect_the_stated_requests(start: Start) -> None:
    first = await start(faults=["503=first:3"])
    assert await statuses(first, 5) == [503, 503, 503, 200, 200]
    every = await start(faults=["500=every:2", "403=after:5"])
    assert await statuses(every, 7) == [200, 500, 200, 500, 200, 500, 403]


async def test_same_prompts_are_affected_at_any_concurrency(start: Start) -> None:
    results = []
    for order in (PROMPTS, PROMPTS[::-1]):
        client = await start(faults=["429=0.2", "500=0.1"], seed=7)
        answers = await asyncio.gather(*[client.scan(prompt) for prompt in order])
        results.append({p: answer.status for p, answer in zip(order, answers, strict=True)})
    assert results[0] == results[1]
    assert set(results[0].values()) == {200, 429, 500}


async def test_hints_of_a_429_alternate(start: Start) -> None:
    client = await start(faults=["429=1"], retry_after="90s")
    interval = {"interval": 90, "unit": "second"}
    kinds = set()
    for prompt in PROMPTS[:40]:
        answer = await client.scan(prompt)
        assert answer.status == 429
        assert answer.body["error"]["message"] == "Request exceeds limit"
        positions = {
            "header": answer.headers.get("Retry-After") == "90",
            "body": answer.body["error"].get("retry_after") == interval,
            "top": answer.body.get("retry_after") == interval,
        }
        (kind,) = [name for name, there in positions.items() if there]
        kinds.add(kind)
    assert kinds == {"header", "body", "top"}


async def test_each_429_hint_can_be_chosen(start: Start) -> None:
    client = await start(retry_after="1500ms")

    async def met(kind: str) -> Any:
        settings = {"faults": [f"{kind}=1"]}
        assert (await client.ask("POST", "/_sandbox/faults", settings)).status == 200
        return await client.scan()

    assert (await met("429-header")).headers["Retry-After"] == "2"
    date = parsedate_to_datetime((await met("429-date")).headers["Retry-After"])
    assert date.timestamp() == 1e9 + 2
    body = (await met("429-body")).body
    assert body["error"]["retry_after"] == {"interval": 1500, "unit": "ms"}
    assert (await met("429-top")).body["retry_after"] == {"interval": 1500, "unit": "ms"}
    none = await met("429-none")
    assert none.status == 429
    assert none.body == {"error": {"message": "Request exceeds limit"}}
    assert "Retry-After" not in none.headers


async def test_status_5xx_responses_have_each_form(start: Start) -> None:
    client = await start(faults=["503=1"])
    shapes = set()
    for prompt in PROMPTS[:40]:
        answer = await client.scan(prompt)
        assert answer.status == 503
        shapes.add(tuple(sorted(answer.body)))
    assert shapes == {("error",), ("message", "status_code"), ("error", "message")}


async def test_faults_apply_to_other_apis(start: Start) -> None:
    client = await start(faults=["429-body@management=1", "500@token=after:1"])
    answer = await client.ask("GET", "/v1/mgmt/topics")
    assert answer.status == 429
    assert answer.body["status_code"] == 429
    assert answer.body["error"]["retry_after"] == {"interval": 1, "unit": "second"}
    form = {"grant_type": "client_credentials"}
    assert (await client.ask("POST", "/oauth2/access_token", data=form)).status == 500
    assert (await client.scan()).status == 200


async def test_fault_can_be_limited_to_an_endpoint(start: Start) -> None:
    client = await start(faults=["403@topic-force-old=1", "404@topic-list=1"])
    topic = await client.create()
    assert (await client.ask("GET", "/v1/mgmt/topics")).status == 404
    assert (await client.ask("GET", "/v1/mgmt/topics/tsg/1")).status == 200
    path = "/v1/mgmt/topic"
    assert (await client.ask("DELETE", f"{path}/force/{topic['topic_id']}")).status == 403
    assert (await client.ask("DELETE", f"{path}/{topic['topic_id']}/force")).status == 200


@pytest.mark.parametrize("kind", ["reset", "reset-after"])
async def test_reset_fault_resets_the_connection(start: Start, kind: str) -> None:
    client = await start(faults=[f"{kind}=first:1"])
    with pytest.raises((ServerDisconnectedError, ConnectionResetError, ClientError)):
        await client.scan()
    assert (await client.scan()).status == 200
    stats = (await client.ask("GET", "/_sandbox/stats")).body
    assert stats["endpoints"]["sync"] == {"200": 1, "reset": 1}
    assert stats["prompts"]["asked"]["total"] == (2 if kind == "reset-after" else 1)
    assert stats["prompts"]["delivered"]["total"] == 1


async def test_after_fault_accepts_the_batch_and_loses_the_response(start: Start) -> None:
    client = await start(faults=["504-after@async=first:1"])
    assert (await client.batch("a", "b")).status == 504
    stats = (await client.ask("GET", "/_sandbox/stats")).body
    assert stats["prompts"]["asked"]["total"] == 2
    assert stats["prompts"]["delivered"]["total"] == 0


async def test_timeout_fault_sends_no_response(start: Start) -> None:
    client = await start(faults=["timeout=first:1"])
    waiting = asyncio.ensure_future(client.scan())
    stats: dict[str, Any] = {"in_flight": 0}
    while not stats["in_flight"]:
        stats = (await client.ask("GET", "/_sandbox/stats")).body
    waiting.cancel()
    while stats["in_flight"]:
        stats = (await client.ask("GET", "/_sandbox/stats")).body
    assert stats["endpoints"]["sync"] == {"gone": 1}
    assert (await client.scan()).status == 200


async def test_slow_fault_delays_the_response(start: Start) -> None:
    client = await start(faults=["slow=first:1"], slow="1h")
    waiting = asyncio.ensure_future(client.scan())
    while not (await client.ask("GET", "/_sandbox/stats")).body["in_flight"]:
        pass
    assert (await client.scan(OTHER)).status == 200  # it overtakes the other
    assert not waiting.done()
    waiting.cancel()


async def test_latency_delays_responses(start: Start) -> None:
    client = await start(latency="20ms..30ms")
    loop = asyncio.get_running_loop()
    before = loop.time()
    answers = await asyncio.gather(*[client.scan(prompt) for prompt in PROMPTS[:20]])
    assert loop.time() - before >= 0.02
    assert {answer.status for answer in answers} == {200}
    stats = (await client.ask("GET", "/_sandbox/stats")).body
    assert stats["most_in_flight"] > 1


@pytest.mark.parametrize(
    ("kind", "status", "start_of_body"),
    [
        ("truncated", 200, b'{"source"'),
        ("html", 200, b"<!DOCTYPE html>"),
        ("html-503", 503, b"<!DOCTYPE html>"),
    ],
)
async def test_html_faults_are_not_json(
    start: Start, kind: str, status: int, start_of_body: bytes
) -> None:
    client = await start(faults=[f"{kind}=1"])
    answer = await client.scan()
    assert answer.status == status
    assert isinstance(answer.body, bytes)
    assert answer.body.startswith(start_of_body)
    assert ("html" in answer.headers["Content-Type"]) == kind.startswith("html")


async def test_empty_and_truncated_faults_spoil_the_body(start: Start) -> None:
    client = await start(faults=["empty=first:1"])
    async with client.session.post(
        f"{client.url}/v1/scan/sync/request",
        json={"ai_profile": {"profile_name": "sandbox"}, "contents": [{"prompt": "x"}]},
        headers={"x-pan-token": "sandbox-key"},
    ) as answer:
        assert (answer.status, await answer.read()) == (200, b"")
    await client.ask("POST", "/_sandbox/faults", {"faults": ["cut=1"]})
    with pytest.raises(ClientPayloadError):
        await client.scan()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("flag-timeout", {"timeout": True, "error": False, "category": "benign", "errors": []}),
        ("flag-error", {"timeout": False, "error": True, "category": "benign", "errors": []}),
        ("category-timeout", {"timeout": False, "error": False, "category": "timeout"}),
        ("category-error", {"timeout": False, "error": False, "category": "error"}),
    ],
)
async def test_verdict_faults_mark_the_verdict(
    start: Start, kind: str, expected: dict[str, Any]
) -> None:
    client = await start(faults=[f"{kind}=1"])
    await client.apply(("block", await client.create()))
    body = (await client.scan(TAX)).body
    assert {name: body[name] for name in expected} == expected
    assert body["action"] == "allow"
    assert body["prompt_detected"]["topic_violation"] is False  # it looks like a true negative
    assert "prompt_detection_details" not in body


@pytest.mark.parametrize("what", ["timeout", "error"])
async def test_topic_faults_report_the_topic_as_failed(start: Start, what: str) -> None:
    client = await start(faults=[f"topic-{what}=1"])
    await client.apply(("block", await client.create()))
    body = (await client.scan(TAX)).body
    feature = {"content_type": "prompt", "feature": "topic_violation", "status": what}
    assert body["errors"] == [feature]
    assert body[what] is True
    assert "topic_violation" not in body["prompt_detected"]


async def test_dlp_fault_keeps_the_topic_verdict(start: Start) -> None:
    client = await start(faults=["dlp-error=1"])
    await client.apply(("block", await client.create()))
    body = (await client.scan(TAX)).body
    assert body["error"] is True
    assert body["errors"][0]["feature"] == "dlp"
    assert body["prompt_detected"]["topic_violation"] is True
    assert body["action"] == "block"


async def test_no_detected_fault_removes_detections(start: Start) -> None:
    client = await start(faults=["no-detected=1"])
    await client.apply(("block", await client.create()))
    body = (await client.scan(TAX)).body
    assert not [name for name in body if "detect" in name]
    assert body["action"] == "block"


async def test_batch_rows_have_their_own_faults(start: Start) -> None:
    client = await start(faults=["row-failed=0.3", "topic-error=0.3"], pending="0")
    await client.apply(("block", await client.create()))
    scan_id = (await client.batch(*PROMPTS[:20])).body["scan_id"]
    rows = (await client.ask("GET", f"/v1/scan/results?scan_ids={scan_id}")).body
    failed = [row for row in rows if row["status"] == "FAILED"]
    complete = [row["result"] for row in rows if row["status"] == "complete"]
    assert failed
    assert not [row for row in failed if "result" in row]
    assert {bool(one["errors"]) for one in complete} == {True, False}
    assert len(failed) + len(complete) == 20


async def test_results_and_reports_have_a_limit(start: Start) -> None:
    client = await start(poll_limit=10)
    scan_id = (await client.scan()).body["scan_id"]
    for path in (f"results?scan_ids={scan_id}", f"reports?report_ids=R{scan_id}"):
        for _ in range(10):
            client.seconds[0] += 1
            assert (await client.ask("GET", f"/v1/scan/{path}")).status == 200
        limited = await client.ask("GET", f"/v1/scan/{path}")
        assert limited.status == 429
        assert limited.headers["Retry-After"] == "51"
        assert limited.body["error"]["retry_after"] == {"interval": 51, "unit": "second"}
        client.seconds[0] += 51
        assert (await client.ask("GET", f"/v1/scan/{path}")).status == 200
        assert (await client.ask("GET", f"/v1/scan/{path}")).status == 429


async def test_scans_have_limits(start: Start) -> None:
    client = await start(rate_limit=3)
    assert await statuses(client, 5) == [200, 200, 200, 429, 429]
    client.seconds[0] += 1
    assert await statuses(client, 4) == [200, 200, 200, 429]


async def test_concurrent_scans_are_limited(start: Start) -> None:
    client = await start(concurrent_limit=2, faults=["slow=first:2"], slow="1h")
    waiting = [asyncio.ensure_future(client.scan(prompt)) for prompt in PROMPTS[:2]]
    while (await client.ask("GET", "/_sandbox/stats")).body["in_flight"] < 2:
        pass
    assert await statuses(client, 3) == [429, 429, 429]
    waiting.pop().cancel()
    while (await client.ask("GET", "/_sandbox/stats")).body["in_flight"] > 1:
        pass
    assert await statuses(client, 3) == [200, 200, 200]
    waiting.pop().cancel()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"nonsense": 1}, "unknown setting 'nonsense'"),
        ({"latency": "5"}, "not a duration"),
        ({"latency": "50ms..20ms"}, "ends before it starts"),
        ({"propagation": "25h"}, "not a duration"),
        ({"propagation": -1}, "not a duration"),
        ({"max_batch": 0}, "from 1"),
        ({"poll_limit": True}, "not a whole number"),
        ({"seed": 2**63}, "not a whole number"),
        ({"list_order": "sideways"}, "not one of newest"),
        ({"faults": "429=0.1"}, "a list of texts"),
        ({"faults": ["429"]}, "KIND=SHARE"),
    ],
)
def test_invalid_settings_are_rejected(values: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        SandboxSettings().changed(values)
    assert said in str(caught.value)


def test_settings_are_shown_as_given() -> None:
    settings = SandboxSettings().changed(
        {"faults": ["429=0.2"], "latency": "20ms..1s", "propagation": "2m", "seed": 3}
    )
    assert SandboxSettings().changed(settings.shown()) == settings
