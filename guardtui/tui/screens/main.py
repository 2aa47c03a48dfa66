"""The one screen of the loop: what the author's keys do to the session."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from enum import Enum

from rich.text import Text
from textual import on, work
from textual.app import SuspendNotSupported

from guardtui.advice.near_misses import near_miss_finding
from guardtui.domain.metrics import metrics_by_group, missing_counts
from guardtui.domain.prompts import Finding, check_prompt_set
from guardtui.domain.statistics import rate_intervals
from guardtui.domain.text import display_text
from guardtui.domain.topic import violations
from guardtui.files.output_files import OutputSet
from guardtui.files.problems import FileProblem
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.calibration import Calibration, calibrate
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.scoring import probability
from guardtui.session.store import StoreError
from guardtui.tui.actions import ACTIONS, SCREEN, bindings, key_names
from guardtui.tui.elsewhere import edit_elsewhere
from guardtui.tui.messages import ExampleWanted
from guardtui.tui.pages import (
    category_text,
    check_text,
)
from guardtui.tui.sample_text import prompts_told, sample_told
from guardtui.tui.screens.advice_menu import Advised
from guardtui.tui.screens.agreeing import Agreeing
from guardtui.tui.screens.dialogs import (
    Confirm,
    ScannerChoice,
    ScannerDialog,
    TextPage,
)
from guardtui.tui.screens.exporting import ExportingScreen
from guardtui.tui.screens.history import HistoryScreen
from guardtui.tui.screens.linting import LintScreen
from guardtui.tui.screens.prompt_set import PromptSetScreen
from guardtui.tui.screens.refining import RefiningScreen
from guardtui.tui.screens.suggesting import SuggestingScreen
from guardtui.tui.screens.suspects import SuspectsScreen
from guardtui.tui.screens.sweep import SweepScreen
from guardtui.tui.screens.tour import Touring
from guardtui.tui.screens.whole_set import WholeScreen
from guardtui.tui.widgets.editor import Field
from guardtui.tui.widgets.metrics_panel import number

_PANES = ("editor", "metrics", "results")


class Greeting(Enum):
    """How guardtui presents itself: a tour of its own sample, or a hint over the author's files."""

    TOUR = "tour"
    HINT = "hint"


