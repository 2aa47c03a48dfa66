"""`guardtui inbox`: from a log to labels, and what is refused."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from guardtui.domain.inbox import prompt_id

from .conftest import ROOT, Run

LOG = ROOT / "sample_data" / "assistant-log.jsonl"


@pytest.fixture
def log(folder: Path) -> Path:
    path = folder / "log.jsonl"
    texts = (
        "What may I deduct?",
        "hello",
        "hello",
        "How do I bake bread?",
        "bell \x07 and \x1b[2J",
    )
    path.write_text("".join(json.dumps({"prompt": text}) + "\n" for text in texts))
    return path


@pytest.fixture
def inbox(log: Path, run: Run) -> Path:
    done = run("inbox", "add", "topic.yaml", "log.jsonl", "--prompts", "prompts.csv")
    assert done.code == 0
    return log.with_name("prompts.inbox.jsonl")


ON = ("--prompts", "prompts.csv")


def test_a_log_is_added_and_says_what_was_left_out(inbox: Path, run: Run) -> None:
    again = run("inbox", "add", "topic.yaml", "log.jsonl", *ON)
    assert again.err == (
        "0 prompts added to prompts.inbox.jsonl; left out: 1 repeated, 3 in the inbox already, "
        "1 in the prompt set already\n"
    )
    assert inbox.stat().st_mode & 0o777 == 0o600


def test_one_line_says_that_the_file_is_private(log: Path, run: Run) -> None:
    done = run("inbox", "add", "topic.yaml", "log.jsonl", *ON)
    assert (
        "prompts.inbox.jsonl may hold personal data: only you can read it, and nothing is"
        in done.err
    )


def test_the_list_shows_what_waits_inert_with_counts(inbox: Path, run: Run) -> None:
    listed = run("inbox", "list", "topic.yaml", *ON)
    assert [line.split("\t")[3] for line in listed.out.splitlines()] == [
        "What may I deduct?", "hello", "bell ␇ and ␛[2J",
    ]  # fmt: skip
    assert listed.err == "3 unlabelled, 0 labelled, 0 set-aside\n"


def test_labels_are_given_changed_and_taken_back(inbox: Path, run: Run, folder: Path) -> None:
    before = (folder / "prompts.csv").read_text()
    name = prompt_id("What may I deduct?")
    done = run("inbox", "label", "topic.yaml", name[:8], "true", "--reason", "asks for it", *ON)
    assert (done.code, done.err.splitlines()) == (
        0,
        [f"{name} unlabelled → true: What may I deduct?", "it is a prompt of prompts.csv"],
    )
    assert (folder / "prompts.csv").read_text() == before + "What may I deduct?,true,block,\n"
    assert (folder / ".guardtui" / "backups" / "prompts.csv.1.bak").read_text() == before
    assert run("inbox", "label", "topic.yaml", name, "false", *ON).code == 0
    assert "1 label changed today" in run("inbox", "list", "topic.yaml", *ON).err
    report = json.loads(run("inbox", "list", "topic.yaml", "--format", "json", *ON).out)
    assert report["kind"] == "inbox"
    assert report["counts"] == {"unlabelled": 2, "labelled": 1, "set-aside": 0}
    changes = report["prompts"][0]["changes"]
    assert [(change["before"], change["after"], change["reason"]) for change in changes] == [
        (None, True, "asks for it"), (True, False, ""),
    ]  # fmt: skip
    assert run("inbox", "label", "topic.yaml", name, "set-aside", *ON).code == 0
    assert (folder / "prompts.csv").read_text() == before
    assert run("inbox", "label", "topic.yaml", name, "unlabelled", *ON).code == 0
    assert "3 unlabelled" in run("inbox", "list", "topic.yaml", *ON).err


def test_verdicts_of_production_are_shown_after_the_label_only(folder: Path, run: Run) -> None:
    (folder / "v.jsonl").write_text('{"prompt": "p", "triggered": true, "guardrail": "prod"}\n')
    added = run("inbox", "add", "topic.yaml", "v.jsonl", *ON)
    unknown = "which definition answered is not known"
    assert f"1 verdict of prod in production, {unknown}\n" in added.err
    listed = run("inbox", "list", "topic.yaml", "--format", "json", *ON)
    assert json.loads(listed.out)["prompts"][0]["production"] == []
    done = run("inbox", "label", "topic.yaml", prompt_id("p"), "true", *ON)
    assert f"in production prod triggered, {unknown}\n" in done.err
    assert "recorded" not in done.err
    listed = run("inbox", "list", "topic.yaml", "--format", "json", *ON)
    (known,) = json.loads(listed.out)["prompts"][0]["production"]
    assert known == {
        "triggered": True, "guardrail": "prod", "definition": "", "topics": [], "logged": None,
    }  # fmt: skip


def test_verdicts_of_a_stated_guardrail_are_an_iteration(folder: Path, run: Run) -> None:
    (folder / "v.jsonl").write_text(
        '{"prompt": "p", "triggered": true}\n{"prompt": "q", "triggered": false}\n'
    )
    words = ("inbox", "add", "topic.yaml", "v.jsonl", *ON)
    added = run(*words, "--guardrail", "airs:prod")
    assert "2 verdicts of airs:prod in production with this definition\n" in added.err
    done = run("inbox", "label", "topic.yaml", prompt_id("p"), "false", *ON)
    assert "in production airs:prod triggered, with this definition\n" in done.err
    assert "recorded as #0, from the log: 1 of 11 prompts have a verdict of AIRS" in done.err
    run("inbox", "export", "topic.yaml", "-o", "out.csv", *ON)
    text = (folder / "out.csv").read_text().replace(",q,,", ",q,false,")
    (folder / "out.csv").write_text(text)
    assert "recorded as #0" in run("inbox", "import", "topic.yaml", "out.csv", *ON).err
    (entry,) = json.loads(run("history", "list", "topic.yaml", "--format", "json").out)[
        "iterations"
    ]
    # Answers on two of the prompts are no rate of the definition.
    assert (entry["by"], entry["decision"], entry["tnr"]) == ("log", "undecided", None)
    refused = run(*words, "--iteration", "1")
    assert (refused.code, "add --guardrail NAME" in refused.err) == (2, True)
    refused = run(*words, "--guardrail", "airs:prod", "--iteration", "1")
    assert (refused.code, "there is no iteration #1" in refused.err) == (2, True)


def test_an_export_is_labelled_elsewhere_and_imported(inbox: Path, run: Run, folder: Path) -> None:
    done = run("inbox", "export", "topic.yaml", "-o", "out.csv", *ON)
    assert (done.code, (folder / "out.csv").stat().st_mode & 0o777) == (0, 0o600)
    rows = list(csv.DictReader((folder / "out.csv").open()))
    assert list(rows[0]) == ["id", "prompt", "expected", "reason", "why_asked", "origin"]
    assert run("inbox", "label", "topic.yaml", rows[1]["id"], "false", *ON).code == 0
    for row, label in zip(rows, ("true", "true", ""), strict=True):
        row["expected"] = label
    rows.append(dict.fromkeys(rows[0], "") | {"prompt": "nobody knows", "expected": "true"})
    with (folder / "in.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    done = run("inbox", "import", "topic.yaml", "in.csv", *ON)
    assert done.code == 0
    assert done.err.splitlines() == [
        "warning: in.csv:3: true contradicts the label false: hello",
        "warning: 1 label not written, since the prompts have the other one: --replace overwrites",
        "warning: in.csv:5: no prompt has this id or text",
        "1 label written to prompts.csv; 1 without a label, 1 of unknown prompts",
    ]
    done = run("inbox", "import", "topic.yaml", "in.csv", "--replace", *ON)
    assert "1 label written to prompts.csv; 1 known already" in done.err
    labels = {
        row["prompt"]: row["expected"] for row in csv.DictReader((folder / "prompts.csv").open())
    }
    assert (labels["hello"], labels["What may I deduct?"]) == ("true", "true")


def test_dropped_prompts_are_removed(inbox: Path, run: Run) -> None:
    done = run(
        "inbox", "drop", "topic.yaml", prompt_id("hello"), prompt_id("What may I deduct?"), *ON
    )
    assert done.err == "2 prompts removed from prompts.inbox.jsonl\n"
    assert "hello" not in inbox.read_text()


def test_the_prompt_set_beside_the_topic_or_a_new_one_is_the_default(
    folder: Path, run: Run
) -> None:
    (folder / "log.txt").write_text("one\ntwo\n")
    assert run("inbox", "add", "topic.yaml", "log.txt").code == 0
    assert (folder / "topic.inbox.jsonl").exists()
    assert run("inbox", "label", "topic.yaml", prompt_id("one"), "true").code == 0
    assert (folder / "topic.csv").read_text() == "prompt,expected,intent\none,true,block\n"


def test_the_sample_log_has_no_prompt_of_the_sample_set(folder: Path, run: Run) -> None:
    sample = ROOT / "sample_data" / "tax-advice.csv"
    (folder / "topic.csv").write_bytes(sample.read_bytes())
    done = run("inbox", "add", "topic.yaml", str(LOG))
    assert done.err.startswith("292 prompts added to topic.inbox.jsonl; left out: 11 repeated\n")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"messages": [{"role": "system", "content": "x"}]}\n', "no text of a user"),
        (
            "a.csv",
            "question,n\nwhy,1\n",
            "its columns: question, n)\n  name the column of the prompts",
        ),
        ("a.txt", "x\0y\n", "a.txt:1: not a text file"),
        ("a.txt", "", "there are no prompts in it"),
    ],
)
def test_logs_that_cannot_be_read_change_nothing(
    folder: Path, run: Run, name: str, content: str, message: str
) -> None:
    (folder / "good.txt").write_text("fine\n")
    (folder / name).write_text(content)
    done = run("inbox", "add", "topic.yaml", "good.txt", name, *ON)
    assert (done.code, message in done.err) == (2, True)
    assert not (folder / "prompts.inbox.jsonl").exists()
    assert not [path for path in folder.iterdir() if path.name.startswith(".prompts")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("label", "topic.yaml", "00000000", "true"), "no prompt has the id 00000000"),
        (("label", "topic.yaml", "x", "perhaps"), "'perhaps' is not one of"),
        (("drop", "topic.yaml", "00000000"), "no prompt has the id"),
        (("list", "none.yaml"), "none.yaml: no such file"),
        (("export", "topic.yaml", "-o", "prompts.csv"), "this is an input"),
        (("export", "topic.yaml", "-o", "prompts.inbox.jsonl"), "this is an input"),
        (("import", "topic.yaml", "none.csv"), "none.csv: no such file"),
        (("import", "topic.yaml", "topic.yaml"), "topic.yaml:1: the columns expected, and id or"),
        (("add", "topic.yaml", "none.txt"), "none.txt: no such file"),
    ],
)
def test_bad_usage_exits_with_2(
    inbox: Path, run: Run, words: tuple[str, ...], message: str
) -> None:
    done = run("inbox", *words, *ON)
    assert (done.code, message in done.err) == (2, True), done.err


def test_standard_input_is_no_prompt_set_to_label(inbox: Path, run: Run) -> None:
    done = run("inbox", "list", "topic.yaml", "--prompts", "-")
    assert (done.code, "save the prompts to a file" in done.err) == (2, True)


def test_a_folder_that_cannot_be_written_is_an_error(
    log: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("guardtui.app.labels.inbox.private_file", denied)
    done = run("inbox", "add", "topic.yaml", "log.jsonl", *ON)
    assert (done.code, "prompts.inbox.jsonl: permission denied" in done.err) == (2, True)


def test_labels_that_are_none_are_listed(inbox: Path, run: Run, folder: Path) -> None:
    (folder / "in.csv").write_text("id,expected\nx,perhaps\ny,true\nz,maybe\n")
    done = run("inbox", "import", "topic.yaml", "in.csv", *ON)
    assert done.code == 2
    assert "in.csv:2: expected is 'perhaps'" in done.err
    assert "in.csv:4: expected is 'maybe'" in done.err


# --- processes --------------------------------------------------------------------------------

_LABELS = """
from pathlib import Path
from guardtui.app.labels.inbox import Inbox
from guardtui.domain.topic import Intent
from guardtui.files.prompt_logs import LoggedPrompt
inbox = Inbox(Path("prompts.csv"), Intent.BLOCK)
inbox.add(LoggedPrompt(text, "log") for text in texts)
inbox.refresh()
for prompt in inbox.own:
    if prompt.expected is None:
        inbox.label(prompt.id, True)
        print(prompt.text, flush=True)
