"""Batches: every prompt gets its own verdict once, whatever comes back and in which order."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from guardtui.domain.verdicts import Verdict
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.limits import AdaptiveLimit
from guardtui.scanners.airs.batches import Outcome, scan_in_batches
from guardtui.scanners.airs.lifecycle import apply
from guardtui.scanners.airs.scans import Batch, ScanClient
from tests.http.server import Answer, Received, Server, Step, answer, reset, sends

from .conftest import BAKING, OTHER, TAX, TAX_TOPIC, Stage
from .test_scans import client_of


def count_submissions(client: ScanClient, on_batch: Callable[[Batch], None]) -> None:
    """Call `on_batch` with each batch that the client submitted."""
    submit = client.submit

    async def counted(prompts: Sequence[tuple[int, str]]) -> Batch:
        batch = await submit(prompts)
        on_batch(batch)
        return batch

    client.submit = counted  # type: ignore[method-assign]


async def outcomes(
    client: ScanClient, prompts: list[tuple[int, str]], **more: Any
) -> dict[int, Outcome]:
    results: dict[int, Outcome] = {}
    async for index, outcome in scan_in_batches(client, prompts, **more):
        assert index not in results
        results[index] = outcome
    return results


def triggered(found: dict[int, Outcome]) -> dict[int, bool | None]:
    return {
        index: bool(one.triggered) if one.decided else None
        for index, one in sorted(found.items())
        if isinstance(one, Verdict)
    }


def errors(found: dict[int, Outcome]) -> dict[int, ServiceError]:
    return {index: one for index, one in found.items() if isinstance(one, ServiceError)}


# Against the sandbox


@pytest.mark.parametrize("size", [1, 5, 20])
async def test_every_prompt_has_its_own_verdict(stage: Stage, size: int) -> None:
    await apply(stage.management, TAX_TOPIC, "sandbox")
    stage.change(pending="12s", poll_limit=10)
    prompts = [(100 + k, (TAX, OTHER, BAKING)[k % 3] + " " * k) for k in range(47)]
    found = await outcomes(stage.scans, prompts, size=size)
    assert not errors(found)
    assert triggered(found) == {100 + k: k % 3 == 0 for k in range(47)}
    assert "429" not in stage.answered["endpoints"]["results"]


@pytest.mark.parametrize(
    "fault", ["500-after@async=first:1", "cut@async=first:1", "reset-after@async=first:1",
              "html@async=first:1", "empty@async=first:1", "truncated@async=first:1"]
)  # fmt: skip
async def test_batch_in_an_unknown_state_is_never_resent(stage: Stage, fault: str) -> None:
    await apply(stage.management, TAX_TOPIC, "sandbox")
    stage.change(faults=[fault], pending="0")
    prompts = [(k, f"{TAX} {k}") for k in range(10)]
    scanner = await stage.scanner(limit=AdaptiveLimit(1, clock=stage.clock))
    found = await outcomes(scanner, prompts, size=5)
    lost = errors(found)
    assert sorted(lost) == [0, 1, 2, 3, 4]
    assert all("unknown state" in str(one) and one.final for one in lost.values())
    assert triggered(found) == dict.fromkeys(range(5, 10), True)
    assert stage.answered["prompts"]["asked"]["duplicates"] == 0


@pytest.mark.parametrize("fault", ["429@async=first:3", "429-date@async=first:3"])
async def test_rejected_batch_is_sent_again(stage: Stage, fault: str) -> None:
    await apply(stage.management, TAX_TOPIC, "sandbox")
    stage.change(faults=[fault], pending="0")
    found = await outcomes(stage.scans, [(k, TAX) for k in range(10)])
    assert triggered(found) == dict.fromkeys(range(10), True)


async def test_failed_rows_have_no_verdict(stage: Stage) -> None:
    await apply(stage.management, TAX_TOPIC, "sandbox")
    stage.change(faults=["row-failed=first:1"], pending="0")
    found = await outcomes(stage.scans, [(0, TAX), (1, TAX)])
    assert triggered(found) == {0: None, 1: True}


async def test_invalid_prompts_do_not_affect_their_batch(stage: Stage) -> None:
    await apply(stage.management, TAX_TOPIC, "sandbox")
    stage.change(pending="0")
    found = await outcomes(stage.scans, [(0, TAX), (1, ""), (2, "x" * 3_000_000), (3, OTHER)])
    assert triggered(found) == {0: True, 3: False}
    assert sorted(errors(found)) == [1, 2]


async def test_large_prompts_make_small_batches(stage: Stage) -> None:
    stage.change(pending="0")
    batches: list[Batch] = []
    prompts = [(k, "long " * 380_000) for k in range(5)]
    count_submissions(stage.scans, batches.append)
    found = await outcomes(stage.scans, prompts, size=20)
    assert sorted(len(batch.rows) for batch in batches) == [1, 2, 2]
    assert len(found) == 5
    assert not errors(found)


async def test_stopped_reader_ends_the_scan(stage: Stage) -> None:
    await apply(stage.management, TAX_TOPIC, "sandbox")
    stage.change(pending="0")
    prompts = [(k, f"{TAX} {k}") for k in range(50)]
    async with contextlib.aclosing(scan_in_batches(stage.scans, prompts)) as found:
        async for _ in found:
            break
    assert stage.scans.limit.in_flight == 0


async def test_open_batches_are_limited(stage: Stage) -> None:
    await apply(stage.management, TAX_TOPIC, "sandbox")
    stage.change(pending="60s")
    waiting: set[int] = set()
    most = 0

    def submitted(batch: Batch) -> None:
        nonlocal most
        waiting.update(batch.rows.values())
        most = max(most, len(waiting))

    count_submissions(stage.scans, submitted)
    prompts = [(k, f"{TAX} {k}") for k in range(100)]
    async for index, outcome in scan_in_batches(stage.scans, prompts, size=2):
        assert isinstance(outcome, Verdict)
        waiting.discard(index)
    assert not waiting
    # 20 batches, and those whose last results are read in this moment.
    assert 40 <= most <= 60


async def test_batches_have_twenty_prompts_if_no_size_is_given(stage: Stage) -> None:
    stage.change(pending="0")
    batches: list[Batch] = []
    count_submissions(stage.scans, batches.append)
    await outcomes(stage.scans, [(k, f"{TAX} {k}") for k in range(47)])
    assert sorted(len(batch.rows) for batch in batches) == [7, 20, 20]


async def test_scan_without_prompts_is_empty(stage: Stage) -> None:
    assert await outcomes(stage.scans, []) == {}


# Against scripted servers


def result(prompt: str) -> dict[str, Any]:
    """The prompt comes back as a topic's name, so that a mix-up is seen."""
    return {
        "category": "malicious",
        "action": "block",
        "prompt_detected": {"topic_violation": True},
        "prompt_detection_details": {"topic_guardrails_details": {"blocked_topics": [prompt]}},
    }