class MainScreen(
    Touring,
    Advised,
    LintScreen,
    PromptSetScreen,
    RefiningScreen,
    SuggestingScreen,
    HistoryScreen,
    SweepScreen,
    SuspectsScreen,
    Agreeing,
    WholeScreen,
    ExportingScreen,
):
    """The actions of the registry whose scope is the screen."""

    BINDINGS = bindings(SCREEN)

    _outputs_path = ""
    """The file of outputs that was scored last."""
    greeting: Greeting | None = None
    """What an author sees who opens guardtui for the first time."""

    async def _opened(self) -> None:
        if self.greeting is Greeting.TOUR and self.tour is None:
            await self.action_tour()
        elif self.greeting is Greeting.HINT:
            keys = next(key_names(one, self.app._keymap) for one in ACTIONS if one.name == "tour")
            self.notify(f"New here? {keys} starts a tour of six steps, F1 explains a pane.")

    @work(exclusive=True, group="dialog")
    async def action_show_check(self) -> None:
        topic = self.session.topic
        prompts = self.prompts
        scanner = self.scanner

        def look() -> tuple[Finding, ...]:
            findings = check_prompt_set(prompts, topic)
            try:
                far = near_miss_finding(scanner, prompts)
            except ScannerError:
                far = None  # the engine's pane says why it cannot be loaded
            return findings if far is None else (*findings, far)

        findings = await asyncio.to_thread(look)
        body = check_text(violations(topic), findings)
        column = prompts.category_column
        if column is not None and self.evaluation is not None:
            groups, names = prompts.groups(column)
            body.append_text(category_text(metrics_by_group(self.evaluation.codes, groups, names)))
        of = f"the {sample_told(self.workspace)}" if sample_told(self.workspace) else "the prompts"
        await self.app.push_screen_wait(TextPage(f"Check of the definition and {of}", body))

    def action_show_help(self) -> None:
        from guardtui.tui.screens.help import show_help

        show_help(self.app)

    def action_screenshot(self) -> None:
        self.app.action_screenshot()

    def action_jump(self) -> None:
        from guardtui.tui.screens.jump import show_jump

        show_jump(self.app)

    def action_score_outputs(self) -> None:
        from guardtui.tui.screens.open_outputs import OpenOutputs
        from guardtui.tui.screens.score_actions import ScoresScreen

        def opened(outputs: OutputSet | None) -> None:
            if outputs is not None:
                self._outputs_path = outputs.source
                self.app.push_screen(ScoresScreen(outputs))

        self.app.push_screen(OpenOutputs(self._outputs_path), opened)

    async def action_settings(self) -> None:
        await self.app.run_action("open_settings")

    async def action_choose_theme(self) -> None:
        await self.app.run_action("change_theme")

    @work(exclusive=True, group="dialog")
    async def action_scanner_settings(self) -> None:
        settings = self.scanner.settings
        current = ScannerChoice(
            self.scanner.encoder_name,
            None if settings.threshold_source == "default" else settings.threshold,
            settings.threshold_source,
        )
        calibration = await asyncio.to_thread(self._calibrated)
        choice = await self.app.push_screen_wait(
            ScannerDialog(current, settings.threshold, calibration)
        )
        if choice is None:
            return
        if choice.encoder != self.scanner.encoder_name:
            self.use_scanner(LocalScanner(choice.encoder, choice.threshold, choice.source))
        else:
            self.scanner.use_threshold(choice.threshold, choice.source)
        self._remember(
            {
                "encoder": choice.encoder,
                "threshold": choice.threshold,
                "threshold_source": choice.source,
            }
        )
        self._preview()

    def _calibrated(self) -> Calibration | str:
        """The threshold that the labels suggest, as a score; or why there is none."""
        import numpy as np

        prompts = self.workspace.prompts
        try:
            scored = self.scanner.z(self.session.topic, prompts, lambda progress: None)
            if scored is None:
                return "the scan was stopped"
            _, scoring, _ = self.scanner.load()
            found = calibrate(scored[0], prompts.expected, default=scoring.threshold)
        except (ValueError, ScannerError) as error:
            return str(error)
        return replace(found, threshold=float(probability(np.float32(found.threshold))))

    # --- the definition -------------------------------------------------------------------

    @on(ExampleWanted)
    def example_wanted(self, event: ExampleWanted) -> None:
        problem = self._editor.add_example(event.prompt)
        self.notify(problem or "Added to the examples; Undo takes it back.", timeout=3)

    def action_to_regression(self, step: int) -> None:
        self._show_pane("results")
        self._results.action_next_regression(step)

    def action_show_difference(self) -> None:
        if self._editor.shows_difference:
            self._editor.show_baseline(None)
            return
        self._editor.show_baseline(self._origin)
        if not self._side_by_side:  # there it is in sight; focus stays where the author works
            self._show_pane("editor", keep_focus=True)
        baseline = self.session.baseline
        name = f"#{baseline.number}" if baseline else "the file"
        changes = ", ".join(self.workspace.changes) or "nothing differs"
        self.notify(f"Against {name}: {changes}", markup=False, timeout=4)

    @work(exclusive=True, group="dialog")
    async def action_open_editor(self) -> None:
        await self._take_typed()
        topic, problem = self.session.topic, None
        try:
            with self.app.suspend():
                # Caught in here: an error that left the block would leave the screen suspended.
                try:
                    topic = edit_elsewhere(topic)
                except FileProblem as found:
                    problem = found
        except SuspendNotSupported:
            self.notify("This terminal cannot be lent to another program.", severity="warning")
            return
        if problem is not None:
            self.notify(str(problem), severity="error", markup=False, timeout=15)
            return
        if topic == self.session.topic:
            self.notify("Nothing was changed.")
        self._edit(topic)

    # --- panes and leaving ----------------------------------------------------------------

    def action_next_pane(self) -> None:
        panes: tuple[str, ...] = _PANES
        shown = next((pane for pane in panes if self.has_class(f"-pane-{pane}")), "editor")
        focused = self.focused
        if focused is not None and self._side_by_side:
            panes = (*_PANES, "detail")
            within = focused.ancestors_with_self
            shown = next((name for name in panes if self._panes[name] in within), "editor")
        self._show_pane(panes[(panes.index(shown) + 1) % len(panes)])

    def _show_pane(self, following: str, *, keep_focus: bool = False) -> None:
        in_sight = "results" if following == "detail" else following
        for name in _PANES:
            self.set_class(name == in_sight, f"-pane-{name}")
        pane = self._panes[following]
        if keep_focus and self.focused is not None and pane in self.focused.ancestors_with_self:
            return
        if following == "editor":
            self._editor.query(Field).first().focus()
        elif following == "results":
            self._results.table.focus()
        else:
            pane.focus()

    @work(exclusive=True, group="quit")
    async def action_quit(self) -> None:
        await self._take_typed()
        try:
            self.workspace.save_draft(always=True)
        except StoreError as problem:
            question = (
                f"Your unsaved edits cannot be kept:\n{problem}\n\n"
                "Leave all the same? They are then printed to the terminal."
            )
            if not await self.app.push_screen_wait(Confirm(question, "Leave", "Stay")):
                return
        await self.evaluator.close()
        self.app.exit(0, message=self._leaving_text())

    def _leaving_text(self) -> Text:
        """What stays in the terminal: the last metrics, and where everything is."""
        workspace, evaluation = self.workspace, self.evaluation
        file = workspace.topic_file.path
        lines = [f"guardtui  {file} × {workspace.prompts_path} ({prompts_told(workspace)})"]
        if evaluation is not None and evaluation.topic == self.session.topic:
            metrics = evaluation.metrics
            intervals = rate_intervals(metrics)
            shown = []
            for name, rate in (
                ("coverage", "coverage"),
                ("TPR", "true_positive_rate"),
                ("TNR", "true_negative_rate"),
            ):
                interval = intervals[rate]
                span = f" [{interval.low:.2f} – {interval.high:.2f}]" if interval else ""
                shown.append(f"{name} {number(getattr(metrics, rate))}{span}")
            shown.append(f"FP {metrics.fp}  FN {metrics.fn}  {missing_counts(metrics)}")
            lines.append("  ".join(shown))
        count = len(self.session.iterations)
        lines.append(f"{count} iteration{'s' * (count != 1)} in {workspace.store.path}")
        if workspace.unsaved and workspace.draft_is_safe:
            lines.append(f"{file.name} is as it was: your edits come back when you open it again")
        return Text("\n".join(map(display_text, lines)))

    def leave(self, code: int) -> None:
        """Leave at once, as the system asks: the draft is kept first."""
        self.session.edit(self._editor.typed)
        with contextlib.suppress(StoreError):
            self.workspace.save_draft(always=True)
        self.app.exit(return_code=code)

    async def on_unmount(self) -> None:
        # However the app is left, what is in the fields is kept.
        self.session.edit(self._editor.typed)
        with contextlib.suppress(StoreError):
            self.workspace.save_draft()
        self.workspace.store.close()
