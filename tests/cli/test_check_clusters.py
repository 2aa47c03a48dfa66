"""`guardtui check --clusters`: the survey of the prompt set as a table and as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from guardtui.cli.check import command
from guardtui.domain.statistics import wilson_interval
from guardtui.domain.text import display_start
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


def test_the_json_tells_every_cluster_pair_and_spot(files: list[str]) -> None:
    result = json.loads(run(*files, "--clusters", "--format", "json"))["prompt_set"]
    lines = sorted(line for one in result["clusters"] for line in one["lines"])
    prompts = load_prompts(Path(files[2]))
    assert lines == sorted(prompts.frame["line"].to_list())
    rates = [one["error_rate"]["value"] for one in result["clusters"]]
    assert rates == sorted(rates, reverse=True)
    for one in result["clusters"]:
        counts = one["counts"]
        wrong, total = counts["fp"] + counts["fn"], sum(counts.values()) - counts["errors"]
        interval = wilson_interval(wrong, total)
        assert interval is not None
        assert one["error_rate"] == {
            "value": wrong / total,
            "low": interval.low,
            "high": interval.high,
        }
        assert one["expected_true"] + one["expected_false"] == one["size"] == len(one["lines"])
        assert one["central"]["line"] in one["lines"]
        positives = counts["tp"] + counts["fn"]
        assert (one["false_negative_rate"]["value"] is None) == (positives == 0)
        assert one["lacks"] == (
            "no positives"
            if not one["expected_true"]
            else None
            if one["expected_false"]
            else "no negatives"
        )
    pairs = result["near_duplicates"]
    assert (pairs["contradicting"], pairs["exact"], pairs["compared"]) == (1, True, 19)
    first = pairs["pairs"][0]
    assert first["contradicts"] is True
    assert {first["first"]["line"], first["second"]["line"]} == {2, 20}
    assert pairs["total"] == len(pairs["pairs"])
    numbers = {one["cluster"] for one in result["clusters"]}
    assert {spot["cluster"] for spot in result["label_next"]} <= numbers
    scores = np.array([spot["score"] for spot in result["label_next"]])
    assert (np.diff(scores) <= 0).all()


def test_the_table_says_the_same_and_is_inert(files: list[str]) -> None:
    text = run(*files, "--clusters")
    result = json.loads(run(*files, "--clusters", "--format", "json"))["prompt_set"]
    assert "\x1b" not in text
    assert "recipe␛[31m" in text
    for one in result["clusters"]:
        counts = one["counts"]
        (line,) = [line for line in text.splitlines() if line.startswith(f"{one['cluster']} ")]
        assert line.startswith(f"{one['cluster']} {', '.join(one['words'][:2])}")
        cells = re.split("  +", line)[1:]
        assert cells[:3] == [str(one[name]) for name in ("size", "expected_true", "expected_false")]
        assert cells[3] == f"{one['error_rate']['value']:.3f}"
        assert cells[5:7] == [str(counts["fp"]), str(counts["fn"])]
        assert line.endswith(display_start(one["central"]["prompt"], 200))
    assert "Near-duplicates (cosine 0.92 or more): 1 pair, 1 with contradicting labels." in text
    assert result["near_duplicates"]["total"] == 1
    assert "\n  contradicting labels, cosine 0." in text
    assert text.count("  prompts like these of cluster") == len(result["label_next"])
    assert "label next" in text


def test_the_clusters_are_those_of_the_wanted_engine(files: list[str]) -> None:
    arguments = (*files, "--clusters", "--format", "json")
    default = json.loads(run(*arguments))["prompt_set"]
    static = json.loads(run(*arguments, "--encoder", "static"))["prompt_set"]
    assert static["guardrail"]["encoder"] == "static"
    assert default["guardrail"]["encoder"] == "pair"
    assert static["silhouette"] != default["silhouette"]
    # At this threshold every prompt matches: those that do not belong are false positives.
    low = json.loads(run(*arguments, "--encoder", "static", "--threshold", "0.000001"))
    counts = [cluster["counts"] for cluster in low["prompt_set"]["clusters"]]
    assert sum(count["fp"] for count in counts) == 13
    assert sum(count["fn"] + count["tn"] for count in counts) == 0


def test_without_the_flag_nothing_is_added(files: list[str]) -> None:
    assert "cluster" not in run(*files)
    assert "prompt_set" not in json.loads(run(*files, "--format", "json"))


@pytest.mark.parametrize("form", ["table", "json"])
def test_invalid_prompts_are_reported_without_clusters(files: list[str], form: str) -> None:
    Path(files[2]).write_text("prompt,expected,intent\none,maybe,block\n", "utf-8")
    text = run(*files, "--clusters", "--format", form)
    assert "maybe" in text
    assert "near-duplicates" not in text
    Path(files[2]).write_text("prompt,expected,intent\none,true,allow\ntwo,false,allow\n", "utf-8")
    Path(files[0]).write_text(TOPIC + "intent: block\n", "utf-8")
    text = run(*files, "--clusters", "--format", form)
    assert "make the two agree" in text
    assert "near-duplicates" not in text
