"""`guardtui history`: the loop by command, and what is refused."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from guardtui.app.scan.recording import EvaluatedFiles, record_evaluation
from guardtui.domain.prompt_reading import AS_WRITTEN
from guardtui.domain.topic import Intent
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.experiments import ExperimentLog, ExperimentRecord
from guardtui.session.session_file import session_file
from guardtui.session.store import SessionStore
from tests.cli.conftest import Result, Run, full_disk
from tests.guardrails import airs_settings

TOPIC = """# mine
name: Tax
description: {}
examples:
- how do I pay tax
- tax rates
intent: block
owner: me
"""
FIRST, BETTER, WORSE = (
    "Bread and dragons",
    "Income tax, tax refunds and tax returns",
    "Bread, dragons and cakes",
)
SET = b"prompt,expected\nincome tax,true\nbread,false\n"
EVAL = ("eval", "t.yaml", "--prompts", "t.csv", "--set", "encoder=static", "--threshold", "0.3")


@pytest.fixture
def topic(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    subjects = ("income tax", "a tax refund", "my tax return", "bread", "dragons", "the train")
    rows = [f"{subjects[row % 6]} {row},{str(row % 6 < 3).lower()}" for row in range(60)]
    Path("t.csv").write_text("\n".join(["prompt,expected", *rows, ""]))
    write(FIRST)
    return Path("t.yaml")


def write(description: str) -> None:
    Path("t.yaml").write_text(TOPIC.format(description))


def run_named(run: Run, result: Result) -> Result:
    """Run the command of a decision that a message names."""
    line = re.search(r"'guardtui (history .*?)'", result.err)
    assert line is not None, result.err
    done = run(*shlex.split(line[1]))
    assert done.code == 0, done.err
    return done


def listed(run: Run, *words: str) -> list[dict[str, Any]]:
    result = run("history", "list", "t.yaml", "--format", "json", *words)
    assert result.code == 0
    iterations: list[dict[str, Any]] = json.loads(result.out)["iterations"]
    return iterations


def test_a_session_of_prompts_from_standard_input_is_listed(
    run: Run, topic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = Path("t.csv").rename("other.csv")
    record_evaluation(
        EvaluatedFiles(topic, None, AS_WRITTEN),
        LocalScanner("static").evaluate_now(
            load_topic(topic).topic, load_prompts(prompts, Intent.BLOCK)
        ),
    )
    assert [entry["number"] for entry in listed(run)] == [0]


def test_best_definition_that_is_measured_again_is_not_said_to_be_discarded(
    run: Run, topic: Path
) -> None:
    run(*EVAL, "--record")
    again = run(*EVAL, "--record", "--threshold", "0.9")
    assert (
        "recorded as #1\n  it is the best definition, that of #0: an edit comes next" in again.err
    )
    assert "nothing to discard" in run("history", "discard", "t.yaml").err


def test_loop_of_edit_eval_keep_and_discard_without_the_app(run: Run, topic: Path) -> None:
    assert "recorded as #0 (keep)" in run(*EVAL, "--record").err
    assert "recorded already: #0 (keep)" in run(*EVAL, "--record").err
    write(BETTER)
    undecided = run(*EVAL, "--record")
    assert "recorded as #1\n" in undecided.err
    assert "kept as #1" in run_named(run, undecided).err
    kept = run("history", "keep", "t.yaml", "--format", "json")
    assert (kept.code, json.loads(kept.out)["iterations"][0]["decision"]) == (0, "keep")
    write(WORSE)
    run(*EVAL, "--record")
    refused = run("history", "keep", "t.yaml")
    assert (refused.code, refused.out) == (4, "")
    assert "#2 is not kept: worse than #1" in refused.err
    assert "--anyway" in refused.err
    assert "back to #1" in run_named(run, refused).err
    assert topic.read_text() == TOPIC.format(BETTER)
    found = listed(run)
    assert [(one["number"], one["decision"], one["by"]) for one in found] == [
        (0, "keep", "command"),
        (1, "keep", "command"),
        (2, "discard", "command"),
    ]
    assert list(found[0]) == [
        *("number", "decision", "guardrail", "coverage", "tpr", "tnr", "interval"),
        *("definition", "recorded_at", "by", "prompt_set", "best", "baseline"),
    ]
    assert "nothing to discard: #1 is the best" in run("history", "discard", "t.yaml").err
    assert run("export", "t.yaml", "--iteration", "2").code == 0


def test_definition_over_the_limits_is_not_kept_without_a_flag(run: Run, topic: Path) -> None:
    run(*EVAL, "--record")
    write("Tax " * 100)
    run(*EVAL, "--record")
    refused = run("history", "keep", "t.yaml")
    assert (refused.code, refused.out) == (2, "")
    assert "#1 is not kept: AIRS would refuse this definition: description has" in refused.err
    assert run("history", "keep", "t.yaml", "--anyway").code == 0


def test_gain_that_is_not_demonstrable_is_neither_kept_nor_discarded_without_a_flag(
    run: Run, topic: Path
) -> None:
    run(*EVAL, "--record")
    write("Dragons and a train")
    run(*EVAL, "--record")
    asked = run("history", "discard", "t.yaml")
    assert (asked.code, asked.out) == (2, "")
    assert "Coverage is greater than that of #0" in asked.err
    assert "Discard anyway? There is no terminal to ask" in asked.err
    assert "give --yes" in asked.err
    refused = run("history", "keep", "t.yaml")
    assert refused.code == 4
    assert "more labelled prompts would decide" in refused.err
    assert "leave it undecided, and try another edit; '" in refused.err
    assert "back to #0" in run_named(run, refused).err
    assert topic.read_text() == TOPIC.format(FIRST)


@pytest.mark.parametrize("group", ["history", "inbox"])
def test_a_group_with_a_topic_alone_lists(run: Run, topic: Path, group: str) -> None:
    run(*EVAL, "--record")
    listed = run(group, "list", "t.yaml", "--prompts", "t.csv")
    assert run(group, "t.yaml", "--prompts", "t.csv") == listed
    assert (listed.code, run(group, "none.yaml").code) == (0, 2)


def test_restore_pin_and_unpin(run: Run, topic: Path) -> None:
    run(*EVAL, "--record")
    write(BETTER)
    run(*EVAL, "--record")
    write("in no iteration")
    refused = run("history", "restore", "t.yaml", "0")
    assert (refused.code, load_topic(topic).topic.description) == (2, "in no iteration")
    assert "--yes" in refused.err
    assert run("history", "restore", "t.yaml", "0", "--yes").code == 0
    assert topic.read_text() == TOPIC.format(FIRST)
    run("history", "pin", "t.yaml", "1")
    assert SessionStore(topic).pinned() == 1
    run("history", "unpin", "t.yaml")
    assert SessionStore(topic).pinned() is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("restore", "t.yaml", "7"), "no iteration 7\n  existing: 0"),
        (("keep", "t.yaml", "--iteration", "7"), "no iteration 7"),
        (("list", "none.yaml"), "none.yaml: no such file"),
        (("keep", "other.yaml"), "other.yaml: nothing is recorded"),
        (("restore", "0", "t.yaml"), "'t.yaml' is not a valid integer range"),
        (
            ("keep", "t.yaml", "--prompts", "other.csv"),
            "is in no iteration on other.csv",
        ),
    ],
)
def test_bad_input_is_explained(
    run: Run, topic: Path, words: tuple[str, ...], message: str
) -> None:
    run(*EVAL, "--record")
    Path("other.yaml").write_text(topic.read_text())
    Path("other.csv").write_text("prompt,expected\ntax,true\nbread,false\n")
    result = run("history", *words)
    assert (result.code, result.out) == (2, "")
    assert message in result.err


def test_engine_is_recorded_only_on_request_and_list_is_by_prompts(run: Run, topic: Path) -> None:
    run(*EVAL)
    assert not session_file(topic).exists()
    run(*EVAL, "--record")
    Path("other.csv").write_text("prompt,expected\ntax,true\nbread,false\n")
    run(*EVAL, "--record", "--prompts", "other.csv")
    assert [one["number"] for one in listed(run, "--prompts", "other.csv")] == [1]
    assert len({one["prompt_set"] for one in listed(run)}) == 2
    table = run("history", "list", "t.yaml").out.splitlines()
    assert [line.split("\t")[-1].split(",")[0] for line in table] == ["60 prompts", "other.csv"]


def test_list_marks_best_and_baseline_of_each_guardrail_and_has_experiments(
    run: Run, topic: Path
) -> None:
    for description in (BETTER, WORSE):
        write(description)
        run(*EVAL, "--record")
        run("history", "keep", "t.yaml", "--anyway")
    found = listed(run)
    assert [(one["best"], one["baseline"]) for one in found] == [(True, False), (False, True)]
    first = SessionStore(topic).iterations()[0].evaluation
    scanned = replace(first, settings=airs_settings("prod"))
    write(BETTER)
    record_evaluation(EvaluatedFiles(topic, Path("t.csv"), AS_WRITTEN), scanned)
    ExperimentLog(SessionStore(topic)).add(
        ExperimentRecord(
            number=0,
            created="2026-01-02T03:04:05+00:00",
            topic=first.topic,
            settings=scanned.settings,
            prompt_set=first.prompt_set,
            keys=first.keys,
            expected=first.expected,
            candidates=((first.topic, {}),),
            seed=0,
        )
    )
    result = run("history", "list", "t.yaml")
    assert [line.split("\t")[1] for line in result.out.splitlines()] == ["★", "◆", "★◆"]
    assert "★ best, ◆ baseline" in result.err
    assert "experiment of 1 candidate: not finished; 0 calls; AIRS" in result.err
    (experiment,) = json.loads(run("history", "list", "t.yaml", "--format", "json").out)[
        "experiments"
    ]
    assert (experiment["candidates"], experiment["ending"], experiment["kept"]) == (1, "", None)


def test_report_is_delivered_where_nothing_can_be_recorded(run: Run, topic: Path) -> None:
    session_file(topic).parent.mkdir()
    session_file(topic).write_bytes(b"no database" * 100)
    result = run(*EVAL, "--record")
    assert result.code == 0
    assert "Coverage is" in result.out
    assert "warning: not recorded: " in result.err


@pytest.mark.parametrize(
    "words",
    [
        ("keep", "t.yaml", "--anyway"),
        ("discard", "t.yaml", "--yes"),
        ("restore", "t.yaml", "0"),
        ("pin", "t.yaml", "0"),
        ("unpin", "t.yaml"),
    ],
)
def test_full_disk_changes_nothing_and_the_iterations_are_still_listed(
    run: Run, topic: Path, words: tuple[str, ...]
) -> None:
    run(*EVAL, "--record")
    write(WORSE)
    run(*EVAL, "--record")
    before = session_file(topic).read_bytes(), topic.read_bytes()
    with full_disk():
        result = run("history", *words)
        iterations = listed(run)
    assert (result.code, result.out) == (2, "")
    assert "sessions.sqlite3: " in result.err
    assert "free some" in result.err
    assert (session_file(topic).read_bytes(), topic.read_bytes()) == before
    assert [one["decision"] for one in iterations] == ["keep", "undecided"]


def test_another_threshold_is_no_progress(run: Run, topic: Path) -> None:
    run(*EVAL, "--record", "--threshold", "0.99")
    write(BETTER)
    run(*EVAL, "--record")
    refused = run("history", "keep", "t.yaml")
    assert refused.code == 4
    assert "threshold 0.300 (by hand), #0 by " in refused.err
    assert "threshold 0.990 (by hand)\n" in refused.err
    assert "--anyway" in refused.err
    assert run("history", "keep", "t.yaml", "--anyway").code == 0


def test_link_to_a_topic_file_has_the_session_of_the_file(run: Run, topic: Path) -> None:
    run(*EVAL, "--record")
    Path("below").mkdir()
    Path("below/link.yaml").symlink_to(topic.absolute())
    again = run("eval", "below/link.yaml", *EVAL[2:], "--record")
    assert "recorded already: #0 (keep)" in again.err
    assert run("history", "pin", "below/link.yaml", "0", "--prompts", "t.csv").code == 0
    assert SessionStore(topic).pinned() == 0
    assert [entry.name for entry in Path("below").iterdir()] == ["link.yaml"]


def test_renamed_topic_is_told_whose_iterations_are_recorded(run: Run, topic: Path) -> None:
    run(*EVAL, "--record")
    topic.rename("new.yaml")
    result = run("history", "list", "new.yaml")
    assert (result.code, result.out) == (2, "")
    assert "if this file was renamed, give it its name back: recorded here is t.yaml" in result.err


def test_prompts_from_standard_input_are_recorded_and_not_remembered_as_a_file(
    run: Run, topic: Path
) -> None:
    run(*EVAL, "--record")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("guardtui.files.prompt_rows.read_standard_input", lambda *_, **__: SET)
        evaluated = run(*EVAL, "--record", "--prompts", "-")
        kept = run("history", "keep", "t.yaml", "--prompts", "-", "--anyway")
    assert "recorded as #1" in evaluated.err
    assert "kept as #1" in kept.err
    assert SessionStore(topic).prompt_file() == str(Path("t.csv").absolute())
    Path("t.csv").unlink()
    refused = run("history", "keep", "t.yaml")
    assert "no prompt set is known for this topic\n  name one with --prompts FILE" in refused.err