Results = Callable[[list[dict[str, Any]], int], Step]


class Service:
    """Takes batches, and answers queries by a function of the full rows and the query's number."""

    def __init__(self, results: Results) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.queries: list[list[str]] = []
        self._results = results

    def __call__(self, request: Received) -> Step:
        if request.method == "POST":
            scan_id = f"scan-{len(self.rows)}"
            self.rows[scan_id] = [
                {
                    "scan_id": scan_id,
                    "req_id": one["req_id"],
                    "status": "complete",
                    "result": result(one["scan_req"]["contents"][0]["prompt"]),
                }
                for one in request.json
            ]
            return answer({"scan_id": scan_id, "received": "now"})
        ids = parse_qs(urlsplit(request.target).query)["scan_ids"][0].split(",")
        self.queries.append(ids)
        rows = [row for one in ids for row in self.rows.get(one, [])]
        return self._results(rows, len(self.queries))


def step_of(service: Service) -> Callable[[Received], Step]:
    return lambda request: service(request)


async def asked(results: Results, count: int = 12, **more: Any) -> tuple[dict[int, Any], Service]:
    service = Service(results)
    async with Server(step_of(service)) as server, client_of(server) as client:
        found = await outcomes(client, [(k, f"prompt {k}") for k in range(count)], **more)
    return found, service


def names(found: dict[int, Any]) -> dict[int, str]:
    return {k: one.topics[0] for k, one in found.items() if isinstance(one, Verdict)}


