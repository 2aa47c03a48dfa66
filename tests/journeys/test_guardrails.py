"""An author asks real guardrails: plan, apply, scan, forecast, flips, revert; judge, decision."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("aiohttp")

from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.decision import DecisionOptions
from guardtui.scanners.models.judge import JudgeOptions
from tests.cli.sandbox_server import request, sandbox_server
from tests.http.server import Received, Server, Step, answer
from tests.journeys.author import Author
from tests.journeys.conftest import profile_variables
from tests.journeys.shell import Shell
from tests.scanners.models.judges import asked, said
from tests.tui.tax_app import ROWS

START = "Personal tax advice"
NO_FILE = Path("/nonexistent/config.json")
AIRS = ("--guardrail", "airs:sandbox")


@pytest.fixture
def airs(folder: Path) -> Iterator[dict[str, str]]:
    """The variables of a client of a sandbox of AIRS."""
    with sandbox_server() as url:
        yield profile_variables(url)


@pytest.fixture
def remote(airs: dict[str, str]) -> RemoteOptions:
    return RemoteOptions(environment=airs, config=NO_FILE)


def sent(airs: dict[str, str]) -> int:
    """How many prompts the sandbox was asked."""
    url = airs["PANW_AI_SEC_API_ENDPOINT"]
    return int(request(f"{url}/_sandbox/stats")[1]["prompts"]["asked"]["total"])


async def test_a_plan_that_is_dismissed_sends_nothing(
    author: Author, remote: RemoteOptions, airs: dict[str, str]
) -> None:
    await (
        author.opens("tax", remote=remote)
        .does("scan")
        .sees("Profile sandbox at 127.0.0.1", "8 prompts: 0 known, 8 calls", "To have this")
        .answers("escape")
        .sees_history(1)
    )
    assert sent(airs) == 0


async def test_a_scan_applies_the_definition_and_the_command_gets_the_same_verdicts(
    author: Author, remote: RemoteOptions, airs: dict[str, str], shell: Shell
) -> None:
    await (
        author.opens("tax", remote=remote)
        .does("scan")
        .answers("g")
        .sees("8 prompts scanned", "coverage 0.750")
        .sees_history(2)
    )
    asked = sent(airs)
    shell.runs("eval", "tax.yaml", "--prompts", "tax.csv", *AIRS, "--format", "json", **airs)
    shell.exits(0).reports("metrics", "coverage", value=0.75)
    assert sent(airs) == asked  # the verdicts were known


async def test_an_edit_is_forecast_then_scanned_kept_and_the_apply_reverted(
    author: Author, remote: RemoteOptions, airs: dict[str, str], shell: Shell
) -> None:
    await (
        author.opens("tax-advice", remote=remote)
        .does("scan")
        .answers("t", "g")
        .sees_scans(1)
        .types(" now")
        .sees("forecast of", "coverage ≈")
        .does("scan")
        .sees_scans(2)
        .keeps()
        .finds("tax-advice.yaml", "tax bill now")
        .does("revert_remote")
        .answers("y")
        .is_told("everted")
    )
    shell.runs("topics", "list", **airs).exits(0).prints("Tax advice")
    prompts = ("--prompts", "tax-advice.csv", "--set", "encoder=static")
    shell.runs("forecast", "tax-advice.yaml", *prompts).exits(0)
    shell.prints("Forecast of AIRS on this machine, profile sandbox", "rests on 2 scans")


async def test_a_discarded_definition_that_airs_still_has_is_replaced_by_the_kept_one(
    author: Author, remote: RemoteOptions, airs: dict[str, str]
) -> None:
    await (
        author.opens("tax-advice", remote=remote)
        .does("scan")
        .answers("g")
        .sees_scans(1)
        .types(" now")
        .does("scan")
        .answers("g")
        .sees_scans(2)
        .does("discard")
        .answers("y")
        .is_told("back to #1")
        .is_advised("Put #1 back. AIRS has the discarded definition")
        .sees("no longer in effect")
        .does("take_idea")
        .answers("y")
        .sees_no("Put #1 back", "no longer in effect")
    )


async def test_a_wrong_key_is_reported_and_never_shown(
    author: Author, airs: dict[str, str], shell: Shell
) -> None:
    airs["PANW_AI_SEC_API_KEY"] = "a-wrong-key"
    await (
        author.opens("tax", remote=RemoteOptions(environment=airs, config=NO_FILE))
        .does("scan")
        .answers("g")
        .is_told("the API key is wrong, expired or revoked")
        .sees("not scanned")
        .sees_no("a-wrong-key")
        .sees_history(1)
    )
    shell.runs("eval", "tax.yaml", "--prompts", "tax.csv", *AIRS, **airs).prints("API key is wrong")


async def test_what_failed_is_scanned_again_and_only_that(
    author: Author, remote: RemoteOptions, airs: dict[str, str]
) -> None:
    faults = f"{airs['PANW_AI_SEC_API_ENDPOINT']}/_sandbox/faults"
    request(faults, {"faults": ["topic-error@sync=every:3"]})
    await author.opens("tax", remote=remote).does("scan").answers("g").sees("failed")
    request(faults, {"faults": []})
    before = sent(airs)
    await author.opens("tax", remote=remote).does("scan_missing").sees("errors 0").sees_scans(1)
    assert 0 < sent(airs) - before < len(ROWS)


def by_label(request: Received) -> Step:
    """A model that is always right."""
    return said(f"ANSWER: {'yes' if dict(ROWS)[asked(request)] else 'no'}")


async def test_a_judge_is_asked_and_scans_of_an_edit_ask_it_again(author: Author) -> None:
    async with Server(by_label) as server:
        judge = JudgeOptions((ModelAddress(f"{server.url}/v1", "mock"),))
        remote = RemoteOptions(environment={}, config=NO_FILE, model=judge)
        await (
            author.opens("tax", remote=remote)
            .does("scan")
            .sees("Scan with a judge", "8 calls")
            .answers("g")
            .sees("coverage 1.000")
            .sees_history(2)
            .types(" on money")
            .sees("scans ask Judge mock")
        )


def by_probability(request: Received) -> Step:
    """Sure of what belongs, but less sure than half."""
    belongs = dict(ROWS)[request.json["input"]]
    given = {"type": "predicate", "name": "q1", "probability": 0.4 if belongs else 0.1}
    return answer({"model": "decide", "answers": [given]})


async def test_the_threshold_of_a_decision_model_is_moved_without_a_call(author: Author) -> None:
    async with Server(by_probability) as server:
        model = DecisionOptions(ModelAddress(f"{server.url}/v1", "decide"))
        remote = RemoteOptions(environment={}, config=NO_FILE, model=model)
        await author.opens("tax", remote=remote).does("scan").answers("g").sees("coverage 0.000")
        asked = len(server.received)
        await (
            author.opens("tax", remote=remote)
            .sees("coverage 0.000")
            .does("show_sweep")
            .presses("b")
            .answers("enter")
            .sees("coverage 1.000")
        )
        assert len(server.received) == asked
