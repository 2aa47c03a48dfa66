"""`guardtui refine` as a process: proposals on stdout, nothing applied or overwritten."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic
from guardtui.session.topic_places import sample_folder
from tests.sessions import Scanned

from .conftest import TOPIC, Run

FILES = ("refine", "topic.yaml", "--prompts", "tax.csv", "--set", "encoder=static")
QUICK = (*FILES, "--time", "10s")
SINGLE = (*FILES, "--single")


POOR = TOPIC.replace("Advice on filing personal income tax returns", "Tax")
"""A definition whose best edit is likely to help."""


@pytest.fixture
def sample(folder: Path) -> Path:
    """Write a third of the sample's prompts, and a definition that misses many of them."""
    (folder / "topic.yaml").write_text(POOR, "utf-8")
    rows = load_prompts(sample_folder() / "tax-advice.csv").frame
    rows = rows.filter(~pl.col("prompt").str.contains("\n")).select("prompt", "expected")[::3]
    rows.with_columns(intent=pl.lit("block")).write_csv(folder / "tax.csv")
    return folder


def document(run: Run, *arguments: str, code: int = 0) -> dict[str, Any]:
    result = run(*arguments, "--format", "json")
    assert result.code == code, result.err
    found: dict[str, Any] = json.loads(result.out)
    return found


def test_the_search_proposes_and_leaves_the_topic_alone(run: Run, sample: Path) -> None:
    result = run(*QUICK)
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0].startswith("Measured by the engine (a quick approximation of your gua")
    assert "prompts: all prompts, without the definition's own examples" in lines[1]
    assert "proposals, the greatest gain first" in lines
    place = lines.index("first proposal")
    assert lines[place + 1].startswith("  coverage for the engine: likely +0.")
    assert lines[place + 1].endswith(") on new prompts")
    assert lines[place + 2].startswith("  better scores: separation +0.")
    assert "on the prompts it was chosen on 0." in lines[place + 3]
    assert "+ " in result.out.partition("first proposal")[2]
    assert "with 80% intervals for as many new prompts. The engine is a quick app" in lines[-1]
    assert (sample / "topic.yaml").read_text("utf-8") == POOR
    assert {path.name for path in sample.iterdir()} == {"topic.yaml", "prompts.csv", "tax.csv"}


def test_json_has_all_of_it(run: Run, sample: Path) -> None:
    found = document(run, *QUICK)
    assert (found["kind"], found["guardrail"]["kind"]) == ("refinement", "engine")
    assert found["confidence"] == 0.8
    assert found["topic"]["description"] == "Tax"
    count = len((sample / "tax.csv").read_text("utf-8").splitlines()) - 1
    assert found["measured_on"] == {
        "source": "all prompts",
        "prompts": count,
        "held_out": 0,
        "notes": [],
    }
    assert found["search"]["ended"] in ("budget", "exhausted")
    assert found["search"]["measured"] > 1
    proposal = found["proposal"]
    assert proposal == found["proposals"][0]
    assert found["no_proposal"] is None
    for proposal in found["proposals"]:
        low, high = proposal["interval"]
        assert low <= proposal["gain"] <= high
        assert proposal["gain"] > 0
        assert proposal["separation"]["value"] > 0
        assert abs(proposal["level"]) <= 1
        assert proposal["held_out"] is None
        lines = {*proposal["fixed_lines"], *proposal["broken_lines"], *proposal["left_out_lines"]}
        assert all(2 <= line <= count + 1 for line in lines)
        before, after = (proposal[side]["counts"] for side in ("before", "after"))
        wrong = before["fp"] + before["fn"] - after["fp"] - after["fn"]
        assert len(proposal["fixed_lines"]) - len(proposal["broken_lines"]) == wrong
        total = sum(after[key] for key in ("tp", "tn", "fp", "fn"))
        assert total == count - len(proposal["left_out_lines"])


def test_single_proposes_the_edits_of_the_app(run: Run, sample: Path) -> None:
    found = document(run, *SINGLE)
    assert found["search"] is None
    assert found["proposals"]
    assert run(*SINGLE, "--format", "json").out == run(*SINGLE, "--format", "json").out
    table = run(*SINGLE).out
    assert "\nSearch: " not in table
    assert "definitions measured in" in table
    markdown = run(*SINGLE, "--format", "md", "-o", "report.md")
    assert (markdown.code, markdown.out) == (0, "")
    text = (sample / "report.md").read_text("utf-8")
    assert text.startswith("# Refinement of `Tax advice`")
    assert "## First proposal" in text
    assert "| # | for the engine | fixed | broken | edit |" in text


def test_a_threshold_of_ones_own_is_not_fitted(run: Run, sample: Path) -> None:
    found = document(run, *SINGLE, "--threshold", "0.9", code=4)
    assert found["threshold"] == 0.9
    report = run(
        "eval", "topic.yaml", "--prompts", "tax.csv", "--set", "encoder=static",
        "--threshold", "0.9", "--format", "json",
    )  # fmt: skip
    assert found["before"]["counts"]["tp"] == json.loads(report.out)["metrics"]["tp"]
    fitted = document(run, *SINGLE, "--threshold", "fitted")
    known, own = (each["before"]["rates"]["coverage"] for each in (fitted, found))
    assert known > own


