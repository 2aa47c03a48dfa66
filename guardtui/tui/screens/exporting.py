"""Reports from the app: what is in one, written beside the topic file, and pictures of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from textual import work

from guardtui.domain.comparison import compare
from guardtui.domain.estimates import rate_bounds
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.text import display_text
from guardtui.domain.topic import describe_changes
from guardtui.files.atomic import refuse_overwriting, write_atomically
from guardtui.files.free_name import names_in
from guardtui.files.problems import FileProblem, from_os_error
from guardtui.session.session import Decision, Iteration, Session
from guardtui.session.store import StoreError
from guardtui.tui.delivering import Delivering
from guardtui.tui.sample_text import sample_told
from guardtui.tui.screens.decisions import DecisionsScreen
from guardtui.tui.screens.dialogs import Confirm
from guardtui.tui.screens.export_dialog import PICTURE, ExportDialog, Subject, Wanted

if TYPE_CHECKING:
    from guardtui.reports.base import ReportInput

SETTING = "export"
"""Key of the format that was chosen last, among a session's settings."""

USUAL = "html"

_AIRS = "airs"


class ExistsError(Exception):
    """There is a file of this name; the message names it."""


class ExportingScreen(DecisionsScreen):
    """The action that writes reports."""

    @work(exclusive=True, group="dialog")
    async def action_export(self) -> None:
        """Ask what to write, and write it."""
        from guardtui.reports.base import report_formats
        from guardtui.reports.formats import in_order

        evaluation = await self._current()
        if evaluation is None:
            return
        path = self.workspace.topic_file.path
        taken = await asyncio.to_thread(names_in, path.absolute().parent)

        def report(wanted: Wanted) -> ReportInput:
            return self._report(evaluation, wanted.subject)

        def write(wanted: Wanted) -> None:
            self._write_export(dialog, report, wanted)

        dialog = ExportDialog(
            in_order(report_formats()),
            self._subjects(evaluation),
            self._usual_format(),
            path.stem,
            taken,
            write,
        )
        if await self.app.push_screen_wait(dialog) == PICTURE:
            await self.app.run_action("screenshot")

    def _usual_format(self) -> str:
        """The one that was chosen last."""
        remembered = None
        with contextlib.suppress(StoreError):  # of a full disk the report itself tells
            remembered = self.workspace.store.setting(SETTING)
        return remembered if isinstance(remembered, str) else USUAL

    def _subjects(self, evaluation: Evaluation) -> list[Subject]:
        """The definition as it is, then all iterations, the newest first."""
        now = self.iteration_of(evaluation)
        title = "the definition as it is"
        tag = "draft"
        if now is not None:
            title, tag = f"{title}, #{now.number}", str(now.number)
        others = [one for one in reversed(self.session.iterations) if one is not now]
        return [
            Subject(title, tag, None, self._note(evaluation)),
            *(
                Subject(
                    f"iteration #{one.number}, {one.decision.value}",
                    str(one.number),
                    one.number,
                    self._note(one.evaluation),
                )
                for one in others
            ),
        ]

    def _note(self, evaluation: Evaluation) -> str:
        """What a report of it lacks; "" when nothing."""
        sample = sample_told(self.workspace)
        of_sample = f"a {sample}: of all, Advice → All of the large set" if sample else ""
        return "; ".join(filter(None, (of_sample, open_note(evaluation))))

    @work(group="export")
    async def _write_export(
        self, dialog: ExportDialog, make: Callable[[Wanted], ReportInput], wanted: Wanted
    ) -> None:
        """Write the report that `make` gives in a thread.

        Goes on to the end when the dialog is left meanwhile.
        """
        from guardtui.reports.base import ReportError

        try:
            target = self._target(wanted.name)
            try:
                await asyncio.to_thread(self._written, make, wanted, target)
            except ExistsError as there:
                question = f"{there}\n\nWrite over it? What is in it is lost."
                if not await self.app.push_screen_wait(Confirm(question, "Write over it", "No")):
                    dialog.left()
                    return
                await asyncio.to_thread(self._written, make, wanted, target, write_over=True)
        except (FileProblem, ReportError) as problem:
            self._tell_failed(dialog, str(problem))
        except Exception as error:  # noqa: BLE001 - a writer may be another package's
            self._tell_failed(
                dialog,
                f"the report could not be made ({type(error).__name__}): nothing was written",
            )
        else:
            self._tell_exported(dialog, wanted, target)

    def _target(self, name: str) -> Path:
        """The path that a name stands for. Raises FileProblem."""
        folder = self.workspace.topic_file.path.absolute().parent
        try:
            return folder / Path(name).expanduser()
        except (RuntimeError, ValueError) as error:
            raise FileProblem(name, "this is no file name") from error

    def _written(
        self,
        make: Callable[[Wanted], ReportInput],
        wanted: Wanted,
        target: Path,
        *,
        write_over: bool = False,
    ) -> None:
        """Make and write the report; blocks. Raises FileProblem, ReportError and ExistsError."""
        from guardtui.reports.apart import report_bytes

        workspace = self.workspace
        known = self._companions
        companions = [one.location for one in known.files] if known is not None else []
        refuse_overwriting(target, workspace.topic_file.path, workspace.prompts_path, *companions)
        if workspace.store.path.parent in target.parents:
            raise FileProblem(target, "this is where sessions are kept", "name another folder")
        if not write_over:
            _require_free(target)
        data = report_bytes(wanted.format, self._with_survey(make(wanted), wanted.format))
        if not write_over:
            _require_free(target)  # that took a while
        write_atomically(target, data)

    def _report(self, evaluation: Evaluation, subject: Subject) -> ReportInput:
        """All that a report may tell of the definition as it is, or of an iteration."""
        from guardtui.reports.base import ReportInput
        from guardtui.session.own_metrics import own_figures

        session = self.session
        recorded = self.iteration_of(evaluation)
        if subject.number is not None:
            recorded = session.iteration(subject.number)
            evaluation = recorded.evaluation
        before = session.baseline if recorded is None else baseline_of(session, recorded)
        together = evaluation.settings == self.measuring.settings
        prompts = self.workspace.prompts
        comparison = compare(before.evaluation, evaluation) if before else None
        return ReportInput(
            topic=evaluation.topic,
            prompts=prompts,
            evaluation=evaluation,
            baseline=before.evaluation if before else None,
            comparison=comparison,
            figures=own_figures(self.live_figures.metrics, evaluation, prompts, comparison),
            iterations=tuple(session.iterations),
            changes=describe_changes(before.evaluation.topic, evaluation.topic) if before else (),
            profile=self._profile_of(evaluation),
            baseline_number=before.number if before else None,
            companions=self.measuring.companions if together else (),
        )

    def _with_survey(self, report: ReportInput, name: str) -> ReportInput:
        """The report with its groups of alike prompts, for a format that tells of them; blocks."""
        from guardtui.advice.reported import survey_for_report

        if name != "html" or report.survey is not None or report.category_metrics is not None:
            return report
        found = survey_for_report(self.scanner, report.prompts, report.evaluation)
        return replace(report, survey=found)

    def _profile_of(self, evaluation: Evaluation) -> str:
        """Name of the security profile that judged; what the command line said otherwise."""
        if evaluation.settings.name == _AIRS:
            if self.connection is not None:
                return self.connection.profile
            return str(self._remembered().get("profile") or "")
        return str(self.remote_options.flags.get("profile") or "")

    def _tell_exported(self, dialog: ExportDialog, wanted: Wanted, target: Path) -> None:
        store = self.workspace.store
        with contextlib.suppress(StoreError):
            store.update_settings({SETTING: wanted.format})
        note = self.app.send_to_browser(target) if isinstance(self.app, Delivering) else ""
        missing = wanted.subject.note
        note = "\n".join(filter(None, (missing and f"⚠ {missing}", note)))
        if dialog.is_running and dialog in self.app.screen_stack:
            dialog.written(wanted, target, note)
        else:
            told = "\n".join(filter(None, (f"Written: {target}", note)))
            self.notify(told, markup=False, timeout=15)

    def _tell_failed(self, dialog: ExportDialog, problem: str) -> None:
        if dialog.is_running and dialog in self.app.screen_stack:
            dialog.failed(problem)
        else:
            self.notify(f"Not written: {problem}", severity="error", markup=False, timeout=15)


