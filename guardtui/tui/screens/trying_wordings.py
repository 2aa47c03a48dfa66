"""Many wordings tried on the decision model: progress while it is asked, then what is better."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from guardtui.advice.wordings import ERROR, Measured, WordingSweep
from guardtui.app.next_steps import gain_text
from guardtui.app.problems import READING_TIME
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.app.wording_runs import WordingRun, WordingRunError
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.figures import rate_text
from guardtui.domain.guardrail import guardrail_text
from guardtui.domain.text import display_start, display_text
from guardtui.domain.topic import Topic
from guardtui.reports.base import usage_text
from guardtui.scanners.base import Progress, ScannerError
from guardtui.tui.content import themed
from guardtui.tui.definition_text import difference_text
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.modal import Modal
from guardtui.tui.screens.edit_list import EditList
from guardtui.tui.widgets.metrics_panel import delta

_POLL = 0.1


class WordingRunDialog(Modal[WordingSweep | None]):
    """A run while it is under way; Escape cancels it, and what was answered is kept."""

    BINDINGS = [("escape,q", "cancel", "Cancel")]

    help_pane = "wording_run"

    def __init__(self, run: WordingRun) -> None:
        super().__init__()
        self._wording_run = run
        self._progress: Progress | None = None
        self._found: WordingSweep | None = None
        self.problem = ""
        """Why nothing came of it."""
        self._is_over = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = f"Trying {len(self._wording_run.wordings)} wordings"
            dialog.border_subtitle = "Esc cancels; answers are kept"
            yield Static("begins …", markup=False, id="run-told")

    def on_mount(self) -> None:
        self.set_interval(_POLL, self._poll)
        self._run()

    def _take(self, progress: Progress) -> None:
        self._progress = progress

    def _poll(self) -> None:
        if self._progress is not None:
            self.query_one("#run-told", Static).update(themed(run_text(self._progress)))

    @work(exclusive=True)
    async def _run(self) -> None:
        try:
            self._found = await self._wording_run.run(self._take)
        except GuardtuiError as error:
            self.problem = str(error)
        self._is_over = True
        if self.is_active:
            self.dismiss(self._found)

    @on(events.ScreenResume)
    def resumed(self) -> None:
        """Help was above it when it ended."""
        if self._is_over:
            self.dismiss(self._found)

    def action_cancel(self) -> None:
        """Cancel it; the next run goes on where this one was."""
        self.workers.cancel_node(self)
        self.dismiss(None)


def run_text(now: Progress) -> Text:
    """How a run stands."""
    cells = 30
    filled = int(cells * now.done / max(now.total, 1))
    text = Text(f"{'█' * filled}{'░' * (cells - filled)} {now.done} of {now.total} requests\n")
    traffic = None if now.traffic is None else now.traffic()
    if traffic is not None and traffic.used is not None and traffic.used.calls:
        text.append(f"{usage_text(traffic.used)}\n", "$text-muted")
    if now.errors:
        text.append(f"{now.errors} failed\n", "$text-warning")
    return text


class WordingList(EditList[Measured]):
    """Wordings that are shown to be better, the greatest lower bound first."""

    TITLE_TEXT = "Better wordings"
    KEYS_TEXT = "Enter takes it into the editor · Esc closes"

    help_pane = "wordings"

    def __init__(self, here: Topic, found: WordingSweep) -> None:
        super().__init__([(one, wording_line(one)) for one in found.advised], notes_of(found))
        self._here, self._found = here, found.advised

    def described(self, place: int) -> Text:
        one = self._found[place]
        report = one.report
        assert report is not None  # noqa: S101 - it is advised
        text = Text(
            f"Coverage {rate_text(report.before.coverage)} → {rate_text(report.after.coverage)} on "
            f"{report.after.total} prompts that had no part in the choice, "
            f"{len(report.fixes)} fixes, {len(report.regressions)} regressions.\n"
            f"Threshold {one.threshold:.3f}, fitted on the others.\n\n"
        )
        return text.append_text(difference_text(self._here, one.wording.topic))


def wording_line(one: Measured) -> Text:
    """One wording: what it adds to coverage, and what it is."""
    line = Text()
    assert one.report is not None  # noqa: S101 - it is advised
    line.append(f"{gain_text(one.report.gain)}  ", delta(one.report.gain.value)[1])
    return line.append(display_start(one.wording.change, 300), "$text-muted")


def notes_of(found: WordingSweep) -> list[str]:
    """Where the figures of wordings come from."""
    split = found.split
    notes = [
        f"{len(found.wordings) + 1} wordings asked of {guardrail_text(found.settings)}: chosen on "
        f"{len(split.search_rows)} prompts, reported on {len(split.report_rows)} ({split.source}).",
        "Gains are of the prompts reported on; the chance that a lower bound is too high is "
        f"{ERROR:.0%} for all together.",
        *split.notes,
    ]
    if found.missing:
        notes.append(f"{found.missing} answers are missing: they count in no figure.")
    return notes


class TryingWordings:
    """Tries wordings on the decision model, and applies the one that the author takes."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {
            "try_wordings": window.action(self.try_wordings)
        }

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Nothing of it is in sight."""

    async def try_wordings(self) -> None:
        """Try many wordings at once, and offer those that are better."""
        window = self._window
        try:
            run = await self._services.wording_runs.prepare()
        except (WordingRunError, ScannerError) as error:
            window.notify(str(error), severity="error", seconds=READING_TIME)
            return
        if run is None:
            return
        dialog = WordingRunDialog(run)
        found = await window.show(dialog)
        if found is None:
            if dialog.problem:
                window.notify(display_text(dialog.problem), severity="error", seconds=READING_TIME)
            return
        if found.best is None:
            window.notify(nothing_better(found), seconds=READING_TIME)
            return
        chosen = await window.show(WordingList(run.topic, found))
        if chosen is not None:
            self._services.editing.replace(chosen.wording.topic)
            window.notify(
                f"The wording is in the editor; Undo takes it back. A scan of it asks little: most "
                f"answers are known. Its threshold is {chosen.threshold:.3f}.",
                seconds=READING_TIME,
            )


def nothing_better(found: WordingSweep) -> str:
    """Return why no wording is offered."""
    tried = f"{len(found.wordings) + 1} wordings tried"
    missing = f"; {found.missing} answers are missing, try again" if found.missing else ""
    reports = [one.report for one in found.wordings if one.report is not None]
    if not reports:
        return f"No wording is better on the prompts to choose on ({tried}{missing})."
    best = max(reports, key=lambda one: one.gain.low)
    return (
        f"No wording is shown to be better on prompts that had no part in the choice ({tried}"
        f"{missing}): the best gains {gain_text(best.gain)}."
    )