ALL = {k: f"prompt {k}" for k in range(12)}


async def test_rows_may_arrive_in_any_order_and_in_parts() -> None:
    shuffle = random.Random(7)

    def results(rows: list[dict[str, Any]], number: int) -> Step:
        shuffle.shuffle(rows)
        half = rows[: len(rows) // 2 + 1]
        rest = [{**row, "status": "PENDING", "result": None} for row in rows[len(half) :]]
        return answer([*half, *rest, *half])

    found, _ = await asked(results)
    assert names(found) == ALL


async def test_queries_have_five_ids_and_ten_per_minute() -> None:
    times: list[float] = []
    clock: list[Any] = []

    def results(rows: list[dict[str, Any]], number: int) -> Step:
        times.append(clock[0].now())
        return answer(rows if number > 25 else [])

    service = Service(results)
    async with Server(step_of(service)) as server, client_of(server) as client:
        clock.append(client.clock)
        found = await outcomes(client, [(k, f"prompt {k}") for k in range(40)], size=5)
    assert len(names(found)) == 40
    assert max(map(len, service.queries)) == 5
    assert {one for ids in service.queries for one in ids} == set(service.rows)
    for start in range(len(times) - 10):
        assert times[start + 10] - times[start] >= 60
    # The longest not asked for comes first: nobody is forgotten.
    assert {one for ids in service.queries[10:12] for one in ids} == set(service.rows)


async def test_hostile_rows_give_no_verdicts() -> None:
    def results(rows: list[dict[str, Any]], number: int) -> Step:
        junk: list[Any] = [
            None, 7, "x", [], {}, {"scan_id": 1}, {"scan_id": "scan-0"},
            {"scan_id": "scan-0", "req_id": 99, "status": "complete", "result": result("evil")},
            {"scan_id": "scan-0", "req_id": 0, "status": "complete", "result": result("evil")},
            {"scan_id": "elsewhere", "req_id": 1, "status": "complete", "result": result("evil")},
            {"scan_id": "scan-0", "req_id": None, "status": "complete", "result": result("evil")},
            {"scan_id": "scan-0", "req_id": "1x", "status": "complete", "result": result("evil")},
            {"scan_id": "scan-0", "req_id": 1, "status": ["complete"], "result": result("evil")},
        ]  # fmt: skip
        return answer([*junk, *rows])

    found, _ = await asked(results)
    assert names(found) == ALL


@pytest.mark.parametrize("broken", [None, [], "x", {"category": 5}])
async def test_complete_row_without_a_result_gives_no_verdict(broken: Any) -> None:
    def results(rows: list[dict[str, Any]], number: int) -> Step:
        return answer([{**row, "result": broken} for row in rows])

    found, _ = await asked(results)
    assert triggered(found) == dict.fromkeys(range(12))
    assert all(one.scan_id for one in found.values())


async def test_single_request_batch_needs_no_number() -> None:
    def results(rows: list[dict[str, Any]], number: int) -> Step:
        return answer([{name: row[name] for name in row if name != "req_id"} for row in rows])

    found, _ = await asked(results, size=1)
    assert names(found) == ALL


async def test_invalid_id_does_not_affect_other_batches() -> None:
    def results(rows: list[dict[str, Any]], number: int) -> Step:
        if any(row["scan_id"] == "scan-1" for row in rows):
            return answer({"error": {"message": "invalid scan ids"}}, 400)
        return answer(rows)

    found, _ = await asked(results, size=5)
    assert len(names(found)) == 12 - len(errors(found))
    assert len(errors(found)) in (2, 5)  # whichever batch was taken as the second
    assert all("scan-1" in str(error) for error in errors(found).values())
    assert all(ALL[k] == name for k, name in names(found).items())


async def test_unreadable_results_do_not_affect_other_batches() -> None:
    def results(rows: list[dict[str, Any]], number: int) -> Step:
        doubled = any(row["scan_id"] == "scan-1" for row in rows)
        return (
            Answer(body=b'[{"status": "failed", "status": "complete"}]')
            if doubled
            else answer(rows)
        )

    found, service = await asked(results, size=5)
    assert len(names(found)) == 12 - len(errors(found))
    assert len(errors(found)) in (2, 5)
    assert all("scan-1" in str(error) for error in errors(found).values())
    assert all("duplicate key" in str(error) for error in errors(found).values())
    assert len(service.queries) < 6


async def test_one_unreadable_answer_loses_no_results() -> None:
    page = Answer(body=b"<html>", headers={"content-type": "text/html"})
    found, _ = await asked(lambda rows, number: page if number == 1 else answer(rows))
    assert names(found) == ALL


async def test_silent_service_is_given_up() -> None:
    found, service = await asked(lambda rows, number: answer([]), patience=60.0)
    assert len(found) == 12
    assert all("submitted as scan" in str(error) for error in errors(found).values())
    assert 5 < len(service.queries) < 20


async def test_revoked_key_ends_the_scan() -> None:
    found, _ = await asked(lambda rows, number: answer({}, 403))
    assert {error.kind for error in errors(found).values()} == {ErrorKind.CREDENTIALS}
    assert len(found) == 12


@pytest.mark.parametrize(
    "step",
    [answer({}), answer([]), answer({"scan_id": ""}), answer({"scan_id": 5}),
     answer({"scan_id": "a b"}), answer({"scan_id": "x" * 65}), answer({}, 500), answer({}, 408),
     reset, sends(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"), sends(b"nonsense")],
)  # fmt: skip
async def test_unusable_receipt_is_an_unknown_state(step: Step) -> None:
    async with Server(lambda request: step) as server, client_of(server) as client:
        found = await outcomes(client, [(0, "a"), (1, "b")])
        assert len(server.received) == 1
    assert all("unknown state" in str(error) for error in errors(found).values())
    assert len(errors(found)) == 2


async def test_batches_with_equal_ids_are_errors() -> None:
    def step(request: Received) -> Step:
        if request.method == "POST":
            return answer({"scan_id": "same"})
        return answer([])

    async with Server(step) as server, client_of(server) as client:
        prompts = [(k, f"p{k}") for k in range(10)]
        found = await outcomes(client, prompts, size=5, patience=20.0)
    assert len(errors(found)) == 10
    assert (
        sum("two batches have the scan id" in str(error) for error in errors(found).values()) == 5
    )


async def test_batch_body_has_numbered_requests() -> None:
    async with Server(answer({"scan_id": "s"})) as server, client_of(server) as client:
        batch = await client.submit([(40, "a"), (7, "b")])
        (request,) = server.received
    assert (batch.scan_id, batch.rows) == ("s", {1: 40, 2: 7})
    assert batch.tr_id(1) != batch.tr_id(2)
    same = {"ai_profile": {"profile_name": "mine"}}
    assert request.target == "/v1/scan/async/request"
    assert request.json == [
        {
            "req_id": number,
            "scan_req": {"tr_id": batch.tr_id(number), **same, "contents": [{"prompt": prompt}]},
        }
        for number, prompt in ((1, "a"), (2, "b"))
    ]


def refusing(words: str, service: Service) -> Callable[[Received], Step]:
    def step(request: Received) -> Step:
        if request.method == "POST" and words in request.body.decode():
            return answer({"error": {"message": "invalid"}}, 400)
        return service(request)

    return step


@pytest.mark.parametrize(("count", "size", "sent"), [(5, 5, 6), (12, 5, 8), (12, 1, 12)])
async def test_rejected_prompt_does_not_affect_its_batch(count: int, size: int, sent: int) -> None:
    service = Service(lambda rows, number: answer(rows))
    async with Server(refusing("prompt 3", service)) as server, client_of(server) as client:
        found = await outcomes(client, [(k, f"prompt {k}") for k in range(count)], size=size)
        assert sum(one.method == "POST" for one in server.received) == sent
    assert list(errors(found)) == [3]
    assert names(found) == {k: f"prompt {k}" for k in range(count) if k != 3}


async def test_rejected_profile_is_not_retried_prompt_by_prompt() -> None:
    service = Service(lambda rows, number: answer(rows))
    async with Server(refusing("mine", service)) as server, client_of(server) as client:
        found = await outcomes(client, [(k, f"prompt {k}") for k in range(50)])
        assert len(server.received) == 3
    assert len(errors(found)) == 50
    assert "this key has no profile 'mine'" in str(errors(found)[0])
