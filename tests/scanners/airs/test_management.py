"""Topics and profiles: pages, two forms of paths, deletes in all forms, refusals with reasons."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from guardtui.http.address import Endpoint
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.retries import Retries
from guardtui.http.secret import Secret
from guardtui.scanners.airs import management
from guardtui.scanners.airs.credentials import ManagementAccess
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.airs.policy import TopicPin, attach
from tests.http.server import Answer, Received, Server, Step, answer, reset
from tests.http.times import JumpClock

from .conftest import TAX_TOPIC, Stage

NOBODY = "00000000-0000-4000-8000-000000000000"


def with_token(handle: Callable[[Received], Step]) -> Callable[[Received], Step]:
    """A server that gives tokens, numbered, and leaves the rest to a function."""
    count = 0

    def step(request: Received) -> Step:
        nonlocal count
        if request.target == "/token":
            count += 1
            return answer({"access_token": f"token-{count}", "expires_in": 899})
        return handle(request)

    return step


def client_of(server: Server) -> ManagementClient:
    account = ManagementAccess(
        Endpoint.parse(f"{server.url}/aisec"),
        Endpoint.parse(f"{server.url}/token"),
        "me",
        Secret("secret"),
        "77",
    )
    return ManagementClient(account, retries=Retries(attempts=3), clock=JumpClock())


@asynccontextmanager
async def asking(handle: Callable[[Received], Step]) -> AsyncIterator[ManagementClient]:
    """A client of a server that gives tokens and leaves the rest to a function."""
    async with Server(with_token(handle)) as server, client_of(server) as client:
        yield client


def calls(server: Server) -> list[tuple[str, str]]:
    return [
        (one.method, urlsplit(one.target).path.removeprefix("/aisec/v1/mgmt"))
        for one in server.received
        if one.target != "/token"
    ]


def row(number: int, name: str = "") -> dict[str, Any]:
    return {
        "topic_id": f"{number:08x}-0000-4000-8000-000000000000",
        "topic_name": name or f"topic {number}",
        "revision": 1,
        "description": "d",
        "examples": ["a", "b"],
    }


# Against the sandbox


async def test_topic_is_created_changed_and_deleted(stage: Stage) -> None:
    client = stage.management
    made = await client.create_topic("Tax", "About tax", ("a", "b"))
    assert (made.topic_name, made.revision, made.examples) == ("Tax", 1, ("a", "b"))
    changed = await client.update_topic(made.topic_id, "Tax", "About all tax", ("a", "c"))
    assert (changed.topic_id, changed.revision) == (made.topic_id, 2)
    assert await client.topic("Tax") == changed
    assert await client.topic("tax") is None
    assert made.topic_id in await client.delete_topic(made.topic_id)
    assert await client.topics() == []


@pytest.mark.parametrize("form", ["string", "object", "empty"])
async def test_all_forms_of_delete_replies_are_read(stage: Stage, form: str) -> None:
    stage.change(delete_reply=form)
    made = await stage.management.create_topic("Tax", "About tax", ("a", "b"))
    assert "deleted" in await stage.management.delete_topic(made.topic_id)


async def test_topic_in_use_error_names_its_profiles(stage: Stage) -> None:
    client = stage.management
    made = await client.create_topic("Tax", "About tax", ("a", "b"))
    for name in ("sandbox", "sandbox-directional"):
        profile = await client.profile(name)
        assert profile is not None
        pin = TopicPin(topic_id=made.topic_id, topic_name="Tax", revision=1)
        await client.update_profile(profile, attach(profile.policy, pin, TAX_TOPIC.intent).policy)
    # The newest revision of one does not name it any more; an older one does.
    profile = await client.profile("sandbox")
    assert profile is not None
    await client.update_profile(profile, {"ai-security-profiles": []})
    with pytest.raises(ServiceError) as caught:
        await client.delete_topic(made.topic_id)
    text = str(caught.value)
    assert "sandbox (revision 2)" in text
    assert "sandbox-directional (revision 2)" in text
    await client.force_delete_topic(made.topic_id, "me@example.com")
    assert await client.topics() == []


async def test_newest_profile_is_found_in_any_list_order(stage: Stage) -> None:
    client = stage.management
    for _ in range(3):
        profile = await client.profile("sandbox")
        assert profile is not None
        await client.update_profile(profile, profile.policy)
    for order in ("newest", "oldest", "shuffled"):
        stage.change(list_order=order)
        result = await client.profile("sandbox")
        assert result is not None
        assert result.revision == 4
        rows = await client.profiles()
        assert sorted(one.revision for one in rows if one.profile_name == "sandbox") == [1, 2, 3, 4]


async def test_all_pages_are_read(stage: Stage) -> None:
    for number in range(205):
        stage.sandbox.tenant.create_topic(
            {"topic_name": f"t{number}", "description": "d", "examples": ["a", "b"]}
        )
    rows = await stage.management.topics()
    assert {one.topic_name for one in rows} == {f"t{number}" for number in range(205)}


@pytest.mark.parametrize("fault", ["500-after@topic-create=first:1", "cut@topic-create=first:1"])
async def test_write_in_an_unknown_state_is_not_retried(stage: Stage, fault: str) -> None:
    stage.change(faults=[fault])
    with pytest.raises(ServiceError):
        await stage.management.create_topic("Tax", "About tax", ("a", "b"))
    assert len(await stage.management.topics()) == 1


async def test_unprocessed_write_is_retried(stage: Stage) -> None:
    stage.change(faults=["429@topics=first:2"])
    made = await stage.management.create_topic("Tax", "About tax", ("a", "b"))
    assert made.revision == 1


# Against scripted servers


@pytest.mark.parametrize("status", [403, 404])
async def test_path_with_the_tenant_is_found_and_remembered(status: int) -> None:
    def handle(request: Received) -> Step:
        if "/tsg/77" not in request.target:
            return answer({"message": "no"}, status)
        return answer({"custom_topics": [row(1)]})

    async with Server(with_token(handle)) as server, client_of(server) as client:
        assert len(await client.topics()) == 1
        before = len(server.received)
        await client.topics()
        assert calls(server)[-1] == ("GET", "/topics/tsg/77")
        assert len(server.received) == before + 1


@pytest.mark.parametrize(
    "doubled", [b'"revision": 1, "revision": 2', b'"examples": [], "examples": []']
)
async def test_duplicate_key_in_a_list_is_an_error(doubled: bytes) -> None:
    entry = b'{"topic_name": "x", %s, "description": ""}' % doubled

    async with asking(lambda request: Answer(body=b'{"custom_topics": [%s]}' % entry)) as client:
        with pytest.raises(ServiceError, match="duplicate key") as caught:
            await client.topics()
    assert caught.value.kind is ErrorKind.CONTENT


async def test_unknown_paths_are_reported() -> None:
    def handle(request: Received) -> Step:
        return answer({"message": "first" if "tsg" not in request.target else "second"}, 404)

    async with Server(with_token(handle)) as server, client_of(server) as client:
        with pytest.raises(ServiceError, match="404: first"):
            await client.topics()
        assert calls(server) == [("GET", "/topics"), ("GET", "/topics/tsg/77")]


@pytest.mark.parametrize("status", [404, 405])
async def test_old_path_of_force_delete_is_used(status: int) -> None:
    def handle(request: Received) -> Step:
        if request.target.startswith(f"/aisec/v1/mgmt/topic/force/{NOBODY}"):
            assert parse_qs(urlsplit(request.target).query) == {"updated_by": ["a+b@c.de"]}
            return answer("deleted it")
        return answer({}, status)

    async with Server(with_token(handle)) as server, client_of(server) as client:
        assert await client.force_delete_topic(NOBODY, "a+b@c.de") == "deleted it"
        await client.force_delete_topic(NOBODY, "a+b@c.de")
        assert calls(server) == [
            ("DELETE", f"/topic/{NOBODY}/force"),
            ("DELETE", f"/topic/force/{NOBODY}"),
            ("DELETE", f"/topic/force/{NOBODY}"),
        ]


async def test_paging_ends_without_a_further_offset() -> None:
    def handle(request: Received) -> Step:
        offset = int(parse_qs(urlsplit(request.target).query)["offset"][0])
        return answer({"custom_topics": [row(offset)], "next_offset": min(offset + 1, 2)})

    async with Server(with_token(handle)) as server, client_of(server) as client:
        assert [one.topic_name for one in await client.topics()] == [
            "topic 0",
            "topic 1",
            "topic 2",
        ]


@pytest.mark.parametrize("following", [None, 0, -1, "5", 1.5, True, [], {}])
async def test_hostile_next_offset_ends_the_list(following: Any) -> None:
    page = {"custom_topics": [row(1)], "next_offset": following}
    async with Server(with_token(lambda request: answer(page))) as server:
        async with client_of(server) as client:
            assert len(await client.topics()) == 1
        assert len(calls(server)) == 1


async def test_endless_list_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(management, "PAGES_AT_MOST", 30)

    def handle(request: Received) -> Step:
        offset = int(parse_qs(urlsplit(request.target).query)["offset"][0])
        return answer({"custom_topics": [], "next_offset": offset + 1})

    async with Server(with_token(handle)) as server, client_of(server) as client:
        with pytest.raises(ServiceError, match="does not end"):
            await client.topics()
        assert len(calls(server)) == 30


@pytest.mark.parametrize("page", [None, {}, {"custom_topics": None}, {"custom_topics": []}])
async def test_empty_tenant_has_no_topics(page: Any) -> None:
    async with asking(lambda request: answer(page)) as client:
        assert await client.topics() == []


@pytest.mark.parametrize(
    "page",
    [
        [],
        "none",
        {"ok": True},
        {"custom_topics": {}},
        {"custom_topics": ["x"]},
        {"custom_topics": [{"topic_name": 7}]},
        {"custom_topics": [{"topic_name": "a", "examples": "b"}]},
    ],
)
async def test_reply_that_is_not_a_list_is_reported(page: Any) -> None:
    async with asking(lambda request: answer(page)) as client:
        with pytest.raises(ServiceError) as caught:
            await client.topics()
        assert caught.value.kind is ErrorKind.CONTENT


async def test_refused_token_is_replaced_once() -> None:
    def handle(request: Received) -> Step:
        if request.headers["authorization"] == "Bearer token-1":
            return answer({"message": "expired"}, 401)
        return answer({"custom_topics": []})

    async with Server(with_token(handle)) as server, client_of(server) as client:
        assert await client.topics() == []
        assert [one.target for one in server.received].count("/token") == 2


async def test_role_without_permission_is_reported() -> None:
    async with Server(with_token(lambda request: answer({"Error": "denied"}, 403))) as server:
        async with client_of(server) as client:
            with pytest.raises(ServiceError, match=r"denied .the role of this service account"):
                await client.create_topic("a", "b", ("c", "d"))
        assert [method for method, _ in calls(server)] == ["POST", "POST"]


async def test_delete_with_a_lost_response_succeeds() -> None:
    steps = iter([reset, answer({}, 404)])
    async with asking(lambda request: next(steps)) as client:
        assert await client.delete_topic(NOBODY) == "deleted"


async def test_delete_of_a_missing_topic_is_reported() -> None:
    async with asking(lambda request: answer({}, 404)) as client:
        with pytest.raises(ServiceError):
            await client.delete_topic(NOBODY)


@pytest.mark.parametrize("name", ["", "../x", "1234", f"{NOBODY}/force", "\x1b"])
async def test_invalid_id_is_not_sent(name: str) -> None:
    async with Server(with_token(lambda request: answer({}))) as server:
        async with client_of(server) as client:
            with pytest.raises(AirsError, match="is not the id"):
                await client.delete_topic(name)
        assert server.received == []


async def test_server_without_latest_parameter_works() -> None:
    def handle(request: Received) -> Step:
        if "latest" in request.target:
            return answer({"message": "unknown parameter"}, 400)
        rows = [{"profile_name": "p", "revision": k, "profile_id": str(k)} for k in (2, 9, 1)]
        return answer({"ai_profiles": rows})

    async with Server(with_token(handle)) as server, client_of(server) as client:
        (found,) = await client.profiles(latest=True)
        assert found.revision == 9