def _require_free(target: Path) -> None:
    """Raise ExistsError when there is a file of this name, FileProblem when that is not known."""
    try:
        there = target.exists()
    except OSError as error:
        raise from_os_error(target, error) from error
    if target.is_dir():
        raise FileProblem(target, "this is a folder", "name a file in it")
    if there:
        raise ExistsError(f"There is a file {display_text(target.name)} already.")


def baseline_of(session: Session, iteration: Iteration) -> Iteration | None:
    """The pinned iteration, or the one of the same scanner kept last before this; never itself."""
    if session.pinned is not None and session.pinned != iteration.number:
        return session.baseline
    kept = [
        one
        for one in session.iterations
        if one.decision is Decision.KEEP
        and one.number < iteration.number
        and one.evaluation.settings.name == iteration.evaluation.settings.name
    ]
    return kept[-1] if kept else None


def open_note(evaluation: Evaluation) -> str:
    """How many prompts have no verdict, and what that leaves open; "" when all have one."""
    missing = evaluation.metrics.missing
    if not missing:
        return ""
    text = f"{missing} of {len(evaluation.keys)} prompts have no verdict"
    bounds = rate_bounds(evaluation.codes, evaluation.should_trigger)["coverage"]
    return text if bounds is None else f"{text}: coverage is {bounds.low:.3f} to {bounds.high:.3f}"
