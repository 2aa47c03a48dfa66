"""However the app ends, typed text is saved or reported as lost."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from textual.app import ComposeResult
from textual.messages import ExitApp
from textual.pilot import Pilot
from textual.widget import Widget

from guardtui.app.leaving import exit_report
from guardtui.session.store import Draft, SessionStore, StoreError
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.editor.pane import TopicEditor
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.main import workspace as files
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.metrics.pane import MetricsPane
from guardtui.tui.results.pane import ResultsPane
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import drive, frame, main_screen, make_app, topic_path, until

__all__ = ["topic_path"]


def drafts(topic: Path) -> list[str]:
    return [draft.topic.description for draft in SessionStore(topic).abandoned_drafts()]


async def test_quitting_asks_when_the_edits_cannot_be_saved(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(store: SessionStore, draft: Draft | None) -> None:
        if draft is not None:
            raise StoreError("the disk is full")

    monkeypatch.setattr(SessionStore, "save_draft", full)

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("tab", *" half")
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        assert app.return_code is None
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        assert app.return_code is None
        assert not main.services.workspace.draft_is_safe

    await drive(topic_path, run)


async def test_quitting_waits_for_another_program_without_blocking(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        path = main.services.workspace.store.path
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await pilot.press("tab", *" half", "ctrl+q")
            await until(pilot, lambda: main.services.session.topic.description.endswith("half"))
            assert app.return_code is None
            other.execute("ROLLBACK")
        await until(pilot, lambda: app.return_code == 0)

    await drive(topic_path, run)
    assert [text.endswith("half") for text in drafts(topic_path)] == [True]


async def test_a_signal_to_quit_saves_pending_text(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("tab", *" half")
        os.kill(os.getpid(), signal.SIGTERM)
        await until(pilot, lambda: app.return_code is not None)
        assert app.return_code == 143

    await drive(topic_path, run)
    assert [text.endswith("half") for text in drafts(topic_path)] == [True]


@pytest.mark.exhaustive
async def test_a_draft_stays_while_the_question_is_open(topic_path: Path) -> None:
    async def typing(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("tab", *" half")

    await drive(topic_path, typing)
    topic_path.write_text(topic_path.read_text("utf-8").replace("Tax advice", "Taxes"))
    app = make_app(topic_path)
    async with app.run_test() as pilot:
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        workspace = main_screen(app).services.workspace
        workspace.save_draft()
        workspace.save_draft(always=True)
    assert [text.endswith("half") for text in drafts(topic_path)] == [True]


@pytest.mark.exhaustive
async def test_a_definition_with_odd_line_breaks_is_not_changed_by_looking(
    topic_path: Path,
) -> None:
    topic_path.write_text('name: "a\\rb"\ndescription: "c\\Ld"\nexamples: ["e\\Nf", "", "g"]\n')

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        assert not main.services.workspace.unsaved
        await pilot.press("tab", "x", "backspace")
        await pilot.pause()
        assert main.services.session.topic.examples == ("e\x85f", "", "g")

    await drive(topic_path, run)
    assert drafts(topic_path) == []


BYTES = """
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(TERM="xterm-256color")
    words = [sys.executable, "-m", "guardtui", sys.argv[1], "--set", "encoder=static"]
    os.execv(sys.executable, words)
def wait_for(sign):
    shown = b""
    while sign not in shown:
        shown += os.read(terminal, 65536)
wait_for(b"Topic")
os.write(terminal, b"\\t\\xe9\\xff\\xc3(")
wait_for("\\ufffd".encode())
os.write(terminal, b"\\x11")
try:
    while os.read(terminal, 65536):
        pass
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_bytes_that_are_no_text_do_not_end_the_app(topic_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", BYTES, str(topic_path)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "\N{REPLACEMENT CHARACTER}" in str(SessionStore(topic_path).abandoned_drafts()[0])


@pytest.mark.parametrize("size", first_is_fast((20, 5), (39, 40), (120, 11)))
async def test_a_window_that_is_too_small_says_so_and_recovers(
    topic_path: Path, size: tuple[int, int]
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.resize_terminal(*size)
        await until(pilot, lambda: "Nothing is lost" in " ".join(frame(app).split()))
        assert "Tax advice" not in frame(app)
        await pilot.press("tab", *" half")
        await pilot.resize_terminal(60, 20)
        await until(pilot, lambda: "Personal tax advice half" in frame(app))

    await drive(topic_path, run)


async def test_the_exit_report_stays_in_the_terminal(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "DRAFT_EVERY", 86400.0)  # this test says when the draft is saved

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        report = exit_report(main.services.workspace, main.state)
        assert "tax.yaml" in report
        assert "engine coverage" in report
        assert "1 iteration in" in report
        assert "come back" not in report
        await pilot.press("tab", *" half")
        await until(pilot, lambda: main.services.session.topic.description.endswith("half"))
        assert "your edits come back" not in exit_report(
            main.services.workspace, main.state
        )  # not on disk yet
        main.services.workspace.save_draft()
        assert "tax.yaml is as it was: your edits come back" in exit_report(
            main.services.workspace, main.state
        )

    await drive(topic_path, run)


@pytest.mark.parametrize("moment", [MainScreen, TopicEditor, ResultsPane, MetricsPane])
async def test_leaving_before_the_screen_is_mounted_is_no_crash(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch, moment: type[Widget]
) -> None:
    """By a key or a signal."""
    usual = moment.compose

    def compose(widget: Widget) -> ComposeResult:
        widget.app.exit(return_code=0)
        yield from usual(widget)

    monkeypatch.setattr(moment, "compose", compose)
    app = make_app(topic_path)
    async with asyncio.timeout(120):
        await app.run_async(headless=True, size=(120, 40))
    assert app._exception is None
    assert app.return_code == 0


async def test_a_tab_that_is_closed_at_once_is_no_crash(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The web driver sends this message when the websocket ends."""
    monkeypatch.setattr(
        GuardtuiApp, "on_load", lambda app: app.post_message(ExitApp()), raising=False
    )
    app = make_app(topic_path)
    async with asyncio.timeout(120):
        await app.run_async(headless=True, size=(120, 40))
    assert app._exception is None


@pytest.mark.process
def test_a_crash_report_has_no_prompts(topic_path: Path, own_folders: Path) -> None:
    script = (
        "import sys; from guardtui.tui.app import GuardtuiApp\n"
        "def fail(self): raise RuntimeError('How can I pay less tax?')\n"
        "GuardtuiApp.action_show_help = fail\n"
        "from guardtui.cli.main import main; main(sys.argv[1:])\n"
    )
    body = BYTES.replace('"-m", "guardtui", sys.argv[1]', f'"-c", {script!r}, sys.argv[1]').replace(
        r"\x11", r"\x1bOP"
    )
    assert body != BYTES
    body = body.replace("    while os.read(terminal, 65536):\n        pass", READ)
    # What is read of the terminal may begin in the middle of a character.
    run = subprocess.run(
        [sys.executable, "-c", body, str(topic_path)],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    assert run.returncode == 3, run.stderr
    assert "guardtui failed unexpectedly (RuntimeError)" in run.stdout
    assert "Traceback" not in run.stdout
    (crash,) = (own_folders / "cache" / "crashes").iterdir()
    assert "pay less" not in crash.read_text()
    assert "action_show_help" in crash.read_text() or "fail" in crash.read_text()
    assert len(drafts(topic_path)) == 1


READ = (
    "    while part := os.read(terminal, 65536):\n"
    "        sys.stdout.buffer.write(part); sys.stdout.flush()"
)
