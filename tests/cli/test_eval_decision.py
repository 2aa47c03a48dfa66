"""`guardtui eval` and `guardrails template` with a decision model, against a sandbox."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("aiohttp")

from .conftest import NEGATIVE, POSITIVE, Run
from .sandbox_server import request, sandbox_server

COUNT = len(POSITIVE) + len(NEGATIVE)
DECISION = ("eval", "topic.yaml", "--prompts", "prompts.csv")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[str]:
    with sandbox_server() as url:
        yield url


@pytest.fixture
def service(sandbox: str) -> str:
    """The URL of a sandbox without faults and counts."""
    request(f"{sandbox}/_sandbox/faults", method="DELETE")
    request(f"{sandbox}/_sandbox/stats", method="DELETE")
    return sandbox


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """A cache of the test's own, and the key."""
    return {
        "GUARDTUI_CACHE": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
        "GUARDTUI_MODEL_KEY": "sandbox-key",
    }


def model(url: str) -> tuple[str, str]:
    return ("--guardrail", f"decision:{url}/v1#decide")


def requests(url: str) -> int:
    count: int = request(f"{url}/_sandbox/stats")[1]["requests"]
    return count


def fault(url: str, *faults: str, **settings: Any) -> None:
    assert request(f"{url}/_sandbox/faults", {"faults": faults, **settings})[0] == 200


def test_a_report_names_the_model_and_counts_what_it_cost(
    run: Run, service: str, home: dict[str, str]
) -> None:
    arguments = (*DECISION, *model(service), "--set", "price-in=2")
    done = run(*arguments, "--format", "json", **home)
    assert done.code == 0, done.err
    assert done.err.startswith(f"{COUNT} calls for {COUNT} prompts\nabout ")
    assert " tokens, cost about 0.00" in done.err
    document = json.loads(done.out)
    guardrail = document["guardrail"]
    assert (guardrail["kind"], guardrail["models"]) == ("decision", ["decide"])
    assert (document["threshold"], document["threshold_source"]) == (0.5, "built-in")
    assert all(0 <= row["score"] <= 1 for row in document["results"])
    assert document["usage"]["calls"] == COUNT
    table = run(*arguments, **home)
    verdict, *_ = table.out.splitlines()
    assert "measured by the decision model decide, threshold 0.500 (built-in), " in verdict
    assert "no calls" in table.err
    assert requests(service) == COUNT


def test_another_threshold_makes_no_requests(run: Run, service: str, home: dict[str, str]) -> None:
    arguments = (*DECISION, *model(service), "--format", "json")
    first = json.loads(run(*arguments, **home).out)
    other = run(*arguments, "--threshold", "0.999", **home)
    document = json.loads(other.out)
    assert document["threshold_source"] == "by hand"
    assert document["rates"] != first["rates"]
    scores = [[row["score"] for row in one["results"]] for one in (first, document)]
    assert scores[0] == scores[1]
    assert requests(service) == COUNT
    few = run(*arguments, "--threshold", "fitted", **home)
    assert few.code == 2
    assert "at least 10 are needed" in few.err


def test_a_fitted_threshold_is_found_in_the_probabilities(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    rows = [f'"{text} ({n})",true,block' for n in range(3) for text in POSITIVE]
    rows += [f'"{text} ({n})",false,block' for n in range(3) for text in NEGATIVE]
    (folder / "prompts.csv").write_text("\n".join(["prompt,expected,intent", *rows, ""]), "utf-8")
    fault(service, "rounded=1")
    done = run(*DECISION, *model(service), "--threshold", "fitted", **home)
    assert done.code == 0, done.err
    assert "fitted to 30 labels" in done.out
    assert requests(service) == len(rows)


@pytest.mark.parametrize("kind", ["refused", "missing", "doubled", "out-of-range", "other-model"])
def test_an_invalid_answer_is_no_verdict_and_the_exit_code_is_3(
    run: Run, service: str, home: dict[str, str], kind: str
) -> None:
    fault(service, f"{kind}@decisions=every:5")
    done = run(*DECISION, *model(service), **home)
    assert done.code == 3
    assert f"2 of {COUNT} prompts have no verdict" in done.err
    fault(service)
    again = run(*DECISION, *model(service), **home)
    assert again.code == 0
    assert again.err.startswith(f"2 calls for {COUNT} prompts, 8 of them from the cache")


def test_an_edited_question_is_sent_in_the_other_format(
    run: Run, service: str, home: dict[str, str], folder: Path
) -> None:
    shipped = run("guardrails", "template", "decision", **home)
    assert shipped.out.startswith("[question]\n")
    question = folder / "question.txt"
    question.write_text(shipped.out.replace("Treat the text", "Take the text"), "utf-8")
    template = ("--set", "template=question.txt", "--set", "api=systemone")
    done = run(*DECISION, *model(service), *template, **home)
    assert done.code == 0, done.err
    assert ", systemone, template " in done.out
    question.write_text("Is it about {topic}?", "utf-8")
    bad = run(*DECISION, *model(service), "--set", "template=question.txt", **home)
    assert bad.code == 2
    assert "question.txt:1: unknown placeholder {topic}" in bad.err
    assert "guardtui guardrails template decision" in bad.err
