"""A trial of wordings on the decision model: its progress, then the better wordings."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from guardtui.advice.model_objective import ERROR, WordingSweep
from guardtui.advice.proposals import Proposal
from guardtui.app.next_steps import gain_text
from guardtui.app.problems import READING_TIME
from guardtui.app.services import Services
from guardtui.app.wording_runs import WordingDraft, WordingRun
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.figures import rate_text, threshold_text
from guardtui.domain.guardrail import guardrail_text
from guardtui.domain.text import display_start, display_text
from guardtui.domain.topic import Topic
from guardtui.reports.base import usage_text
from guardtui.scanners.base import Progress
from guardtui.tui.advice.edit_list import EditList
from guardtui.tui.editor.definition_diff import difference_text
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.progress_bar import progress_bar
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.metrics.pane import delta

_POLL = 0.1
_BAR_CELLS = 30


class WritingDialog(Modal[None]):
    """A running call to a writer; Escape cancels it, and the trial continues without it."""

    BINDINGS = [("escape,q", "cancel", "Continue without it")]

    help_pane = "writing"

    def __init__(self, draft: WordingDraft) -> None:
        super().__init__()
        self._draft = draft

    def compose(self) -> ComposeResult:
        call = self._draft.call
        assert call is not None  # noqa: S101 - it is under way
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Asking for wordings"
            dialog.border_subtitle = "Esc continues without them"
            text = f"{call.writer.title} writes …\n{call.cost_text}"
            yield Static(text, markup=False, id="run-status")

    def on_mount(self) -> None:
        self._write()

    @work(exclusive=True)
    async def _write(self) -> None:
        await self._draft.write()
        self.dismiss_when_active()

    def action_cancel(self) -> None:
        """Cancel the call; a service may still charge for it."""
        self.workers.cancel_node(self)
        self.dismiss(None)


class WordingRunDialog(Modal[WordingSweep | None]):
    """A running trial of wordings; Escape cancels it, answers stay cached."""

    BINDINGS = [("escape,q", "cancel", "Cancel")]

    help_pane = "wording_run"

    def __init__(self, run: WordingRun) -> None:
        super().__init__()
        self._wording_run = run
        self._progress: Progress | None = None
        self.problem = ""
        """Why the run failed, or ""."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = f"Trying {len(self._wording_run.wordings)} wordings"
            dialog.border_subtitle = "Esc cancels; answers stay cached"
            yield Static("begins …", markup=False, id="run-status")

    def on_mount(self) -> None:
        self.set_interval(_POLL, self._poll)
        self._run()

    def _take(self, progress: Progress) -> None:
        self._progress = progress

    def _poll(self) -> None:
        if self._progress is not None:
            self.query_one("#run-status", Static).update(themed(run_text(self._progress)))

    @work(exclusive=True)
    async def _run(self) -> None:
        result: WordingSweep | None = None
        try:
            result = await self._wording_run.run(self._take)
        except GuardtuiError as error:
            self.problem = str(error)
        self.dismiss_when_active(result)

    def action_cancel(self) -> None:
        """Cancel the run; the next one resumes it."""
        self.workers.cancel_node(self)
        self.dismiss(None)


def run_text(now: Progress) -> Text:
    """Return the progress of a run."""
    bar = progress_bar(now.done, now.total, _BAR_CELLS)
    text = Text(f"{bar} {now.done} of {now.total} requests\n")
    traffic = None if now.traffic is None else now.traffic()
    if traffic is not None and traffic.used is not None and traffic.used.calls:
        text.append(f"{usage_text(traffic.used)}\n", "$text-muted")
    if now.errors:
        text.append(f"{now.errors} failed\n", "$text-warning")
    return text