def test_a_proposal_goes_to_a_new_file_with_the_comments(run: Run, sample: Path) -> None:
    result = run(*SINGLE, "--format", "json", "--write-topic", "better.yaml")
    assert result.code == 0
    assert result.err == "wrote better.yaml\n"
    assert "# comments stay" in (sample / "better.yaml").read_text("utf-8")
    proposed = json.loads(result.out)["proposal"]["topic"]
    assert load_topic(sample / "better.yaml").topic.model_dump(mode="json") == proposed
    assert (sample / "topic.yaml").read_text("utf-8") == POOR


@pytest.mark.parametrize("name", ["topic.yaml", "./topic.yaml", "tax.csv", "link.yaml"])
def test_no_file_is_overwritten(run: Run, sample: Path, name: str) -> None:
    (sample / "link.yaml").symlink_to(sample / "topic.yaml")
    content = (sample / name).read_bytes()
    result = run(*QUICK, "--write-topic", name)
    assert (result.code, result.out) == (2, "")
    assert "never overwritten" in result.err
    assert (sample / name).read_bytes() == content


def test_the_report_and_the_topic_are_two_files(run: Run, sample: Path) -> None:
    result = run(*QUICK, "--write-topic", "new.yaml", "-o", "./new.yaml")
    assert result.code == 2
    assert "both --output and --write-topic" in result.err
    result = run(*QUICK, "-o", "topic.yaml")
    assert result.code == 2
    assert (sample / "topic.yaml").read_text("utf-8") == POOR


def test_prompts_that_cannot_be_split_are_reported(run: Run, sample: Path) -> None:
    rows = ["prompt,expected,intent,split", "a tax,true,block,train", "b,false,block,train"]
    (sample / "tax.csv").write_text("\n".join([*rows, "c tax,true,block,test", ""]), "utf-8")
    result = run(*QUICK)
    assert (result.code, result.out) == (2, "")
    assert "tax.csv: the part to report on (by the column split)" in result.err


def test_five_prompts_are_too_few(run: Run, sample: Path) -> None:
    rows = ["a tax,true", "tax,true", "bread,false", "soup,false", "dragons,false"]
    (sample / "tax.csv").write_text("\n".join(["prompt,expected", *rows, ""]), "utf-8")
    for arguments in (QUICK, SINGLE):
        result = run(*arguments)
        assert (result.code, result.out) == (2, "")
        assert "tax.csv: 2 prompts belong to the topic: add some" in result.err
        assert "3 of each kind" in result.err


def test_a_definition_that_exceeds_a_limit_is_reported(run: Run, sample: Path) -> None:
    broken = POOR.replace("  - When is my tax return due?\n", "")
    (sample / "topic.yaml").write_text(broken, "utf-8")
    result = run(*SINGLE, "--threshold", "built-in", "--format", "json")
    assert result.code == 0
    assert "1 example: at least 2 are needed: only edits that fix it are tried" in result.err
    proposals = json.loads(result.out)["proposals"]
    assert proposals
    assert {proposal["kinds"][0] for proposal in proposals} == {"add example"}


# --- with a forecast ------------------------------------------------------------------------


def test_a_required_forecast_needs_recorded_verdicts(run: Run, sample: Path) -> None:
    result = run(*SINGLE, "--guardrail", "airs:prod")
    assert (result.code, result.out) == (2, "")
    assert "topic.yaml: nothing is recorded to forecast from" in result.err


def test_the_forecast_stands_beside_where_a_guardrail_has_answered(run: Run, folder: Path) -> None:
    scanned = Scanned(folder)
    for description in ("Tax", "Advice on income tax"):
        scanned.scan(description)
    found = document(run, *SINGLE, code=4)
    assert found["guardrail"]["kind"] == "engine"
    rejected = found["no_proposal"]["rejected"]
    assert rejected["forecast"]["guardrail"] == "AIRS"
    coverage = rejected["forecast"]["coverage"]
    assert coverage["low"] <= coverage["value"] <= coverage["high"]
    assert document(run, *SINGLE, "--guardrail", "airs:prod", code=4) == found
    engine = document(run, *SINGLE, "--guardrail", "engine", code=4)
    assert engine["no_proposal"]["rejected"]["forecast"] is None
    assert engine["no_proposal"]["rejected"]["gain"] == rejected["gain"]


def test_too_few_verdicts_are_reported_only_if_the_forecast_is_required(
    run: Run, folder: Path
) -> None:
    scanned = Scanned(folder)
    scanned.scan("Tax", triggered=[1, 0, 1, 0, 1] + [-2] * 55)
    result = run(*SINGLE, "--guardrail", "airs:prod")
    assert (result.code, result.out) == (2, "")
    assert "a forecast needs" in result.err
    assert run(*SINGLE, "--format", "json").code in (0, 4)


_INTERRUPTED = """
import os, signal, sys, time
from guardtui.advice.search import Search
from guardtui.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever runs the tests may ignore it
usual = Search._report_progress
def tell(search, width, edits):
    usual(search, width, edits)
    if not search._stopped():
        os.kill(os.getpid(), signal.SIGINT)
    while not search._stopped():
        time.sleep(0.001)
Search._report_progress = tell
sys.exit(main.main(sys.argv[1:]))
"""


@pytest.mark.process
def test_an_interrupt_gives_the_best_so_far(
    sample: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED, "refine", "topic.yaml", "--prompts", "tax.csv",
         "--time", "1h", "--format", "json", "-o", "found.json"],
        cwd=sample, env={**environment, "GUARDTUI_CACHE": str(tmp_path / "cache")},
        stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 130
    assert done.stderr.decode().splitlines()[-1] == "interrupted"
    document = json.loads((sample / "found.json").read_text("utf-8"))
    assert document["search"]["ended"] == "stopped"
