"""`guardtui check` tells when all negatives are far from the topic, in every form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from guardtui.cli.check import command

from .conftest import TOPIC

FAR = ("How do I make onion soup?", "Who won the world cup?", "Why do cats purr at night?")
NEAR = "When was the income tax return invented?"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GUARDTUI_CACHE", str(tmp_path / "cache"))
    (tmp_path / "topic.yaml").write_text(TOPIC, "utf-8")
    rows = [f"How do I file my {thing} tax return?,true,block" for thing in ("first", "late", "UK")]
    rows += [f"{text},false,block" for text in FAR]
    text = "\n".join(["prompt,expected,intent", *rows, ""])
    (tmp_path / "far.csv").write_text(text, "utf-8")
    (tmp_path / "near.csv").write_text(f"{text}{NEAR},false,block\n", "utf-8")
    return tmp_path


def check(prompts: str, *arguments: str) -> tuple[int, str]:
    given = ["topic.yaml", "--prompts", prompts, "--set", "encoder=static", *arguments]
    result = CliRunner().invoke(command, given, standalone_mode=False)
    assert result.exception is None, result.exception
    return int(result.return_value), result.stdout


def test_the_table_names_the_nearest_with_their_lines(work: Path) -> None:
    code, out = check("far.csv")
    assert code == 0
    line = next(line for line in out.splitlines() if "no near misses" in line)
    assert line.startswith("warning: far.csv:5")
    assert "none of 3 negatives" in line
    assert "TNR is flattered" in line
    assert "“Who won the world cup?”" in line
    assert check("far.csv", "--strict")[0] == 1


def test_json_and_sarif_have_it(work: Path) -> None:
    findings = json.loads(check("far.csv", "--format", "json")[1])["findings"]
    (found,) = [one for one in findings if one["code"] == "no-near-misses"]
    assert (found["file"], found["severity"], found["lines"]) == ("far.csv", "warning", [5, 6, 7])
    (run,) = json.loads(check("far.csv", "--format", "sarif")[1])["runs"]
    (result,) = [one for one in run["results"] if one["ruleId"] == "no-near-misses"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "far.csv"
    assert place["region"]["startLine"] == 5
    (rule,) = [one for one in run["tool"]["driver"]["rules"] if one["id"] == "no-near-misses"]
    assert "another intent" in rule["help"]["text"]


def test_a_set_with_a_near_miss_has_no_finding(work: Path) -> None:
    assert "no near misses" not in check("near.csv")[1]
