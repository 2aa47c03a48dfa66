"""`guardtui refine --experiment` on a profile of AIRS, against a sandbox."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from .conftest import Result, Run
from .sandbox_server import account_variables, request
from .test_experiment import COUNT, GOOD, REFINE, home, sandbox, service, stats

__all__ = ["home", "sandbox", "service"]

PRODUCTION = ("--guardrail", "airs:sandbox-directional", "--set", "encoder=static")
TEST = ("--test-profile", "sandbox")
WORDINGS = ("--wordings", "mine.txt")


class Airs:
    """The command with an account of the sandbox, and what the sandbox has."""

    def __init__(self, run: Run, url: str, home: dict[str, str]) -> None:
        self._run, self.url = run, url
        self.variables = home | account_variables(url)

    def __call__(self, *words: str) -> Result:
        return self._run(*REFINE, *PRODUCTION, *words, **self.variables)

    def topics(self, *words: str) -> Result:
        return self._run("topics", *words, **self.variables)

    def state(self) -> Any:
        """Policies in effect, and the texts of the topics."""
        body = b"grant_type=client_credentials&client_id=sandbox&client_secret=sandbox"
        kind = {"Content_Type": "application/x-www-form-urlencoded"}
        _, token = request(f"{self.url}/oauth2/access_token", body, "POST", **kind)
        bearer = {"Authorization": f"Bearer {token['access_token']}"}
        base = f"{self.url}/aisec/v1/mgmt"
        _, profiles = request(f"{base}/profiles?latest=true", None, "GET", **bearer)
        _, topics = request(f"{base}/topics", None, "GET", **bearer)
        return (
            {row["profile_name"]: row["policy"] for row in profiles["ai_profiles"]},
            {row["topic_name"]: row["description"] for row in topics["custom_topics"]},
        )


@pytest.fixture
def airs(run: Run, service: str, home: dict[str, str]) -> Airs:
    airs = Airs(run, service, home)
    for profile in ("sandbox", "sandbox-directional"):
        done = airs.topics("apply", "topic.yaml", "--guardrail", f"airs:{profile}", "--yes")
        assert done.code == 0, done.err
    return airs


def test_a_wording_is_better_on_the_profile_for_tests_which_is_as_before_afterwards(
    airs: Airs, folder: Path
) -> None:
    before = airs.state()
    unasked = airs(*TEST, *WORDINGS)
    assert unasked.code == 2
    assert "Profile sandbox has each candidate in turn" in unasked.err
    assert "keep the revision of the topic that they pin: sandbox-directional" in unasked.err
    assert "applies of 12 s (assumed)" in unasked.err
    assert airs.state() == before
    done = airs(*TEST, *WORDINGS, "--yes", "--format", "json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["candidates"][report["best"]]["topic"]["description"] in (GOOD, "Taxes")
    assert report["guardrail"]["profile"] == "sandbox"
    assert report["calls"] >= COUNT
    assert airs.state() == before
    assert "applies of 0 s (measured)" in airs(*TEST, *WORDINGS).err


def test_the_profile_in_production_is_named_only_on_purpose(airs: Airs) -> None:
    unnamed = airs("--yes")
    assert unnamed.code == 2
    assert "name one for tests with --test-profile" in unnamed.err
    same = airs("--test-profile", "sandbox-directional", *WORDINGS)
    assert "is the one in production: each candidate judges real traffic" in same.err
    unknown = airs("--test-profile", "nowhere", *WORDINGS, "--yes")
    assert unknown.code == 2
    assert "no profile is named 'nowhere'" in unknown.err


def test_a_failing_management_is_not_completed_and_leaves_nothing(airs: Airs) -> None:
    before = airs.state()
    fault = {"faults": ["403@topic-update=first:9"]}
    assert request(f"{airs.url}/_sandbox/faults", fault)[0] == 200
    done = airs(*TEST, *WORDINGS, "--yes")
    assert done.code == 3, done.err
    assert "every verdict is stored; to go on: " in done.err
    request(f"{airs.url}/_sandbox/faults", method="DELETE")
    assert airs.state() == before
    again = airs(*TEST, "--resume", "--yes")
    assert again.code == 0, again.err
    assert airs.state() == before


@pytest.mark.process
def test_after_sigkill_the_next_run_reverts_and_after_an_interrupt_nothing_is_left(
    airs: Airs, folder: Path
) -> None:
    before = airs.state()
    assert request(f"{airs.url}/_sandbox/faults", {"latency": "20ms"})[0] == 200
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[2])}
    more: tuple[str, ...] = WORDINGS
    for number, ending in enumerate((signal.SIGKILL, signal.SIGINT)):
        process = subprocess.Popen(
            [sys.executable, "-m", "guardtui", *REFINE, *PRODUCTION, *TEST, *more, "--yes"],
            cwd=folder,
            env=environment | airs.variables,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        wanted = COUNT + 5 + 20 * number
        while stats(airs.url)["prompts"]["delivered"]["total"] < wanted:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(ending)
        _, told = process.communicate()
        if ending == signal.SIGKILL:
            assert airs.state() != before
        else:
            assert process.returncode == 130, told
            assert b"was interrupted; the profile still has candidate" in told
            assert b"it is reverted" in told
            assert airs.state() == before
        more = ("--resume",)
    done = airs(*TEST, *more, "--yes", "--format", "json")
    assert done.code == 0, done.err
    assert "was interrupted" not in done.err
    assert airs.state() == before
