"""A judge at many endpoints, real servers: slow, dying, refusing; and the file that names them."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from guardtui.http.model_keys import ModelKeyError
from guardtui.scanners.base import ScannerError
from guardtui.scanners.judge.endpoints import EndpointLine, EndpointsProblem, read_endpoints
from guardtui.scanners.judge.options import JudgeOptions
from guardtui.scanners.judge.scanner import JudgeScanner, ModelAddress
from tests.http.server import Answer, Received, Server, Step, answer, reset
from tests.http.times import IdleClock, JumpClock

from .conftest import (
    TOPIC,
    Memory,
    asked,
    nothing,
    prompts_of,
    refused,
    said,
    some,
    truthful,
    verdicts_of,
)

MANY = tuple(f"{'tax' if number % 2 else 'cake'} {number}" for number in range(60))
TRUTH = [number % 2 for number in range(60)]
PAGE = Answer(200, b"<html>Welcome</html>", {"content-type": "text/html"})


@contextlib.asynccontextmanager
async def serving(*scripts: Any) -> AsyncIterator[list[Server]]:
    async with contextlib.AsyncExitStack() as stack:
        yield [await stack.enter_async_context(Server(one)) for one in scripts]


def lines(servers: Sequence[Server], **more: Any) -> list[EndpointLine]:
    return [EndpointLine(f"{one.url}/v1", **more) for one in servers]


def judge_at(endpoints: Sequence[EndpointLine], *names: str, **more: Any) -> JudgeScanner:
    models = [ModelAddress("", name) for name in names or ("m",)]
    return JudgeScanner(models, endpoints=endpoints, **{"clock": JumpClock(), **more})


def only(answers: Callable[[Received], Step], count: int, then: Step) -> Callable[[Received], Step]:
    """So many good answers, and then always this."""
    left = count

    def script(request: Received) -> Step:
        nonlocal left
        left -= 1
        return answers(request) if left >= 0 else then

    return script


async def test_each_prompt_is_asked_once_somewhere(tmp_path: Path) -> None:
    async with serving(*[truthful] * 4) as servers:
        scanner = judge_at(lines(servers, concurrency=3))
        verdicts = await scanner.scan(TOPIC, some(tmp_path, *MANY), nothing)
        assert verdicts_of(verdicts) == TRUTH
        told: Counter[str] = sum((prompts_of(one) for one in servers), Counter())
        assert told == dict.fromkeys(MANY, 1)
        assert all(3 <= len(one.received) <= 30 for one in servers)
        assert max(one.most for one in servers) <= 3
        assert [one.calls for one in scanner.members] == [len(one.received) for one in servers]
        assert {request.json["model"] for request in servers[0].received} == {"m"}


async def test_a_slow_one_gets_what_it_can_do(tmp_path: Path) -> None:
    """One does not answer before the others have done everything else."""
    rest = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await rest.wait()
        writer.write(said("ANSWER: yes").encode())
        await writer.drain()

    def quick(request: Received) -> Step:
        if sum(len(one.received) for one in servers) == len(prompts):
            rest.set()
        return said("ANSWER: yes")

    async with serving(quick, slow, quick) as servers:
        prompts = some(tmp_path, *MANY)
        scanner = judge_at(lines(servers, concurrency=2))
        verdicts = await scanner.scan(TOPIC, prompts, nothing)
        assert verdicts_of(verdicts) == [1] * len(MANY)
        assert len(servers[1].received) == 2


@pytest.mark.parametrize("death", [reset, PAGE, refused("down", status=500)])
async def test_one_that_dies_midway_is_set_aside_and_no_prompt_is_lost(
    tmp_path: Path, death: Step
) -> None:
    async with serving(truthful, only(truthful, 5, death), truthful) as servers:
        scanner = judge_at(lines(servers, concurrency=2))
        verdicts = await scanner.scan(TOPIC, some(tmp_path, *MANY), nothing)
        assert verdicts_of(verdicts) == TRUTH
        assert not verdicts.errors
        dead = scanner.members[1]
        assert dead.aside >= 1
        assert dead.errors == dead.calls - 5
        answered = sum(one.calls - one.errors for one in scanner.members)
        assert answered == len(MANY)


async def test_one_that_goes_away(tmp_path: Path) -> None:
    """The process ends: what was under way breaks, and then nobody is there."""
    async with serving(truthful, truthful) as servers:
        gone = Server()
        gone._choose = lambda request: ends if len(gone.received) > 4 else truthful(request)

        async def ends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            gone._server.close()
            writer.transport.abort()

        async with gone:
            scanner = judge_at(lines([*servers, gone], concurrency=2))
            verdicts = await scanner.scan(TOPIC, some(tmp_path, *MANY), nothing)
        assert verdicts_of(verdicts) == TRUTH
        assert not verdicts.errors
        assert scanner.members[2].errors >= 1


async def test_one_that_always_refuses_is_asked_seldom(tmp_path: Path) -> None:
    async with serving(truthful, answer({}, status=429), truthful) as servers:
        scanner = judge_at(lines(servers, concurrency=2))
        verdicts = await scanner.scan(TOPIC, some(tmp_path, *MANY), nothing)
        assert verdicts_of(verdicts) == TRUTH
        member = scanner.members[1]
        assert member.refused == len(servers[1].received) >= 2
        assert member.errors == 0
        assert not member.out


@pytest.mark.parametrize("status", [401, 404])
async def test_one_that_is_wrong_is_out_and_said(tmp_path: Path, status: int) -> None:
    told: list[str] = []
    wrong = refused("no", status=status)
    async with serving(truthful, wrong, truthful) as servers:
        scanner = judge_at(lines(servers, concurrency=1), went_out=told.append)
        for epoch in (1, 2):
            verdicts = await scanner.scan(TOPIC, some(tmp_path, *MANY), nothing, epoch=epoch)
            assert verdicts_of(verdicts) == TRUTH
        assert len(servers[1].received) == 1
        assert told == [
            f"{servers[1].url}/v1 is asked no more: HTTP {status}: no; 2 of 3 endpoints are left"
        ]


async def test_a_prompt_that_is_forbidden_everywhere_loses_itself_only(tmp_path: Path) -> None:
    def guarded(request: Received) -> Step:
        bad = asked(request) == MANY[30]
        return refused("not this", status=403) if bad else truthful(request)

    async with serving(guarded, guarded) as servers:
        scanner = judge_at(lines(servers, concurrency=2))
        verdicts = await scanner.scan(TOPIC, some(tmp_path, *MANY), nothing)
        assert list(verdicts.errors) == [30]
        assert "403" in verdicts.errors[30]
        assert {one.errors for one in scanner.members} == {1}
        assert not any(one.out for one in scanner.members)


async def test_all_together_on_a_bad_day(tmp_path: Path) -> None:
    scripts = [
        truthful,
        only(truthful, 7, reset),
        answer({}, status=429),
        refused("no", status=401),
        truthful,
    ]
    async with serving(*scripts) as servers:
        cache = Memory()
        nobody = EndpointLine("http://127.0.0.1:9/v1")
        scanner = judge_at([*lines(servers, concurrency=3), nobody], cache=cache)
        verdicts = await scanner.scan(TOPIC, some(tmp_path, *MANY), nothing)
        assert verdicts_of(verdicts) == TRUTH
        assert [bool(one.out) for one in scanner.members] == [False] * 3 + [True] + [False] * 2
        # One journal, whoever answered: also when they are others.
        other = judge_at([nobody], cache=cache)
        again = await other.scan(TOPIC, some(tmp_path, *MANY), nothing)
        assert verdicts_of(again) == TRUTH
        assert other.members[0].calls == 0
        assert other.settings == scanner.settings


@pytest.mark.parametrize(
    ("scripts", "told"),
    [
        ([refused("no", status=401)] * 3, "HTTP 401: no"),
        ([refused("no", status=404)] * 3, "none of 3 endpoints answers: .*HTTP 404: no"),
        ([refused("no", status=401), refused("no", status=404)], "none of 2 endpoints answers"),
    ],
)
async def test_when_all_are_out_nothing_passes(
    tmp_path: Path, scripts: list[Step], told: str
) -> None:
    async with serving(*scripts) as servers:
        scanner = judge_at(lines(servers))
        with pytest.raises(ScannerError, match=f"nothing could be scanned: .*{told}"):
            await scanner.scan(TOPIC, some(tmp_path, *MANY), nothing)
        assert {len(one.received) for one in servers} <= set(range(1, 6))


async def test_when_all_die_midway_the_rest_are_errors(tmp_path: Path) -> None:
    """Both answer until the first 18 prompts have their verdicts, and nothing after that."""
    left = set(MANY[:18])
    done = asyncio.Event()

    async def die(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await done.wait()
        await reset(reader, writer)

    def dying(request: Received) -> Step:
        prompt = asked(request)
        if prompt not in MANY[:18]:
            return die
        left.discard(prompt)
        if not left:
            done.set()
        return truthful(request)

    async with serving(dying, dying) as servers:
        clock = IdleClock()
        scanner = judge_at(lines(servers, concurrency=2), clock=clock)
        clock.busy = lambda: scanner._limit is not None and scanner._limit.in_flight > 0
        verdicts = await scanner.scan(TOPIC, some(tmp_path, *MANY), nothing)
        found = Counter(verdicts_of(verdicts))
        assert (found[-1] + found[-2], found[0], found[1]) == (42, 9, 9)
        assert len(verdicts.errors) == 42
        assert any("none of 2 endpoints answers" in one for one in verdicts.errors.values())
        assert sum(len(one.received) for one in servers) < 60


async def test_several_models_are_asked_at_all_endpoints(tmp_path: Path) -> None:
    async with serving(truthful, truthful) as servers:
        scanner = judge_at(lines(servers, concurrency=2), "a", "b", "c")
        verdicts = await scanner.scan(TOPIC, some(tmp_path, *MANY), nothing)
        assert verdicts_of(verdicts) == TRUTH
        names = Counter(request.json["model"] for server in servers for request in server.received)
        assert names == {"a": 60, "b": 60, "c": 60}
        assert max(one.most for one in servers) <= 2


async def test_a_run_that_is_cancelled_leaves_nothing_behind(tmp_path: Path) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(silent, silent) as servers:
        scanner = judge_at(lines(servers, concurrency=2))
        task = asyncio.ensure_future(scanner.scan(TOPIC, some(tmp_path, *MANY), nothing))
        while sum(len(one.received) for one in servers) < 4:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert scanner._limit is not None
        assert scanner._limit.in_flight == 0
        # What was sent may have to be paid for.
        assert scanner.budget.spent.calls == 4


async def test_one_answer_outside_of_a_scan() -> None:
    async with serving(refused("no", status=401), said("Hello")) as servers:
        options = JudgeOptions((ModelAddress("", "m"),), endpoints=tuple(lines(servers)))
        assert await options.complete([{"role": "user", "content": "Hi"}], 20) == "Hello"
        assert options.place == "m at 2 endpoints"


def test_settings_say_what_is_asked_and_not_where() -> None:
    one = judge_at([EndpointLine("http://127.0.0.1:8000/v1")])
    two = judge_at([EndpointLine("http://127.0.0.1:8001/v1", 8), EndpointLine("https://b/v1")])
    assert one.settings == two.settings
    assert one.settings != judge_at([EndpointLine("http://127.0.0.1:8000/v1")], "n").settings
    alone = JudgeScanner([ModelAddress("http://127.0.0.1:8000/v1", "m")])
    assert alone.settings.revision != one.settings.revision
    assert alone.settings.identity == one.settings.identity


def test_what_stands_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "endpoints.txt"
    path.write_text(
        "# our servers\n\n"
        "http://127.0.0.1:8000/v1\n"
        "http://localhost:8001/v1/  concurrency=8 rate=2.5  # the old one\n"
        "\thttps://host.example/v1/chat/completions key_env=MINE\r\n"
        "http://localhost:8002 key_env=none\n",
        "utf-8-sig",
    )
    keys = {
        "MINE": "sk-mine",
        "ALL": "sk-all",
        "GUARDTUI_MODEL_KEYS": "http://127.0.0.1:8000=ALL http://localhost:8001=ALL",
    }
    found = read_endpoints(path, keys)
    assert [(one.url, one.concurrency, one.rate) for one in found] == [
        ("http://127.0.0.1:8000/v1", None, None),
        ("http://localhost:8001/v1", 8, 2.5),
        ("https://host.example/v1", None, None),
        ("http://localhost:8002", None, None),
    ]
    held = [one.key and one.key.reveal() for one in found]
    assert held == ["sk-all", "sk-all", "sk-mine", None]
    assert [one.key_variable for one in found] == ["ALL", "ALL", "MINE", ""]
    with pytest.raises(ModelKeyError, match="http://localhost:8001 has no key of its own"):
        read_endpoints(path, {"MINE": "sk-mine", "GUARDTUI_MODEL_KEY": "sk-all"})
    assert "sk-" not in repr(found)
    options = JudgeOptions((ModelAddress("", "m"),), endpoints=found)
    assert {one.reveal() for one in options.keys} == {"sk-all", "sk-mine"}
    members = options.scanner().members
    assert [(one.allowed, one.rate and one.rate.seconds) for one in members] == [
        (5, None),
        (8, 1.0),
        (5, None),
        (5, None),
    ]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("http://example.com/v1", "example.com would send the key and the prompts readable"),
        ("ftp://a/v1", "'ftp://a/v1' is no https:// URL"),
        ("http://127.0.0.1/v1#m", "has a part behind #"),
        ("https://me:sk-small@a/v1", "the URL holds user or password"),
        ("https://a/v1 8", "a word without =; keys do not stand here"),
        ("https://a/v1 sk-small", "a word without =; keys do not stand here"),
        ("https://a/v1 key=sk-small", "'key' is no option; keys do not stand here"),
        ("https://a/v1 key_env=sk-small", "key_env is no name of an environment variable"),
        ("https://a/v1 key_env=sksmall", "key_env is no name of an environment variable"),
        ("https://a/v1 key_env=NONE", "the environment variable NONE is not set"),
        ("https://a/v1 key_env=ODD", "ODD holds a blank"),
        ("https://a/v1 concurrency=0", "concurrency=0 is no whole number from 1 to 1024"),
        ("https://a/v1 concurrency=1e3", "concurrency=1e3 is no whole number"),
        ("https://a/v1 concurrency=", "concurrency has no value"),
        ("https://a/v1 rate=0", "rate=0 is no number of calls a second"),
        ("https://a/v1 rate=nan", "rate=nan is no number of calls a second"),
        ("https://a/v1 rate=1 rate=2", "rate stands twice"),
        ("https://first/v1/", "https://first/v1 stands twice, first in line 1"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "endpoints.txt"
    path.write_text(f"https://first/v1\n\n{line}\nhttps://last/v1 rate=x\n", "utf-8")
    with pytest.raises(EndpointsProblem) as caught:
        read_endpoints(path, {"ODD": "a b"})
    first, second = caught.value.problems
    assert (first.line, second.line) == (3, 4)
    assert told in first.problem
    assert second.problem.startswith("rate=x is no number")
    assert f"{path}:3: {first.problem}\n  {first.remedy}\n{path}:4: " in str(caught.value)
    assert "small" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "is no file"),
        (b"", "no endpoint stands in it"),
        (b"# nothing yet\n", "no endpoint stands in it"),
        (b"https://a/v1\n\xff\n", ":2: is not UTF-8"),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, content: bytes | None, told: str) -> None:
    path = tmp_path / "endpoints.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(EndpointsProblem, match=told):
        read_endpoints(path, {})


def test_many_mistakes_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "endpoints.txt"
    path.write_text("ftp://a\n" * 30, "utf-8")
    with pytest.raises(EndpointsProblem, match="and 10 more"):
        read_endpoints(path, {})
