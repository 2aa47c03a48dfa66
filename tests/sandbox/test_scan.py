"""The scan API over real sockets: verdicts, revisions, batches, reports, what is refused."""

from __future__ import annotations

import asyncio
import io
import re
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from guardtui.domain.topic import Intent, Topic
from guardtui.files.prompt_files import load_prompts
from guardtui.sandbox.judging import TopicMatcher
from guardtui.scanners.local.scanner import LocalScanner

from .conftest import BAKING, BREAD, OTHER, TAX, TOPIC, Client, Start

SYNC = "/v1/scan/sync/request"
ASYNC = "/v1/scan/async/request"
SAMPLES = Path(__file__).parents[2] / "sample_data"
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NOBODY = "00000000-0000-0000-0000-000000000000"


async def test_block_topic_match_is_stopped(client: Client) -> None:
    topic = await client.create()
    applied = (await client.apply(("block", topic))).body
    answer = await client.scan(TAX, tr_id="case-17", session_id="s")
    body = answer.body
    assert answer.status == 200
    assert UUID.fullmatch(body["scan_id"])
    assert body["report_id"] == f"R{body['scan_id']}"
    assert (body["tr_id"], body["session_id"]) == ("case-17", "s")
    assert (body["profile_id"], body["profile_name"]) == (applied["profile_id"], "sandbox")
    assert (body["category"], body["action"]) == ("malicious", "block")
    assert (body["timeout"], body["error"], body["errors"]) == (False, False, [])
    assert body["prompt_detected"] == {"injection": False, "topic_violation": True}
    details = {"topic_guardrails_details": {"blocked_topics": ["Tax advice"]}}
    assert body["prompt_detection_details"] == details
    assert None not in body.values()


async def test_unmatched_prompt_passes(client: Client) -> None:
    topic = await client.create()
    await client.apply(("block", topic))
    body = (await client.scan(OTHER)).body
    assert (body["category"], body["action"]) == ("benign", "allow")
    assert body["prompt_detected"]["topic_violation"] is False
    assert "prompt_detection_details" not in body
    assert "tr_id" not in body


async def test_allow_list_stops_other_prompts(client: Client) -> None:
    topic = await client.create()
    await client.apply(("allow", topic), default="block")
    inside, outside = (await client.scan(TAX)).body, (await client.scan(OTHER)).body
    assert (inside["category"], inside["action"]) == ("benign", "allow")
    assert inside["prompt_detected"]["topic_violation"] is False
    details = inside["prompt_detection_details"]["topic_guardrails_details"]
    assert details == {"allowed_topics": ["Tax advice"]}
    assert (outside["category"], outside["action"]) == ("malicious", "block")
    assert outside["prompt_detected"]["topic_violation"] is True
    assert "prompt_detection_details" not in outside


async def test_allow_wins_when_both_match(client: Client) -> None:
    topic = await client.create()
    companion = await client.create({**TOPIC, "topic_name": "Allow: tax forms"})
    await client.apply(("block", topic), ("allow", companion))
    body = (await client.scan(TAX)).body
    assert body["action"] == "allow"
    assert body["prompt_detected"]["topic_violation"] is False
    assert body["prompt_detection_details"]["topic_guardrails_details"] == {
        "allowed_topics": ["Allow: tax forms"],
        "blocked_topics": ["Tax advice"],
    }


async def test_directional_layout_judges_each_side(client: Client) -> None:
    topic = await client.create()
    await client.apply(("block", topic), name="sandbox-directional")
    assert await client.violates(TAX, "sandbox-directional")
    assert not await client.violates(OTHER, "sandbox-directional")
    # The guardrail is in the prompt's configuration: a response is not its business.
    content = {"prompt": OTHER, "response": TAX}
    request = {"ai_profile": {"profile_name": "sandbox-directional"}, "contents": [content]}
    body = (await client.ask("POST", SYNC, request)).body
    assert body["action"] == "allow"
    assert "topic_violation" not in body["response_detected"]
    await client.apply(("block", topic))
    request["ai_profile"] = {"profile_name": "sandbox"}
    body = (await client.ask("POST", SYNC, request)).body
    assert body["action"] == "block"
    assert body["prompt_detected"]["topic_violation"] is False
    assert body["response_detected"]["topic_violation"] is True
    assert "response_detection_details" in body


