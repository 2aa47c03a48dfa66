"""The management API over real sockets: revisions, lists, deletions, what is refused."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from .conftest import BREAD, OTHER, TAX, TOPIC, Client, Start, basic

FORM = {"grant_type": "client_credentials", "scope": "tsg_id:1"}
NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.mark.parametrize("path", ["/oauth2/access_token", "/am/oauth2/access_token"])
async def test_tokens_are_issued_by_header_and_form(client: Client, path: str) -> None:
    by_header = await client.ask("POST", path, data=FORM, headers=basic())
    form = {
        "grant_type": "client_credentials",
        "client_id": "sandbox",
        "client_secret": "sandbox",
    }
    by_form = await client.ask("POST", path, data=form)
    for answer in (by_header, by_form):
        assert answer.status == 200
        assert answer.body["expires_in"] == 899
        assert answer.body["token_type"] == "Bearer"
        assert answer.body["scope"] == "tsg_id:1"
    assert by_header.body["access_token"] != by_form.body["access_token"]


@pytest.mark.parametrize(
    ("form", "secret", "status", "error"),
    [
        (FORM, "wrong", 401, "invalid_client"),
        ({"grant_type": "password"}, "sandbox", 400, "unsupported_grant_type"),
        ({**FORM, "scope": "tsg_id:2"}, "sandbox", 400, "invalid_scope"),
    ],
)
async def test_request_without_a_token_is_rejected(
    client: Client, form: dict[str, str], secret: str, status: int, error: str
) -> None:
    answer = await client.ask("POST", "/oauth2/access_token", data=form, headers=basic(secret))
    assert (answer.status, answer.body["error"]) == (status, error)
    assert answer.body["error_description"]


async def test_tokens_expire(client: Client) -> None:
    client.seconds[0] += 898
    assert (await client.ask("GET", "/v1/mgmt/topics")).status == 200
    client.seconds[0] += 1
    answer = await client.ask("GET", "/v1/mgmt/topics")
    assert answer.status == 401
    assert answer.body["status_code"] == 401
    assert answer.body["error_message"]


async def test_topic_changes_create_revisions(client: Client) -> None:
    topic = await client.create()
    assert topic["revision"] == 1
    assert topic["topic_name"] == TOPIC["topic_name"]
    path = f"/v1/mgmt/topic/uuid/{topic['topic_id']}"
    changed = await client.ask("PUT", path, {**TOPIC, "description": "Taxes", "revision": 1})
    assert changed.status == 200
    assert changed.body["revision"] == 2
    assert changed.body["topic_id"] == topic["topic_id"]
    listed = await client.ask("GET", "/v1/mgmt/topics/tsg/1")
    assert [one["description"] for one in listed.body["custom_topics"]] == ["Taxes"]
    assert (await client.ask("PUT", f"/v1/mgmt/topic/uuid/{NOBODY}", TOPIC)).status == 404


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ({}, 409, "already exists"),
        ({"topic_name": ""}, 400, "name is empty"),
        ({"topic_name": None}, 400, "topic_name"),
        ({"topic_name": "x", "description": "ü" * 126}, 400, "252 bytes"),
        ({"topic_name": "x", "examples": ["one"]}, 400, "at least 2"),
        ({"topic_name": "x", "examples": "one"}, 400, "list"),
        ({"topic_name": "x", "examples": ["a"] * 6}, 400, "at most 5"),
        ({"topic_name": "x", "active": 1}, 400, "active"),
    ],
)
async def test_invalid_topic_is_rejected(
    client: Client, change: dict[str, Any], status: int, said: str
) -> None:
    await client.create()
    answer = await client.ask("POST", "/v1/mgmt/topic", {**TOPIC, **change})
    assert answer.status == status
    assert said in answer.body["error_message"]
    assert len((await client.ask("GET", "/v1/mgmt/topics")).body["custom_topics"]) == 1


@pytest.mark.parametrize("prefix", ["", "/aisec"])
@pytest.mark.parametrize("form", ["topics", "topics/tsg/1"])
async def test_lists_are_paged(client: Client, prefix: str, form: str) -> None:
    names = [f"topic {number}" for number in range(5)]
    for name in names:
        await client.create({**TOPIC, "topic_name": name})
    path = f"{prefix}/v1/mgmt/{form}"
    seen, offset = [], 0
    while True:
        page = (await client.ask("GET", f"{path}?offset={offset}&limit=2")).body
        seen += [one["topic_name"] for one in page["custom_topics"]]
        if "next_offset" not in page:
            break
        assert page["next_offset"] == offset + 2
        offset = page["next_offset"]
    assert seen == names[::-1]
    assert (await client.ask("GET", f"{path}?limit=0")).status == 400
    assert (await client.ask("GET", f"{path}?offset=-1")).status == 400


async def test_another_tenant_is_not_shown(client: Client) -> None:
    assert (await client.ask("GET", "/v1/mgmt/topics/tsg/2")).status == 403
    assert (await client.ask("GET", "/v1/mgmt/topics", key=None)).status == 401


async def test_profile_gets_a_new_id_with_each_revision(client: Client) -> None:
    before = await client.profile()
    topic = await client.create()
    applied = await client.apply(("block", topic))
    assert applied.status == 200
    assert applied.body["revision"] == before["revision"] + 1
    assert applied.body["profile_id"] != before["profile_id"]
    everything = (await client.ask("GET", "/v1/mgmt/profiles/tsg/1")).body["ai_profiles"]
    rows = [one for one in everything if one["profile_name"] == "sandbox"]
    assert [one["revision"] for one in rows] == [2, 1]
    assert (await client.profile())["profile_id"] == applied.body["profile_id"]
    # A client that writes to an old id makes the newest revision all the same.
    path = f"/v1/mgmt/profile/uuid/{before['profile_id']}"
    again = await client.ask("PUT", path, {"profile_name": "sandbox", "policy": before["policy"]})
    assert again.body["revision"] == 3


@pytest.mark.parametrize(("order", "revisions"), [("newest", [3, 2, 1]), ("oldest", [1, 2, 3])])
async def test_list_order_is_a_setting(start: Start, order: str, revisions: list[int]) -> None:
    client = await start(list_order=order)
    topic = await client.create()
    for default in ("allow", "block"):
        await client.apply(("block", topic), default=default)
    rows = (await client.ask("GET", "/v1/mgmt/profiles")).body["ai_profiles"]
    assert [row["revision"] for row in rows if row["profile_name"] == "sandbox"] == revisions


async def test_shuffled_list_pages_contain_all_rows(start: Start) -> None:
    client = await start(list_order="shuffled")
    names = {f"topic {number}" for number in range(9)}
    for name in sorted(names):
        await client.create({**TOPIC, "topic_name": name})
    seen = []
    for offset in (0, 4, 8):
        page = await client.ask("GET", f"/v1/mgmt/topics?limit=4&offset={offset}")
        seen += [one["topic_name"] for one in page.body["custom_topics"]]
    assert seen != sorted(seen)
    assert len(seen) == len(names)
    assert set(seen) == names


async def test_policies_are_stored_as_sent(client: Client) -> None:
    topic = await client.create()
    await client.apply(("block", topic))
    profile = await client.profile()
    (entry,) = profile["policy"]["ai-security-profiles"]
    item = entry["model-configuration"]["model-protection"][-1]
    # The bucket that was not sent comes back as null.
    assert item["topic-list"][1] == {"action": "allow", "topic": None}
    del item["topic-list"][1]
    policy = profile["policy"]
    policy["of-the-future"] = {"null": None, "list": [], "text": "ü"}
    entry["model-configuration"]["unknown"] = [1, {"deep": None}]
    sent = copy.deepcopy(policy)
    path = f"/v1/mgmt/profile/uuid/{profile['profile_id']}"
    answer = await client.ask("PUT", path, {"profile_name": "sandbox", "policy": policy})
    assert answer.status == 200
    returned = answer.body["policy"]
    items = returned["ai-security-profiles"][0]["model-configuration"]["model-protection"]
    assert items[-1]["topic-list"].pop() == {"action": "allow", "topic": None}
    assert returned == sent


@pytest.mark.parametrize("name", ["sandbox", "sandbox-directional"])
async def test_invalid_policies_are_rejected(client: Client, name: str) -> None:
    topic = await client.create()
    member = {"topic_id": topic["topic_id"], "topic_name": "Tax advice", "revision": 1}
    for groups, said in [
        ([{"action": "block", "topic": []}], "empty"),
        ([{"action": "block", "topic": None}], "empty"),
        ([{"action": "block", "topic": [{**member, "topic_id": NOBODY}]}], "no topic"),
        ([{"action": "block", "topic": [{**member, "revision": 2}]}], "no revision 2"),
        ([{"action": "block", "topic": [{**member, "revision": -1}]}], "no revision"),
        ([{"action": "deny", "topic": [member]}], "allow or block"),
        ([{"action": "block", "topic": [member] * 21}], "the maximum is 20"),
        ("all", "topic-list"),
    ]:
        answer = await client.put(groups, name=name)
        assert answer.status == 400, groups
        assert said in answer.body["error_message"]
    bad = await client.put([{"action": "block", "topic": [member]}], "deny", name)
    assert bad.status == 400
    assert (await client.profile(name))["revision"] == 1


async def test_empty_topic_list_is_accepted_or_rejected_by_setting(start: Start) -> None:
    client = await start()
    assert (await client.put([])).status == 200
    strict = await start(empty_topic_list="reject")
    answer = await strict.put([])
    assert (answer.status, "topic-list is empty" in answer.body["error_message"]) == (400, True)


async def test_referenced_topic_is_not_deleted(client: Client) -> None:
    topic = await client.create()
    await client.apply(("block", topic))
    await client.put([], "allow")  # the newest revision has it no more, an old one has
    answer = await client.ask("DELETE", f"/v1/mgmt/topic/{topic['topic_id']}")
    assert answer.status == 409
    (holder,) = answer.body["payload"]
    assert (holder["profile_name"], holder["revision"]) == ("sandbox", 2)
    assert answer.body["message"]


@pytest.mark.parametrize(
    ("form", "kind"), [("{}/force?updated_by=me@example.com", str), ("force/{}", dict)]
)
async def test_topic_is_detached_by_force(client: Client, form: str, kind: type) -> None:
    topic, bread = await client.create(), await client.create(BREAD)
    await client.apply(("block", topic), ("allow", bread))
    answer = await client.ask("DELETE", f"/v1/mgmt/topic/{form.format(topic['topic_id'])}")
    assert (answer.status, type(answer.body)) == (200, kind)
    policy = (await client.profile())["policy"]
    item = policy["ai-security-profiles"][0]["model-configuration"]["model-protection"][-1]
    groups = {one["action"]: one["topic"] for one in item["topic-list"]}
    assert groups["block"] is None
    assert [one["topic_name"] for one in groups["allow"]] == ["Baking"]
    assert not await client.violates(TAX)
    assert (await client.ask("DELETE", f"/v1/mgmt/topic/{topic['topic_id']}")).status == 404
    assert (await client.ask("DELETE", f"/v1/mgmt/topic/{bread['topic_id']}")).status == 409


@pytest.mark.parametrize(("reply", "kind"), [("string", str), ("object", dict), ("empty", bytes)])
async def test_deletion_reply_is_a_setting(start: Start, reply: str, kind: type) -> None:
    client = await start(delete_reply=reply)
    topic = await client.create()
    answer = await client.ask("DELETE", f"/v1/mgmt/topic/{topic['topic_id']}")
    assert answer.status == 200
    assert isinstance(answer.body or b"", kind)


async def test_profiles_are_created_and_deleted(client: Client) -> None:
    body = {"profile_name": "mine", "active": True, "policy": {}}
    made = await client.ask("POST", "/v1/mgmt/profile", body)
    assert (made.status, made.body["revision"]) == (200, 1)
    assert (await client.ask("POST", "/v1/mgmt/profile", body)).status == 409
    assert (await client.scan(OTHER, "mine")).body["prompt_detected"] == {}
    path = f"/v1/mgmt/profile/{made.body['profile_id']}"
    assert (await client.ask("DELETE", f"{path}/force")).status == 400
    assert (await client.ask("DELETE", f"{path}/force?updated_by=me@example.com")).status == 200
    assert (await client.ask("DELETE", path)).status == 404
    assert (await client.scan(OTHER, "mine")).status == 400
    for name in ("", "x" * 101, None):
        answer = await client.ask("POST", "/v1/mgmt/profile", {**body, "profile_name": name})
        assert answer.status == 400


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/mgmt/nothing", 404),
        ("GET", "/v1/mgmt/topic", 405),
        ("POST", "/v1/mgmt/topics", 405),
        ("DELETE", "/v1/mgmt/topic/not-an-id", 404),
        ("GET", "/", 404),
    ],
)
async def test_unknown_paths_and_methods_are_rejected(
    client: Client, method: str, path: str, status: int
) -> None:
    answer = await client.ask(method, path)
    assert (answer.status, answer.body["status_code"]) == (status, status)


async def test_non_json_body_is_rejected(client: Client) -> None:
    for data in (b"{", b"", b"[1]"):
        answer = await client.ask("POST", "/v1/mgmt/topic", data=data)
        assert answer.status == 400
