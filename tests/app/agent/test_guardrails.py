"""The loop of an agent with guardrails that cost calls: budgets, records and experiments."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("aiohttp")

from guardtui.app.agent.errors import AgentError
from guardtui.app.agent.loop import AgentFiles, AgentLoop, Wording
from guardtui.app.guardrails.named import find_guardrail
from guardtui.app.labels.inbox import Inbox
from guardtui.app.labels.logged_verdicts import add_logged, record_logged
from guardtui.files.prompt_logs import PromptLog
from guardtui.session.session import Recorder
from guardtui.session.session_file import session_file
from guardtui.session.store import SessionStore
from tests.app.agent.test_loop import BETTER, FIRST, TOPIC, WORSE
from tests.cli.sandbox_server import account_variables, request, sandbox_server
from tests.http.waits import soon

__all__ = ["soon"]

SUBJECTS = ("income tax", "a tax refund", "my tax return", "bread", "dragons", "the train")
COUNT = 60


@pytest.fixture(scope="module")
def sandbox() -> Iterator[str]:
    with sandbox_server() as url:
        yield url


@pytest.fixture
def service(sandbox: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the URL of a sandbox without faults, whose key is in the environment."""
    monkeypatch.setenv("GUARDTUI_MODEL_KEY", "sandbox-key")
    request(f"{sandbox}/_sandbox/faults", method="DELETE")
    request(f"{sandbox}/_sandbox/stats", method="DELETE")
    yield sandbox
    request(f"{sandbox}/_sandbox/faults", method="DELETE")


@pytest.fixture
def files(tmp_path: Path) -> AgentFiles:
    rows = [f"{SUBJECTS[row % 6]} {row},{str(row % 6 < 3).lower()}" for row in range(COUNT)]
    (tmp_path / "t.csv").write_text("\n".join(["prompt,expected", *rows, ""]))
    (tmp_path / "t.yaml").write_text(TOPIC.format(FIRST))
    return AgentFiles(tmp_path / "t.yaml", tmp_path / "t.csv")


def loop_of(files: AgentFiles, url: str, *, calls: int = 1000, writes: bool = True) -> AgentLoop:
    guardrail = find_guardrail(f"decision:{url}/v1#decide", files.topic)
    return AgentLoop(files, guardrail, encoder="static", writes=writes, calls=calls)


def asked(url: str) -> int:
    return int(request(f"{url}/_sandbox/stats")[1]["requests"])


async def test_scan_beyond_the_budget_is_refused_before_it_begins(
    files: AgentFiles, service: str
) -> None:
    loop = loop_of(files, service, calls=COUNT + 10)
    first = await loop.evaluate()
    assert (first["complete"], first["iteration"], first["calls_left"]) == (True, 0, 10)
    assert (await loop.evaluate())["calls_left"] == 10  # cached
    with pytest.raises(
        AgentError, match=rf"takes {COUNT} calls.*10 of {COUNT + 10} are left"
    ) as no:
        await loop.evaluate(description=BETTER)
    assert "--allow-calls" in str(no.value)
    assert asked(service) == COUNT


async def test_no_call_is_made_without_leave(files: AgentFiles, service: str) -> None:
    loop = loop_of(files, service, calls=0)
    for call in (loop.evaluate(), loop.experiment()):
        with pytest.raises(AgentError, match="none are allowed"):
            await call
    assert (asked(service), session_file(files.topic).exists()) == (0, False)


async def test_paid_verdicts_are_cached_without_leave_to_write(
    files: AgentFiles, service: str
) -> None:
    loop = loop_of(files, service, writes=False)
    assert (await loop.evaluate())["iteration"] is None
    with pytest.raises(AgentError, match="--allow-write"):
        await loop.experiment()
    assert (asked(service), session_file(files.topic).exists()) == (COUNT, False)


