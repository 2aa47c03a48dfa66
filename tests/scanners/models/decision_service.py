"""A sandbox behind a real socket that answers questions, and scanners that ask it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.http.secret import Secret
from guardtui.sandbox.app import Sandbox
from guardtui.sandbox.judging import TopicMatcher
from guardtui.sandbox.settings import SandboxSettings
from guardtui.scanners.base import VerdictCache
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.decision import DecisionOptions, ScoredQuestion
from guardtui.scanners.models.scanner import ModelScanner
from tests.scanners.models.judges import nothing

NAME = "decide-1"


@cache
def engine() -> TopicMatcher:
    return TopicMatcher()


@dataclass
class Service:
    """A sandbox that runs, and how its model is asked."""

    sandbox: Sandbox
    url: str

    @property
    def stats(self) -> dict[str, Any]:
        return self.sandbox.control.stats.shown()

    def change(self, **settings: Any) -> None:
        """Change settings while it runs, `faults` among them."""
        self.sandbox.control._change(settings)

    def forget(self) -> None:
        self.sandbox.control.stats.reset()

    @property
    def address(self) -> ModelAddress:
        return self.named(NAME)

    def named(self, name: str) -> ModelAddress:
        return ModelAddress(f"{self.url}/v1", name, Secret("sandbox-key", "test"))

    def scanner(
        self,
        name: str = NAME,
        *,
        cache: VerdictCache | None = None,
        fresh: bool = False,
        calls: CallOptions | None = None,
        **options: Any,
    ) -> ModelScanner[ScoredQuestion]:
        """A scanner whose calls go on as those of an author."""
        calls = calls or CallOptions()
        chosen = DecisionOptions(self.named(name), calls=calls, **options)
        return chosen.scanner(cache, fresh=fresh)


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[Service]:
    defects: list[BaseException] = []
    sandbox = Sandbox(SandboxSettings().changed(settings), engine=engine(), defect=defects.append)
    port = await sandbox.start()
    try:
        yield Service(sandbox, f"http://127.0.0.1:{port}")
    finally:
        await sandbox.stop()
    assert defects == []


async def scan(
    scanner: ModelScanner[ScoredQuestion], topic: Topic, prompts: PromptSet, **more: Any
) -> Verdicts:
    return await scanner.scan(topic, prompts, nothing, **more)