async def test_last_content_is_judged(client: Client) -> None:
    topic = await client.create()
    await client.apply(("block", topic))
    request: dict[str, Any] = {"ai_profile": {"profile_name": "sandbox"}}
    request["contents"] = [{"prompt": TAX}, {"prompt": OTHER}]
    assert (await client.ask("POST", SYNC, request)).body["action"] == "allow"
    request["contents"].reverse()
    assert (await client.ask("POST", SYNC, request)).body["action"] == "block"


async def test_pinned_topic_revision_judges(client: Client) -> None:
    topic = await client.create()
    first = (await client.apply(("block", topic))).body["profile_id"]
    path = f"/v1/mgmt/topic/uuid/{topic['topic_id']}"
    bread = {**BREAD, "topic_name": "Tax advice"}
    newer = (await client.ask("PUT", path, bread)).body
    assert await client.violates(TAX)
    assert not await client.violates(BAKING)
    await client.apply(("block", newer))
    assert not await client.violates(TAX)
    assert await client.violates(BAKING)
    # The old snapshot is judged by its id, and a revision left out is the original.
    request = {"ai_profile": {"profile_id": first}, "contents": [{"prompt": TAX}]}
    body = (await client.ask("POST", SYNC, request)).body
    assert (body["action"], body["profile_id"]) == ("block", first)
    for revision in ({}, {"revision": 0}):
        member = {"topic_id": topic["topic_id"], "topic_name": "Tax advice", **revision}
        await client.put([{"action": "block", "topic": [member]}])
        assert await client.violates(TAX)
        assert not await client.violates(BAKING)


async def test_inactive_topic_never_matches(client: Client) -> None:
    topic = await client.create({**TOPIC, "active": False})
    await client.apply(("block", topic))
    assert not await client.violates(TAX)


async def test_changes_reach_scans_after_the_propagation_time(start: Start) -> None:
    client = await start(propagation="3s")
    topic, bread = await client.create(), await client.create(BREAD)
    await client.apply(("block", topic))
    assert "topic_violation" not in (await client.scan(TAX)).body["prompt_detected"]
    client.seconds[0] += 3
    assert await client.violates(TAX)
    applied = (await client.apply(("block", bread))).body
    client.seconds[0] += 2.9
    assert await client.violates(TAX)
    by_id = {"ai_profile": {"profile_id": applied["profile_id"]}, "contents": [{"prompt": TAX}]}
    assert (await client.ask("POST", SYNC, by_id)).body["action"] == "allow"
    client.seconds[0] += 0.1
    assert not await client.violates(TAX)
    assert await client.violates(BAKING)


@pytest.mark.parametrize("intent", ["block", "allow"])
async def test_verdicts_are_those_of_the_local_scanner(
    client: Client, tmp_path: Path, intent: str
) -> None:
    prompts = load_prompts(SAMPLES / "tax-advice.csv")
    topic = Topic(
        name=TOPIC["topic_name"],
        description=TOPIC["description"],
        examples=tuple(TOPIC["examples"]),
        intent=Intent(intent),
    )
    expected = LocalScanner("static", cache=tmp_path).evaluate_now(topic, prompts)
    assert expected is not None
    created = await client.create()
    await client.apply((intent, created), default="allow" if intent == "block" else "block")
    results = [await client.violates(prompt) for prompt in prompts.prompts]
    assert results == [bool(one) for one in expected.verdicts.triggered]
    assert 10 < sum(results) < len(results) - 10


