"""The app against a sandbox on a real socket, in one event loop, with a turnstile for scans."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.screen import Screen

from guardtui.files.topic_files import load_topic
from guardtui.http.clock import CLOCK, Clock
from guardtui.sandbox.app import Sandbox
from guardtui.sandbox.clock import Clock as SandboxClock
from guardtui.sandbox.judging import Engine
from guardtui.sandbox.policy import buckets, guardrails, pinned
from guardtui.sandbox.replies import Asked
from guardtui.sandbox.settings import Settings
from guardtui.sandbox.stats import prompt_key
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.lifecycle import apply
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.session import Iteration
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.remote import RemoteOptions
from guardtui.tui.screens.main import MainScreen
from guardtui.tui.screens.scan_dialogs import ScanDialog
from tests.http.times import JumpClock
from tests.tui.test_loop import ROWS, frame, ready, until

NO_FILE = Path("/nonexistent/config.json")
KEY = "sandbox-key"
CANARY = "How can I pay less tax?"
PROMPTS = [prompt for prompt, _ in ROWS]
COUNT = len(PROMPTS)


@dataclass(frozen=True, slots=True)
class Remote(RemoteOptions):
    """Options of which the connection has a clock of its own, for waits that nobody waits for."""

    clock: Clock = CLOCK

    def connect(self, settings: AirsSettings, profile: str) -> AirsConnection:
        return AirsConnection(replace(settings, profile=profile), rate=self.rate, clock=self.clock)


class Turnstile:
    """Lets so many scans of prompts through, and holds the others; open at first."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._permits = asyncio.Semaphore(0)
        self.waiting = 0

    def allow(self, count: int) -> None:
        """Let only so many more through."""
        self._open.clear()
        self._permits = asyncio.Semaphore(count)

    def open(self) -> None:
        """Let all through, also those that wait."""
        self._open.set()
        for _ in range(100):
            self._permits.release()

    async def passed(self) -> None:
        if not self._open.is_set():
            self.waiting += 1
            try:
                await self._permits.acquire()
            finally:
                self.waiting -= 1


class Cloud:
    """A sandbox with its counts, and the variables of a client of it."""

    def __init__(self, engine: Engine, folder: Path, **settings: Any) -> None:
        self.clock = JumpClock()
        self.folder = folder
        self.defects: list[BaseException] = []
        self.sandbox = Sandbox(
            Settings().changed(settings),
            engine=engine,
            clock=SandboxClock(self.clock.wall),
            defect=self.defects.append,
        )
        self.turnstile = Turnstile()
        self.environment: dict[str, str] = {}
        usual = self.sandbox._work

        async def work(asked: Asked, group: str) -> Any:
            if asked.endpoint == "sync" and asked.content["contents"][0]["prompt"] != CANARY:
                await self.turnstile.passed()
            return await usual(asked, group)

        self.sandbox._work = work  # type: ignore[method-assign]

    async def start(self) -> None:
        url = f"http://127.0.0.1:{await self.sandbox.start()}"
        self.scans = {
            "PANW_AI_SEC_API_KEY": KEY,
            "PANW_AI_SEC_API_ENDPOINT": url,
            "PANW_AI_SEC_PROFILE_NAME": "sandbox",
        }
        self.account = {
            "PANW_MGMT_ENDPOINT": f"{url}/aisec",
            "PANW_MGMT_TOKEN_ENDPOINT": f"{url}/oauth2/access_token",
            "PANW_MGMT_CLIENT_ID": "sandbox",
            "PANW_MGMT_CLIENT_SECRET": "sandbox",
            "PANW_MGMT_TSG_ID": "1",
        }
        self.environment = self.scans | self.account

    async def stop(self) -> None:
        await self.sandbox.stop()

    def change(self, **settings: Any) -> None:
        self.sandbox.control.answer("POST", "faults", {}, settings)

    @property
    def asked(self) -> int:
        """How often any prompt of the set was sent."""
        return sum(self.times(prompt) for prompt in PROMPTS)

    def times(self, prompt: str) -> int:
        key = prompt_key("sandbox", prompt)
        return self.sandbox.control.stats.of_prompt(key)["asked"]

    @property
    def requests(self) -> int:
        return int(self.sandbox.control.stats.shown()["requests"])

    def pinned(self, profile: str = "sandbox") -> list[str]:
        """Descriptions of the topics that a profile's newest revision has in effect."""
        row = next(one for one in self.sandbox.tenant.latest() if one.profile_name == profile)
        found = []
        for _, item in guardrails(row.policy):
            for _, members in buckets(item):
                for member in members:
                    topic, revision = pinned(member)
                    found.append(self.sandbox.tenant.topic(topic).at(revision).description)
        return found

    async def applied_elsewhere(self, path: Path) -> None:
        """Have somebody else put a definition into the profile."""
        settings = AirsSettings.load({}, self.environment, NO_FILE)
        async with ManagementClient(settings.management(), clock=self.clock) as client:
            await apply(client, load_topic(path).topic, "sandbox")


