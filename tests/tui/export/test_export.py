"""Reports from the app: formats, files and paths, and nothing overwritten."""

from __future__ import annotations

import csv
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from guardtui.files.problems import FileError
from guardtui.reports.base import ReportInput
from guardtui.reports.formats import report_formats
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.export import dialog as export_dialog
from guardtui.tui.export.dialog import ExportDialog
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.main.screen import MainScreen
from tests.tui.stages import first_row_is_fast
from tests.tui.tax_app import ROWS, drive, frame, settled, until
from tests.tui.tax_app import topic_path as topic_path

WRITERS = "guardtui.app.reporting.load_writer"


async def opened(pilot: Pilot[int], app: GuardtuiApp) -> ExportDialog:
    await pilot.press("f8")
    await until(pilot, lambda: isinstance(app.screen, ExportDialog) and app.screen.is_mounted)
    dialog = app.screen
    assert isinstance(dialog, ExportDialog)
    await until(pilot, lambda: dialog.focused is not None)
    await pilot.pause()
    return dialog


async def choose(pilot: Pilot[int], dialog: ExportDialog, name: str) -> None:
    options = dialog.query_one(OptionList)
    options.highlighted = options.get_option_index(name)
    await until(pilot, lambda: dialog._format == name)
    await pilot.pause()


async def write(pilot: Pilot[int], dialog: ExportDialog) -> str:
    """Press Enter and wait; what the dialog tells then."""
    await pilot.press("enter")
    await until(pilot, lambda: not dialog._busy and dialog._status.display)
    await pilot.pause()
    return told(dialog)


def told(dialog: ExportDialog) -> str:
    return str(dialog._status.render())


def name_of(dialog: ExportDialog) -> str:
    return dialog._file.value


