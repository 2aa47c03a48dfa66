"""The state file: kept over restarts, whole, of one server at a time; a failure changes nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from guardtui.files.problems import FileError
from guardtui.sandbox.app import Sandbox
from guardtui.sandbox.judging import TopicMatcher
from guardtui.sandbox.state_file import StateFile

from .conftest import BAKING, BREAD, TAX, TOPIC, Client, Start

REVISION = {
    "revision": 1,
    "topic_name": "x",
    "description": "x",
    "examples": ["x"],
    "last_modified_ts": "",
}
RECORD = {"topic_id": "x", "created_ts": "", "revisions": [REVISION]}
GROUPS = [{"action": "block", "topic": [{"topic_id": "y"}]}]
GUARDRAIL = {"name": "topic-guardrails", "action": "allow", "topic-list": GROUPS}
PROFILE = {
    "profile_id": "p",
    "family": "f",
    "profile_name": "mine",
    "revision": 1,
    "policy": {
        "ai-security-profiles": [{"model-configuration": {"model-protection": [GUARDRAIL]}}]
    },
    "last_modified_ts": "",
}


async def state_of(client: Client) -> Any:
    listed = [await client.ask("GET", f"/v1/mgmt/{name}") for name in ("topics", "profiles")]
    return [one.body for one in listed]


async def test_state_survives_a_restart(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    first = await start(path)
    topic = await first.create()
    await first.apply(("block", topic))
    await first.ask("PUT", f"/v1/mgmt/topic/uuid/{topic['topic_id']}", {**BREAD})
    kept = await state_of(first)
    await first.sandbox.stop()
    second = await start(path)
    assert await state_of(second) == kept
    # Revisions are there too: the profile pins the first.
    assert await second.violates(TAX)
    assert not await second.violates(BAKING)


@pytest.mark.skipif(os.name == "nt", reason="links")
async def test_second_server_is_refused(start: Start, engine: TopicMatcher, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    client = await start(path)
    with pytest.raises(FileError, match="another sandbox uses this state"):
        Sandbox(state=path, engine=engine)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    with pytest.raises(FileError, match="another sandbox uses this state"):
        Sandbox(state=link, engine=engine)
    await client.create()
    await client.sandbox.stop()
    again = Sandbox(state=path, engine=engine)
    assert len(again.tenant.data.topics) == 1
    await again.stop()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "empty"),
        ("{", "not a state of the sandbox"),
        ("[]", "not a state of the sandbox"),
        ('{"schema_version": 2}', "schema_version"),
        ('{"topics": [{"topic_id": "x", "created_ts": "", "revisions": []}]}', "revisions"),
        ('{"unknown": 1}', "unknown"),
        (
            json.dumps({"topics": [{**RECORD, "revisions": [{**REVISION, "revision": 2}]}]}),
            "1, 2, 3",
        ),
        (json.dumps({"profiles": [PROFILE]}), "profile mine revision 1: no topic"),
    ],
)
def test_invalid_state_file_is_reported(
    engine: TopicMatcher, tmp_path: Path, content: str, said: str
) -> None:
    path = tmp_path / "state.json"
    path.write_text(content, "utf-8")
    with pytest.raises(FileError) as caught:
        Sandbox(state=path, engine=engine)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)
    assert path.read_text("utf-8") == content


def test_missing_folder_is_reported(engine: TopicMatcher, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        Sandbox(state=tmp_path / "none" / "state.json", engine=engine)


async def test_emptied_bucket_is_kept(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    first = await start(path)
    topic = await first.create()
    await first.apply(("block", topic))
    await first.ask("DELETE", f"/v1/mgmt/topic/{topic['topic_id']}/force")
    kept = await state_of(first)
    await first.sandbox.stop()
    assert await state_of(await start(path)) == kept


@pytest.mark.skipif(os.name == "nt", reason="an open file's folder")
async def test_change_that_cannot_be_stored_is_undone(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    path = folder / "state.json"
    client = await start(path)
    topic = await client.create()
    await client.apply(("block", topic))
    kept = await state_of(client)
    folder.rename(tmp_path / "elsewhere")
    answers = [
        await client.ask("POST", "/v1/mgmt/topic", BREAD),
        await client.ask("PUT", f"/v1/mgmt/topic/uuid/{topic['topic_id']}", BREAD),
        await client.ask("DELETE", f"/v1/mgmt/topic/{topic['topic_id']}/force"),
        await client.apply(("allow", topic)),
    ]
    assert [one.status for one in answers] == [500] * 4
    assert "cannot be written" in answers[0].body["error_message"]
    assert await state_of(client) == kept
    assert await client.violates(TAX)
    (tmp_path / "elsewhere").rename(folder)
    assert (await client.ask("POST", "/v1/mgmt/topic", BREAD)).status == 200
    names = [one["revisions"][-1]["topic_name"] for one in json.loads(path.read_text())["topics"]]
    assert names == [TOPIC["topic_name"], BREAD["topic_name"]]


def test_state_without_a_file_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    state = StateFile(None)
    assert state.load() is None
    state.close()
    assert list(tmp_path.iterdir()) == []
