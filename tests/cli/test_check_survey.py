"""`guardtui check`: near-duplicates and what to label next, as a table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from guardtui.cli.check import command
from guardtui.files.prompt_files import load_prompts

TOPIC = """\
name: Tax advice
description: Personal tax advice
examples:
  - How can I pay less tax?
  - Can I deduct my home office?
"""
THINGS = ("car", "shoes", "camera", "dog", "house", "bike")
MATTERS = {
    "how can i deduct my {} from my income tax": True,
    "give me a recipe\x1b[31m for {} soup with onions": False,
    "book a cheap flight with {} to Rome": False,
}


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    rows = [
        f'"{sentence.format(thing)}",{str(label).lower()},block'
        for sentence, label in MATTERS.items()
        for thing in THINGS
    ]
    rows.append("How can I deduct my CAR from my income tax?,false,block")
    (tmp_path / "tax.yaml").write_text(TOPIC, "utf-8")
    (tmp_path / "tax.csv").write_text("\n".join(["prompt,expected,intent", *rows]), "utf-8")
    return [str(tmp_path / "tax.yaml"), "--prompts", str(tmp_path / "tax.csv")]


def run(*arguments: str) -> str:
    result = CliRunner().invoke(command, list(arguments), standalone_mode=False)
    assert result.exception is None, result.exception
    return result.output


def test_the_json_has_every_pair_and_every_suggestion(files: list[str]) -> None:
    result = json.loads(run(*files, "--format", "json"))
    pairs = result["near_duplicates"]
    assert (pairs["contradicting"], pairs["exact"], pairs["compared"]) == (1, True, 19)
    first = pairs["pairs"][0]
    assert first["contradicts"] is True
    assert {first["first"]["line"], first["second"]["line"]} == {2, 20}
    assert pairs["total"] == len(pairs["pairs"])
    prompts = load_prompts(Path(files[2]))
    lines = set(prompts.frame["line"].to_list())
    for spot in result["label_next"]:
        assert {prompt["line"] for prompt in spot["prompts"]} <= lines
    scores = np.array([spot["score"] for spot in result["label_next"]])
    assert (np.diff(scores) <= 0).all()


def test_the_table_says_the_same_and_is_inert(files: list[str]) -> None:
    Path(files[2]).write_text(
        Path(files[2]).read_text("utf-8")
        + "\nGive me a recipe\x1b[31m for CAR soup with onions,true,block\n",
        "utf-8",
    )
    text = run(*files)
    result = json.loads(run(*files, "--format", "json"))
    assert "\x1b" not in text
    assert "recipe␛[31m" in text
    total = result["near_duplicates"]["total"]
    assert total >= 2
    assert (
        f"Near-duplicates (cosine 0.92 or more): {total} pairs, 2 with contradicting labels."
    ) in text
    assert text.count("\n  contradicting labels, cosine 0.") == 2
    assert ("label next" in text) == bool(result["label_next"])


def test_the_survey_is_that_of_the_wanted_engine(files: list[str]) -> None:
    found = [
        json.loads(run(*files, "--format", "json", *options))["near_duplicates"]["pairs"]
        for options in ((), ("--set", "encoder=static"))
    ]
    assert [pair["cosine"] for pair in found[0]] != [pair["cosine"] for pair in found[1]]


def test_without_near_duplicates_and_doubts_nothing_is_added(files: list[str]) -> None:
    rows = ["How can I pay less tax on my car?,true,block", "Book a flight to Rome,false,block"]
    Path(files[2]).write_text("\n".join(["prompt,expected,intent", *rows, ""]), "utf-8")
    text = run(*files)
    assert "near-duplicates" not in text
    assert "label next" not in text


@pytest.mark.parametrize("form", ["table", "json"])
def test_invalid_prompts_are_reported_without_a_survey(files: list[str], form: str) -> None:
    Path(files[2]).write_text("prompt,expected,intent\none,maybe,block\n", "utf-8")
    text = run(*files, "--format", form)
    assert "maybe" in text
    assert "near_duplicates" not in text
    Path(files[2]).write_text("prompt,expected,intent\none,true,allow\ntwo,false,allow\n", "utf-8")
    Path(files[0]).write_text(TOPIC + "intent: block\n", "utf-8")
    text = run(*files, "--format", form)
    assert "make the two agree" in text
    assert "near_duplicates" not in text
