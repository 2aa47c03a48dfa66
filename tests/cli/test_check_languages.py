"""`guardtui check` counts prompts in languages that the engine has not learnt, in every form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .test_check_near_misses import NEAR, check, work

__all__ = ["work"]

CODE = "unknown-language"


@pytest.fixture
def mixed(work: Path) -> str:
    text = (work / "near.csv").read_text("utf-8")
    rows = "मैं इस साल कम आयकर कैसे दे सकता हूँ?,true,block\n我今年怎样才能少交所得税？,true,block\n"
    (work / "mixed.csv").write_text(text + rows, "utf-8")
    return "mixed.csv"


def test_they_are_counted_and_their_lines_named(mixed: str) -> None:
    code, out = check(mixed)
    assert code == 0
    line = next(line for line in out.splitlines() if "has not learnt" in line)
    assert line.startswith("warning: mixed.csv:9")
    assert "2 prompts are in languages" in line
    assert "Hindi 1" in line
    assert "Chinese 1" in line


def test_json_has_them_and_english_sets_have_none(work: Path, mixed: str) -> None:
    findings = json.loads(check(mixed, "--format", "json")[1])["findings"]
    (found,) = [one for one in findings if one["code"] == CODE]
    assert (found["severity"], found["lines"]) == ("warning", [9, 10])
    assert NEAR in (work / "near.csv").read_text("utf-8")
    plain = json.loads(check("near.csv", "--format", "json")[1])["findings"]
    assert CODE not in {one["code"] for one in plain}
