"""What the room of remote calls costs: items per second against a bare loop, and against ideal.

A server in another process answers on loopback, at once or after a fixed latency. "bare" is a loop
over `RemoteClient.request` by as many tasks, nothing else; "httpx" one over one plain
`httpx.AsyncClient` (and "aiohttp" the same client over httpx-aiohttp, where that is installed).
"raw" is a loop over bare sockets, which reads no more than the length of an answer. Ideal is what
requests of that latency could do if nothing else took time.

    python benchmarks/remote.py
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
import httpx

from guardtui.http.address import Endpoint
from guardtui.http.client import RemoteClient
from guardtui.http.limits import AdaptiveLimit
from guardtui.http.pool import Counters, run_all

TURNS = 5
QUESTION = {"ai_profile": {"profile_name": "p"}, "contents": [{"prompt": "x" * 200}]}

_SERVER = """
import asyncio, sys
delay = float(sys.argv[1])
body = b'{"action":"allow","text":"' + b"x" * 500 + b'"}'
answer = b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\n"
answer += b"content-length: %d\\r\\n\\r\\n" % len(body) + body
class Connection(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.data = transport, b""
    def data_received(self, data):
        self.data += data
        head, end, rest = self.data.partition(b"\\r\\n\\r\\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\\r\\n")[0])
        if end and len(rest) >= length:
            self.data = rest[length:]
            if delay:
                asyncio.get_running_loop().call_later(delay, self.transport.write, answer)
            else:
                self.transport.write(answer)
async def main():
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


async def timed(items: int, run: Callable[[int], Awaitable[None]]) -> float:
    """Items per second."""
    start = time.perf_counter()
    await run(items)
    return items / (time.perf_counter() - start)


def loop_of(ask: Callable[[], Awaitable[Any]], tasks: int) -> Callable[[int], Awaitable[None]]:
    async def run(items: int) -> None:
        numbers = iter(range(items))

        async def work() -> None:
            for _ in numbers:
                await ask()

        await asyncio.gather(*(work() for _ in range(tasks)))

    return run


def raw_loop(port: int, tasks: int) -> Callable[[int], Awaitable[None]]:
    async def run(items: int) -> None:
        numbers = iter(range(items))

        async def work() -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for _ in numbers:
                writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}")
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(head.partition(b"content-length:")[2].split()[0]))
            writer.close()

        await asyncio.gather(*(work() for _ in range(tasks)))

    return run


async def measure(port: int, tasks: int, items: int, turns: int) -> dict[str, float]:
    """Median items per second of each way, taken in turns."""
    url = f"http://127.0.0.1:{port}"
    limit = AdaptiveLimit(tasks)
    plain: dict[str, httpx.AsyncClient] = {"httpx": httpx.AsyncClient(trust_env=False)}
    try:
        from httpx_aiohttp import HttpxAiohttpClient

        plain["aiohttp"] = HttpxAiohttpClient(trust_env=False)
    except ImportError:
        pass
    async with RemoteClient(Endpoint.parse(url), limit=limit) as remote:

        async def ask(_: object = None) -> object:
            return (await remote.request("POST", "/v1/scan", json=QUESTION)).data

        async def pool(items: int) -> None:
            counters, done = Counters(limit), 0
            async for _ in run_all(range(items), ask, limit, counters=counters):
                done += 1
                if done % 100 == 0:
                    counters.snapshot()
            shot = counters.snapshot()
            assert (shot.done, shot.errors) == (items, 0)

        def asks(client: httpx.AsyncClient) -> Callable[[], Awaitable[object]]:
            async def ask_plainly() -> object:
                return (await client.post(f"{url}/v1/scan", json=QUESTION)).json()

            return ask_plainly

        ways = {"run_all": pool, "bare": loop_of(ask, tasks)}
        ways["raw"] = raw_loop(port, tasks)
        ways |= {name: loop_of(asks(client), tasks) for name, client in plain.items()}
        rates: dict[str, list[float]] = {name: [] for name in ways}
        for way in ways.values():
            await way(tasks)
        for _ in range(turns):
            for name, way in ways.items():
                rates[name].append(await timed(items, way))
    for client in plain.values():
        await client.aclose()
    return {name: statistics.median(values) for name, values in rates.items()}


def main() -> int:
    missed = 0
    for latency, tasks, items, aim in ((0.0, 5, 1000, 0.8), (0.0, 32, 1000, 0.8),
                                       (0.05, 5, 300, 0.95), (0.2, 32, 960, 0.9)):  # fmt: skip
        server = subprocess.Popen(
            [sys.executable, "-c", _SERVER, str(latency)], stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            rates = asyncio.run(measure(port, tasks, items, 3 if latency else TURNS))
        finally:
            server.kill()
            server.wait()
        floor = tasks / latency if latency else rates["bare"]
        against = "ideal" if latency else "bare"
        ratio = rates["run_all"] / floor
        missed += ratio < aim
        figures = ", ".join(f"{name} {rate:.0f}/s" for name, rate in rates.items())
        print(
            f"{latency * 1000:.0f} ms, {tasks} in flight: run_all {ratio:.3f} of {against} "
            f"{floor:.0f}/s (aim {aim}){'  MISSED' if ratio < aim else ''}; {figures}"
        )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
