"""Gates of `guardtui eval`: exit codes, what is said, several outputs, and what GitHub shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.cli import gates, github
from guardtui.cli.diagnostics import Exit
from guardtui.cli.gates import Gates, State
from guardtui.domain.comparison import compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.series import BestOfSeries
from guardtui.domain.statistics import coverage_interval
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, Verdicts
from guardtui.reports.base import ReportInput
from tests.examples import up_to
from tests.guardrails import engine_settings

from .conftest import NEGATIVE, Result, Run

EVAL = ("eval", "topic.yaml", "--prompts", "prompts.csv", "--set", "encoder=static")
WORKFLOW_COMMAND = re.compile(r"^\s*::([\w-]+)(?: (.*?))?::(.*)$")


def evaluation_of(right: list[bool], missing: int = 0) -> Evaluation:
    """Prompts that should and should not trigger in turn, right or wrong; then some without."""
    expected = np.array([index % 2 == 0 for index in range(len(right) + missing)], np.bool_)
    triggered = np.where(expected, 1, 0)
    triggered[: len(right)] ^= ~np.array(right, np.bool_)
    triggered[len(right) :] = -1
    count = len(expected)
    verdicts = Verdicts(
        triggered.astype(np.int8),
        np.full(count, np.nan, np.float32),
        np.full(count, -1, np.int16),
        {len(right) + k: "timed out" for k in range(missing)},
    )
    keys = np.arange(count, dtype=np.uint64)
    scanner = engine_settings("one")
    return Evaluation(Topic(name="t"), scanner, "set", keys, expected, verdicts)


def report_of(current: Evaluation, before: Evaluation | None = None) -> ReportInput:
    comparison = compare(before, current) if before else None
    return ReportInput(current.topic, current, baseline=before, comparison=comparison)


def states(report: ReportInput, asked: Gates) -> list[tuple[str, str]]:
    return [(result.option, result.state.value) for result in asked.results(report)]


def code(report: ReportInput, asked: Gates) -> int:
    return gates.exit_code(asked.results(report))


@settings(max_examples=up_to(60), deadline=None)
@given(st.lists(st.booleans(), min_size=2, max_size=80), st.floats(0, 1))
def test_the_whole_interval_must_be_above(right: list[bool], least: float) -> None:
    evaluation = evaluation_of(right)
    interval = coverage_interval(evaluation.metrics)
    assert interval is not None
    coverage = evaluation.metrics.coverage
    assert coverage is not None
    expected = 1 if coverage < least else 4 if interval.low < least else 0
    asked = Gates(min_coverage=least, require_significant=True)
    assert code(report_of(evaluation), asked) == expected
    for result in asked.results(report_of(evaluation)):
        match = re.search(r"coverage (\d\S*) is (below|at least) (\S+)", result.text)
        if match:  # the figures that are shown bear out what is said of them
            assert (float(match[1]) < least) is (match[2] == "below")


def test_missing_verdicts_that_could_lower_coverage_are_no_evidence() -> None:
    report = report_of(evaluation_of([True] * 2000, missing=400))
    asked = Gates(min_coverage=0.9, max_errors=400, require_significant=True)
    assert code(report, asked) == 4
    assert "coverage may be 0.833 with the verdicts that are missing" in [
        result.text for result in asked.results(report)
    ]


def with_open(evaluation: Evaluation, count: int) -> Evaluation:
    """The same, of which the last rows were not asked."""
    triggered = evaluation.verdicts.triggered.copy()
    triggered[-count:] = Triggered.NOT_ASKED
    return replace(evaluation, verdicts=replace(evaluation.verdicts, triggered=triggered))


@pytest.mark.parametrize(
    ("asked", "state", "text"),
    [
        (Gates(max_errors=99), "failed", "4 prompts were not asked, the scan is not complete"),
        (Gates(require_complete=True), "failed", "4 prompts were not asked"),
        (Gates(min_coverage=0.5), "passed", "coverage 1.000 is at least 0.5"),
        (Gates(min_coverage=0.7), "unsure", "coverage may be from 0.600 to 1.000"),
        (Gates(max_regressions=0), "unsure", "4 prompts were not asked"),
    ],
)
def test_a_gate_that_open_prompts_could_fail_does_not_pass(
    asked: Gates, state: str, text: str
) -> None:
    whole = evaluation_of([True] * 10)
    report = report_of(with_open(whole, 4), whole)
    (found,) = asked.results(report)
    assert found.state.value == state
    assert text in found.text
    assert code(report, asked) == (Exit.DONE if state == "passed" else Exit.NOT_COMPLETED)


def test_a_gate_that_has_failed_needs_no_open_prompt() -> None:
    report = report_of(with_open(evaluation_of([False] * 20), 4), evaluation_of([True] * 20))
    assert code(report, Gates(min_coverage=0.9)) == Exit.GATE_FAILED
    assert code(report, Gates(max_regressions=2)) == Exit.GATE_FAILED


@settings(max_examples=up_to(60), deadline=None)
@given(st.integers(0, 40), st.integers(0, 40))
def test_a_change_is_significant_when_its_interval_of_coverage_excludes_0(
    fixes: int, regressions: int
) -> None:
    same = [True] * 20
    before = evaluation_of([*same, *[False] * fixes, *[True] * regressions])
    after = evaluation_of([*same, *[True] * fixes, *[False] * regressions])
    report, asked = report_of(after, before), Gates(require_significant=True)
    assert report.comparison is not None
    interval = report.comparison.significance.intervals["coverage"]
    assert interval is not None
    expected = 1 if interval.high < 0 else 0 if interval.low > 0 else 4
    assert code(report, asked) == (expected if fixes + regressions else 0)
    (result,) = asked.results(report)
    said = {0: ("better than ", "no verdicts changed"), 1: ("worse than ",)}
    assert result.text.startswith(said.get(int(result.code), ("no demonstrable change against ",)))


def test_a_baseline_without_common_prompts_is_not_evidence() -> None:
    current = evaluation_of([True] * 4)
    before = replace(current, keys=current.keys + np.uint64(100))
    assert code(report_of(current, before), Gates(require_significant=True)) == 4
    # A baseline of other prompts must not let everything pass.
    unrelated = report_of(current, before)
    assert unrelated.comparison is not None
    assert unrelated.comparison.sentence.startswith("nothing to compare: ")
    assert states(unrelated, Gates(max_regressions=9)) == [("--max-regressions", "unsure")]
    assert code(unrelated, Gates(max_regressions=9)) == 4
    assert code(report_of(current, current), Gates(require_significant=True)) == 0


def test_regressions_of_some_prompts_only_say_so() -> None:
    current = evaluation_of([True] * 4)
    before = replace(current, keys=current.keys + np.uint64(1))
    (told,) = Gates(max_regressions=0).results(report_of(current, before))
    # Neighbours have the other label: three are in both, and none of them with the same one.
    assert told.state is State.UNSURE
    before = replace(current, keys=current.keys + np.uint64(2))
    (told,) = Gates(max_regressions=0).results(report_of(current, before))
    assert told.state is State.PASSED
    assert told.text == "0 regressions, at most 0 allowed (2 of 4 prompts can be compared)"


def test_a_missing_verdict_fails_completeness_with_3_and_max_errors_with_1() -> None:
    report = report_of(evaluation_of([True] * 10, missing=2))
    assert code(report, Gates(require_complete=True)) == int(Exit.NOT_COMPLETED)
    assert code(report, Gates(max_errors=1)) == 1
    assert code(report, Gates(max_errors=2)) == 0
    assert code(report_of(evaluation_of([True] * 4)), Gates(require_complete=True)) == 0


def test_of_several_codes_3_goes_before_1_and_1_before_4() -> None:
    incomplete = report_of(evaluation_of([True] * 10, missing=2), evaluation_of([False] * 12))
    everything = Gates(0.999, 0, None, require_complete=True, require_significant=True)
    assert code(incomplete, everything) == 3
    wrong = evaluation_of([True] * 11 + [False])
    report = report_of(wrong, evaluation_of([True] * 12))
    asked = Gates(max_regressions=0, require_significant=True)
    assert [result.state for result in asked.results(report)] == [State.FAILED, State.UNSURE]
    assert code(report, asked) == 1
    assert code(report, Gates(max_regressions=1, require_significant=True)) == 4


def baseline(run: Run) -> Result:
    """A report in which prompts that should trigger do."""
    return run(*EVAL, "--threshold", "0.2", "-o", "before.json")


def test_every_gate_is_reported_with_its_numbers(run: Run) -> None:
    assert baseline(run).code == 0
    done = run(
        *(*EVAL, "--threshold", "0.999", "--baseline", "before.json", "--min-coverage", "0.5"),
        *("--max-regressions", "9", "--require-complete", "--require-significant"),
    )
    assert done.code == 1
    lines = done.err.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "gate failed",
        "gate passed",
        lines[2].split(":")[0],
        "gate passed",
        "gates",
    ]
    assert lines[0].startswith("gate failed: coverage 0.000 is below 0.5 (0.000 to ")
    assert re.fullmatch(r"gate passed: \d regressions?, at most 9 allowed", lines[1])
    assert re.search(r"the baseline: coverage −\d\.\d{3} \(", lines[2])
    assert lines[3] == "gate passed: 0 prompts without a verdict, at most 0 allowed"
    assert lines[4].endswith("; exit code 1")
    assert "\x1b" not in done.err


@pytest.mark.process
def test_a_script_with_set_e_stops_at_the_gate(folder: Path, environment: dict[str, str]) -> None:
    line = f'"{sys.executable}" -m guardtui {" ".join(EVAL)}'
    script = f"set -e\n{line} --min-coverage 0 > one.txt\n"
    script += f"{line} --threshold 0.999 --min-coverage 0.9 -o two.json\necho never\n"
    done = subprocess.run(
        ["sh", "-c", script], cwd=folder, env=environment, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert (folder / "one.txt").read_text("utf-8").startswith("Good enough: 0 of 5 prompts are ")
    # What was measured is there although the gate failed.
    assert json.loads((folder / "two.json").read_text("utf-8"))["metrics"]["coverage"] == 0


def test_one_run_writes_several_reports(run: Run, folder: Path) -> None:
    done = run(*EVAL, "-o", "out.json", "-o", "out.md", "-o", "out.csv", "-o", "out", "-o", "-")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("0 of 5 prompts are missed and 0 of 5 wrongly stopped, measured by ")
    assert (folder / "out").read_text("utf-8") == done.out
    assert (folder / "out.md").read_text("utf-8").startswith("# Guardrail topic report: `Tax")
    for name, form in (("out.json", "json"), ("out.md", "md"), ("out.csv", "csv")):
        assert (folder / name).read_text("utf-8") == run(*EVAL, "--format", form).out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_report_that_cannot_be_written_costs_neither_the_others_nor_the_gates(
    run: Run, folder: Path
) -> None:
    (folder / "full.md").symlink_to("/dev/full")
    line = (*EVAL, "--threshold", "0.9999", "-o", "full.md", "-o", "after.json")
    done = run(*line, "--min-coverage", "1")
    assert done.code == 2
    assert "error: full.md: the disk is full" in done.err
    assert "gate failed: coverage" in done.err
    assert done.err.rstrip().endswith("exit code 2")
    assert json.loads((folder / "after.json").read_text("utf-8"))["results"]


def test_a_missing_folder_ends_the_command_before_any_report_is_written(
    run: Run, folder: Path
) -> None:
    done = run(*EVAL, "-o", "report.json", "-o", "none/report.html", "--min-coverage", "1")
    assert (done.code, done.out) == (2, "")
    assert "no folder none" in done.err
    assert "gate" not in done.err
    assert not (folder / "report.json").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="a folder that root cannot write to is rare")
def test_a_read_only_folder_fails_before_the_work(run: Run, folder: Path) -> None:
    shut = folder / "shut"
    shut.mkdir(0o500)
    done = run(*EVAL, "-o", "shut/report.html")
    assert (done.code, done.out) == (2, "")
    assert "is read-only" in done.err


def test_a_format_that_is_named_holds_for_one_file_or_the_screen(run: Run, folder: Path) -> None:
    assert run(*EVAL, "--format", "json", "-o", "odd.txt").code == 0
    assert json.loads((folder / "odd.txt").read_text("utf-8"))["schema_version"] == 1
    both = run(*EVAL, "--format", "md", "-o", "-", "-o", "report.json")
    assert both.out.startswith("# Guardrail topic report: `Tax advice`\n")
    assert json.loads((folder / "report.json").read_text("utf-8"))["schema_version"] == 1


HOSTILE = (
    "::error file=x::owned",
    "  ::add-mask::secret",
    "one\r\n::set-output name=a::b",
    "##[add-mask]secret ##[group]",
    "100%0A::error::x, a:b",
    "\x1b]52;c;aGk=\x07 \u202etxet",
    "<script>alert(1)</script> | `x` ![y](http://z)",
)


def hostile(folder: Path) -> None:
    """Prompts that would act in a log; all of them should trigger, and their category too."""
    rows = ["prompt,expected,intent,category"]
    rows += ['"{}",true,block,"{}"'.format(one.replace('"', '""'), one) for one in HOSTILE]
    rows += [f'"{one}",false,block,::warning::x' for one in NEGATIVE]
    (folder / "prompts.csv").write_text("\n".join([*rows, ""]), "utf-8", newline="")


def runner_commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """What GitHub's runner would take for commands in a log; both of its forms."""
    results = []
    for line in re.split(r"\r\n|\r|\n", text):
        if match := WORKFLOW_COMMAND.match(line):
            pairs = dict(one.split("=", 1) for one in (match[2] or "").split(",") if "=" in one)
            results.append((match[1], pairs, match[3]))
        elif re.search(r"##\[[^\]]*\]", line):
            results.append(("old form", {}, line))
    return results


