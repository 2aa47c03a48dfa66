"""`--format brief`: the loop of an agent by one short answer each."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

from .test_history import BETTER, EVAL, WORSE, topic, write

__all__ = ["topic"]  # the fixture


def brief(run: Run, *words: str, code: int = 0) -> dict[str, Any]:
    result = run(*words, "--format", "brief")
    assert result.code == code, result.err
    assert len(result.out.encode()) <= 8_000
    document: dict[str, Any] = json.loads(result.out)
    assert document["kind"] == "brief"
    return document


def test_eval_compares_with_the_baseline_of_the_app(run: Run, topic: Path) -> None:
    first = brief(run, *EVAL)
    assert (first["iteration"], first["baseline"]) == (None, None)
    assert first["judgement"]["code"] == "no_baseline"
    first = brief(run, *EVAL, "--record")
    assert (first["iteration"], first["baseline"]) == (0, None)
    write(BETTER)
    second = brief(run, *EVAL, "--record")
    assert (second["iteration"], second["baseline"]) == (1, 0)
    assert second["judgement"] == {
        "code": "better",
        "text": "better for the engine; a scan of the guardrail decides",
    }
    assert second["metrics"]["fixes"] >= len(second["fixed"]) > 0
    run("history", "keep", "t.yaml")
    write(WORSE)
    assert brief(run, *EVAL)["baseline"] == 1
    worse = brief(run, *EVAL, "--record")
    assert (worse["baseline"], worse["judgement"]["code"]) == (1, "worse")
    run("history", "pin", "t.yaml", "0")
    assert brief(run, *EVAL)["baseline"] == 0
    assert brief(run, *EVAL, "--baseline", "1")["baseline"] == 1


def test_reports_to_read_say_the_next_step_and_know_the_session(run: Run, topic: Path) -> None:
    run(*EVAL, "--record")
    write(BETTER)
    run(*EVAL, "--record")
    exported = ("export", "t.yaml", "--iteration", "1")
    first, second = (run(*words, "--format", "md").out for words in (EVAL, exported))
    for text in (first, second):
        assert " the baseline (iteration 0): coverage +" in text
        assert "\n## History\n" in text
    (step,) = [line for line in first.splitlines() if line.startswith("Next step: `")]
    assert step in second.splitlines()
    assert "Next step" not in run("export", "t.yaml", "--format", "table").out


def test_a_report_may_be_the_baseline(run: Run, topic: Path) -> None:
    assert run(*EVAL, "-o", "before.json").code == 0
    write(BETTER)
    document = brief(run, *EVAL, "--baseline", "before.json")
    assert (document["iteration"], document["baseline"]) == (None, None)
    assert document["judgement"]["code"] == "better"
    again = brief(run, *EVAL, "--threshold", "0.4", "--baseline", "before.json")
    assert again["judgement"]["text"].startswith("another threshold than the baseline")


def test_export_of_an_iteration_gives_the_figures_of_its_evaluation(run: Run, topic: Path) -> None:
    brief(run, *EVAL, "--record")
    write(BETTER)
    evaluated = brief(run, *EVAL, "--record")
    exported = brief(run, "export", "t.yaml", "--iteration", "1")
    assert exported["ideas"] is None
    assert "refine --single" in exported["no_ideas"]
    for document in (evaluated, exported):
        del document["ideas"], document["no_ideas"]
    assert exported == evaluated
    assert run("export", "t.yaml", "-o", "r.brief.json").code == 0
    assert json.loads(Path("r.brief.json").read_text("utf-8"))["kind"] == "brief"


def next_run(run: Run, document: dict[str, Any], *more: str) -> str:
    """Run the next command as typed; return what it was."""
    program, *words = shlex.split(document["next_command"])
    assert program == "guardtui"
    assert run(*words, *more).code == 0, words
    return " ".join(words)


def test_the_next_command_goes_through_the_loop(run: Run, topic: Path) -> None:
    first = brief(run, *EVAL)
    assert next_run(run, first) == " ".join([*EVAL, "--format", "brief", "--record"])
    kept = brief(run, *EVAL, "--record")
    assert kept["next_command"] == "guardtui refine t.yaml --prompts t.csv"
    write(BETTER)
    assert next_run(run, brief(run, *EVAL, "--record")) == "history keep t.yaml --iteration 1"
    write(WORSE)
    worse = brief(run, *EVAL, "--record")
    assert next_run(run, worse) == "history discard t.yaml --iteration 2"
    assert BETTER in topic.read_text()
    best = brief(run, *EVAL, "--record")
    assert not any(idea["likely"] for idea in best["ideas"])
    assert best["next_command"] is None  # the author's own edit


def test_gain_that_is_not_demonstrable_is_neither_kept_nor_discarded(run: Run, topic: Path) -> None:
    rows = topic.with_name("t.csv").read_text().splitlines()
    topic.with_name("t.csv").write_text("\n".join([*rows[:25], ""]))
    brief(run, *EVAL, "--record")
    write("Bread, dragons and income tax")
    document = brief(run, *EVAL, "--record")
    assert document["judgement"]["code"] not in ("better", "worse")
    assert document["metrics"]["fixes"] > document["metrics"]["regressions"]
    assert "history" not in str(document["next_command"])


def test_too_few_labels_have_no_next_command(run: Run, topic: Path) -> None:
    topic.with_name("t.csv").write_text("prompt,expected\nincome tax,true\nbread,false\n")
    document = brief(run, *EVAL, "--record")
    assert document["judgement"]["code"] == "too_few_labels"
    assert document["next_command"] is None
    assert document["ideas"] is None
    assert "add some" in document["no_ideas"]


def test_ideas_have_their_evidence_and_are_those_of_refine(run: Run, folder: Path) -> None:
    command = ("topic.yaml", "--prompts", "prompts.csv", "--set", "encoder=static")
    document = brief(run, "eval", *command)
    refined = json.loads(run("refine", *command, "--single", "--format", "json").out)
    for idea, proposal in zip(document["ideas"], refined["proposals"], strict=False):
        assert idea["gain"] == round(proposal["gain"], 6)
        assert idea["definition"].items() <= proposal["topic"].items()
        assert idea["guardrail"] == "engine (approximation)"
        assert idea["forecast"] is None
    assert document["ideas"] or document["no_ideas"]


def test_more_gives_whole_lists_page_by_page_without_a_scan(run: Run, topic: Path) -> None:
    subjects = ["dragons"] * 55 + ["income tax"] * 20
    rows = [f"{subject} {row},{str(row >= 55).lower()}" for row, subject in enumerate(subjects)]
    topic.with_name("t.csv").write_text("\n".join(["prompt,expected", *rows, ""]))
    document = brief(run, *EVAL, "--record")
    count = document["metrics"]["fp"]
    assert count > 40
    assert document["more"] == "guardtui export t.yaml --iteration 0 --format brief --more fp"
    lines: list[int] = []
    for page in (1, 2, 3):
        words = shlex.split(document["more"])[1:]
        result = run(*words, "--page", str(page))
        assert len(result.out.encode()) <= 8_000
        part = json.loads(result.out)
        assert (part["kind"], part["list"]) == ("brief-page", "fp")
        assert (part["page"], part["pages"], part["count"]) == (page, 3, count)
        lines += [prompt["line"] for prompt in part["prompts"]]
    assert len(set(lines)) == len(lines) == count
    assert lines[:10] == [prompt["line"] for prompt in document["false_positives"]]
    again = json.loads(run(*EVAL, "--format", "brief", "--more", "fp", "--page", "3").out)
    assert [prompt["line"] for prompt in again["prompts"]] == lines[40:]
    unrecorded = brief(run, *EVAL, "--no-record")
    assert unrecorded["more"].startswith("guardtui eval t.yaml")
    assert unrecorded["next_command"] is None


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--more", "fp"), "--more is for the format brief: add --format brief"),
        (("--format", "brief", "--page", "2"), "--page is for --more"),
        (("--format", "brief", "--more", "tp"), "'tp' is not one of 'fp', 'fn', 'broke', 'fixed'"),
        (("--format", "brief", "--more", "fp", "--page", "0"), "0 is not in the range x>=1"),
        (("--format", "brief", "--more", "broke", "--page", "9"), "there is no page 9 of broke"),
        (("--format", "brief", "--more", "fp", "--fresh"), "--fresh"),
    ],
)
def test_options_of_a_page_that_do_not_fit_are_explained(
    run: Run, topic: Path, words: tuple[str, ...], problem: str
) -> None:
    run(*EVAL, "--record")
    for command in (EVAL, ("export", "t.yaml")):
        result = run(*command, *words)
        assert (result.code, result.out) == (2, "")
        assert problem in result.err


def test_what_cannot_be_recorded_is_not_repeated(run: Run, topic: Path) -> None:
    topic.with_name(".guardtui").write_text("")
    document = brief(run, *EVAL, "--record")
    assert (document["iteration"], document["next_command"]) == (None, None)


def test_file_named_like_an_option_is_a_file_in_the_next_command(run: Run, topic: Path) -> None:
    Path("-rf.yaml").write_text(topic.read_text())
    words = ["eval", "./-rf.yaml", *EVAL[2:], "--record"]
    assert brief(run, *words)["iteration"] == 0
    Path("-rf.yaml").write_text(topic.read_text().replace("Bread and dragons", BETTER))
    document = brief(run, *words)
    assert next_run(run, document) == "history keep ./-rf.yaml --iteration 1"


def test_files_of_any_name_are_quoted(run: Run, topic: Path) -> None:
    named = Path("a b; $(c) 'd' \u202e.yaml")
    named.write_text(topic.read_text())
    document = brief(run, "eval", str(named), *EVAL[2:])
    assert shlex.split(document["next_command"])[2] == str(named)
