"""What asking a judge costs: answers per second against ideal, and a run that is killed midway.

A server in another process speaks the protocol with a fixed latency on loopback. Ideal is what
calls of that latency could do if nothing else took time. `one` asks a single server, `endpoints`
four of them, of which the last part loses one midway. `kills` has 500 prompts judged in 5 epochs
with the cache on disk, by one server and by four, kills the process with SIGKILL three times, and
counts what the servers were asked.

    python benchmarks/judge.py [one|endpoints|kills …]
"""

from __future__ import annotations

import asyncio
import contextlib
import csv
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.files.prompt_files import load_prompts
from guardtui.scanners.base import Progress
from guardtui.scanners.judge.endpoints import EndpointLine
from guardtui.scanners.judge.scanner import JudgeScanner, ModelAddress
from guardtui.session.verdict_cache import SqliteVerdicts

TOPIC = Topic(name="Tax", description="Advice on tax returns", examples=("When is it due?", "How?"))
CONCURRENCY, LATENCY = 32, 0.2
TURNS = 3
EPOCHS = 5
ENDPOINTS = 4

_SERVER = """
import asyncio, json, sys
delay = float(sys.argv[1])
counts = {}
def answer(body):
    text = json.dumps(body).encode()
    head = b"HTTP/1.1 200 OK\\r\\ncontent-length: %d\\r\\n\\r\\n"
    return head % len(text) + text
def said(word):
    return answer({"choices": [{"message": {"content": "It is so.\\nANSWER: " + word},
                                "finish_reason": "stop"}],
                   "usage": {"prompt_tokens": 300, "completion_tokens": 20}})
YES, NO = said("yes"), said("no")
class Connection(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.data = transport, b""
    def data_received(self, data):
        self.data += data
        head, end, rest = self.data.partition(b"\\r\\n\\r\\n")
        length = int((head.lower() + b"\\r\\ncontent-length: 0").partition(b"content-length:")[2]
                     .split(b"\\r\\n")[0])
        if not end or len(rest) < length:
            return
        self.data = rest[length:]
        if head.startswith(b"GET"):
            self.transport.write(answer({"counts": counts}))
            return
        text = json.loads(rest[:length])["messages"][-1]["content"]
        prompt = text.partition("<<<prompt ")[2].partition("\\n")[2].partition("\\n")[0]
        counts[prompt] = counts.get(prompt, 0) + 1
        said = YES if "tax" in prompt else NO
        asyncio.get_running_loop().call_later(delay, self.transport.write, said)
async def main():
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


def serve(latency: float) -> tuple[subprocess.Popen[str], str]:
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(latency)], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    return server, f"http://127.0.0.1:{int(server.stdout.readline())}/v1"


@contextlib.contextmanager
def serving(latency: float, count: int = 1) -> Iterator[list[tuple[subprocess.Popen[str], str]]]:
    """So many servers with their URLs."""
    servers = [serve(latency) for _ in range(count)]
    try:
        yield servers
    finally:
        for server, _ in servers:
            server.kill()
            server.wait()


def asked(urls: Sequence[str]) -> list[int]:
    """How often each prompt was asked, over all servers."""
    counts: Counter[str] = Counter()
    for url in urls:
        with urllib.request.urlopen(url) as reply:
            counts.update(json.load(reply)["counts"])
    return sorted(counts.values())


def write_prompts(folder: Path, count: int) -> PromptSet:
    path = folder / "prompts.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt", "expected", "intent"])
        for number in range(count):
            what = ("tax return", "cake")[number % 2]
            writer.writerow([f"{what} {number} " + "x" * 150, str(not number % 2).lower(), "block"])
    return load_prompts(path)


def scanner(urls: Sequence[str], folder: Path, **more: Any) -> JudgeScanner:
    """A judge at one URL, or at endpoints that share the calls at a time."""
    cache, each = SqliteVerdicts(folder / "cache"), CONCURRENCY // len(urls)
    one = len(urls) == 1
    endpoints = [] if one else [EndpointLine(url) for url in urls]
    models = [ModelAddress(urls[0] if one else "", "m")]
    return JudgeScanner(models, endpoints=endpoints, cache=cache, concurrency=each, **more)


async def throughput(urls: Sequence[str], folder: Path, count: int) -> list[float]:
    """Prompts a second of each turn, answers kept on disk."""
    prompts = write_prompts(folder, count)
    rates = []
    for turn in range(TURNS):
        judge = scanner(urls, folder, fresh=True)
        start = time.perf_counter()
        verdicts = await judge.scan(TOPIC, prompts, lambda progress: None, epoch=turn + 1)
        rates.append(count / (time.perf_counter() - start))
        assert not verdicts.errors
    return rates


async def without_one(
    servers: list[tuple[subprocess.Popen[str], str]], folder: Path, count: int
) -> tuple[float, int]:
    """Seconds of a run in whose middle a server is killed, and calls that were made in vain."""
    prompts = write_prompts(folder, count)
    judge = scanner([url for _, url in servers], folder, fresh=True)

    def report(progress: Progress) -> None:
        if progress.done == count // 2:
            servers[0][0].kill()

    start = time.perf_counter()
    verdicts = await judge.scan(TOPIC, prompts, report)
    seconds = time.perf_counter() - start
    assert not verdicts.errors
    assert [int(one) for one in verdicts.triggered] == [1, 0] * (count // 2)
    return seconds, sum(one.errors for one in judge.members)


async def epochs(urls: Sequence[str], folder: Path) -> None:
    """What is killed: five epochs, one after the other."""
    prompts = load_prompts(folder / "prompts.csv")
    judge = scanner(urls, folder)
    for epoch in range(1, EPOCHS + 1):
        verdicts = await judge.scan(TOPIC, prompts, lambda progress: None, epoch=epoch)
        assert [int(one) for one in verdicts.triggered] == [1, 0] * (len(prompts) // 2)


def killed(urls: Sequence[str], folder: Path, count: int) -> tuple[int, int, int]:
    """Kills, and calls that were sent in all and beyond those that are needed."""
    write_prompts(folder, count)
    total = count * EPOCHS
    command = [sys.executable, __file__, "--epochs", str(folder), *urls]
    kills = 0
    for share in (0.2, 0.5, 0.8):
        process = subprocess.Popen(command)
        while sum(asked(urls)) < share * total:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
    subprocess.run(command, check=True)
    sent = sum(asked(urls))
    assert len(asked(urls)) == count
    assert min(asked(urls)) == EPOCHS
    subprocess.run(command, check=True)
    assert sum(asked(urls)) == sent, "what was complete was asked again"
    return kills, sent, sent - total


def report_rates(what: str, rates: list[float]) -> int:
    """Print rates against ideal; 1 when the aim is missed."""
    ideal = CONCURRENCY / LATENCY
    ratio = statistics.median(rates) / ideal
    print(
        f"{LATENCY * 1000:.0f} ms, {what}: {ratio:.3f} of ideal {ideal:.0f}/s "
        f"(aim 0.9){'  MISSED' if ratio < 0.9 else ''}; turns "
        + ", ".join(f"{rate:.0f}/s" for rate in rates)
    )
    return int(ratio < 0.9)


def one() -> int:
    """One server."""
    with serving(LATENCY) as ((_, url),), tempfile.TemporaryDirectory() as folder:
        rates = asyncio.run(throughput([url], Path(folder), 960))
    return report_rates(f"{CONCURRENCY} at once", rates)


def endpoints() -> int:
    """As many calls at a time, at four servers; then one of these is killed midway."""
    what = f"{ENDPOINTS} endpoints of {CONCURRENCY // ENDPOINTS} at once"
    with serving(LATENCY, ENDPOINTS) as servers, tempfile.TemporaryDirectory() as folder:
        rates = asyncio.run(throughput([url for _, url in servers], Path(folder), 960))
        missed = report_rates(what, rates)
        seconds, vain = asyncio.run(without_one(servers, Path(folder), 960))
    ideal = 480 / (CONCURRENCY / LATENCY)
    ideal += ideal * ENDPOINTS / (ENDPOINTS - 1)
    print(
        f"{what}, one killed midway: no prompt lost, {vain} calls in vain, {seconds:.1f} s "
        f"({ideal:.1f} s would be ideal)"
    )
    return missed


def kills() -> int:
    """Killed and taken up again."""
    missed = 0
    for count in (1, ENDPOINTS):
        with serving(0.02, count) as servers, tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            times, sent, more = killed([url for _, url in servers], Path(folder), 500)
            seconds = time.perf_counter() - start
        # What was under way when it was killed was asked, but nobody heard the answer.
        most = times * CONCURRENCY
        missed += more > most
        where = f" at {count} endpoints" if count > 1 else ""
        print(
            f"500 prompts, {EPOCHS} epochs{where}, {times} × kill -9: {sent} calls, {more} beyond "
            f"{500 * EPOCHS} (at most {most}: those under way at a kill), {seconds:.0f} s"
        )
    return missed


def main() -> int:
    if sys.argv[1:2] == ["--epochs"]:
        asyncio.run(epochs(sys.argv[3:], Path(sys.argv[2])))
        return 0
    parts = {"one": one, "endpoints": endpoints, "kills": kills}
    if os.name == "nt":
        del parts["kills"]
    return int(sum(parts[name]() for name in sys.argv[1:] or parts) > 0)


if __name__ == "__main__":
    sys.exit(main())