def test_annotations_name_the_lines_and_nothing_else_acts(run: Run, folder: Path) -> None:
    hostile(folder)
    assert run(*EVAL, "--threshold", "0.0001", "-o", "before.json").code == 0
    on_github = {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(folder.parent)}
    line = (*EVAL, "--threshold", "0.9999", "--baseline", "before.json", "--max-regressions", "0")
    done = run(*line, "--require-significant", **on_github)
    assert done.code == 1
    assert runner_commands(done.out) == []
    assert runner_commands(run(*line).out)  # without GitHub the report is as it always is
    result = runner_commands(done.err)
    assert [(name, told.get("title")) for name, told, _ in result][:1] == [
        ("error", "guardtui%3A --max-regressions failed")
    ]
    rows = [(name, told) for name, told, _ in result if told.get("title") == "Regression"]
    assert rows
    before = json.loads((folder / "before.json").read_text("utf-8"))
    hits = [one for one in before["results"] if one["outcome"] == "TP"]
    assert [int(told["line"]) for _, told in rows] == [one["line"] for one in hits]
    assert {(name, told["file"]) for name, told in rows} == {("error", "work/prompts.csv")}
    assert all(set(told) <= {"file", "line", "title"} for _, told, _ in result)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", done.err)


@given(st.text(), st.text())
def test_no_text_leaves_its_place_in_a_command(name: str, text: str) -> None:
    line = f"::error file={github._property(name)},line=3::{github._data(text)}"
    ((word, told, message),) = runner_commands(line)
    assert (word, set(told), told["line"]) == ("error", {"file", "line"}, "3")
    assert "\n" not in message
    assert "\r" not in message


