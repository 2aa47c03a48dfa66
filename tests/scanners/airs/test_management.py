"""Topics and profiles: pages, two forms of paths, deletes in all forms, refusals with reasons."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from guardtui.http.address import Endpoint
from guardtui.http.errors import Kind, ServiceError
from guardtui.http.retries import Retries
from guardtui.http.secret import Secret
from guardtui.scanners.airs.credentials import Management
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.management import ManagementClient
from guardtui.scanners.airs.policy import Pin, attach
from tests.http.server import Received, Server, Step, answer, reset
from tests.http.times import JumpClock

from .conftest import TAX_TOPIC, Stage, Start

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
    account = Management(
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


async def test_a_topic_is_made_changed_and_deleted(stage: Stage) -> None:
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
async def test_deletes_answer_in_all_forms(stage: Stage, form: str) -> None:
    stage.change(delete_reply=form)
    made = await stage.management.create_topic("Tax", "About tax", ("a", "b"))
    assert "deleted" in await stage.management.delete_topic(made.topic_id)


async def test_a_taken_name_is_refused(stage: Stage) -> None:
    await stage.management.create_topic("Tax", "About tax", ("a", "b"))
    with pytest.raises(ServiceError, match="already exists") as caught:
        await stage.management.create_topic("Tax", "About tax", ("a", "b"))
    assert caught.value.status == 409


async def test_a_topic_in_use_says_who_uses_it(stage: Stage) -> None:
    client = stage.management
    made = await client.create_topic("Tax", "About tax", ("a", "b"))
    for name in ("sandbox", "sandbox-directional"):
        profile = await client.profile(name)
        assert profile is not None
        pin = Pin(topic_id=made.topic_id, topic_name="Tax", revision=1)
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


async def test_profiles_of_all_orders(stage: Stage) -> None:
    client = stage.management
    for _ in range(3):
        profile = await client.profile("sandbox")
        assert profile is not None
        await client.update_profile(profile, profile.policy)
    for order in ("newest", "oldest", "shuffled"):
        stage.change(list_order=order)
        found = await client.profile("sandbox")
        assert found is not None
        assert found.revision == 4
        rows = await client.profiles()
        assert sorted(one.revision for one in rows if one.profile_name == "sandbox") == [1, 2, 3, 4]


async def test_many_pages(stage: Stage) -> None:
    for number in range(205):
        stage.sandbox.tenant.create_topic(
            {"topic_name": f"t{number}", "description": "d", "examples": ["a", "b"]}
        )
    rows = await stage.management.topics()
    assert {one.topic_name for one in rows} == {f"t{number}" for number in range(205)}


async def test_a_profile_is_made(stage: Stage) -> None:
    made = await stage.management.create_profile("mine")
    assert (made.profile_name, made.revision) == ("mine", 1)
    with pytest.raises(ServiceError, match="already"):
        await stage.management.create_profile("mine")


@pytest.mark.parametrize("fault", ["409-after", "500-after", "cut"])
async def test_a_profile_that_is_made_though_the_answer_says_no(stage: Stage, fault: str) -> None:
    stage.change(faults=[f"{fault}@profile-create=first:1"])
    made = await stage.management.create_profile("mine")
    assert (made.profile_name, made.revision) == ("mine", 1)


async def test_an_expired_token_is_replaced(stage: Stage) -> None:
    await stage.management.topics()
    stage.sandbox.clock.advance(2000)  # the client does not know
    assert await stage.management.topics() == []


async def test_a_wrong_secret_is_told(start: Start) -> None:
    stage = await start()
    account = stage.settings.management()
    wrong = Management(
        account.endpoint, account.token_endpoint, account.client_id, Secret("wrong"), "1"
    )
    async with ManagementClient(wrong, clock=stage.clock) as client:
        with pytest.raises(ServiceError, match="check client id, client secret"):
            await client.topics()


@pytest.mark.parametrize(
    "fault", ["500@topics=first:2", "429@topics=first:2", "reset@topics=first:2"]
)
async def test_lists_are_repeated(stage: Stage, fault: str) -> None:
    stage.change(faults=[fault])
    assert await stage.management.topics() == []


@pytest.mark.parametrize("fault", ["500-after@topic-create=first:1", "cut@topic-create=first:1"])
async def test_a_write_of_unknown_fate_is_not_repeated(stage: Stage, fault: str) -> None:
    stage.change(faults=[fault])
    with pytest.raises(ServiceError):
        await stage.management.create_topic("Tax", "About tax", ("a", "b"))
    assert len(await stage.management.topics()) == 1


async def test_a_write_that_was_not_done_is_repeated(stage: Stage) -> None:
    stage.change(faults=["429@topics=first:2"])
    made = await stage.management.create_topic("Tax", "About tax", ("a", "b"))
    assert made.revision == 1


# Against scripted servers


@pytest.mark.parametrize("status", [403, 404])
async def test_the_path_with_the_tenant_is_found_and_remembered(status: int) -> None:
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


async def test_neither_path_is_known() -> None:
    def handle(request: Received) -> Step:
        return answer({"message": "first" if "tsg" not in request.target else "second"}, 404)

    async with Server(with_token(handle)) as server, client_of(server) as client:
        with pytest.raises(ServiceError, match="404: first"):
            await client.topics()
        assert calls(server) == [("GET", "/topics"), ("GET", "/topics/tsg/77")]


@pytest.mark.parametrize("status", [404, 405])
async def test_the_old_path_of_force_delete(status: int) -> None:
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


async def test_pages_end_when_they_do_not_lead_on() -> None:
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
async def test_a_hostile_next_offset_ends_the_list(following: Any) -> None:
    page = {"custom_topics": [row(1)], "next_offset": following}
    async with Server(with_token(lambda request: answer(page))) as server:
        async with client_of(server) as client:
            assert len(await client.topics()) == 1
        assert len(calls(server)) == 1


async def test_a_list_without_end_is_left() -> None:
    def handle(request: Received) -> Step:
        offset = int(parse_qs(urlsplit(request.target).query)["offset"][0])
        return answer({"custom_topics": [], "next_offset": offset + 1})

    async with Server(with_token(handle)) as server, client_of(server) as client:
        with pytest.raises(ServiceError, match="does not end"):
            await client.topics()
        assert len(calls(server)) == 1000


@pytest.mark.parametrize("page", [None, {}, {"custom_topics": None}, {"custom_topics": []}])
async def test_a_tenant_without_topics(page: Any) -> None:
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
async def test_what_is_no_list_is_told(page: Any) -> None:
    async with asking(lambda request: answer(page)) as client:
        with pytest.raises(ServiceError) as caught:
            await client.topics()
        assert caught.value.kind is Kind.CONTENT


async def test_a_refused_token_is_replaced_once() -> None:
    def handle(request: Received) -> Step:
        if request.headers["authorization"] == "Bearer token-1":
            return answer({"message": "expired"}, 401)
        return answer({"custom_topics": []})

    async with Server(with_token(handle)) as server, client_of(server) as client:
        assert await client.topics() == []
        assert [one.target for one in server.received].count("/token") == 2


async def test_a_role_that_may_not_write_is_told() -> None:
    async with Server(with_token(lambda request: answer({"Error": "denied"}, 403))) as server:
        async with client_of(server) as client:
            with pytest.raises(ServiceError, match=r"denied .the role of this service account"):
                await client.create_topic("a", "b", ("c", "d"))
        assert [method for method, _ in calls(server)] == ["POST", "POST"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"status_code": 400, "error_message": "one", "message": "two"}, "one"),
        ({"message": "two", "error": {"message": "three"}}, "two"),
        ({"error": {"message": "three"}}, "three"),
        ({"error": "four"}, "four"),
    ],
)
async def test_the_order_of_messages(body: Any, told: str) -> None:
    async with asking(lambda request: answer(body, 400)) as client:
        with pytest.raises(ServiceError, match=f"HTTP 400: {told}$"):
            await client.topics()


async def test_a_delete_whose_answer_was_lost() -> None:
    steps = iter([reset, answer({}, 404)])
    async with asking(lambda request: next(steps)) as client:
        assert await client.delete_topic(NOBODY) == "deleted"


async def test_a_delete_of_nothing_is_told() -> None:
    async with asking(lambda request: answer({}, 404)) as client:
        with pytest.raises(ServiceError):
            await client.delete_topic(NOBODY)


@pytest.mark.parametrize("name", ["", "../x", "1234", f"{NOBODY}/force", "\x1b"])
async def test_what_is_no_id_is_not_sent(name: str) -> None:
    async with Server(with_token(lambda request: answer({}))) as server:
        async with client_of(server) as client:
            with pytest.raises(AirsError, match="no id"):
                await client.delete_topic(name)
        assert server.received == []


async def test_a_server_that_does_not_know_latest() -> None:
    def handle(request: Received) -> Step:
        if "latest" in request.target:
            return answer({"message": "unknown parameter"}, 400)
        rows = [{"profile_name": "p", "revision": k, "profile_id": str(k)} for k in (2, 9, 1)]
        return answer({"ai_profiles": rows})

    async with Server(with_token(handle)) as server, client_of(server) as client:
        (found,) = await client.profiles(latest=True)
        assert found.revision == 9


async def test_a_conflict_about_a_profile_that_was_just_made() -> None:
    made: list[Any] = []

    def handle(request: Received) -> Step:
        if request.method == "POST":
            made.append({**request.json, "profile_id": NOBODY, "revision": 1})
            return answer({"error_message": "conflict"}, 409)
        return answer({"ai_profiles": made})

    async with Server(with_token(handle)) as server, client_of(server) as client:
        assert (await client.create_profile("mine")).profile_id == NOBODY
