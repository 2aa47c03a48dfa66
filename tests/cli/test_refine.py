"""`guardtui refine` as a process: proposals on stdout, nothing applied, nothing written over."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic
from guardtui.session.workspace import sample_folder

from .conftest import TOPIC, Run

QUICK = ("--encoder", "static", "--budget", "2s")


@pytest.fixture
def sample(folder: Path) -> Path:
    rows = load_prompts(sample_folder() / "tax-advice.csv").frame
    rows = rows.filter(~pl.col("prompt").str.contains("\n")).select("prompt", "expected")
    rows.with_columns(intent=pl.lit("block")).write_csv(folder / "tax.csv")
    return folder


def test_the_search_proposes_and_leaves_the_topic_alone(run: Run, sample: Path) -> None:
    result = run("refine", "topic.yaml", "--prompts", "tax.csv", *QUICK)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("Measured by the embedded engine (a stand-in for the real gua")
    assert "halves by a hash of each prompt" in result.out
    assert "The best single edits of " in result.out
    assert "Proposal\n  held-out coverage " in result.out
    assert "- description:  Advice on filing personal income tax returns\n+ desc" in result.out
    assert "95 % interval" in result.out
    assert "an overfit gap of" in result.out
    assert "embedded engine" in result.out
    assert (sample / "topic.yaml").read_text("utf-8") == TOPIC
    assert {path.name for path in sample.iterdir()} == {"topic.yaml", "prompts.csv", "tax.csv"}


def test_json_has_all_of_it(run: Run, sample: Path) -> None:
    result = run("refine", "topic.yaml", "--prompts", "tax.csv", *QUICK, "--format", "json")
    assert (result.code, result.err) == (0, "")
    document = json.loads(result.out)
    assert document["schema_version"] == 1
    assert document["topic"]["description"] == "Advice on filing personal income tax returns"
    proposal = document["proposal"]
    assert document["search"]["curve"][0]["edits"] == 0
    assert document["search"]["ended"] in ("budget", "exhausted")
    before, after = document["before"]["report"], proposal["after"]["report"]
    gain = after["coverage"] - before["coverage"]
    assert proposal["held_out_gain"] == pytest.approx(gain)
    assert len(proposal["changes"]) == len(proposal["kinds"])
    assert proposal["overfit_gap"] == pytest.approx(proposal["search_gain"] - gain)
    lines = {*proposal["fixed_lines"], *proposal["broken_lines"]}
    assert all(2 <= line <= 201 for line in lines)
    wrong = before["fp"] + before["fn"] - after["fp"] - after["fn"]
    assert proposal["held_out_fixes"] - proposal["held_out_regressions"] == wrong


def test_single_lists_edits_and_does_not_search(run: Run, sample: Path) -> None:
    arguments = ("refine", "topic.yaml", "--prompts", "tax.csv", "--encoder", "static", "--single")
    result = run(*arguments, "--format", "json")
    document = json.loads(result.out)
    assert document["search"] is None
    assert document["proposal"] == document["shortlist"][0]
    assert run(*arguments, "--format", "json").out == result.out
    markdown = run(*arguments, "--format", "md", "-o", "report.md")
    assert (markdown.code, markdown.out) == (0, "")
    text = (sample / "report.md").read_text("utf-8")
    assert text.startswith("# Refinement of `Tax advice`")
    assert "## Search" not in text


def test_a_threshold_of_ones_own_counts(run: Run, sample: Path) -> None:
    arguments = ("refine", "topic.yaml", "--prompts", "tax.csv", "--encoder", "static", "--single")
    document = json.loads(run(*arguments, "--threshold", "0.9", "--format", "json").out)
    assert document["scanner"]["threshold"] == 0.9
    report = run(
        "eval", "topic.yaml", "--prompts", "tax.csv", "--encoder", "static", "--threshold", "0.9",
        "--format", "json",
    )  # fmt: skip
    counts = [document["before"][half]["tp"] for half in ("search", "report")]
    assert sum(counts) == json.loads(report.out)["metrics"]["tp"]


def test_a_proposal_goes_to_a_new_file_with_the_comments(run: Run, sample: Path) -> None:
    arguments = ("refine", "topic.yaml", "--prompts", "tax.csv", *QUICK, "--format", "json")
    result = run(*arguments, "--write-topic", "better.yaml")
    assert result.code == 0
    assert result.err == "wrote better.yaml\n"
    assert "# comments stay" in (sample / "better.yaml").read_text("utf-8")
    proposed = json.loads(result.out)["proposal"]["topic"]
    assert load_topic(sample / "better.yaml").topic.model_dump(mode="json") == proposed
    assert (sample / "topic.yaml").read_text("utf-8") == TOPIC


@pytest.mark.parametrize("name", ["topic.yaml", "./topic.yaml", "tax.csv", "link.yaml"])
def test_no_file_is_written_over(run: Run, sample: Path, name: str) -> None:
    (sample / "link.yaml").symlink_to(sample / "topic.yaml")
    content = (sample / name).read_bytes()
    result = run("refine", "topic.yaml", "--prompts", "tax.csv", *QUICK, "--write-topic", name)
    assert (result.code, result.out) == (2, "")
    assert "never written over" in result.err
    assert (sample / name).read_bytes() == content


def test_the_report_and_the_topic_are_two_files(run: Run, sample: Path) -> None:
    result = run(
        "refine", "topic.yaml", "--prompts", "tax.csv", *QUICK,
        "--write-topic", "new.yaml", "-o", "./new.yaml",
    )  # fmt: skip
    assert result.code == 2
    assert "both --output and --write-topic" in result.err
    result = run("refine", "topic.yaml", "--prompts", "tax.csv", *QUICK, "-o", "topic.yaml")
    assert result.code == 2
    assert (sample / "topic.yaml").read_text("utf-8") == TOPIC


@pytest.mark.parametrize("budget", ["0", "-5", "soon", "1d", "nan", "25h", "1e3"])
def test_a_budget_that_is_no_time_is_refused(run: Run, sample: Path, budget: str) -> None:
    result = run("refine", "topic.yaml", "--prompts", "tax.csv", "--budget", budget)
    assert result.code == 2
    assert "is not a time like 60s, 5m or 1h" in result.err


def test_prompts_that_cannot_be_split_are_told(run: Run, sample: Path) -> None:
    rows = ["prompt,expected,intent,split", "a tax,true,block,train", "b,false,block,train"]
    (sample / "few.csv").write_text("\n".join([*rows, "c tax,true,block,test", ""]), "utf-8")
    result = run("refine", "topic.yaml", "--prompts", "few.csv", *QUICK)
    assert (result.code, result.out) == (2, "")
    assert "few.csv: the half to report on (by the column split)" in result.err


def test_a_definition_that_breaks_a_limit_is_told(run: Run, sample: Path) -> None:
    (sample / "one.yaml").write_text(TOPIC.replace("  - When is my tax return due?\n", ""), "utf-8")
    result = run(
        "refine", "one.yaml", "--prompts", "tax.csv", "--encoder", "static", "--single",
        "--threshold", "shipped", "--format", "json",
    )  # fmt: skip
    assert result.code == 0
    assert "1 example: at least 2 are needed: only edits that mend it are tried" in result.err
    shortlist = json.loads(result.out)["shortlist"]
    assert shortlist
    assert {tuple(one["kinds"]) for one in shortlist} == {("add example",)}


_INTERRUPTED = """
import os, signal, sys, time
from guardtui.advice.search import Search
from guardtui.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever runs the tests may ignore it
usual = Search._tell
def tell(search, width, edits):
    usual(search, width, edits)
    if not search._stopped():
        os.kill(os.getpid(), signal.SIGINT)
    while not search._stopped():
        time.sleep(0.001)
Search._tell = tell
sys.exit(main.main(sys.argv[1:]))
"""


@pytest.mark.process
def test_an_interrupt_gives_the_best_so_far(
    sample: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED, "refine", "topic.yaml", "--prompts", "tax.csv",
         "--budget", "1h", "--format", "json", "-o", "found.json"],
        cwd=sample, env={**environment, "GUARDTUI_CACHE": str(tmp_path / "cache")},
        stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 130
    assert done.stderr.decode().splitlines()[-1] == "interrupted"
    document = json.loads((sample / "found.json").read_text("utf-8"))
    assert document["search"]["ended"] == "stopped"
