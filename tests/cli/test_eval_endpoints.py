"""`--endpoints FILE`: a judge at several real servers, from the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from guardtui.cli.judge_scans import progress_text
from guardtui.domain.verdicts import Usage
from guardtui.scanners.base import Progress, Traffic

from .conftest import NEGATIVE, POSITIVE, Run
from .grading_server import Answer, GradingServer, failed
from .test_eval_judge import COUNT, DEAD, JUDGE, Judge, home, sceptical, serving

__all__ = ["home"]

ENDPOINTS = ("--model", "m", "--endpoints", "endpoints.txt")


def write_endpoints(folder: Path, *urls: str, rest: str = "") -> Path:
    path = folder / "endpoints.txt"
    path.write_text("".join(f"{url} {rest}\n" for url in urls), "utf-8")
    return path


def refuses(text: str, before: int) -> Answer:
    return failed(401)


def test_several_answer_and_one_is_out(run: Run, folder: Path, home: dict[str, str]) -> None:
    judges = Judge(), Judge()
    with serving(judges[0]) as one, serving(refuses) as wrong, serving(judges[1]) as other:
        write_endpoints(folder, one.url, wrong.url, other.url, rest="concurrency=2")
        done = run(*JUDGE, *ENDPOINTS, "--format", "json", **home)
        assert done.code == 0
        assert one.most_at_once <= 2
        asked = Counter(judges[0].prompts + judges[1].prompts)
        assert asked == dict.fromkeys((*POSITIVE, *NEGATIVE), 1)
        # As many as were under way when the first of them came back.
        wrong_calls = len(wrong.prompts)
        assert wrong_calls in (1, 2)
        assert done.err.splitlines() == [
            f"{COUNT} calls for {COUNT} prompts",
            f"warning: {wrong.url} is asked no more: HTTP 401: no; 2 of 3 endpoints are left",
            *(_line(one.url, len(judges[0].prompts)),),
            f"endpoint {wrong.url}: {wrong_calls} call{'s' * (wrong_calls > 1)}, "
            f"{wrong_calls} error{'s' * (wrong_calls > 1)}, asked no more: HTTP 401: no",
            _line(other.url, len(judges[1].prompts)),
        ]
        document = json.loads(done.out)
        assert document["metrics"]["coverage"] == 1.0
        assert document["usage"]["calls"] == COUNT
    # One journal: what others answered is not asked again, and who is not asked is not listed.
    write_endpoints(folder, DEAD.partition("#")[0])
    again = run(*JUDGE, *ENDPOINTS, "--format", "json", **home)
    assert (again.code, again.err) == (
        0,
        f"no calls: the verdicts on {COUNT} prompts are in the cache\n",
    )
    scanner = json.loads(again.out)["scanner"]
    assert scanner == document["scanner"]


def _line(url: str, calls: int) -> str:
    return f"endpoint {url}: {calls} call{'s' * (calls != 1)}, 0 errors"


def test_keys_come_from_the_environment(run: Run, folder: Path, home: dict[str, str]) -> None:
    with serving(Judge()) as one, serving(Judge()) as other:
        (folder / "endpoints.txt").write_text(f"{one.url} key_env=ONE\n{other.url}\n", "utf-8")
        keys = {"ONE": "sk-one", "GUARDTUI_MODEL_KEY": "sk-all"}
        done = run(*JUDGE, *ENDPOINTS, **home, **keys)
        assert done.code == 2
        assert "address, and these are at 2: it is not sent to any of them" in done.err
        assert f"{other.url.removesuffix('/v1')} has no key of its own" in done.err
        assert "or write key_env=VARIABLE on lines of endpoints.txt" in done.err
        assert one.keys == other.keys == []
        text = f"{one.url} key_env=ONE\n{other.url} key_env=GUARDTUI_MODEL_KEY\n"
        (folder / "endpoints.txt").write_text(text, "utf-8")
        done = run(*JUDGE, *ENDPOINTS, "--concurrency", "1", **home, **keys)
        assert done.code == 0
        assert set(one.keys) == {"Bearer sk-one"}
        assert set(other.keys) == {"Bearer sk-all"}
        assert one.most_at_once == other.most_at_once == 1
    assert "sk-" not in done.out + done.err


def test_all_are_out(run_process: Run, folder: Path, home: dict[str, str]) -> None:
    with serving(refuses) as one, serving(refuses) as other:
        write_endpoints(folder, one.url, other.url)
        done = run_process(*JUDGE, *ENDPOINTS, **home)
    assert (done.code, done.out) == (3, "")
    assert "0 of 2 endpoints are left" in done.err
    assert f"endpoint {one.url}: " in done.err
    assert "error: nothing could be scanned: " in done.err


@pytest.mark.parametrize(
    ("content", "arguments", "told"),
    [
        (None, ENDPOINTS, "endpoints.txt: is no file"),
        ("http://127.0.0.1/v1 at_once=3\nx y\n", ENDPOINTS, "endpoints.txt:1: 'at_once' is no opt"),
        ("http://127.0.0.1/v1 at_once=3\nx y\n", ENDPOINTS, "endpoints.txt:2: a word without ="),
        ("http://example.com/v1\n", ENDPOINTS, "endpoints.txt:1: http://example.com would send"),
        ("http://127.0.0.1/v1\n", ENDPOINTS[2:], "the judge needs --model"),
        (
            "http://127.0.0.1/v1\n",
            ("--model", DEAD, *ENDPOINTS[2:]),
            "--model: with --endpoints the name stands alone, as in --model 'm'",
        ),
        ("http://127.0.0.1/v1\n", (*ENDPOINTS, "-o", "endpoints.txt"), "endpoints.txt"),
    ],
)
def test_bad_input_is_named(
    run: Run,
    folder: Path,
    home: dict[str, str],
    content: str | None,
    arguments: Sequence[str],
    told: str,
) -> None:
    path = folder / "endpoints.txt"
    if content is not None:
        path.write_text(content, "utf-8")
    done = run(*JUDGE, *arguments, **home)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert content is None or path.read_text("utf-8") == content


def test_endpoints_fit_the_judge_only(run: Run) -> None:
    for scanner in ("local", "airs"):
        done = run(*JUDGE[:-1], scanner, "--endpoints", "endpoints.txt")
        assert done.code == 2
        assert f"--endpoints does not fit --scanner {scanner}" in done.err


def test_progress_tells_calls_in_flight_over_all() -> None:
    traffic = Traffic(in_flight=30, used=Usage(9, 100, 10), endpoints=(3, 4))
    told = progress_text(Progress("scanning", 9, 100, traffic=lambda: traffic))
    assert told.startswith("scanning 9/100, 9 calls, ")
    assert told.endswith(", 30 in flight, 3 of 4 endpoints work")


def test_doctor_tells_each_endpoint(run: Run, folder: Path, home: dict[str, str]) -> None:
    with serving(sceptical) as one, serving(sceptical) as other, serving(refuses) as wrong:
        one.models = ("m", "n")
        other.models = ("n",)
        write_endpoints(folder, one.url, other.url, wrong.url)
        done = run("doctor", "--judge", *ENDPOINTS, "--json", **home)
        assert done.code == 0
        facts = {fact["name"]: fact for fact in json.loads(done.out)["facts"]}
        good = facts[f"endpoint {one.url}"]
        assert (good["state"], good["value"][-10:]) == ("ok", ", 0 errors")
        assert facts[f"endpoint {other.url}"]["value"].endswith("; does not list m")
        bad = facts[f"endpoint {wrong.url}"]
        assert bad["state"] == "warning"
        assert "asked no more: HTTP 401: no" in bad["value"]
        assert facts["attacks"]["state"] == "ok"
        assert not any(name.startswith("endpoint") for name in _names(run, one, home))
    write_endpoints(folder, DEAD.partition("#")[0])
    done = run("doctor", "--judge", *ENDPOINTS, **home)
    assert done.code == 3
    assert "nothing could be scanned: cannot connect to 127.0.0.1:9" in done.out


def _names(run: Run, server: GradingServer, home: dict[str, str]) -> list[str]:
    done = run("doctor", "--judge", "--model", f"{server.url}#m", "--json", **home)
    return [fact["name"] for fact in json.loads(done.out)["facts"]]


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_killed_midway_nothing_answered_is_asked_again(
    folder: Path, environment: dict[str, str], home: dict[str, str]
) -> None:
    count, slots, servers = 200, 4, 3
    rows = [f"{'tax' if number % 2 else 'cake'} {number}" for number in range(count)]
    labels = [f"{row},{str('tax' in row).lower()},block" for row in rows]
    text = "\n".join(["prompt,expected,intent", *labels, ""])
    (folder / "prompts.csv").write_text(text, "utf-8")
    due, lock, asked = threading.Event(), threading.Lock(), [0]
    at = [60, 130]

    class Counting(Judge):
        def __call__(self, text: str, before: int) -> Answer:
            with lock:
                asked[0] += 1
                if at and asked[0] >= at[0]:
                    due.set()
            return super().__call__(text, before)

    judges = [Counting() for _ in range(servers)]
    with ExitStack() as stack:
        urls = [stack.enter_context(serving(one)).url for one in judges]
        write_endpoints(folder, *urls, rest=f"concurrency={slots}")
        command = [sys.executable, "-m", "guardtui", *JUDGE, *ENDPOINTS]

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                command, cwd=folder, env={**environment, **home}, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip

        while at:
            process = start()
            assert due.wait(60)
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)
            with lock:
                at.pop(0)
                due.clear()
                if at and asked[0] >= at[0]:
                    at.pop(0)
        process = start()
        _, told = process.communicate(timeout=60)
        assert process.returncode == 0, told
    times = Counter(prompt for one in judges for prompt in one.prompts)
    assert set(times) == set(rows)
    again = sum(times.values()) - count
    assert again <= 2 * servers * slots
    assert max(times.values()) <= 3
