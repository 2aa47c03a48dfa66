"""Prompts without a label in the commands that read prompt sets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Run


@pytest.fixture
def partly(folder: Path) -> Path:
    path = folder / "partly.csv"
    path.write_text((folder / "prompts.csv").read_text() + "not labelled,,block,\n")
    return path


COMMANDS = (
    ("eval", "topic.yaml"),
    ("check", "topic.yaml"),
    ("eval", "topic.yaml", "--thresholds"),
    ("compare", "topic.yaml", "topic.yaml"),
    ("refine", "topic.yaml", "--single"),
)


@pytest.mark.parametrize("words", COMMANDS, ids=[" ".join(words) for words in COMMANDS])
def test_rows_without_label_wait_are_left_out_or_an_error(
    partly: Path, run: Run, words: tuple[str, ...]
) -> None:
    command = (*words, "--prompts", "partly.csv", "--set", "encoder=static")
    waits = "1 unlabelled prompt is in no figure"
    if words[0] == "check":
        waits = "1 row without a label is in the inbox, and in no figure"
    for fate, choice in (
        (waits, ()),
        ("1 row without a label is left out", ("--unlabelled", "leave-out")),
    ):
        done = run(*command, *choice)
        assert done.code in (0, 4)
        assert fate in done.out + done.err
    refused = run(*command, "--unlabelled", "error")
    assert refused.code == 2
    said = refused.out + refused.err
    assert "partly.csv:12: expected is empty here" in said
    assert "--unlabelled inbox" in said


def test_prompts_that_wait_are_counted_beside_the_figures(partly: Path, run: Run) -> None:
    (partly.parent / "log.txt").write_text("one more\nanother\nnot labelled\n")
    assert run("inbox", "add", "topic.yaml", "log.txt", "--prompts", "partly.csv").code == 0
    words = ("eval", "topic.yaml", "--prompts", "partly.csv", "--set", "encoder=static")
    waiting = "3 unlabelled prompts are in no figure"
    for form in ("table", "md", "html"):
        done = run(*words, "--format", form)
        assert f"{waiting}." in done.out
        assert f"partly.csv: {waiting}\n" in done.err
    report = json.loads(run(*words, "--format", "json").out)
    assert report["unlabelled"] == 3
    assert len(report["results"]) == 10
    assert json.loads(run(*words, "--format", "brief").out)["unlabelled"] == 3
    mirror = run(*words, "--format", "airs-json")
    assert "unlabelled" not in mirror.out  # that tool's keys
    assert f"partly.csv: {waiting}\n" in mirror.err


def test_rows_without_label_count_as_false(partly: Path, run: Run) -> None:
    words = ("eval", "topic.yaml", "--prompts", "partly.csv", "--set", "encoder=static")
    done = run(*words, "--unlabelled", "false", "--format", "json")
    report = json.loads(done.out)
    assert len(report["results"]) == 11
    assert report["results"][-1]["should_trigger"] is False
    assert "1 row without a label is taken as not expected" in done.err


def test_topics_of_an_audit_share_the_choice(partly: Path, run: Run) -> None:
    words = ("audit", "topic.yaml", "--prompts", "topic=partly.csv", "--set", "encoder=static")
    assert "--unlabelled inbox" in run(*words, "--unlabelled", "error").err
    assert run(*words, "--unlabelled", "leave-out").code == 0
    shared = partly.with_name("shared.csv")
    header, *rows = partly.read_text().splitlines()
    shared.write_text("\n".join([f"topic,{header}", *(f"topic,{row}" for row in rows)]))
    words = ("audit", "topic.yaml", "--prompts", "shared.csv", "--set", "encoder=static")
    assert run(*words, "--unlabelled", "leave-out").code == 0
