"""What asking a judge costs: answers per second against ideal, and a run that is killed midway.

A server in another process speaks the protocol with a fixed latency on loopback. Ideal is what
calls of that latency could do if nothing else took time: `rate`. `kills` has 500 prompts judged in
5 epochs with the cache on disk, kills the process with SIGKILL three times, and counts what the
server was asked.

    python benchmarks/judge.py [rate|kills …]
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
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.files.prompt_files import load_prompts
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.judge import JudgeOptions, JudgePanel
from guardtui.scanners.models.scanner import ModelScanner
from guardtui.session.caches import SqliteVerdicts

TOPIC = Topic(name="Tax", description="Advice on tax returns", examples=("When is it due?", "How?"))
CONCURRENCY, LATENCY = 32, 0.2
TURNS = 3
EPOCHS = 5

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


@contextlib.contextmanager
def serving(latency: float) -> Iterator[str]:
    """Run a server and yield its URL."""
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(latency)], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
    finally:
        server.kill()
        server.wait()


def asked(url: str) -> list[int]:
    """How often each prompt was asked."""
    with urllib.request.urlopen(url) as reply:
        return sorted(json.load(reply)["counts"].values())


def write_prompts(folder: Path, count: int) -> PromptSet:
    path = folder / "prompts.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt", "expected", "intent"])
        for number in range(count):
            what = ("tax return", "cake")[number % 2]
            writer.writerow([f"{what} {number} " + "x" * 150, str(not number % 2).lower(), "block"])
    return load_prompts(path)


def scanner(url: str, folder: Path, *, fresh: bool = False) -> ModelScanner[JudgePanel]:
    """A judge whose answers are kept on disk."""
    cache = SqliteVerdicts(folder / "cache")
    options = JudgeOptions((ModelAddress(url, "m"),), calls=CallOptions(concurrency=CONCURRENCY))
    return options.scanner(cache, fresh=fresh)


async def throughput(url: str, folder: Path, count: int) -> list[float]:
    """Prompts a second of each turn, answers kept on disk."""
    prompts = write_prompts(folder, count)
    rates = []
    for turn in range(TURNS):
        judge = scanner(url, folder, fresh=True)
        start = time.perf_counter()
        verdicts = await judge.scan(TOPIC, prompts, lambda progress: None, epoch=turn + 1)
        rates.append(count / (time.perf_counter() - start))
        assert not verdicts.errors
    return rates


async def epochs(url: str, folder: Path) -> None:
    """What is killed: five epochs, one after the other."""
    prompts = load_prompts(folder / "prompts.csv")
    judge = scanner(url, folder)
    for epoch in range(1, EPOCHS + 1):
        verdicts = await judge.scan(TOPIC, prompts, lambda progress: None, epoch=epoch)
        assert [int(verdict) for verdict in verdicts.triggered] == [1, 0] * (len(prompts) // 2)


def killed(url: str, folder: Path, count: int) -> tuple[int, int, int]:
    """Kills, and calls that were sent in all and beyond those that are needed."""
    write_prompts(folder, count)
    total = count * EPOCHS
    command = [sys.executable, __file__, "--epochs", str(folder), url]
    kills = 0
    for share in (0.2, 0.5, 0.8):
        process = subprocess.Popen(command)
        while sum(asked(url)) < share * total:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
    subprocess.run(command, check=True)
    sent = sum(asked(url))
    assert len(asked(url)) == count
    assert min(asked(url)) == EPOCHS
    subprocess.run(command, check=True)
    assert sum(asked(url)) == sent, "what was complete was asked again"
    return kills, sent, sent - total


def rate() -> int:
    """Print answers a second against ideal; 1 when the aim is missed."""
    with serving(LATENCY) as url, tempfile.TemporaryDirectory() as folder:
        rates = asyncio.run(throughput(url, Path(folder), 960))
    ideal = CONCURRENCY / LATENCY
    ratio = statistics.median(rates) / ideal
    print(
        f"{LATENCY * 1000:.0f} ms, {CONCURRENCY} at once: {ratio:.3f} of ideal {ideal:.0f}/s "
        f"(aim 0.9){'  MISSED' if ratio < 0.9 else ''}; turns "
        + ", ".join(f"{each:.0f}/s" for each in rates)
    )
    return int(ratio < 0.9)


def kills() -> int:
    """Kill a run three times and take it up again; 1 when too many calls were repeated."""
    with serving(0.02) as url, tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        times, sent, more = killed(url, Path(folder), 500)
        seconds = time.perf_counter() - start
    # What was under way when it was killed was asked, but nobody heard the answer.
    most = times * CONCURRENCY
    print(
        f"500 prompts, {EPOCHS} epochs, {times} × kill -9: {sent} calls, {more} beyond "
        f"{500 * EPOCHS} (at most {most}: those under way at a kill), {seconds:.0f} s"
    )
    return int(more > most)


def main() -> int:
    if sys.argv[1:2] == ["--epochs"]:
        asyncio.run(epochs(sys.argv[3], Path(sys.argv[2])))
        return 0
    parts = {"rate": rate, "kills": kills}
    if os.name == "nt":
        del parts["kills"]
    return int(sum(parts[name]() for name in sys.argv[1:] or parts) > 0)


if __name__ == "__main__":
    sys.exit(main())