async def test_cancelled_evaluation_keeps_its_verdicts_and_counts_its_calls(
    files: AgentFiles, service: str
) -> None:
    request(f"{service}/_sandbox/faults", {"faults": ["timeout@decisions=after:20"]})
    loop = loop_of(files, service)
    call = asyncio.create_task(loop.evaluate())
    while asked(service) < 20:
        await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await loop.close()
    (iteration,) = SessionStore(files.topic).iterations()
    assert 0 < iteration.evaluation.metrics.total < COUNT
    assert iteration.by is Recorder.AGENT
    request(f"{service}/_sandbox/faults", method="DELETE")
    trial = await loop.evaluate()
    assert (trial["iteration"], trial["complete"]) == (0, True)
    assert trial["calls_left"] <= 1000 - COUNT
    assert asked(service) <= 1000 - trial["calls_left"]


@pytest.mark.usefixtures("soon")
async def test_retries_are_counted(files: AgentFiles, service: str) -> None:
    request(f"{service}/_sandbox/faults", {"faults": ["500@answers=every:2"]})
    loop = loop_of(files, service)
    trial = await loop.evaluate()
    assert asked(service) > COUNT
    assert trial["calls_left"] == 1000 - asked(service)
    request(f"{service}/_sandbox/faults", {"faults": ["500@answers=1.0"]})
    trial = await loop.evaluate(description=BETTER)
    assert trial["metrics"]["errors"]
    assert trial["calls_left"] <= 1000 - asked(service) < 1000 - 2 * COUNT


async def test_experiment_of_an_agent_records_what_it_proves(
    files: AgentFiles, service: str
) -> None:
    loop = loop_of(files, service)
    await loop.evaluate()
    wordings = [Wording("Trains", ("bread", "dragons")), Wording(BETTER)]
    answer = await loop.experiment(wordings)
    assert answer["better"]
    assert answer["definition"]["description"] == BETTER
    # A request may ask about several definitions; each is a call.
    assert answer["calls_left"] == 1000 - COUNT - answer["calls"] <= 1000 - asked(service)
    better = SessionStore(files.topic).iterations()[answer["iteration"]]
    assert (better.by, better.evaluation.topic.description) == (Recorder.AGENT, BETTER)
    trial = await loop.evaluate(description=BETTER, examples=list(better.evaluation.topic.examples))
    assert (trial["iteration"], trial["complete"]) == (answer["iteration"], True)
    assert (await loop.keep())["definition"]["description"] == BETTER


async def test_wording_beyond_the_limits_is_refused(files: AgentFiles, service: str) -> None:
    loop = loop_of(files, service)
    with pytest.raises(AgentError, match="wording 2: description"):
        await loop.experiment([Wording("Tax"), Wording("tax " * 100)])
    assert asked(service) == 0


async def test_engine_makes_no_experiments(files: AgentFiles) -> None:
    loop = AgentLoop(files, encoder="static", writes=True, calls=10)
    with pytest.raises(AgentError, match="--guardrail NAME"):
        await loop.experiment()


# --- a profile of AIRS ------------------------------------------------------------------------


