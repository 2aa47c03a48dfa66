"""A sandbox of AIRS on a real socket in the test's event loop, and a workspace that uses it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from guardtui.app.airs.deploy import Deployment
from guardtui.app.airs.profile_changes import ProfileChanges
from guardtui.app.context import Context
from guardtui.app.guardrails.connections import Connections
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.files.topic_files import load_topic
from guardtui.http.clock import CLOCK, Clock
from guardtui.sandbox.app import Sandbox
from guardtui.sandbox.clock import SandboxClock
from guardtui.sandbox.judging import TopicMatcher
from guardtui.sandbox.policy import buckets, guardrails, pinned
from guardtui.sandbox.replies import SandboxRequest
from guardtui.sandbox.settings import SandboxSettings
from guardtui.sandbox.stats import prompt_key
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.lifecycle import apply
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from tests.app.headless import ScriptedAuthor, resting_jobs
from tests.cli.sandbox_server import account_variables, scan_variables
from tests.http.times import JumpClock
from tests.tui.tax_app import ROWS

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
        settings = replace(settings, profile=profile)
        return AirsConnection(
            settings, rate=self.airs.rate, batches=self.airs.batch, clock=self.clock
        )


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

    def __init__(self, engine: TopicMatcher, folder: Path, **settings: Any) -> None:
        self.clock = JumpClock()
        self.folder = folder
        self.defects: list[BaseException] = []
        self.sandbox = Sandbox(
            SandboxSettings().changed(settings),
            engine=engine,
            clock=SandboxClock(self.clock.wall),
            defect=self.defects.append,
        )
        self.turnstile = Turnstile()
        self.manages = asyncio.Event()
        """Cleared, it holds all requests to the management API."""
        self.manages.set()
        self.environment: dict[str, str] = {}
        usual = self.sandbox._work

        async def work(asked: SandboxRequest, group: str) -> Any:
            if asked.endpoint == "sync" and asked.content["contents"][0]["prompt"] != CANARY:
                await self.turnstile.passed()
            if group == "management":
                await self.manages.wait()
            return await usual(asked, group)

        self.sandbox._work = work  # type: ignore[method-assign]

    async def start(self) -> None:
        url = f"http://127.0.0.1:{await self.sandbox.start()}"
        profile = {"PANW_AI_SEC_PROFILE_NAME": "sandbox"}
        self.scans = scan_variables(url) | profile
        self.environment = account_variables(url) | profile

    async def stop(self) -> None:
        self.manages.set()
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
        row = next(row for row in self.sandbox.tenant.latest() if row.profile_name == profile)
        results = []
        for _, item in guardrails(row.policy):
            for _, members in buckets(item):
                for member in members:
                    topic, revision = pinned(member)
                    results.append(self.sandbox.tenant.topic(topic).at(revision).description)
        return results

    async def applied_elsewhere(self, path: Path) -> None:
        """Have somebody else put a definition into the profile."""
        settings = AirsSettings.load({}, self.environment, NO_FILE)
        async with ManagementClient(settings.management(), clock=self.clock) as client:
            await apply(client, load_topic(path).topic, "sandbox")

    async def reworded_elsewhere(self, name: str, description: str) -> None:
        """Have somebody else give a topic a new text, which the profile does not have."""
        settings = AirsSettings.load({}, self.environment, NO_FILE)
        async with ManagementClient(settings.management(), clock=self.clock) as client:
            topic = await client.topic(name)
            assert topic is not None
            await client.update_topic(
                topic.topic_id, name, description, topic.examples, active=topic.active
            )


def remote(cloud: Cloud, environment: dict[str, str] | None = None, **options: Any) -> Remote:
    variables = cloud.environment if environment is None else environment
    return Remote(environment=variables, config=NO_FILE, clock=cloud.clock, **options)


@pytest.fixture(scope="module")
def engine() -> TopicMatcher:
    return TopicMatcher()


@pytest.fixture
async def cloud(engine: TopicMatcher, tmp_path: Path) -> AsyncIterator[Cloud]:
    cloud = Cloud(engine, tmp_path)
    await cloud.start()
    yield cloud
    await cloud.stop()
    assert cloud.defects == []


class RemoteBench:
    """A workspace with a remote guardrail, and an author who answers from a list."""

    def __init__(self, topic_path: Path, options: RemoteOptions, *answers: Any) -> None:
        self.workspace = Workspace.open(topic_path)
        self.session = self.workspace.session
        self.author, self.jobs = ScriptedAuthor(list(answers)), resting_jobs()
        self.context = Context.of(self.workspace, LocalScanner("static"), self.author, self.jobs)
        self.store, self.editing = self.context.store, self.context.editing
        path = self.workspace.topic_file.path
        self.connections = Connections(self.store, self.workspace.store, self.author, options, path)
        self.changes = ProfileChanges(path)
        self.deployment = Deployment(self.context, self.connections, self.changes)

    def describe(self, description: str) -> None:
        self.editing.replace(self.session.topic.model_copy(update={"description": description}))
