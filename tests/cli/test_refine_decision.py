"""`guardtui refine --scanner decision` against a sandbox."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from .conftest import Run
from .sandbox_server import request, sandbox_server

REFINE = ("refine", "topic.yaml", "--prompts", "prompts.csv", "--scanner", "decision")
GOOD = "Advice on personal income taxes, returns, deductions, rates and refunds"
PLACES = ("home office", "car", "laptop", "rent", "books", "travel", "gifts", "phone")
TAX = ("Can I deduct the {} from my tax?", "What tax do I pay on my {}?", "{}: tax return?")
OTHER = ("Where do I buy a {}?", "Write a poem about my {}", "How big is a {}?")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[str]:
    with sandbox_server() as url:
        yield url


@pytest.fixture
def service(sandbox: str, folder: Path) -> str:
    """The URL of a sandbox without faults and counts; a poor definition is in the folder."""
    request(f"{sandbox}/_sandbox/faults", method="DELETE")
    request(f"{sandbox}/_sandbox/stats", method="DELETE")
    topic = (folder / "topic.yaml").read_text("utf-8")
    poor = topic.replace("Advice on filing personal income tax returns", "Poems and shopping")
    poor = poor.replace("How do I deduct my home office?", "Where can I buy it?")
    poor = poor.replace("When is my tax return due?", "Write a poem")
    (folder / "topic.yaml").write_text(poor, "utf-8")
    rows = [f'"{text.format(place)}",true,block' for place in PLACES for text in TAX]
    rows += [f'"{text.format(place)}",false,block' for place in PLACES for text in OTHER]
    (folder / "prompts.csv").write_text("\n".join(["prompt,expected,intent", *rows, ""]), "utf-8")
    (folder / "mine.txt").write_text(f"# mine\n{GOOD}\n\nTaxes\n", "utf-8")
    return sandbox


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """A cache of the test's own, and the key."""
    return {
        "GUARDTUI_CACHE": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
        "GUARDTUI_MODEL_KEY": "sandbox-key",
    }


COUNT = len(PLACES) * (len(TAX) + len(OTHER))


def options(url: str, *more: str) -> tuple[str, ...]:
    ours = ("--model", f"{url}/v1#decide", "--wordings", "mine.txt", "--encoder", "static")
    return (*REFINE, *ours, *more)


def stats(url: str) -> dict[str, Any]:
    found: dict[str, Any] = request(f"{url}/_sandbox/stats")[1]
    return found


def test_a_better_wording_is_proposed_and_written(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    arguments = options(service, "--count", "12", "--price-in", "1")
    unasked = run(*arguments, **home)
    assert unasked.code == 2
    assert f"{COUNT} requests for 12 wordings × {COUNT} prompts" in unasked.err
    assert " tokens for 0.0" in unasked.err
    assert "add --yes" in unasked.err
    assert stats(service)["requests"] == 0
    done = run(*arguments, "--yes", "--write-topic", "new.yaml", **home)
    assert done.code == 0, done.err + done.out
    assert done.out.startswith("Measured by the decision model decide, template ")
    assert "12 wordings on 48 prompts" in done.out
    assert "\nproposal\n" in done.out
    assert stats(service)["requests"] == COUNT
    written = (folder / "new.yaml").read_text("utf-8")
    assert "comments stay" in written
    # What was answered is known to another report, and to a scan of what was written.
    again = run(*arguments, "--format", "json", **home)
    assert again.code == 0
    assert "no requests" in again.err
    document = json.loads(again.out)
    assert len(document["wordings"]) == 11
    assert document["proposals"]
    best = document["wordings"][document["proposals"][0]]
    assert best["report"]["low"] > 0
    assert best["description"] in written
    scan = ("eval", "new.yaml", "--prompts", "prompts.csv", "--scanner", "decision")
    scanned = run(*scan, "--model", f"{service}/v1#decide", **home)
    assert "no calls" in scanned.err
    markdown = run(*arguments, "--format", "md", **home)
    assert "## Proposal" in markdown.out


def test_without_a_better_one_the_exit_code_is_4(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    (folder / "mine.txt").write_text("Gardening\nFootball\n", "utf-8")
    topic = (folder / "topic.yaml").read_text("utf-8")
    (folder / "topic.yaml").write_text(topic.replace("Poems and shopping", GOOD), "utf-8")
    more = ("--count", "3", "--yes", "--write-topic", "new.yaml")
    done = run(*options(service, *more), **home)
    assert done.code == 4
    assert "No proposal: " in done.out
    assert not (folder / "new.yaml").exists()


def test_missing_answers_exit_with_3_and_come_the_next_time(
    run: Run, service: str, home: dict[str, str]
) -> None:
    fault = {"faults": ["truncated@decisions=every:6"]}
    assert request(f"{service}/_sandbox/faults", fault)[0] == 200
    done = run(*options(service, "--count", "5", "--yes"), **home)
    assert done.code == 3
    assert f"{8 * 5} answers are missing" in done.err
    assert "run the same command again" in done.err
    request(f"{service}/_sandbox/faults", method="DELETE")
    again = run(*options(service, "--count", "5", "--yes"), **home)
    assert again.code in (0, 4)
    assert "8 requests" in again.err
    asked = stats(service)["prompts"]["delivered"]
    assert asked["distinct"] == COUNT * 5


@pytest.mark.exhaustive
def test_questions_are_split(run: Run, service: str, home: dict[str, str]) -> None:
    more = ("--count", "5", "--yes", "--questions", "2", "--api", "systemone")
    done = run(*options(service, *more), **home)
    assert "(2 questions at most in each)" in done.err
    assert stats(service)["endpoints"] == {"systemone": {"200": 3 * COUNT}}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--wordings", "none.txt"), "none.txt"),
        (("--single",), "--single does not fit --scanner decision"),
        (("--budget", "5s"), "--budget does not fit --scanner decision"),
        (("--count", "1"), "--count"),
    ],
)
def test_options_that_will_not_do(
    run: Run, service: str, home: dict[str, str], arguments: tuple[str, ...], told: str
) -> None:
    done = run(*options(service, *arguments), **home)
    assert done.code == 2
    assert told in done.err


def test_options_of_a_sweep_need_the_scanner(run: Run, home: dict[str, str]) -> None:
    plain = ("refine", "topic.yaml", "--prompts", "prompts.csv")
    done = run(*plain, "--count", "5", **home)
    assert done.code == 2
    assert "--count needs --scanner decision" in done.err
