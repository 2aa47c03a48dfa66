"""A profile as a session uses it: looked at, changed, waited for, scanned by what it does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from guardtui.http.address import Endpoint
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.connectivity import contact
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.undo_journal import UndoRecord

from .conftest import TAX_TOPIC, Stage


@pytest.fixture
def connection(stage: Stage) -> AirsConnection:
    settings = replace(stage.settings, profile="sandbox")
    return AirsConnection(settings, clock=stage.clock)


async def test_applied_change_is_planned_back_and_reverted(
    stage: Stage, connection: AirsConnection
) -> None:
    records: list[UndoRecord | None] = []
    shown = await connection.look(TAX_TOPIC)
    assert shown is not None
    done = await connection.apply(TAX_TOPIC, shown, journal=records.append)
    assert (records, done.warnings) == ([done.before], ())
    back = await connection.revert(done.before, send=False)
    assert (await connection.revert(done.before)).changes == back.changes
    assert "is in its previous state again" in back.changes[0]


async def test_equal_pinned_texts_have_equal_fingerprints(
    stage: Stage, connection: AirsConnection
) -> None:
    other = TAX_TOPIC.model_copy(update={"description": "Advice on business tax"})
    first = await connection.apply(TAX_TOPIC)
    then = connection.in_effect(TAX_TOPIC, first)
    second = await connection.apply(other)
    assert (await connection.revert(second.before)).topic_revision == 3
    plan = await connection.look(TAX_TOPIC)
    assert plan is not None
    assert (plan.changes, plan.unknown) == ((), None)
    now = connection.in_effect(TAX_TOPIC, plan)
    assert then is not None
    assert now is not None
    assert now.fingerprint == then.fingerprint
    again = await connection.apply(TAX_TOPIC)
    assert (again.changes, again.profile.revision) == ((), now.profile.revision)
    stranger = AirsConnection(connection.settings, clock=stage.clock)
    plan = await stranger.look(TAX_TOPIC)
    assert plan is not None
    assert (plan.changes, plan.unknown) == (("topic Tax advice: revision 1 → 3",), 1)


async def test_wait_reports_its_probes(stage: Stage, connection: AirsConnection) -> None:
    stage.change(propagation="7s")
    done = await connection.apply(TAX_TOPIC)
    reports: list[tuple[int, str]] = []
    live = await connection.wait(
        TAX_TOPIC, done.profile, report=lambda probes, _, reason: reports.append((probes, reason))
    )
    assert live.live
    assert [probes for probes, _ in reports] == list(range(1, live.probes))
    assert {reason for _, reason in reports} == {"an older revision of the profile still answers"}


async def test_profile_without_topics_is_waited_for_too(
    stage: Stage, connection: AirsConnection
) -> None:
    done = await connection.apply(TAX_TOPIC)
    back = await connection.revert(done.before)
    live = await connection.wait(TAX_TOPIC, back.profile, as_expected=False)
    assert (live.live, live.probes) == (True, 1)


async def test_active_revision_includes_all_topics(
    stage: Stage, connection: AirsConnection
) -> None:
    done = await connection.apply(TAX_TOPIC)
    now = await connection.active()
    assert now is not None
    assert now.profile.profile_id == done.profile.profile_id
    assert len(now.fingerprint) == 64
    alone = AirsConnection(
        replace(stage.settings, profile="sandbox", client_id="", client_secret=None)
    )
    assert (await alone.active(), await alone.look(TAX_TOPIC)) == (None, None)


def test_connection_for_topics_alone_needs_no_key() -> None:
    settings = AirsSettings.load({"profile": "p"}, {}, Path("/nonexistent/config.json"))
    with pytest.raises(AirsError, match="needs an API key"):
        AirsConnection(settings)
    assert AirsConnection(settings, scans=False).profile == "p"


async def test_contact_sends_no_key(stage: Stage) -> None:
    reached = await contact(stage.settings.scan_endpoint, clock=stage.clock)
    assert reached.ahead is not None
    assert stage.answered["prompts"]["asked"]["total"] == 0
    with pytest.raises(ServiceError) as caught:
        await contact(Endpoint.parse("http://127.0.0.1:1"))
    assert caught.value.kind is ErrorKind.UNREACHABLE
