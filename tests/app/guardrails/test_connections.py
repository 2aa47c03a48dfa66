"""Which guardrail a session uses after one was chosen, and whose verdicts are shown then."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from guardtui.app.guardrails.choice import with_guardrail
from guardtui.app.guardrails.connections import Connections
from guardtui.app.guardrails.named import FILE, NamedGuardrail, find_guardrail
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.app.state import AppState, Store
from guardtui.scanners.configuration import AirsConfiguration
from guardtui.session.workspace import Workspace
from tests.app.editing.test_topic_opening import topic
from tests.app.guardrails.test_choice import AIRS, ENGINE, JUDGE, keyring, options
from tests.app.headless import ScriptedAuthor
from tests.guardrails import airs_settings

__all__ = ["keyring", "topic"]

BY_AIRS = airs_settings("prod", "3")
BY_ANOTHER = airs_settings("prod2", "3")


@pytest.fixture
def workspace(topic: Path) -> Workspace:
    return Workspace.open(topic)


def connected(workspace: Workspace, options: RemoteOptions) -> Connections:
    store = Store(AppState(workspace.session.topic, workspace.prompts))
    path = workspace.topic_file.path
    return Connections(store, workspace.store, ScriptedAuthor(), options, path)


def chosen(connections: Connections, guardrail: NamedGuardrail, key: str = "k") -> None:
    connections.choose(guardrail, with_guardrail(connections.options, guardrail, key))


def test_verdicts_of_the_chosen_guardrail_alone_are_followed(workspace: Workspace) -> None:
    connections = connected(workspace, options())
    assert connections.kind is None
    assert connections.follows(BY_AIRS)
    chosen(connections, AIRS)
    assert connections.kind == "airs"
    assert connections.follows(BY_AIRS)
    assert connections.follows(airs_settings("prod", "3", epochs=3, reducer="mode"))
    assert not connections.follows(BY_ANOTHER)
    chosen(connections, JUDGE)
    judge = connections.model
    assert judge is not None
    assert connections.follows(judge.scanner().settings)
    assert not connections.follows(BY_AIRS)
    chosen(connections, ENGINE, "")
    assert connections.model is None
    assert connections.agreed_connection() is None
    assert not connections.follows(judge.scanner().settings)
    assert "engine only" in connections.refusal


def test_what_was_chosen_is_offered_the_next_time_and_flags_win(workspace: Workspace) -> None:
    chosen(connected(workspace, options()), JUDGE)
    again = connected(workspace, options(PANW_AI_SEC_API_KEY="k"))
    assert again.model is None  # no prompt goes there before the author agrees
    assert "scanned by a model before" in again.refusal
    flags = replace(
        options(PANW_AI_SEC_API_KEY="k"), airs=AirsConfiguration.model_validate({"profile": "prod"})
    )
    assert connected(workspace, flags).refusal == ""


def test_the_profile_that_was_chosen_is_the_one_to_connect_to(workspace: Workspace) -> None:
    chosen(connected(workspace, options()), AIRS)
    again = connected(workspace, options(PANW_AI_SEC_API_KEY="k"))
    assert (again.remembered_profile, again.refusal) == ("prod", "")


def test_a_profile_with_a_name_is_used_again_with_all_its_values(workspace: Workspace) -> None:
    topic = workspace.topic_file.path
    team = topic.with_name(FILE)
    team.write_text("prod: {kind: airs, profile: p, region: de}\n", "utf-8")
    chosen(connected(workspace, options()), find_guardrail("prod", topic))
    variables = {"PANW_AI_SEC_API_KEY": "k", "PANW_AI_SEC_PROFILE_NAME": "other"}
    again = connected(workspace, options(**variables))
    settings = again.options.settings()
    assert (again.refusal, settings.profile) == ("", "p")
    assert settings.scan_endpoint.host.startswith("service-de.")
    team.unlink()
    gone = connected(workspace, options(**variables))
    assert "there is no guardrail 'prod'" in gone.refusal
    named = replace(options(**variables), guardrail=ENGINE)
    assert "engine only" in connected(workspace, named).refusal


def test_a_message_is_titled_by_the_guardrail_unless_it_begins_with_it(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    titles: list[str] = []
    monkeypatch.setattr(
        ScriptedAuthor, "notify", lambda _, message, *, title, **more: titles.append(title)
    )
    connections = connected(workspace, options())
    for message in ("AIRS needs an API key", "This tenant has no security profile."):
        connections.warn(message)
    assert titles == ["", "AIRS"]
