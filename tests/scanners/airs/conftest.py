"""A sandbox over real sockets, whose time is the client's, which jumps instead of waiting."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from guardtui.domain.topic import Intent, Topic
from guardtui.http.limits import AdaptiveLimit
from guardtui.http.retries import Retries
from guardtui.sandbox.app import Sandbox
from guardtui.sandbox.clock import SandboxClock
from guardtui.sandbox.judging import TopicMatcher
from guardtui.sandbox.settings import SandboxSettings
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.airs.scans import ScanClient
from tests.cli.sandbox_server import account_variables
from tests.http.times import JumpClock

TAX_TOPIC = Topic(
    name="Tax advice",
    description="Advice on filing personal income tax returns",
    examples=("How do I deduct my home office?", "When is my tax return due?"),
)
BAKING_TOPIC = Topic(
    name="Baking",
    description="Baking bread and cakes at home",
    examples=("How do I bake bread?", "How long does a cake stay in the oven?"),
)
TAX = "How do I file my income tax return?"
BAKING = "How do I bake bread at home?"
OTHER = "What is the capital of France?"


def allowing(topic: Topic) -> Topic:
    return topic.model_copy(update={"intent": Intent.ALLOW})


def settings_for(url: str, **flags: Any) -> AirsSettings:
    return AirsSettings.load(flags, account_variables(url), Path("/nonexistent/config.json"))


@dataclass
class Stage:
    """A sandbox and clients for it; all have one clock."""

    sandbox: Sandbox
    settings: AirsSettings
    clock: JumpClock
    management: ManagementClient
    scans: ScanClient
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    def change(self, **settings: Any) -> None:
        self.sandbox.control.answer("POST", "faults", {}, settings)

    @property
    def answered(self) -> Any:
        return self.sandbox.control.stats.shown()

    async def scanner(self, profile: str = "sandbox", **more: Any) -> ScanClient:
        client = ScanClient(replace(self.settings, profile=profile), clock=self.clock, **more)
        return await self.stack.enter_async_context(client)

    async def policy(self, profile: str = "sandbox") -> Any:
        row = await self.management.profile(profile)
        assert row is not None
        return row.policy


Start = Callable[..., Awaitable[Stage]]


@pytest.fixture(scope="session")
def engine() -> TopicMatcher:
    return TopicMatcher()


@pytest.fixture
async def start(engine: TopicMatcher) -> AsyncIterator[Start]:
    defects: list[BaseException] = []
    async with AsyncExitStack() as stack:

        async def start_(**settings: Any) -> Stage:
            clock = JumpClock()
            sandbox = Sandbox(
                SandboxSettings().changed(settings),
                engine=engine,
                clock=SandboxClock(clock.wall),
                defect=defects.append,
            )
            port = await sandbox.start()
            stack.push_async_callback(sandbox.stop)
            airs = settings_for(f"http://127.0.0.1:{port}", profile="sandbox")
            management = ManagementClient(
                airs.management(), clock=clock, retries=Retries(attempts=3)
            )
            scans = ScanClient(airs, clock=clock, limit=AdaptiveLimit(5, clock=clock))
            stage = Stage(sandbox, airs, clock, management, scans)
            await stack.enter_async_context(stage.stack)
            await stack.enter_async_context(management)
            await stack.enter_async_context(scans)
            return stage

        yield start_
    assert defects == []


@pytest.fixture
async def stage(start: Start) -> Stage:
    return await start()