@pytest.fixture
def account(service: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL of the sandbox, whose account is in the environment."""
    for name, value in account_variables(service).items():
        monkeypatch.setenv(name, value)
    return service


def on_profile(files: AgentFiles, *, calls: int = 1000, writes: bool = True) -> AgentLoop:
    guardrail = find_guardrail("airs:sandbox", files.topic)
    return AgentLoop(files, guardrail, encoder="static", writes=writes, calls=calls)


def scans(url: str) -> int:
    """Return the number of scans that the sandbox has got, probes included."""
    return sum(request(f"{url}/_sandbox/stats")[1]["endpoints"]["sync"].values())


async def test_edit_is_deployed_before_it_is_measured_and_only_with_leave(
    files: AgentFiles, account: str
) -> None:
    with pytest.raises(AgentError, match=r"has another definition.*\n.*--allow-write"):
        await on_profile(files, writes=False).evaluate()
    with pytest.raises(AgentError, match="10 of 10 are left"):
        await on_profile(files, calls=10).evaluate()
    loop = on_profile(files)
    first = await loop.evaluate()
    assert (first["iteration"], first["complete"]) == (0, True)
    assert any("guardtui topics revert" in warning for warning in first["warnings"])
    trial = await loop.evaluate(description=BETTER)
    probes = 1000 - 2 * COUNT - trial["calls_left"]
    assert probes >= 2  # of each deployed definition
    assert trial["metrics"]["coverage"] != first["metrics"]["coverage"]
    # What the profile has already needs no leave to write.
    read_only = on_profile(files, writes=False)
    with pytest.raises(AgentError, match="has another definition"):
        await read_only.evaluate()
    again = await read_only.evaluate(description=BETTER)
    assert (again["calls_left"], "warnings" in again) == (1000, False)
    await loop.close()


async def test_discard_says_that_the_profile_has_the_trial_still(
    files: AgentFiles, account: str
) -> None:
    loop = on_profile(files)
    await loop.evaluate()
    await loop.evaluate(description=BETTER)
    await loop.keep()
    await loop.evaluate(description=WORSE)
    (told,) = (await loop.discard())["warnings"]
    assert told.startswith("profile sandbox still has the definition that was evaluated last; ")
    assert "guardtui topics revert" in told
    await loop.evaluate()
    await loop.evaluate(name="Taxes", description=WORSE)
    renamed = await loop.evaluate()
    assert any("topic 'Taxes', renamed in this file" in told for told in renamed["warnings"])
    await loop.close()


async def test_prompts_with_a_verdict_of_production_cost_no_calls(
    files: AgentFiles, account: str
) -> None:
    (files.topic.parent / "log.jsonl").write_text(
        "\n".join(
            json.dumps({"prompt": f"{SUBJECTS[row % 6]} {row}", "triggered": row % 6 < 3})
            for row in range(20)
        )
    )
    inbox = Inbox.of_topic(files.topic, files.prompts)
    add_logged(inbox, files.topic, PromptLog(files.topic.parent / "log.jsonl"), "airs:sandbox")
    (logged,) = record_logged(inbox, files.topic)
    assert logged.evaluation.metrics.total == 20
    loop = on_profile(files)
    first = await loop.evaluate()
    (recorded,) = SessionStore(files.topic).iterations()
    assert (recorded.by, recorded.evaluation.metrics.missing) == (Recorder.COMPLETED_LOG, 0)
    assert first["complete"]
    assert 1000 - first["calls_left"] < COUNT
    await loop.close()


async def test_definition_that_airs_would_reject_is_refused(
    files: AgentFiles, account: str
) -> None:
    with pytest.raises(AgentError, match="would reject"):
        await on_profile(files).evaluate(description="tax " * 100)


async def test_edit_is_not_measured_where_the_profile_cannot_be_looked_up(
    files: AgentFiles, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLIENT_ID", "CLIENT_SECRET", "TSG_ID"):
        monkeypatch.delenv(f"PANW_MGMT_{name}")
    loop = on_profile(files)
    trial = await loop.evaluate()
    assert trial["warnings"] == ["whether profile sandbox has this definition is unknown"]
    with pytest.raises(AgentError, match="has to be deployed first"):
        await loop.evaluate(description=BETTER)


async def test_experiment_leaves_the_profile_as_it_was_and_counts_its_probes(
    files: AgentFiles, account: str
) -> None:
    loop = on_profile(files)
    before = (await loop.evaluate())["calls_left"]
    sent = scans(account)
    answer = await loop.experiment([Wording(BETTER)])
    assert answer["candidates_tried"] > 0
    assert answer["calls"] < before - answer["calls_left"] == scans(account) - sent
    assert (await loop.evaluate())["calls_left"] == answer["calls_left"]  # still deployed
    await loop.close()
