"""A sandbox in the test's own loop, asked over real sockets; its clock stands still."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from aiohttp import ClientSession, ClientTimeout

from guardtui.sandbox.app import Sandbox
from guardtui.sandbox.clock import SandboxClock
from guardtui.sandbox.judging import TopicMatcher
from guardtui.sandbox.settings import SandboxSettings

TOPIC = {
    "topic_name": "Tax advice",
    "description": "Advice on filing personal income tax returns",
    "examples": ["How do I deduct my home office?", "When is my tax return due?"],
}
BREAD = {
    "topic_name": "Baking",
    "description": "Baking bread and cakes at home",
    "examples": ["How do I bake bread?", "How long does a cake stay in the oven?"],
}
TAX = "How do I file my income tax return?"
BAKING = "How do I bake bread at home?"
OTHER = "What is the capital of France?"


def basic(secret: str = "sandbox") -> dict[str, str]:
    """The header of the client's credentials."""
    return {"Authorization": f"Basic {b64encode(f'sandbox:{secret}'.encode()).decode()}"}


@dataclass
class Answer:
    status: int
    body: Any
    headers: dict[str, str]


@dataclass
class Client:
    """Asks one sandbox as a client of AIRS would."""

    sandbox: Sandbox
    session: ClientSession
    url: str
    token: str = ""
    seconds: list[float] = field(default_factory=lambda: [1e9])

    async def ask(
        self,
        method: str,
        path: str,
        json: Any = None,
        *,
        key: str | None = "sandbox-key",
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> Answer:
        sent = dict(headers or {})
        if path.startswith("/v1/scan") and key is not None:
            sent.setdefault("x-pan-token", key)
        if "/v1/mgmt" in path and key is not None:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        if json is not None:
            more["json"] = json
        async with self.session.request(method, self.url + path, headers=sent, **more) as answer:
            raw = await answer.read()
            try:
                body = await answer.json(content_type=None)
            except ValueError:
                body = raw
            return Answer(answer.status, body, dict(answer.headers))

    async def sign_in(self) -> Client:
        answer = await self.ask(
            "POST",
            "/oauth2/access_token",
            data={"grant_type": "client_credentials", "scope": "tsg_id:1"},
            headers=basic(),
        )
        assert answer.status == 200
        self.token = answer.body["access_token"]
        return self

    async def scan(self, prompt: str = TAX, profile: str = "sandbox", **more: Any) -> Answer:
        body = {"ai_profile": {"profile_name": profile}, "contents": [{"prompt": prompt}], **more}
        return await self.ask("POST", "/v1/scan/sync/request", body)

    async def batch(self, *prompts: str, profile: str = "sandbox", first: int = 0) -> Answer:
        rows = [
            {
                "req_id": first + number,
                "scan_req": {
                    "ai_profile": {"profile_name": profile},
                    "contents": [{"prompt": prompt}],
                },
            }
            for number, prompt in enumerate(prompts)
        ]
        return await self.ask("POST", "/v1/scan/async/request", rows)

    async def create(self, topic: dict[str, Any] = TOPIC) -> dict[str, Any]:
        answer = await self.ask("POST", "/v1/mgmt/topic", topic)
        assert answer.status == 200, answer.body
        body: dict[str, Any] = answer.body
        return body

    async def profile(self, name: str = "sandbox") -> dict[str, Any]:
        answer = await self.ask("GET", "/v1/mgmt/profiles?latest=true")
        found: dict[str, Any]
        (found,) = [one for one in answer.body["ai_profiles"] if one["profile_name"] == name]
        return found

    async def apply(
        self, *members: tuple[str, dict[str, Any]], default: str = "allow", name: str = "sandbox"
    ) -> Answer:
        """Send the profile with these members (bucket, topic), at their present revisions."""
        buckets: dict[str, list[dict[str, Any]]] = {}
        for action, topic in members:
            member = {key: topic[key] for key in ("topic_id", "topic_name", "revision")}
            buckets.setdefault(action, []).append(member)
        groups = [{"action": action, "topic": topics} for action, topics in buckets.items()]
        return await self.put(groups, default, name)

    async def put(self, groups: Any, default: str = "allow", name: str = "sandbox") -> Answer:
        profile = await self.profile(name)
        (entry,) = profile["policy"]["ai-security-profiles"]
        section = entry["model-configuration"]
        if "content-type-configurations" in entry:
            section = entry["content-type-configurations"]["prompt"]
        items = [one for one in section["model-protection"] if one["name"] != "topic-guardrails"]
        item = {"name": "topic-guardrails", "action": default, "options": [], "topic-list": groups}
        section["model-protection"] = [*items, item]
        body = {"profile_name": name, "active": True, "policy": profile["policy"]}
        return await self.ask("PUT", f"/v1/mgmt/profile/uuid/{profile['profile_id']}", body)

    async def violates(self, prompt: str, profile: str = "sandbox") -> bool:
        answer = await self.scan(prompt, profile)
        assert answer.status == 200, answer.body
        result: bool = answer.body["prompt_detected"]["topic_violation"]
        return result


Start = Callable[..., Awaitable[Client]]


@pytest.fixture(scope="session")
def engine() -> TopicMatcher:
    return TopicMatcher()


@pytest.fixture
async def start(engine: TopicMatcher) -> AsyncIterator[Start]:
    running: list[tuple[Sandbox, ClientSession]] = []
    defects: list[BaseException] = []

    async def start_(state: Path | None = None, **settings: Any) -> Client:
        seconds = [1e9]
        sandbox = Sandbox(
            SandboxSettings().changed(settings),
            state=state,
            engine=engine,
            clock=SandboxClock(lambda: seconds[0]),
            defect=defects.append,
        )
        port = await sandbox.start()
        session = ClientSession(timeout=ClientTimeout(total=120))
        running.append((sandbox, session))
        client = Client(sandbox, session, f"http://127.0.0.1:{port}", seconds=seconds)
        return await client.sign_in()

    yield start_
    for sandbox, session in running:
        await session.close()
        await sandbox.stop()
    assert defects == []


@pytest.fixture
async def client(start: Start) -> Client:
    return await start()
