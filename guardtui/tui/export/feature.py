"""The export: asks what to write, and writes reports beside the topic file."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence

from guardtui.app.reporting import ExistsError, MakeReport, ReportRequest, ReportSubject
from guardtui.app.services import Services
from guardtui.domain.errors import GuardtuiError
from guardtui.files.free_name import names_in
from guardtui.reports.formats import report_formats
from guardtui.session.store import StoreError
from guardtui.tui.export.dialog import PICTURE, ExportDialog
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.system.app_downloads import AppDownloads

SETTING, VARIANT_SETTING = "export", "export_variant"
"""Settings of the session for the last format, and whether its variant was chosen."""

USUAL = "html"


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
        await self.ask_and_write(
            report_formats(),
            reporting.subjects(evaluation),
            lambda request: reporting.report(evaluation, request.subject),
        )

    async def ask_and_write(
        self, formats: Sequence[str], subjects: Sequence[ReportSubject], make: MakeReport
    ) -> None:
        """Ask for format, subject and name; write the report that `make` returns in a thread."""
        path = self._services.workspace.topic_file.path
        taken = await asyncio.to_thread(names_in, path.absolute().parent)

        def write(request: ReportRequest) -> None:
            # Finished even if the dialog is closed meanwhile.
            self._window.start(self._write(dialog, make, request), group="export")

        dialog = ExportDialog(formats, subjects, *self._usual(), path.stem, taken, write)
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
        reporting = self._services.reporting
        try:
            target = reporting.target(request.name)
            try:
                await asyncio.to_thread(reporting.write, make, request, target)
            except ExistsError as exists:
                text = f"{exists}\n\nOverwrite it? Its content is lost."
                if not await self._window.show(ConfirmDialog(text, "Write over it", "No")):
                    dialog.left()
                    return
                await asyncio.to_thread(reporting.write, make, request, target, overwrite=True)
        except GuardtuiError as problem:
            self._failed(dialog, str(problem))
        except Exception as error:  # noqa: BLE001 - a writer may be a plugin
            self._failed(
                dialog,
                f"the report could not be made ({type(error).__name__}): nothing was written",
            )
        else:
            self._written(dialog, request)

    def _written(self, dialog: ExportDialog, request: ReportRequest) -> None:
        target = self._services.reporting.target(request.name)
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
