"""Prompt sets of every kind as commands take them: standard input, gzip, no column intent."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import NEGATIVE, POSITIVE, ROOT, TOPIC, Run, prompts_csv

ENGINE = ("--set", "encoder=static", "--format", "json")


def without_intent() -> str:
    rows = [{"prompt": text, "expected": 1.0} for text in POSITIVE]
    rows += [{"prompt": text, "expected": 0.0} for text in NEGATIVE]
    return json.dumps(rows, indent=2)


@pytest.mark.process
def test_prompts_from_standard_input(folder: Path, environment: dict[str, str], run: Run) -> None:
    def piped(content: bytes, *words: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "guardtui", *words]
        return subprocess.run(
            command, cwd=folder, env=environment, input=content, capture_output=True, check=False
        )

    packed = gzip.compress(prompts_csv().encode())
    done = piped(packed, "eval", "topic.yaml", "--prompts", "-", *ENGINE)
    assert done.returncode == 0
    from_file = json.loads(run("eval", "topic.yaml", "--prompts", "prompts.csv", *ENGINE).out)
    assert json.loads(done.stdout)["metrics"]["coverage"] == from_file["metrics"]["coverage"]
    # check needs the prompts twice.
    done = piped(packed, "check", "topic.yaml", "--prompts", "-")
    assert done.returncode == 0, done.stderr
    assert b"0 errors" in done.stdout
    assert NEGATIVE[2].encode() in done.stdout  # named where a label would teach most
    done = piped(
        b"prompt,expected,intent\na,maybe,block\n", "check", "topic.yaml", "--prompts", "-"
    )
    assert done.returncode == 2
    assert b"-:2: " in done.stdout


def test_a_set_without_intents_takes_the_topics(folder: Path, run: Run) -> None:
    (folder / "p.json").write_text(without_intent(), "utf-8")
    allowed = TOPIC.replace("intent: block", "intent: allow")
    (folder / "allow.yaml").write_text(allowed, "utf-8")
    (folder / "none.yaml").write_text(TOPIC.replace("intent: block\n", ""), "utf-8")
    for topic, intent in (("topic", "block"), ("allow", "allow"), ("none", "block")):
        done = run("eval", f"{topic}.yaml", "--prompts", "p.json", *ENGINE)
        assert done.code == 0, done.err
        assert json.loads(done.out)["intent"] == intent
    contradiction = run("eval", "allow.yaml", "--prompts", "prompts.csv", *ENGINE)
    assert contradiction.code == 2
    assert "prompts.csv:2 is block" in contradiction.err


@pytest.mark.parametrize("name", ["tax-advice", "airline-service", "harm-intent"])
def test_samples_are_evaluated_without_warnings(name: str, run: Run) -> None:
    sample = ROOT / "sample_data" / name
    result = run("eval", f"{sample}.yaml", "--prompts", f"{sample}.csv", "--set", "encoder=static")
    assert (result.code, result.err) == (0, "")


def test_check_says_which_prompts_another_tool_cannot_read(run: Run) -> None:
    sample = ROOT / "sample_data" / "tax-advice"
    result = run("check", f"{sample}.yaml", "--prompts", f"{sample}.csv", "--set", "encoder=static")
    assert "4 prompts contain line breaks: guardtui accepts them, airs-cli" in result.out