async def test_every_format_is_offered_with_its_purpose(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = await opened(pilot, app)
        options = dialog.query_one(OptionList)
        offered = [option.id for option in options.options]
        assert sorted(offered) == sorted((*report_formats(), "picture"))  # type: ignore[type-var]
        for option in options.options:
            assert len(str(option.prompt)) > len(option.id or "") + 10

    await drive(topic_path, run)


async def test_a_report_is_written_beside_the_topic_and_its_path_is_shown(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = await opened(pilot, app)
        await choose(pilot, dialog, "json")
        assert name_of(dialog) == "tax-report-0.json"
        assert str(topic_path.parent / "tax-report-0.json") in await write(pilot, dialog)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        # The choice is remembered, and nothing is written over.
        dialog = await opened(pilot, app)
        assert dialog._format == "json"
        assert name_of(dialog) == "tax-report-0-2.json"
        assert "tax-report-0-2.json" in await write(pilot, dialog)

    await drive(topic_path, run)
    texts = [(topic_path.parent / f"tax-report-0{one}.json").read_text() for one in ("", "-2")]
    assert texts[0] == texts[1]
    document = json.loads(texts[0])
    assert document["definition"]["name"] == "Tax advice"
    assert len(document["results"]) == len(ROWS)
    assert [one["number"] for one in document["iterations"]] == [0]


async def test_the_switch_of_a_format_is_chosen_with_x_and_remembered(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = await opened(pilot, app)
        assert not dialog.query_one("#export-variant").display  # HTML has none
        await choose(pilot, dialog, "csv")
        await pilot.press("x")
        await write(pilot, dialog)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        dialog = await opened(pilot, app)
        assert dialog._format == "csv"
        assert "x  on   with a byte order mark" in frame(app)
        await choose(pilot, dialog, "junit")
        assert "x  off  in which only regressions fail" in frame(app)

    await drive(topic_path, run)
    report = (topic_path.parent / "tax-report-0.csv").read_bytes()
    assert report.startswith("\ufeffline,".encode())


async def test_enter_pressed_twice_writes_once(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = await opened(pilot, app)
        await choose(pilot, dialog, "csv")
        await pilot.press("enter", "enter", "enter")
        await until(pilot, lambda: dialog.path is not None)
        await pilot.press("enter")
        await until(pilot, lambda: "written already" in told(dialog))

    await drive(topic_path, run)
    assert [path.name for path in topic_path.parent.glob("*report*")] == ["tax-report-0.csv"]


async def test_an_existing_file_is_overwritten_only_after_a_question(topic_path: Path) -> None:
    there = topic_path.parent / "mine.md"
    there.write_text("mine", "utf-8")

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = await opened(pilot, app)
        await choose(pilot, dialog, "md")
        await pilot.press("tab")
        dialog._file.value = "mine.md"
        for answer in ("escape", "y"):
            await pilot.press("enter")
            await until(
                pilot, lambda: isinstance(app.screen, ConfirmDialog) and app.screen.is_mounted
            )
            assert "mine.md exists already" in frame(app)
            assert there.read_text("utf-8") == "mine"
            await pilot.press(answer)
            await until(pilot, lambda: app.screen is dialog and not dialog._busy)
        assert str(there) in told(dialog)

    await drive(topic_path, run)
    assert "Tax advice" in there.read_text("utf-8")


@pytest.mark.parametrize(
    ("error", "words"),
    first_row_is_fast(
        (FileError("tax-report-0.md", "the disk is full", "free some space"), "disk is full"),
        (FileError("tax-report-0.md", "the file system is read-only", "copy it"), "read-only"),
        (KeyError("a secret of a plug-in"), "could not be made (KeyError)"),
    ),
)
async def test_a_failed_write_loses_nothing(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("tab", *" on money")
        await until(pilot, lambda: settled(main))
        with monkeypatch.context() as patch:
            patch.setattr(WRITERS, fail)
            dialog = await opened(pilot, app)
            status = await write(pilot, dialog)
            assert words in status
            assert "secret" not in status
            assert dialog.path is None
        assert "tax-report-draft" in await write(pilot, dialog)
        assert main.services.session.topic.description == "Personal tax advice on money"

    await drive(topic_path, run)


async def test_the_screen_goes_on_while_a_report_is_written(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let, began = threading.Event(), threading.Event()

    def slow(report: ReportInput) -> str:
        began.set()
        assert let.wait(120)
        return "done"

    monkeypatch.setattr(WRITERS, lambda name, variant: slow)

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = await opened(pilot, app)
        await pilot.press("enter")
        await until(pilot, began.is_set)
        assert "Writing tax-report-0" in told(dialog)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        await pilot.press("tab", *" x")
        await until(pilot, lambda: main.services.session.topic.description.endswith(" x"))
        let.set()
        await until(
            pilot, lambda: any("Written" in message.message for message in app.said.messages)
        )

    await drive(topic_path, run)
    assert len([*topic_path.parent.glob("tax-report-0*")]) == 1


@pytest.mark.exhaustive
async def test_o_opens_the_report_or_copies_its_path_with_the_reason(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Path] = []
    trouble = [""]

    def show(path: Path) -> str:
        shown.append(path)
        return trouble[0]

    monkeypatch.setattr(export_dialog, "open_file", show)
    monkeypatch.setattr(export_dialog, "open_refusal", lambda: "")

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = await opened(pilot, app)
        await pilot.press("o", "y")
        await pilot.pause()
        assert dialog.path is None
        assert not shown
        await write(pilot, dialog)
        assert "o opens it" in told(dialog)
        await pilot.press("o")
        await until(pilot, lambda: "Opened." in told(dialog))
        assert shown == [dialog.path]
        assert app.clipboard == ""
        trouble[0] = "there is no display"
        await pilot.press("o")
        await until(pilot, lambda: "no display" in told(dialog))
        assert app.clipboard == str(dialog.path)
        app._clipboard = ""
        await pilot.press("y")
        await until(pilot, lambda: app.clipboard == str(dialog.path))

    await drive(topic_path, run)


@pytest.mark.exhaustive
async def test_in_a_browser_it_is_downloaded_and_no_program_is_started(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[Path, str]] = []

    def deliver(self: object, path: Path, *, save_filename: str, **_: Any) -> str:
        sent.append((path, save_filename))
        return ""

    def never(*_: object) -> str:
        raise AssertionError("a program was started for a visitor")

    monkeypatch.setattr(GuardtuiApp, "is_web", property(lambda self: True))
    monkeypatch.setattr(GuardtuiApp, "deliver_binary", deliver)
    monkeypatch.setattr(export_dialog, "open_file", never)
    topic = topic_path.rename(topic_path.with_name("täx; advice.yaml"))
    topic_path.with_name("tax.csv").rename(topic_path.with_name("täx; advice.csv"))

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = await opened(pilot, app)
        await choose(pilot, dialog, "md")
        assert "sent to the browser" in await write(pilot, dialog)
        await pilot.press("o")
        await until(pilot, lambda: len(sent) == 2)
        await pilot.press("escape", "ctrl+@", "f", "p")
        await until(pilot, lambda: len(sent) == 3)

    await drive(topic, run)
    assert [name for _, name in sent] == [
        "t_x__advice-report-0.md",
        "t_x__advice-report-0.md",
        "t_x__advice-screen.svg",
    ]


@pytest.mark.exhaustive
async def test_another_format_changes_the_ending_of_a_typed_name(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        dialog = await opened(pilot, app)
        await choose(pilot, dialog, "md")
        dialog._file.value = "mine.md"
        await choose(pilot, dialog, "csv")
        assert name_of(dialog) == "mine.csv"
        dialog._file.value = "no ending"
        await choose(pilot, dialog, "md")
        assert name_of(dialog) == "no ending"

    await drive(topic_path, run)


async def test_the_list_of_the_results_is_copied_as_it_is_filtered(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.panes.results.table.focus()
        await pilot.press("7", "slash", *"tax")
        await until(pilot, lambda: main.rows.results is not None and len(main.rows.results) == 3)
        await pilot.press("enter", "A")
        await until(pilot, lambda: app.clipboard != "")
        rows = [*csv.reader(app.clipboard.splitlines(), delimiter="\t")]
        assert len(rows) == 4
        assert all("tax" in row[1] for row in rows[1:])
        assert any("3 rows" in message.message for message in app.said.messages)
        app._clipboard = ""
        monkey = "guardtui.tui.prompts.feature.TERMINAL_CHARACTERS"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(monkey, 10)
            await pilot.press("A")
            await until(
                pilot,
                lambda: any("it takes 10" in message.message for message in app.said.messages),
            )
        assert app.clipboard == ""

    await drive(topic_path, run)