class WordingList(EditList[Proposal]):
    """Significantly better wordings, the greatest lower bound first."""

    TITLE_TEXT = "Better wordings"
    KEYS_TEXT = "Enter takes it into the editor · Esc closes"

    help_pane = "wordings"

    def __init__(self, current: Topic, sweep: WordingSweep) -> None:
        super().__init__(
            [(proposal, wording_line(proposal)) for proposal in sweep.advised], notes_of(sweep)
        )
        self._current, self._wordings = current, sweep.advised

    def described(self, index: int) -> Text:
        wording = self._wordings[index]
        held = wording.held_out
        assert held is not None  # noqa: S101 - it is advised
        text = Text(
            f"Coverage {rate_text(held.before.coverage)} → {rate_text(held.after.coverage)} on "
            f"{held.after.total} prompts that had no part in the choice, "
            f"{len(held.fixes)} fixes, {len(held.regressions)} regressions.\n"
            f"Threshold {threshold_text(wording.threshold)}, fitted on the others.\n"
        )
        text.append(f"From {display_start(wording.origin, 300)}.\n\n", "$text-muted")
        return text.append_text(difference_text(self._current, wording.topic))


def wording_line(proposal: Proposal) -> Text:
    """Return a wording in one line: its gain and its change."""
    line = Text()
    line.append(f"{gain_text(proposal.gain)}  ", delta(proposal.gain.value)[1])
    return line.append(display_start("; ".join(proposal.changes), 300), "$text-muted")


def notes_of(sweep: WordingSweep) -> list[str]:
    """Return how the figures of wordings were measured."""
    split = sweep.split
    notes = [
        f"{len(sweep.wordings) + 1} wordings tried on {guardrail_text(sweep.settings)}: chosen on "
        f"{len(split.search_rows)} prompts, reported on {len(split.report_rows)} ({split.source}).",
        "Gains are of the prompts reported on; the chance that a lower bound is too high is "
        f"{ERROR:.0%} for all together.",
        *split.notes,
    ]
    if sweep.missing:
        notes.append(f"{sweep.missing} answers are missing: they count in no figure.")
    return notes


class WordingRunFeature:
    """Tries wordings on the decision model, and applies the one that the author chooses."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {
            "try_wordings": window.action(self.try_wordings)
        }

    async def try_wordings(self) -> None:
        """Try many wordings at once, and offer the better ones."""
        window = self._window
        try:
            run = await self._prepared()
        except GuardtuiError as error:
            window.notify(str(error), severity="error", seconds=READING_TIME)
            return
        if run is None:
            return
        dialog = WordingRunDialog(run)
        sweep = await window.show(dialog)
        if sweep is None:
            if dialog.problem:
                window.notify(display_text(dialog.problem), severity="error", seconds=READING_TIME)
            return
        if sweep.best is None:
            window.notify(nothing_better(sweep), seconds=READING_TIME)
            return
        chosen = await window.show(WordingList(run.topic, sweep))
        if chosen is not None:
            self._services.wording_runs.apply(chosen, sweep)
            window.notify(
                "The wording is in the editor; Undo restores yours. The threshold is "
                f"{threshold_text(chosen.threshold)}, at which the wording was chosen. Most "
                "answers for a scan are in the cache.",
                seconds=READING_TIME,
            )

    async def _prepared(self) -> WordingRun | None:
        """Return an agreed run, with the wordings of a writer; None if the author cancels."""
        runs = self._services.wording_runs
        draft = await runs.begin()
        if draft is None:
            return None
        if draft.call is not None and not draft.call.is_cached:
            await self._window.show(WritingDialog(draft))
        else:
            await draft.write()
        return await runs.prepare(draft)


def nothing_better(sweep: WordingSweep) -> str:
    """Return why no wording is offered."""
    tried = f"{len(sweep.wordings) + 1} wordings tried"
    missing = f"; {sweep.missing} answers are missing, try again" if sweep.missing else ""
    if not sweep.finalists:
        return f"No wording is better on the prompts to choose on ({tried}{missing})."
    return (
        f"No wording is shown to be better on prompts that had no part in the choice ({tried}"
        f"{missing}): the best gains {gain_text(sweep.finalists[0].gain)}."
    )