async def test_slow_encoder_does_not_block_other_requests(
    client: Client, engine: TopicMatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.apply(("block", await client.create()))
    release, threads = threading.Event(), set()
    text = engine.text

    def slow_text(one: str) -> Any:
        if threading.current_thread() is not threading.main_thread():
            threads.add(threading.current_thread().name)
            assert release.wait(120)
        return text(one)

    monkeypatch.setattr(engine, "fast", False)
    monkeypatch.setattr(engine, "text", slow_text)
    waiting = asyncio.ensure_future(client.scan(TAX))
    while not threads:
        assert (await client.ask("GET", "/_sandbox/stats")).status == 200
    assert not waiting.done()
    release.set()
    assert (await waiting).body["action"] == "block"


BODY = {"ai_profile": {"profile_name": "sandbox"}, "contents": [{"prompt": "hello"}]}


@pytest.mark.parametrize(
    "change",
    [
        {"ai_profile": None},
        {"ai_profile": {}},
        {"ai_profile": {"profile_name": "nobody's"}},
        {"ai_profile": {"profile_name": "x" * 101}},
        {"ai_profile": {"profile_id": NOBODY}},
        {"contents": []},
        {"contents": None},
        {"contents": [{}]},
        {"contents": [{"prompt": ""}]},
        {"contents": [{"prompt": None}]},
        {"contents": [{"prompt": 1}]},
        {"contents": [{"context": "only that"}]},
        {"tr_id": "x" * 101},
        {"session_id": "x" * 101},
        {"tr_id": 5},
    ],
)
async def test_invalid_scan_is_rejected(client: Client, change: dict[str, Any]) -> None:
    answer = await client.ask("POST", SYNC, {**BODY, **change})
    assert answer.status == 400
    assert answer.body["error"]["message"] == "Request data is invalid or malformed"
    assert answer.body["error"]["detail"]


async def test_other_kinds_of_content_are_accepted(client: Client) -> None:
    for content in (
        {"response": "x"},
        {"prompt": "\ud800 \u202e \0", "context": "c"},
    ):
        answer = await client.ask("POST", SYNC, {**BODY, "contents": [content]})
        assert (answer.status, answer.body["action"]) == (200, "allow"), content
    assert (await client.ask("POST", SYNC, {**BODY, "tr_id": "x" * 100})).status == 200


@pytest.mark.parametrize("path", [SYNC, ASYNC])
async def test_invalid_http_requests_are_rejected(client: Client, path: str) -> None:
    assert (await client.ask("POST", path, BODY, key=None)).status == 401
    wrong = await client.ask("POST", path, BODY, key="wrong")
    assert (wrong.status, wrong.body["error"]["message"]) == (403, "Invalid API Key")
    bearer = {"Authorization": "Bearer nonsense"}
    assert (await client.ask("POST", path, BODY, key=None, headers=bearer)).status == 401
    text = {"Content-Type": "text/plain"}
    assert (await client.ask("POST", path, data=b"{}", headers=text)).status == 415
    json = {"Content-Type": "application/json"}
    for data in (b"", b"{", b"\xff", b"[" * 100_000):
        assert (await client.ask("POST", path, data=data, headers=json)).status == 400
    assert (await client.ask("GET", path)).status == 405
    unknown = await client.ask("POST", path + "/more", BODY)
    assert unknown.status == 404
    assert unknown.body == {"error": {"message": "Resource is not found"}}


@pytest.mark.parametrize(("path", "limit"), [(SYNC, 2 * 1024**2), (ASYNC, 5 * 1024**2)])
async def test_oversized_body_is_rejected(client: Client, path: str, limit: int) -> None:
    json = {"Content-Type": "application/json"}
    fits = b"{" + b" " * (limit - 1)

    async def sent(content: bytes, **more: Any) -> int:
        answer = await client.ask("POST", path, data=io.BytesIO(content), headers=json, **more)
        return answer.status

    assert await sent(fits) == 400
    assert await sent(fits + b" ") == 413

    async def in_parts() -> AsyncIterator[bytes]:
        for start in range(0, limit + 1, 2**16):
            yield (fits + b" ")[start : start + 2**16]

    assert (await client.ask("POST", path, data=in_parts(), headers=json)).status == 413
    # curl asks first whether it may send so much.
    assert await sent(fits, expect100=True) == 400


async def test_batch_results_arrive_for_each_request(start: Start) -> None:
    client = await start(pending="10s")
    topic = await client.create()
    await client.apply(("block", topic))
    prompts = [TAX, OTHER, BAKING, "When are taxes due?", "hello"]
    sent = await client.batch(*prompts, first=100)
    assert sent.status == 200
    assert UUID.fullmatch(sent.body["scan_id"])
    assert sent.body["received"].endswith("Z")
    path = f"/v1/scan/results?scan_ids={sent.body['scan_id']}"
    rows = (await client.ask("GET", path)).body
    assert sorted(row["req_id"] for row in rows) == [100, 101, 102, 103, 104]
    assert {row["status"] for row in rows} == {"pending"}
    assert not [row for row in rows if "result" in row]
    assert (
        await client.ask("GET", f"/v1/scan/reports?report_ids=R{rows[0]['scan_id']}")
    ).body == []
    seen = set()
    for _ in range(40):  # rows finish one after another
        client.seconds[0] += 0.25
        rows = (await client.ask("GET", path)).body
        seen.add(sum(row["status"] == "complete" for row in rows))
    assert {0, 5} < seen
    results = {row["req_id"]: row["result"] for row in rows}
    assert [results[100 + n]["action"] for n in range(5)] == ["block", "allow"] + [
        ["allow", "block"][await client.violates(one)] for one in prompts[2:]
    ]
    assert {one["scan_id"] for one in results.values()} == {sent.body["scan_id"]}
    orders = set()
    for _ in range(20):
        rows = (await client.ask("GET", path)).body
        orders.add(tuple(row["req_id"] for row in rows))
    assert len(orders) > 1


async def test_results_of_several_batches_are_returned(start: Start) -> None:
    client = await start(pending="0")
    ids = [(await client.batch("a", "b")).body["scan_id"] for _ in range(5)]
    ids.append((await client.scan()).body["scan_id"])
    rows = (await client.ask("GET", f"/v1/scan/results?scan_ids={'%2C'.join(ids[:5])}")).body
    assert sorted((row["scan_id"], row["req_id"]) for row in rows) == sorted(
        (one, number) for one in ids[:5] for number in (0, 1)
    )
    (row,) = (await client.ask("GET", f"/v1/scan/results?scan_ids={ids[5]}")).body
    assert row["result"]["scan_id"] == ids[5]
    assert (await client.ask("GET", f"/v1/scan/results?scan_ids={NOBODY}")).body == []
    for query in (
        "",
        "?scan_ids=",
        f"?scan_ids={','.join(ids)}",
        "?scan_ids=x",
        f"?scan_ids=R{ids[0]}",
    ):
        assert (await client.ask("GET", f"/v1/scan/results{query}")).status == 400
        assert (await client.ask("GET", f"/v1/scan/reports{query[:-1]}")).status == 400


async def test_reports_contain_topic_results(start: Start) -> None:
    client = await start(pending="0")
    topic = await client.create()
    await client.apply(("allow", topic), default="block")
    scan_id = (await client.batch(TAX, OTHER, first=7)).body["scan_id"]
    rows = (await client.ask("GET", f"/v1/scan/reports?report_ids=R{scan_id}")).body
    assert {row["report_id"] for row in rows} == {f"R{scan_id}"}
    results = {row["req_id"]: row["detection_results"][0] for row in rows}
    inside, outside = results[7], results[8]
    assert inside["detection_service"] == outside["detection_service"] == "topic_guardrails"
    assert (inside["verdict"], inside["action"]) == ("benign", "allow")
    assert inside["result_detail"]["topic_guardrails_report"] == {
        "allowed_topic_list": "matched",
        "blocked_topic_list": "not_matched",
        "allowedTopics": ["Tax advice"],
    }
    assert (outside["verdict"], outside["action"]) == ("malicious", "block")
    assert outside["result_detail"]["topic_guardrails_report"] == {
        "allowed_topic_list": "not_matched",
        "blocked_topic_list": "not_matched",
    }
    body = (await client.scan(TAX, tr_id="t", session_id="s")).body
    (row,) = (await client.ask("GET", f"/v1/scan/reports?report_ids={body['report_id']}")).body
    assert (row["transaction_id"], row["session_id"]) == ("t", "s")


@pytest.mark.parametrize(
    "rows",
    [
        [],
        {},
        [{"req_id": 1, "scan_req": BODY}] * 2,
        [{"req_id": number, "scan_req": BODY} for number in range(21)],
        [{"req_id": -1, "scan_req": BODY}],
        [{"req_id": 2**32, "scan_req": BODY}],
        [{"req_id": "1", "scan_req": BODY}],
        [{"req_id": True, "scan_req": BODY}],
        [{"scan_req": BODY}],
        [{"req_id": 1}],
        [{"req_id": 1, "scan_req": {**BODY, "contents": []}}],
        [[{"req_id": 1, "scan_req": BODY}]],
    ],
)
async def test_invalid_batch_is_rejected(client: Client, rows: Any) -> None:
    assert (await client.ask("POST", ASYNC, rows)).status == 400


async def test_oversized_batch_is_rejected(start: Start) -> None:
    client = await start(max_batch=5)
    assert (await client.batch(*"abcde")).status == 200
    assert (await client.batch(*"abcdef")).status == 400
