"""The export: a dialog for format, iteration and file name, and reports beside the topic file."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Button, Input
from textual.widgets.option_list import Option

from guardtui.app.reporting import MakeReport, ReportRequest, ReportSubject
from guardtui.app.services import Services
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.text import display_text
from guardtui.files.free_name import free_name, names_in
from guardtui.reports.formats import VARIANTS, format_of, report_formats
from guardtui.session.store import StoreError
from guardtui.tui.inputs.fields import LineInput, ToggleButton
from guardtui.tui.kit.inert import Label, OptionList, Static
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.system.app_downloads import AppDownloads
from guardtui.tui.system.desktop_open import open_file, open_refusal

PICTURE = "picture"
"""The last choice: a screenshot instead of a report."""

_PICTURE_ABOUT = "a picture of the screen behind this list (SVG)"

SETTING, VARIANT_SETTING = "export", "export_variant"
"""Settings of the session for the last format, and whether its variant was chosen."""

USUAL = "html"


class ExportDialog(Modal[str | None]):
    """Passes requests to `write`, which calls back; returns `PICTURE` if that is chosen.

    It stays open to write several formats, or to correct a name.
    """

    BINDINGS = [
        ("left", "subject(1)", "The iteration before"),
        ("right", "subject(-1)", "The iteration after"),
        ("x", "variant", "Switch of the format"),
        ("o", "open", "Open"),
        ("y", "copy", "Copy the path"),
    ]

    VERTICAL_BREAKPOINTS = [(0, "-short"), (24, "-middle"), (36, "-tall")]

    help_pane = "export"

    def __init__(
        self,
        formats: Sequence[str],
        subjects: Sequence[ReportSubject],
        chosen: str,
        variant: bool,
        stem: str,
        taken: Collection[str],
        write: Callable[[ReportRequest], None],
    ) -> None:
        """`subjects` are newest first; `taken` are the names in the folder, from `names_in`.

        `variant` says whether the variant of the format `chosen` is preselected.
        """
        super().__init__()
        self._formats, self._subjects, self._write = [*formats, PICTURE], subjects, write
        self._format = chosen if chosen in self._formats else self._formats[0]
        self._stem, self._taken = stem, set(taken)
        self._subject = 0
        self._proposed = ""
        self._done: ReportRequest | None = None
        self._busy = False
        self._not_opened = open_refusal()
        self.path: Path | None = None
        """Path of the last report, or None."""
        self._about = Static("", id="export-about")
        self._list = OptionList(id="export-formats", compact=True)
        self._file = LineInput(id="export-name", compact=True)
        self._with_variant = variant
        self._variant = ToggleButton(id="export-variant", compact=True)
        self._status = Static("", id="export-status")

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = "Export"
            page.border_subtitle = "Enter writes · Tab name · Esc closes"
            yield self._about
            yield self._list
            with Horizontal(id="export-file"):
                yield Label("File ")
                yield self._file
            yield self._variant
            yield self._status

    def on_mount(self) -> None:
        width = max(map(len, self._formats)) + 1
        self._list.add_options(
            Option(themed(_line(name, width)), id=name) for name in self._formats
        )
        self._list.highlighted = self._formats.index(self._format)
        self._list.focus()
        self._hide_status()
        self._show_subject()

    # --- choosing -------------------------------------------------------------------------

    @property
    def subject(self) -> ReportSubject:
        """Subject of the report."""
        return self._subjects[self._subject]

    def _show_subject(self) -> None:
        text = Text("of  ", "$text-muted")
        text.append("‹ " if self._subject + 1 < len(self._subjects) else "  ")
        text.append(self.subject.title, "bold")
        text.append(" ›" if self._subject else "")
        if len(self._subjects) > 1:
            text.append("   ← → another iteration", "$text-muted")
        if self.subject.note:
            text.append(f"\n    ⚠ {self.subject.note}", "$text-warning")
        self._about.update(themed(text))
        self._propose()

    def _propose(self) -> None:
        """Propose a free name; a name typed by the author only gets the ending of the format."""
        self._show_variant()
        if self._format == PICTURE:
            self._file.disabled = True
            return
        self._file.disabled = False
        ending = format_of(self._format).ending
        typed = self._file.value
        if typed != self._proposed:
            before = next(
                (
                    known
                    for known in (format_of(name).ending for name in self._formats)
                    if typed.endswith(f".{known}")
                ),
                None,
            )
            if before is not None:
                self._file.value = f"{typed.removesuffix(before)}{ending}"
            return
        stem = f"{self._stem}-report-{self.subject.tag}"
        self._proposed = self._file.value = free_name(stem, ending, self._taken)
        self._file.cursor_position = len(self._proposed)

    def _show_variant(self) -> None:
        variant = VARIANTS.get(self._format)
        self._variant.display = variant is not None
        if variant is not None:
            state = "on " if self._with_variant else "off"
            self._variant.label = Content(f"x  {state}  {variant.about}")

    @on(OptionList.OptionHighlighted)
    def highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if event.option.id is not None and event.option.id != self._format:
            self._format = event.option.id
            self._with_variant = False
            self._propose()

    def action_subject(self, step: int) -> None:
        """Choose the previous iteration (1) or the next one (-1)."""
        index = self._subject + step
        if 0 <= index < len(self._subjects) and not self._busy:
            self._subject = index
            self._show_subject()

    @on(Button.Pressed)
    def action_variant(self) -> None:
        """Switch the variant of the format on or off."""
        if self._variant.display and not self._busy:
            self._with_variant = not self._with_variant
            self._show_variant()

    # --- writing --------------------------------------------------------------------------

    @on(OptionList.OptionSelected)
    @on(Input.Submitted)
    def start(self) -> None:
        """Write the report, or close for a screenshot."""
        if self._busy:
            return
        if self._format == PICTURE:
            self.dismiss(PICTURE)
            return
        name = self._file.value.strip()
        variant = self._variant.display and self._with_variant
        wanted = ReportRequest(self._format, self.subject, name, variant)
        if not name:
            self.failed("write a name for the file")
        elif wanted == self._done:
            self._show_written("It is written already: choose another format, or another name.")
        else:
            self._busy = True
            self._show_status(Text(f"Writing {display_text(name)} …", "$text-muted"))
            self._write(wanted)

    def written(self, wanted: ReportRequest, path: Path, note: str) -> None:
        """Show that the report was written; `note` is a further message."""
        self._busy = False
        self._done, self.path = wanted, path
        self._taken.add(path.name.casefold())
        self._show_written(note)

    def left(self) -> None:
        """Handle a file that the author did not want to overwrite."""
        self._busy = False
        self._hide_status()
        self._file.focus()

    def failed(self, problem: str) -> None:
        """Show that the report could not be written."""
        self._busy = False
        self._show_status(Text(f"✗ {display_text(problem, newlines=True)}", "$text-error"))

    def _show_written(self, note: str) -> None:
        if self.path is None:
            return
        text = Text("✓ Written: ", "bold $text-success")
        text.append(display_text(str(self.path)), "not bold $foreground")
        if note:
            text.append(f"\n{note}", "not bold $foreground")
        keys = "o opens it, y copies its path"
        if self.app.is_web:
            keys = "o downloads it once more, y copies its path"
        elif self._not_opened:
            keys = f"y copies its path; it cannot be opened from here: {self._not_opened}"
        in_name = " (not in the name field: Shift+Tab leaves it)" if self._file.has_focus else ""
        text.append(f"\n{keys}{in_name}", "not bold $text-muted")
        self._show_status(text)

    def _hide_status(self) -> None:
        self._status.display = False
        self.remove_class("-status")

    def _show_status(self, text: Text) -> None:
        self._status.display = True
        self.add_class("-status")
        # The list gets smaller then.
        self.call_after_refresh(self._list.scroll_to_highlight)
        self._status.update(themed(text))

    # --- after writing --------------------------------------------------------------------

    @work(exclusive=True, group="open")
    async def action_open(self) -> None:
        """Open the report on the desktop; without a desktop, copy its path."""
        path = self.path
        if path is None:
            self.notify("Nothing was written yet: Enter writes.")
        elif self.app.is_web:
            # Never a program on the machine of the server.
            if isinstance(self.app, AppDownloads):
                self._show_written(self.app.send_to_browser(path))
        else:
            self._not_opened = await asyncio.to_thread(open_file, path)
            self._show_written(self._copy_path(path) if self._not_opened else "Opened.")

    def action_copy(self) -> None:
        """Copy the path to the clipboard."""
        if self.path is None:
            self.notify("Nothing was written yet: Enter writes.")
        else:
            self._show_written(self._copy_path(self.path))

    def _copy_path(self, path: Path) -> str:
        text = str(path)
        if not text.isprintable():
            return "Its path holds control characters and was not copied."
        if isinstance(self.app, AppDownloads):
            self.app.copy_everywhere(text)
        return "Its path is in the clipboard."

    def action_close(self) -> None:
        """Close; a report that is being written is finished."""
        self.dismiss(None)


def _line(name: str, width: int) -> Text:
    text = Text(f"{display_text(name):<{width}}", "bold")
    description = _PICTURE_ABOUT if name == PICTURE else format_of(name).about
    return text.append(description, "not bold $text-muted")


class ExportFeature:
    """Writes reports."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {"export": window.action(self.export)}

    async def export(self) -> None:
        """Ask for a report on the definition or an iteration, and write it."""
        evaluation = await self._services.preview.current()
        if evaluation is None:
            return
        reporting = self._services.reporting
        make: MakeReport = lambda request: reporting.report(evaluation, request.subject)  # noqa: E731
        path = self._services.workspace.topic_file.path
        taken = await asyncio.to_thread(names_in, path.absolute().parent)

        def write(request: ReportRequest) -> None:
            # Finished even if the dialog is closed meanwhile.
            self._window.start(self._write(dialog, make, request), group="export")

        subjects = reporting.subjects(evaluation)
        dialog = ExportDialog(report_formats(), subjects, *self._usual(), path.stem, taken, write)
        if await self._window.show(dialog) == PICTURE:
            await self._window.app.run_action("screenshot")

    def _usual(self) -> tuple[str, bool]:
        """Return the last format, and whether its variant was chosen."""
        remembered, variant = None, None
        with contextlib.suppress(StoreError):  # the report itself reports a full disk
            store = self._services.workspace.store
            remembered, variant = store.setting(SETTING), store.setting(VARIANT_SETTING)
        return (remembered if isinstance(remembered, str) else USUAL), variant is True

    async def _write(self, dialog: ExportDialog, make: MakeReport, request: ReportRequest) -> None:
        try:
            target = await self._services.reporting.deliver(make, request)
        except GuardtuiError as problem:
            self._failed(dialog, str(problem))
            return
        if target is None:
            dialog.left()
        else:
            self._written(dialog, request, target)

    def _written(self, dialog: ExportDialog, request: ReportRequest, target: Path) -> None:
        with contextlib.suppress(StoreError):
            self._services.workspace.store.update_settings(
                {SETTING: request.format, VARIANT_SETTING: request.variant}
            )
        app = self._window.app
        note = app.send_to_browser(target) if isinstance(app, AppDownloads) else ""
        missing = request.subject.note
        note = "\n".join(filter(None, (missing and f"⚠ {missing}", note)))
        if dialog.is_running and dialog in app.screen_stack:
            dialog.written(request, target, note)
        else:
            text = "\n".join(filter(None, (f"Written: {target}", note)))
            self._window.notify(text, seconds=15)

    def _failed(self, dialog: ExportDialog, problem: str) -> None:
        if dialog.is_running and dialog in self._window.app.screen_stack:
            dialog.failed(problem)
        else:
            self._window.notify(f"Not written: {problem}", severity="error", seconds=15)
