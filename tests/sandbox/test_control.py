"""The sandbox's own paths: counts, settings, time; who may ask; odd requests."""

from __future__ import annotations

import asyncio

import pytest

from guardtui.sandbox.app import _is_loopback

from .conftest import OTHER, TAX, Client, Start


async def test_requests_and_prompts_are_counted(start: Start) -> None:
    client = await start(faults=["500@sync=first:1"])
    for prompt in (TAX, TAX, TAX, OTHER):
        await client.scan(prompt)
    await client.scan(TAX, profile="sandbox-directional")
    await client.batch(OTHER)
    await client.ask("GET", "/nowhere")
    stats = (await client.ask("GET", "/_sandbox/stats")).body
    assert stats["schema_version"] == 1
    assert stats["requests"] == 8
    assert stats["endpoints"] == {
        "async": {"200": 1},
        "other": {"404": 1},
        "sync": {"200": 4, "500": 1},
        "token": {"200": 1},
    }
    # The first was answered before it was looked at.
    expected = {"total": 5, "distinct": 3, "duplicates": 2, "times": {"1": 1, "2": 2}}
    assert stats["prompts"] == {"asked": expected, "delivered": expected}
    assert stats["faults"] == {"500@sync=first:1": 1}
    one = await client.ask("GET", "/_sandbox/stats", params={"prompt": TAX})
    assert one.body == {"asked": 2, "delivered": 2}
    params = {"prompt": TAX, "profile": "sandbox-directional"}
    one = await client.ask("GET", "/_sandbox/stats", params=params)
    assert one.body == {"asked": 1, "delivered": 1}
    cleared = (await client.ask("DELETE", "/_sandbox/stats")).body
    assert (cleared["requests"], cleared["prompts"]["asked"]["total"]) == (0, 0)


async def test_undelivered_verdicts_are_not_counted(start: Start) -> None:
    client = await start(faults=["truncated@sync=first:1", "topic-error@sync=every:3"])
    for _ in range(4):
        await client.scan(TAX)
    one = (await client.ask("GET", "/_sandbox/stats", params={"prompt": TAX})).body
    assert one == {"asked": 4, "delivered": 2}


async def test_faults_can_be_changed_at_run_time(client: Client) -> None:
    path = "/_sandbox/faults"
    assert (await client.scan()).status == 200
    changed = await client.ask("POST", path, {"faults": ["500=1"], "retry_after": "3s"})
    assert changed.status == 200
    assert changed.body["settings"]["faults"] == ["500=1"]
    assert (await client.scan()).status == 500
    shown = (await client.ask("GET", path)).body
    assert shown["struck"] == {"500=1": 1}
    assert "429-date" in shown["known"]["wire"]
    for wrong in ({"faults": ["x"]}, {"nonsense": 1}, ["429=1"]):
        refused = await client.ask("POST", path, wrong)
        assert refused.status == 400
        assert refused.body["error"]
    assert (await client.scan()).status == 500  # a refused change changes nothing
    assert (await client.ask("DELETE", path)).body["settings"]["faults"] == []
    assert (await client.scan()).status == 200
    assert (await client.ask("POST", path, data=b"{")).status == 400
    assert (await client.ask("PUT", path, {})).status == 405
    assert (await client.ask("GET", "/_sandbox/nothing")).status == 404


async def test_equal_seeds_give_equal_faults(start: Start) -> None:
    client = await start(faults=["500=0.5"], seed=1)

    async def run() -> list[int]:
        return [(await client.scan(f"prompt {number}")).status for number in range(40)]

    first = await run()
    assert await run() != first  # each prompt is asked a second time
    await client.ask("POST", "/_sandbox/faults", {"seed": 1})
    assert await run() == first
    await client.ask("POST", "/_sandbox/faults", {"seed": 2})
    assert await run() != first


async def test_clock_can_be_advanced(start: Start) -> None:
    client = await start(pending="10s")
    scan_id = (await client.batch(TAX)).body["scan_id"]
    path = f"/v1/scan/results?scan_ids={scan_id}"
    assert (await client.ask("GET", path)).body[0]["status"] == "pending"
    assert (await client.ask("POST", "/_sandbox/clock", {"advance": "10s"})).status == 200
    assert (await client.ask("GET", path)).body[0]["status"] == "complete"
    for wrong in ({"advance": "-1s"}, {"back": "1s"}, []):
        assert (await client.ask("POST", "/_sandbox/clock", wrong)).status == 400


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:8900"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ],
)
async def test_foreign_pages_are_rejected(client: Client, headers: dict[str, str]) -> None:
    for path in ("/_sandbox/stats", "/v1/scan/results?scan_ids=x", "/v1/mgmt/topics"):
        assert (await client.ask("GET", path, headers=headers)).status == 403


async def test_names_of_this_machine_are_accepted(client: Client) -> None:
    for host in ("localhost", "localhost:1234", "127.0.0.1:99", "[::1]:8900"):
        assert (await client.ask("GET", "/_sandbox/stats", headers={"Host": host})).status == 200


@pytest.mark.parametrize(
    ("address", "own"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("10.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("", False),
        (None, False),
    ],
)
def test_only_this_machine_may_change_faults(address: str | None, own: bool) -> None:
    assert _is_loopback(address) is own


async def raw(client: Client, sent: bytes) -> bytes:
    port = int(client.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    if b"close" not in sent:
        writer.write_eof()  # the client has gone before it said all
    received = await asyncio.wait_for(reader.read(), 120)
    writer.close()
    return received


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        (b"nonsense close\r\n\r\n", b"HTTP/1.0 400"),
        (b"GET /_sandbox/stats HTTP/1.0\r\nConnection: close\r\n\r\n", b"HTTP/1.0 200"),
        (b"GET /v1/scan/results HTTP/1.1\r\nHost: [\r\nConnection: close\r\n\r\n", b"HTTP/1.1 403"),
        (b"POST /v1/scan/sync/request HTTP/1.1\r\nContent-Length: 5\r\n\r\n{", b""),
    ],
)
async def test_odd_requests_do_no_harm(client: Client, sent: bytes, received: bytes) -> None:
    assert (await raw(client, sent)).startswith(received)
    assert (await client.scan()).status == 200


async def test_connections_are_kept(client: Client) -> None:
    body = b'{"ai_profile":{"profile_name":"sandbox"},"contents":[{"prompt":"x"}]}'
    head = (
        b"POST /v1/scan/sync/request HTTP/1.1\r\nHost: localhost\r\nx-pan-token: sandbox-key\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    last = head.replace(b"localhost", b"localhost\r\nConnection: close") + body
    assert (await raw(client, (head + body) * 2 + last)).count(b"HTTP/1.1 200 OK") == 3
