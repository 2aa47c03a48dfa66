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
def test_rows_without_label_are_an_error_or_left_out(
    partly: Path, run: Run, words: tuple[str, ...]
) -> None:
    command = (*words, "--prompts", "partly.csv", "--set", "encoder=static")
    refused = run(*command)
    assert refused.code == 2
    said = refused.out + refused.err
    assert "partly.csv:12: expected is empty here" in said
    assert "--unlabelled leave-out" in said
    done = run(*command, "--unlabelled", "leave-out")
    assert done.code in (0, 4)
    assert "1 row without a label is left out" in done.out + done.err


def test_rows_without_label_count_as_false(partly: Path, run: Run) -> None:
    words = ("eval", "topic.yaml", "--prompts", "partly.csv", "--set", "encoder=static")
    done = run(*words, "--unlabelled", "false", "--format", "json")
    report = json.loads(done.out)
    assert len(report["results"]) == 11
    assert report["results"][-1]["should_trigger"] is False
    assert "1 row without a label is taken as not expected" in done.err


def test_topics_of_an_audit_share_the_choice(partly: Path, run: Run) -> None:
    words = ("audit", "topic.yaml", "--prompts", "topic=partly.csv", "--set", "encoder=static")
    assert "--unlabelled leave-out" in run(*words).err
    assert run(*words, "--unlabelled", "leave-out").code == 0
    shared = partly.with_name("shared.csv")
    header, *rows = partly.read_text().splitlines()
    shared.write_text("\n".join([f"topic,{header}", *(f"topic,{row}" for row in rows)]))
    words = ("audit", "topic.yaml", "--prompts", "shared.csv", "--set", "encoder=static")
    assert run(*words, "--unlabelled", "leave-out").code == 0
