"""The served app in a real chromium: metrics, an edit, the next metrics, an export."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .test_serve import Served

aiohttp = pytest.importorskip("aiohttp")
web = pytest.importorskip("aiohttp.web")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here"),
]

SCREENSHOTS = os.environ.get("GUARDTUI_SCREENSHOTS")
"""A folder to keep pictures of what the browser showed."""

METRICS = r"TNR\s+[01]\.\d{3}"
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z$]|\x1b.")


class Page:
    """One tab, driven through the DevTools protocol."""

    def __init__(self, channel: Any) -> None:
        self.channel = channel
        self.shown = ""
        """What the app sent to the screen since it was last cleared, without control sequences."""
        self.requested: dict[str, str] = {}
        self.blocked: dict[str, str] = {}
        self.problems: list[str] = []
        self.sockets = 0
        """Websockets that were opened."""
        self.downloaded = ""
        """State of the download that was last begun."""
        self._number = 0
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._news = asyncio.Event()
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for message in self.channel:
            body = message.json()
            if "id" in body:
                self._answers.pop(body["id"]).set_result(body.get("result", body))
            elif body["method"] == "Network.webSocketFrameReceived":
                frame = body["params"]["response"]
                if frame["opcode"] == 2:
                    text = base64.b64decode(frame["payloadData"]).decode("utf-8", "replace")
                    self.shown += _CONTROL.sub("", text)
            elif body["method"] == "Network.webSocketHandshakeResponseReceived":
                self.sockets += 1
            elif body["method"] == "Network.requestWillBeSent":
                self.requested[body["params"]["requestId"]] = body["params"]["request"]["url"]
            elif body["method"] == "Network.loadingFailed":
                number = body["params"]["requestId"]
                if body["params"].get("blockedReason") == "csp":
                    self.blocked[number] = self.requested[number]
            elif body["method"].endswith(".downloadProgress"):
                self.downloaded = body["params"]["state"]
            elif body["method"] == "Runtime.exceptionThrown":
                self.problems.append(str(body["params"]))
            self._news.set()

    async def ask(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        answer = asyncio.get_running_loop().create_future()
        self._answers[self._number] = answer
        await self.channel.send_json({"id": self._number, "method": method, "params": parameters})
        return await asyncio.wait_for(answer, 120)

    async def go(self, url: str) -> None:
        await self.ask("Page.navigate", url=url)

    async def open(self, url: str) -> None:
        """Go to the app, and wait for its metrics."""
        await self.go(url)
        await self.see(METRICS)

    async def until(self, condition: Callable[[], Any]) -> Any:
        """Wait until something is true of what the browser has told; returns it."""
        async with asyncio.timeout(120):
            while not (result := condition()):
                self._news.clear()
                await self._news.wait()
        return result

    async def see(self, pattern: str) -> str:
        """Wait until the app has shown something that matches; returns it."""
        return str((await self.until(lambda: re.search(pattern, self.shown)))[0])

    async def value(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = await self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        return answer["result"].get("value")

    async def wait_for(self, condition: str) -> None:
        """Wait until an expression in the page is true."""
        async with asyncio.timeout(120):
            while not await self.value(condition):
                self._news.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), 1)

    async def press(self, key: str, code: int, modifiers: int = 0) -> None:
        same = {
            "key": key,
            "code": key,
            "windowsVirtualKeyCode": code,
            "modifiers": modifiers,
        }
        await self.ask("Input.dispatchKeyEvent", type="rawKeyDown", **same)
        await self.ask("Input.dispatchKeyEvent", type="keyUp", **same)

    async def click(self, x: int, y: int) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            await self.ask(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1
            )

    async def type(self, text: str) -> None:
        for character in text:
            await self.ask("Input.dispatchKeyEvent", type="char", text=character)

    async def picture(self, name: str) -> bytes:
        data = base64.b64decode((await self.ask("Page.captureScreenshot"))["data"])
        if SCREENSHOTS:
            Path(SCREENSHOTS, f"{name}.png").write_bytes(data)
        return data


@contextlib.asynccontextmanager
async def chromium(profile: Path) -> AsyncIterator[tuple[Page, Page]]:
    """A tab, and the browser itself, which alone tells of downloads in tabs of their own."""
    assert CHROMIUM is not None
    process = await asyncio.create_subprocess_exec(
        CHROMIUM,
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        "--disable-popup-blocking",  # the download may begin long after the key was pressed
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        f"--user-data-dir={profile}",
        *("--remote-debugging-port=0", "--window-size=1280,900", "about:blank"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(120):
            while b"DevTools listening on" not in (line := await process.stderr.readline()):
                assert line, "chromium did not start"
        port = re.search(rb":(\d+)/", line)
        assert port is not None
        address = f"http://127.0.0.1:{port[1].decode()}/json"
        async with aiohttp.ClientSession() as client:
            async with client.get(address) as answer:
                tabs = [tab for tab in await answer.json() if tab["type"] == "page"]
            async with client.get(f"{address}/version") as answer:
                whole = (await answer.json())["webSocketDebuggerUrl"]
            async with (
                client.ws_connect(tabs[0]["webSocketDebuggerUrl"], max_msg_size=0) as channel,
                client.ws_connect(whole, max_msg_size=0) as browser,
            ):
                page = Page(channel)
                for domain in ("Page", "Network", "Runtime"):
                    await page.ask(f"{domain}.enable")
                yield page, Page(browser)
    finally:
        process.kill()
        await process.wait()


@pytest.fixture
def served(folder: Path, environment: dict[str, str]) -> Iterator[Served]:
    server = Served(folder, environment, "topic.yaml", "--prompts", "prompts.csv")
    yield server
    server.process.kill()
    server.process.communicate()


def foreign_to(origin: str, page: Page) -> set[str]:
    """Addresses that the page asked for elsewhere."""
    return {url for url in page.requested.values() if not url.startswith((f"{origin}/", "data:"))}


async def test_localhost_works_and_keys_need_no_click(served: Served, tmp_path: Path) -> None:
    here = f"http://localhost:{served.port}"
    async with chromium(tmp_path / "profile") as (page, _):
        await page.open(f"{here}/#{served.token}")
        await page.wait_for("document.activeElement.className == 'xterm-helper-textarea'")
        page.shown = ""
        await page.type("zq")  # no click before
        await page.see("zq")
        assert await page.value("window.location.href") == f"{here}/"
        assert (await page.ask("Network.getCookies"))["cookies"] == []
        assert foreign_to(here, page) == set()
        assert served.token not in await page.value("document.documentElement.outerHTML")
        assert page.problems == []


@contextlib.asynccontextmanager
async def another_server(text: str) -> AsyncIterator[tuple[int, list[Any]]]:
    """A server of someone else at another port: the port, and the requests that it got."""
    got: list[Any] = []

    async def answer(request: Any) -> Any:
        got.append(request)
        return web.Response(text=text, content_type="text/html")

    app = web.Application()
    app.router.add_get("/{any:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner.addresses[0][1], got
    finally:
        await runner.cleanup()


_THEFT = """
(async () => {
  const found = [document.cookie, JSON.stringify({...localStorage, ...sessionStorage})];
  const reads = fetch("%(url)s/").then((answer) => answer.text(), () => "refused");
  const opens = (address) => new Promise((done) => {
    const socket = new WebSocket(address);
    socket.onopen = () => done("open");
    socket.onerror = () => done("refused");
  });
  return [...found, await reads, await opens("%(ws)s/ws/x"), await opens("%(ws)s/ws/%(token)s")];
})()
"""


async def test_a_page_of_another_port_gets_nothing_that_opens_the_app(
    served: Served, tmp_path: Path
) -> None:
    async with (
        another_server("<title>other</title>") as (port, got),
        chromium(tmp_path / "profile") as (page, browser),
    ):
        await page.open(served.opening)
        assert (await browser.ask("Storage.getCookies"))["cookies"] == []
        await page.go(f"http://127.0.0.1:{port}/evil")
        await page.wait_for("document.title == 'other'")
        places = {"url": served.url, "ws": served.url.replace("http", "ws"), "token": served.token}
        answer = await page.ask(
            "Runtime.evaluate",
            expression=_THEFT % places,
            awaitPromise=True,
            returnByValue=True,
        )
        assert answer["result"]["value"] == ["", "{}", "refused", "refused", "refused"]
    assert got
    for request in got:
        assert served.token not in f"{request.path_qs} {dict(request.headers)}"
        assert "Cookie" not in request.headers


async def test_a_click_on_another_site_opens_the_app_and_reloads_and_tabs_need_no_token(
    served: Served, tmp_path: Path
) -> None:
    link = f"<title>mail</title><a style='font-size:99px' href='{served.opening}'>Open</a>"
    async with (
        another_server(link) as (port, _),
        chromium(tmp_path / "profile") as (page, _),
    ):
        await page.go(f"http://localhost:{port}/")
        await page.wait_for("document.title == 'mail'")
        await page.click(60, 60)
        await page.see(METRICS)
        assert await page.value("location.href") == f"{served.url}/"
        for method, parameters in (
            ("Page.reload", {}),
            ("Page.navigate", {"url": f"{served.url}/"}),
        ):
            page.shown = ""
            await page.ask(method, **parameters)
            await page.see(METRICS)


async def test_a_wrong_token_is_explained_and_spoils_no_later_visit(
    served: Served, tmp_path: Path
) -> None:
    refused = "getComputedStyle(document.querySelector('.refused')).display == 'flex'"
    async with chromium(tmp_path / "profile") as (page, _):
        await page.go(f"{served.url}/")
        await page.wait_for(refused)
        await page.open(served.opening)
        await page.go(f"{served.url}/?#wrong")
        await page.wait_for(refused)
        page.shown = ""
        await page.open(f"{served.url}/")


CONTROL = 2


async def test_ctrl_v_pastes_the_clipboard_of_the_browser(served: Served, tmp_path: Path) -> None:
    elsewhere = "<title>notes</title><textarea autofocus>PASTED from elsewhere</textarea>"
    async with (
        another_server(elsewhere) as (port, _),
        chromium(tmp_path / "profile") as (page, browser),
    ):
        await browser.ask(
            "Browser.grantPermissions",
            permissions=["clipboardReadWrite", "clipboardSanitizedWrite"],
            origin=served.url,
        )
        await page.go(f"http://127.0.0.1:{port}/")
        await page.ask("Emulation.setFocusEmulationEnabled", enabled=True)
        await page.wait_for("document.activeElement.value == 'PASTED from elsewhere'")
        await page.press("a", 65, CONTROL)
        await page.press("c", 67, CONTROL)
        await page.open(served.opening)
        await page.click(300, 138)  # the third example
        page.shown = ""
        await page.press("v", 86, CONTROL)
        await page.see("PASTED from elsewhere")
        await page.click(680, 326)  # all results
        await page.see("Which tax deductions")
        await page.click(300, 389)  # the second result
        await page.see("verdicts #0")
        page.shown = ""
        await page.type("y")
        await page.see("Copied")
        copied = await page.value("navigator.clipboard.readText()")
        assert copied == "How do I file my income tax return?"
        await page.click(300, 158)  # the fourth example
        page.shown = ""
        await page.press("v", 86, CONTROL)
        await page.see(re.escape(copied))


async def test_reloading_before_the_app_has_started_does_not_crash(
    served: Served, environment: dict[str, str], tmp_path: Path
) -> None:
    crashes = Path(environment["GUARDTUI_CACHE"]) / "crashes"
    before = set(crashes.glob("*"))
    async with chromium(tmp_path / "profile") as (page, _):
        await page.go(served.opening)
        for opened in range(1, 13):
            await page.until(lambda: page.sockets >= opened)  # noqa: B023
            await page.ask("Page.reload")
        page.shown = ""
        await page.see(METRICS)
        assert page.problems == []
    code, said = await asyncio.to_thread(served.end)
    assert (code, "failed unexpectedly" in said) == (130, False)
    assert set(crashes.glob("*")) == before


async def test_the_loop_in_a_browser(served: Served, folder: Path, tmp_path: Path) -> None:
    async with chromium(tmp_path / "profile") as (page, browser):
        downloads = tmp_path / "downloads"
        await browser.ask(
            "Browser.setDownloadBehavior",
            behavior="allow",
            downloadPath=str(downloads),
            eventsEnabled=True,
        )
        await page.go(served.opening)
        assert (await page.see(METRICS)).split() == ["TNR", "1.000"]
        opened = await page.picture("serve-1-opened")
        await page.click(300, 138)  # the third example
        page.shown = ""
        await page.type("How do I bake some bread?")
        await page.see(r"TNR\s+0\.800")
        await page.see(r"regressions 1 ")
        assert await page.picture("serve-2-edited") != opened
        page.shown = ""
        await page.press("F8", 119)
        await page.see("Enter writes")
        await page.picture("serve-3-export")
        await page.press("Enter", 13)
        await page.see("Written: ")
        await page.picture("serve-4-exported")
        await browser.until(lambda: browser.downloaded == "completed")
        (report,) = set(folder.glob("topic*")) - {folder / "topic.yaml"}
        assert report.read_bytes() == (downloads / report.name).read_bytes() != b""
        assert page.problems == []
        assert foreign_to(served.url, page) == set()
        code, said = await asyncio.to_thread(served.end)
        assert (code, "Traceback" in said) == (130, False)