class Play:
    """One run of the app: keys in, and what it shows and tells."""

    def __init__(self, pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        self.pilot, self.app, self.main = pilot, app, main
        self.told: list[str] = []
        self.frames: list[str] = []
        self.recording = False
        usual = app.notify

        def notify(message: str, **others: Any) -> None:
            self.told.append(message)
            # As Textual shows it: what is no markup ends the app there.
            assert not others.get("markup", True) or "[/" not in message
            usual(message, **others)

        app.notify = notify  # type: ignore[method-assign]

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def until(self, condition: Callable[[], bool]) -> None:
        def looked() -> bool:
            shown = frame(self.app) if self.recording else ""
            if shown and (not self.frames or shown != self.frames[-1]):
                self.frames.append(shown)
            return condition()

        await until(self.pilot, looked)

    async def dialog(self, kind: type[Screen[Any]] = ScanDialog) -> str:
        """Wait for a dialog; what stands on the screen then."""
        await self.until(lambda: isinstance(self.app.screen, kind) and self.app.screen.is_mounted)
        await self.until(lambda: frame(self.app).strip() != "")
        await self.pilot.pause()
        return frame(self.app)

    async def ended(self) -> None:
        """Wait until no scan is under way, and what is shown is the definition as it is."""
        main = self.main
        await self.until(
            lambda: (
                not main._under_way
                and main.evaluation is not None
                and main.evaluation.topic == main.session.topic
                and not any(
                    worker.group in ("scan", "preview", "so-far", "restore", "decide")
                    and not worker.is_finished
                    for worker in self.app.workers
                )
            )
        )
        await self.pilot.pause()

    async def scan(self, *keys: str) -> None:
        """Scan, with this answer to the dialog, to the end."""
        await self.press("ctrl+r")
        if keys:
            await self.dialog()
            await self.press(*keys)
        await self.ended()

    async def describe(self, text: str) -> None:
        self.main._edit(self.main.session.topic.model_copy(update={"description": text}))
        await self.ended()

    @property
    def frame(self) -> str:
        return frame(self.app)

    @property
    def line(self) -> str:
        """What the line of the scan tells."""
        pane = self.main._pane
        return str(pane.render()) if pane.has_class("told") else ""

    @property
    def shown(self) -> str:
        """Which scanner's verdicts are on the screen."""
        return "" if self.main.evaluation is None else self.main.evaluation.settings.name

    @property
    def scans(self) -> list[Iteration]:
        """The recorded iterations of AIRS."""
        recorded = self.main.session.iterations
        return [one for one in recorded if one.evaluation.settings.name == "airs"]


def remote(cloud: Cloud, environment: dict[str, str] | None = None, **options: Any) -> Remote:
    variables = cloud.environment if environment is None else environment
    return Remote(environment=variables, config=NO_FILE, clock=cloud.clock, **options)


@asynccontextmanager
async def playing(
    topic_path: Path, options: RemoteOptions, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[Play]:
    """The app, opened anew on a topic."""
    app = GuardtuiApp(Workspace.open(topic_path), LocalScanner("static"), remote=options)
    async with app.run_test(size=size) as pilot:
        yield Play(pilot, app, await ready(pilot, app))