"""


_NO_FCNTL = "import sys, warnings; sys.modules['fcntl'] = None; warnings.simplefilter('ignore')\n"
"""As on a system without this kind of locks."""


@pytest.mark.process
@pytest.mark.parametrize("system", ["", _NO_FCNTL])
def test_kill_9_loses_at_most_the_label_being_given(folder: Path, run: Run, system: str) -> None:
    texts = [f"prompt {number}" for number in range(80)]
    process = _labelling(folder, system, texts)
    assert process.stdout is not None
    given = [process.stdout.readline().strip() for _ in range(25)]
    process.send_signal(signal.SIGKILL)
    given += process.stdout.read().split("\n")[:-1]
    process.wait()
    rows = {
        row["prompt"]: row["expected"] for row in csv.DictReader((folder / "prompts.csv").open())
    }
    assert all(rows[text] == "true" for text in given)
    assert sum(text in rows for text in texts) - len(given) in (0, 1)
    report = json.loads(run("inbox", "list", "topic.yaml", "--format", "json", *ON).out)
    assert report["counts"]["labelled"] == sum(text in rows for text in texts)
    assert _labelling(folder, system, texts).communicate(timeout=60)[0].splitlines()[-1] in texts


def _labelling(folder: Path, system: str, texts: list[str]) -> subprocess.Popen[str]:
    """Start a process that adds these texts and labels those without a label."""
    return subprocess.Popen(
        [sys.executable, "-c", f"{system}texts = {texts}\n{_LABELS}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.process
@pytest.mark.parametrize("system", ["", _NO_FCNTL])
def test_two_processes_label_one_inbox_and_no_label_is_lost(folder: Path, system: str) -> None:
    texts = [f"prompt {number}" for number in range(40)]
    both = [_labelling(folder, system, texts) for _ in range(2)]
    given = [process.communicate(timeout=60)[0].splitlines() for process in both]
    assert {*given[0], *given[1]} == {*texts}
    rows = [row["prompt"] for row in csv.DictReader((folder / "prompts.csv").open())]
    assert all(rows.count(text) == 1 for text in texts)


@pytest.mark.process
def test_a_large_log_is_read_in_constant_memory(tmp_path: Path, folder: Path) -> None:
    padding = "x" * 4000
    sizes = {}
    for count in (2_000, 20_000):
        path = tmp_path / f"{count}.jsonl"
        with path.open("w") as file:
            for number in range(count):
                chat = [{"role": "user", "content": f"prompt {number % 1000}"}]
                file.write(json.dumps({"messages": chat, "response": padding}) + "\n")
        command = (
            "import resource, sys\n"
            "from guardtui.cli.diagnostics import run\n"
            "from guardtui.cli.main import cli\n"
            "code = run(lambda: cli.main(sys.argv[1:], standalone_mode=False))\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
        )
        words = ("inbox", "add", "topic.yaml", str(path), "--prompts", f"{count}.csv")
        done = subprocess.run(
            [sys.executable, "-c", command, *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert f"1,000 prompts added to {count}.inbox.jsonl" in done.stderr
        sizes[count] = int(done.stdout)
    assert sizes[20_000] < 1.1 * sizes[2_000]
