"""`guardtui inbox draft`: by rules, and by a writer that may answer anything."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from guardtui.domain.inbox import State
from guardtui.files.inbox_file import inbox_path

from .conftest import NEGATIVE, POSITIVE, Run
from .grading_server import Answer, GradingServer, failed, grading_server, said

DRAFT = ("inbox", "draft", "topic.yaml", "--prompts", "prompts.csv")
ROWS = [
    {"kind": "advice into fact", "from": 1, "prompt": "Who invented the tax return?"},
    {"kind": "shorter", "from": 2, "prompt": "tax return when"},
    {"kind": "casual", "prompt": "how do i BAKE bread"},
    {"kind": "casual", "prompt": "x" * 500},
]


@contextmanager
def writing(answer: Answer) -> Iterator[GradingServer]:
    """A writer that gives one answer; it records the messages of the user."""
    with grading_server(lambda text, before: answer, message=-1) as server:
        yield server


def drafts(*rows: Any) -> Answer:
    return said(f"Here:\n{json.dumps({'drafts': rows})}")


def by(server: GradingServer, *more: str) -> tuple[str, ...]:
    return (*DRAFT, "--writer", f"{server.url}#writer-1", *more)


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"GUARDTUI_MODEL_KEY": "sk-1", "GUARDTUI_CACHE": str(tmp_path / "cache")}


def listed(run: Run) -> list[dict[str, Any]]:
    done = run("inbox", "list", "topic.yaml", "--prompts", "prompts.csv", "--format", "json")
    prompts: list[dict[str, Any]] = json.loads(done.out)["prompts"]
    return prompts


def test_rules_fill_the_inbox_and_no_figure(run: Run, folder: Path) -> None:
    before = (folder / "prompts.csv").read_bytes()
    done = run(*DRAFT, "--number", "8")
    assert done.code == 0
    assert "8 drafts added to prompts.inbox.jsonl, in no figure until labelled" in done.err
    assert "rephrased: prompts that belong, since the newest iteration missed none" in done.err
    assert "advice into fact, from " in done.out
    assert (folder / "prompts.csv").read_bytes() == before
    prompts = listed(run)
    assert {prompt["state"] for prompt in prompts} == {State.UNLABELLED}
    assert all(prompt["draft"] and prompt["origin"].startswith("draft: ") for prompt in prompts)
    assert run("eval", "topic.yaml", "--prompts", "prompts.csv").code in (0, 1)


def test_json_has_each_draft_with_its_kind_and_source(run: Run) -> None:
    done = run(*DRAFT, "--number", "3", "--format", "json")
    document = json.loads(done.out)
    assert document["kind"] == "drafts"
    assert len(document["added"]) == 3
    first = document["added"][0]
    assert first["origin"] == f"draft: {first['kind']}, from {first['source']}"
    assert [one["id"] for one in document["added"]] == [one["id"] for one in listed(run)]


def test_drafts_run_out_with_a_remedy(run: Run) -> None:
    for _ in range(9):
        done = run(*DRAFT, "--number", "50")
    assert done.code == 0
    assert "no new draft: the rules know English sentences" in done.err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--yes",), "--set and --yes are for --writer"),
        (("--set", "max-tokens=9"), "--set and --yes are for --writer"),
        (("--number", "0"), "--number"),
        (("--number", "51"), "--number"),
        (("--writer", "https://a.b/v1"), "has no model"),
        (("--writer", "http://a.b/v1#m"), "would send"),
        (("--writer", "http://localhost:1/v1#m", "--set", "colour=red"), "colour"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    run: Run, options: tuple[str, ...], problem: str, folder: Path
) -> None:
    done = run(*DRAFT, *options)
    assert done.code == 2
    assert problem in done.err
    assert not inbox_path(folder / "prompts.csv").exists()


# --- a writer


def test_a_writer_is_asked_only_with_consent(run: Run, home: dict[str, str], folder: Path) -> None:
    with writing(drafts(*ROWS)) as server:
        done = run(*by(server), **home)
        assert done.code == 2
        assert "is sent the definition and 7 prompts that belong to the topic: 1 call" in done.err
        assert "--yes calls the writer" in done.err
        assert not server.requests
        assert not inbox_path(folder / "prompts.csv").exists()


def test_its_valid_drafts_are_added_and_the_others_told(run: Run, home: dict[str, str]) -> None:
    with writing(drafts(*ROWS)) as server:
        done = run(*by(server, "--yes", "--format", "json"), **home)
        assert len(server.requests) == 1
        shown = server.prompts[0]
    assert done.code == 0, done.err
    assert [one["prompt"] for one in json.loads(done.out)["added"]] == [
        "Who invented the tax return?",
        "tax return when",
    ]
    assert "warning: --writer: draft 4: it has 500 characters" in done.err
    assert "1 draft left out: there is such a prompt already" in done.err
    assert all(text in shown for text in POSITIVE)
    assert not any(text in shown for text in NEGATIVE)
    first, second = listed(run)
    assert first["origin"].startswith("draft by writer-1: advice into fact, from ")
    assert second["origin"].startswith("draft by writer-1: shorter, from ")


def test_an_answer_is_paid_once_until_all_of_it_is_known(run: Run, home: dict[str, str]) -> None:
    with writing(drafts(*ROWS)) as server:
        assert run(*by(server, "--yes"), **home).code == 0
        (first, _) = listed(run)
        run("inbox", "drop", "topic.yaml", first["id"], "--prompts", "prompts.csv")
        again = run(*by(server), **home)
        assert "no call to writer-1 at" in again.err
        assert "1 draft added" in again.err
        assert len(server.requests) == 1
        spent = run(*by(server, "--yes"), **home)
        assert len(server.requests) == 2
    assert spent.code == 0
    assert "0 drafts added" in spent.err


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (said("I cannot help with that."), "holds no drafts as JSON"),
        (said(""), "empty"),
        (drafts({"kind": "x"}), "draft 1: it has no kind and prompt"),
        (drafts({"kind": "casual", "prompt": "\x1b[31mred"}), "control or invisible"),
        (said("[" * 100_000), "bytes, more than 65,536"),
        (failed(401), "HTTP 401"),
    ],
    ids=["no JSON", "empty", "no prompt", "escape", "long", "key refused"],
)
def test_a_bad_answer_is_an_error_and_adds_nothing(
    run: Run, home: dict[str, str], folder: Path, answer: Answer, problem: str
) -> None:
    with writing(answer) as server:
        done = run(*by(server, "--yes", "--set", "retries=0"), **home)
    assert done.code == 3
    assert f"error: writer-1 at {server.url}: " in done.err
    assert problem in done.err
    assert "\x1b" not in done.err
    assert not inbox_path(folder / "prompts.csv").exists()


def test_a_budget_that_does_not_suffice_is_not_exceeded(run: Run, home: dict[str, str]) -> None:
    with writing(drafts(*ROWS)) as server:
        done = run(*by(server, "--yes", "--set", "max-tokens=100"), **home)
        assert not server.requests
    assert done.code == 3
    assert "not sent: the call could exceed the budget of 100 tokens" in done.err


def test_an_interrupt_adds_nothing(run: Run, home: dict[str, str], folder: Path) -> None:
    def interrupt(text: str, before: int) -> Answer:
        os.kill(os.getpid(), signal.SIGINT)
        return drafts(*ROWS)

    with grading_server(interrupt, message=-1) as server:
        done = run(*by(server, "--yes"), **home)
    assert done.code == 130
    assert not inbox_path(folder / "prompts.csv").exists()