def test_the_summary_is_appended(run: Run, folder: Path) -> None:
    hostile(folder)
    summary = folder / "summary.md"
    summary.write_text("what another step wrote\n", "utf-8")
    done = run(*EVAL, "--min-coverage", "1", GITHUB_STEP_SUMMARY=str(summary))
    assert done.code == 1
    text = summary.read_text("utf-8")
    assert text.startswith(
        "what another step wrote\n# Guardrail topic report: `Tax advice`\n\nNot good enough: "
    )
    assert "| --min-coverage | failed | coverage" in text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    for line in text.splitlines():
        if "<script>" in line:  # in a code span, whose fence no prompt closes
            assert re.search(r"(`+) ?[^`]?.*<script>.*\1", line)


@pytest.mark.parametrize("kind", ["folder", "gone", "input", "pipe", "nul"])
def test_a_summary_that_cannot_be_written_changes_nothing(
    run: Run, folder: Path, kind: str
) -> None:
    names = {
        "folder": str(folder),
        "gone": str(folder / "no" / "where.md"),
        "input": str(folder / "topic.yaml"),
        "pipe": str(folder / "pipe"),
        "nul": "x" * 5000,
    }
    os.mkfifo(folder / "pipe")
    before = (folder / "topic.yaml").read_bytes()
    done = run(*EVAL, "--min-coverage", "0", GITHUB_STEP_SUMMARY=names[kind])
    assert done.code == 0
    assert "warning: " in done.err
    assert "no summary of the step is written: " in done.err
    assert (folder / "topic.yaml").read_bytes() == before


def test_a_summary_keeps_to_what_github_takes(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "summary.md"
    path.write_bytes(b"x" * 900 + b"\n")
    monkeypatch.setattr(github, "SUMMARY_BYTES", 1100)
    assert github._append(path, "a line of text\n" * 1000, ()) == ""
    text = path.read_text("utf-8")
    assert len(text.encode()) <= 1100
    assert text.splitlines()[1:3] == ["a line of text"] * 2
    assert text.endswith("see the report's file\n")
    path.write_bytes(b"x" * 1200)
    assert github._append(path, "text\n", ()) == "it is full"


def test_gates_say_what_to_expect_of_a_baseline_that_is_the_best_of_a_series() -> None:
    report = report_of(evaluation_of([True] * 40), evaluation_of([True] * 38 + [False] * 2))
    series = BestOfSeries(20, 0.041)
    asked = Gates(max_regressions=0, require_significant=True)
    for result in asked.results(replace(report, series=series)):
        expected = "(the baseline: best of 20: expect about 0.04 less on new prompts)"
        assert (expected in result.text) is ("coverage" not in result.option)
    assert not any("best of" in result.text for result in asked.results(report))
