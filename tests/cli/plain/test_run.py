"""The loop of the plain mode: opening, the end, drafts, other programs, interrupts."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from guardtui.files.topic_files import load_topic
from guardtui.session.session import Decision, Recorder
from guardtui.session.store import Draft, SessionStore, StoreError
from guardtui.session.workspace import Workspace
from tests.cli.conftest import Run
from tests.cli.plain.conftest import FILES, Plain, require_plain

STATIC = ("open", "--plain", "--set", "encoder=static")


def test_the_end_of_the_input_saves_nothing_and_keeps_the_draft(plain: Plain, folder: Path) -> None:
    before = (folder / "topic.yaml").read_bytes()
    result = plain("name Taxes")
    assert (result.code, result.err) == (0, "")
    assert result.out.endswith(
        "topic.yaml is as it was: your edits come back when you open it again\n"
    )
    assert (folder / "topic.yaml").read_bytes() == before
    result = plain("quit", "name Never")
    assert "Your unsaved edits are back; Undo returns to the file." in result.out
    assert "Never" not in result.out
    assert "name: Taxes\n" in plain("show").out


def test_a_draft_of_another_file_is_offered_and_stays_unless_refused(
    plain: Plain, folder: Path
) -> None:
    plain("name Taxes")
    path = folder / "topic.yaml"
    path.write_text(path.read_text("utf-8").replace("personal", "business"), "utf-8")
    assert "Not answered: nothing is changed.\n" in plain().out
    assert "name: Taxes\n" in plain("y", "show").out
    assert "name: Tax advice\n" in plain("undo", "show").out


def test_edits_that_cannot_be_kept_are_printed(
    plain: Plain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(store: SessionStore, draft: Draft | None) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(SessionStore, "save_draft", full)
    result = plain("name Taxes", "name Tithes")
    assert result.code == 3
    assert result.err.count("Your edits are not saved to disk: the disk is full") == 1
    assert "topic.yaml: your unsaved edits could not be kept; this is them:\n" in result.err
    assert "\n  name: Tithes\n" in result.err


def test_what_another_program_does_is_learnt_at_the_next_command(
    plain: Plain, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain()
    path, save = folder / "topic.yaml", Workspace.save_draft
    edits: list[str] = []

    def meanwhile(workspace: Workspace, *, always: bool = False) -> None:
        save(workspace, always=always)
        if not edits:
            edits.append("one")
            store = SessionStore(path)
            (first,) = store.iterations()
            store.add_iteration(
                replace(first, decision=Decision.UNDECIDED, by=Recorder.COMMAND, created="2026")
            )
            store.close()
            path.write_text(path.read_text("utf-8").replace("personal", "business"), "utf-8")

    monkeypatch.setattr(Workspace, "save_draft", meanwhile)
    result = plain("name Taxes", "show", "show")
    assert "#1 is recorded by a command, coverage " in result.out
    assert "The topic file was changed by another program: description " in result.out
    shown = result.out.rpartition("\nname: ")[2]
    assert shown.startswith("Taxes\ndescription: Advice on filing business income tax returns\n")


def test_without_the_session_figures_are_shown_and_edits_are_printed(
    plain: Plain, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = Workspace.save_draft

    def deleted(workspace: Workspace, *, always: bool = False) -> None:
        save(workspace, always=always)
        shutil.rmtree(folder / ".guardtui", ignore_errors=True)

    monkeypatch.setattr(Workspace, "save_draft", deleted)
    result = plain("name Taxes", "description Bread", "discard", "y", "show")
    assert result.code == 3
    assert result.out.count("\nCoverage is ") == 4
    assert "deployed" not in result.err
    assert "sessions.sqlite3: the file is missing: it was deleted or moved" in result.err
    assert "\n  description: Bread\n" in result.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["missing.yaml"], "no topic file 'missing.yaml'"),
        (["topic.yaml", "--prompts", "missing.csv"], "missing.csv: no such file"),
        (["topic.yaml", "--prompts", "bad.csv"], "bad.csv:1: the column prompt is missing"),
        (["topic.yaml", "--prompts", "-"], "--prompts -: the app cannot read prompts"),
    ],
)
def test_bad_files_are_errors_before_any_command(
    run: Run, folder: Path, arguments: list[str], told: str
) -> None:
    (folder / "bad.csv").write_text("a,b\n1,2\n", "utf-8")
    result = require_plain(run(*STATIC, *arguments, piped=b"keep\n"))
    assert (result.code, result.out) == (2, "")
    assert told in result.err


def test_a_prompt_file_opens_with_a_topic_made_for_it(plain: Plain, folder: Path) -> None:
    result = plain("description Tax returns and deductions", "keep", "y", files=("prompts.csv",))
    assert (result.code, result.err) == (0, "")
    assert "Wrote prompts.yaml." in result.out
    topic = load_topic(folder / "prompts.yaml").topic
    assert (topic.name, topic.description) == ("Prompts", "Tax returns and deductions")


@pytest.mark.parametrize("beside", [False, True])
def test_prompts_alone_open_their_own_topic_and_never_the_last_one(
    plain: Plain, folder: Path, beside: bool
) -> None:
    plain()
    wiring = folder / "wiring"
    wiring.mkdir()
    shutil.copy(folder / "prompts.csv", wiring / "wiring.csv")
    if beside:
        shutil.copy(folder / "topic.yaml", wiring / "wiring.yaml")
    opened = plain(files=("--prompts", "wiring/wiring.csv"))
    assert (opened.code, opened.err) == (0, "")
    assert opened.out.startswith("guardtui  wiring/wiring.yaml × wiring/wiring.csv (")
    assert SessionStore(folder / "topic.yaml", reading=True).prompt_file() == str(
        folder / "prompts.csv"
    )


def test_texts_of_files_are_inert(plain: Plain, folder: Path) -> None:
    with (folder / "prompts.csv").open("a", encoding="utf-8") as file:
        file.write('"\x1b]52;c;aGk=\x07 soup\u202e",true,block,x\n')
    result = plain("mistakes fn", "mistakes 1", "example 3 #1")
    assert "␛]52;c;aGk=␇ soup⟪RLO⟫" in result.out  # the fixture finds no control character
    assert "example 3: it holds a control character" in result.err


def test_without_a_terminal_the_app_points_here(run: Run) -> None:
    assert "'guardtui open --plain' needs none" in run("topic.yaml").err


# --- processes ----------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell")
def test_a_closed_standard_output_is_an_error_before_any_command(
    folder: Path, environment: dict[str, str]
) -> None:
    line = f"{sys.executable} -m guardtui {' '.join((*STATIC, *FILES))} >&-"
    done = subprocess.run(
        line, shell=True, cwd=folder, env=environment, input="keep\n", capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        2,
        "error: standard output is closed\n  open it, or redirect it to a file: > FILE\n",
    )
    assert not (folder / ".guardtui").exists()


def running(folder: Path, environment: Mapping[str, str]) -> subprocess.Popen[str]:
    """Start the plain mode, and read until it waits for a command."""
    process = subprocess.Popen(
        [sys.executable, "-m", "guardtui", *STATIC, *FILES],
        cwd=folder, env=environment, text=True, encoding="utf-8",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    while not process.stdout.readline().startswith("help lists"):
        assert process.poll() is None
    return process


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_edits_come_back_after_a_signal(
    folder: Path, environment: dict[str, str], run_process: Run, number: int, code: int
) -> None:
    process = running(folder, environment)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("name Taxes\nhelp\n")
    process.stdin.flush()
    while not process.stdout.readline().startswith("quit"):  # the draft is written by then
        assert process.poll() is None
    process.send_signal(number)
    assert process.wait(60) == code
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream is not None
        stream.close()
    result = run_process(*STATIC, *FILES, piped=b"show\n")
    assert "Your unsaved edits are back" in result.out
    assert "\nname: Taxes\n" in result.out


@pytest.mark.process
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_an_interrupt_cancels_a_scan_and_another_one_quits(
    folder: Path, environment: dict[str, str]
) -> None:
    pytest.importorskip("aiohttp")
    from tests.cli.sandbox_server import request, sandbox_server
    from tests.cli.terminal import Terminal

    with sandbox_server() as url:
        request(f"{url}/_sandbox/faults", {"faults": ["timeout@sync=after:3"]})
        variables = {
            **environment,
            "HOME": str(folder),
            "PANW_AI_SEC_API_KEY": "sandbox-key",
            "PANW_AI_SEC_API_ENDPOINT": url,
        }
        terminal = Terminal(folder, variables, *STATIC, *FILES, "--guardrail", "airs:sandbox")
        terminal.type("scan\r")
        terminal.expect("Scan with AIRS")
        terminal.type("show\r")
        terminal.expect("Not answered: nothing is changed.")
        terminal.type("scan\r")
        terminal.expect("Scan with AIRS")
        terminal.type("y\r")
        terminal.expect("AIRS: scanning ")  # a line of progress
        os.write(terminal.handle, b"\x03")
        terminal.expect("stopped")
        terminal.type("name Taxes\r")
        terminal.expect("Edited: name changed.")
        told = terminal.leave("\x03")
        terminal.close()
    assert "topic.yaml is as it was: your edits come back" in told
    assert "interrupted" in told
    assert terminal.process.returncode == 130
