"""Advice on the definition while it is edited: by text at each key, measured after each preview."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rich.text import Text
from textual import work

from guardtui.advice.lint import Advice, LintEngine, lint, open_lint_engine
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet
from guardtui.domain.statistics import coverage_interval
from guardtui.domain.topic import Topic
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.screens.dialogs import TextPage
from guardtui.tui.screens.scanning import ScanningScreen
from guardtui.tui.widgets.lint_lines import advice_text

BY_TEXT = frozenset({"exclusion", "long", "languages"})
"""Codes of advice that is found at each key."""

_Key = tuple[Topic, str, str, float | None]


class LintPage(TextPage):
    """All advice on a definition, to read."""

    help_pane = "lint"


@dataclass(frozen=True, eq=False)
class _Opened:
    """An engine, and what it was made for."""

    scanner: LocalScanner
    prompt_set: str
    threshold: float | None
    engine: LintEngine

    def serves(self, scanner: LocalScanner, prompts: PromptSet) -> bool:
        """Whether it measures what this scanner would say of these prompts."""
        same = self.scanner is scanner and self.prompt_set == prompts.fingerprint
        return same and self.threshold == scanner.settings.threshold


def carried_on(shown: Sequence[Advice], fresh: Sequence[Advice]) -> tuple[Advice, ...]:
    """What to show at a key: `shown` in its order without what `fresh`, by text, finds no more.

    Effects stay until the next preview has measured them again, as the rates beside them do; what
    is new stands last.
    """
    known = {(one.code, one.field): one for one in fresh}
    kept: list[Advice] = []
    for one in shown:
        if one.code not in BY_TEXT:
            kept.append(one)
        elif (now := known.pop((one.code, one.field), None)) is not None:
            kept.append(replace(now, removal=one.removal))
    return (*kept, *known.values())


class LintScreen(ScanningScreen):
    """Keeps the advice in the editor up to date; the action that shows all of it."""

    def __init__(self, workspace: Workspace, scanner: LocalScanner) -> None:
        super().__init__(workspace, scanner)
        self._advice: tuple[Advice, ...] = ()
        self._linted: _Key | None = None
        """What the advice was measured on."""
        self._linting: _Key | None = None
        self._lint_engine: _Opened | None = None
        self._lint_room = threading.Lock()

    def _changed(self) -> None:
        super()._changed()
        if self.session.topic != (self._linted and self._linted[0]):
            self._linted = None
            self._advice = carried_on(self._advice, lint(self.session.topic))
            self._show_lint(pending=True)

    def _show_dashboard(self) -> None:
        super()._show_dashboard()
        evaluation = self.evaluation
        if evaluation is None or evaluation.topic != self.session.topic:
            return  # a newer preview is on its way
        if self.prompts.fingerprint != self.workspace.prompts.fingerprint:
            return
        key = self._lint_key(evaluation)
        # While verdicts come in this is called four times a second.
        if key not in (self._linted, self._linting):
            self._linting = key
            self._lint(key, evaluation, self.prompts)

    def _lint_key(self, evaluation: Evaluation) -> _Key:
        # Not the embedded scanner's: beside a scan it may not be loaded, and that takes long.
        settings = evaluation.settings
        return evaluation.topic, evaluation.prompt_set, settings.identity, settings.threshold

    @work(exclusive=True, group="lint")
    async def _lint(self, key: _Key, evaluation: Evaluation, prompts: PromptSet) -> None:
        # Beside a scan nobody asked for embedding.
        try:
            measures = evaluation.settings.name == "local"
            advice = await self._linted_now(evaluation.topic, evaluation, prompts, measures)
        finally:
            if self._linting == key:
                self._linting = None
        if self.session.topic == key[0]:
            self._advice, self._linted = advice, key
            self._show_lint()

    async def _linted_now(
        self, topic: Topic, evaluation: Evaluation, prompts: PromptSet, measures: bool
    ) -> tuple[Advice, ...]:
        """The advice; unless it `measures`, by vectors only where they are at hand."""
        stop = threading.Event()
        scanner = self.scanner
        # Of whichever scanner: it is in the cloud that such a definition has to be seen.
        metrics = evaluation.metrics if evaluation.topic == topic else None

        def work_out() -> tuple[Advice, ...]:
            with self._lint_room:  # an engine is for one thread at a time
                engine = self._engine_for(scanner, prompts, stop.is_set, opens=measures)
                return lint(topic, prompts, engine, stop.is_set, metrics)

        try:
            return await asyncio.to_thread(work_out)
        except asyncio.CancelledError:
            stop.set()
            raise

    def _engine_for(
        self,
        scanner: LocalScanner,
        prompts: PromptSet,
        stopped: Callable[[], bool],
        *,
        opens: bool,
    ) -> LintEngine | None:
        """The engine for this scanner and these prompts, made where it `opens` one."""
        known = self._lint_engine
        if known is not None and known.serves(scanner, prompts):
            return known.engine
        if not opens or stopped():
            return None
        try:
            engine = open_lint_engine(scanner, prompts, lambda progress: None, stopped)
        except ScannerError:
            return None  # the preview has told
        if engine is not None:
            threshold = scanner.settings.threshold
            self._lint_engine = _Opened(scanner, prompts.fingerprint, threshold, engine)
        return engine

    def _show_lint(self, *, pending: bool = False) -> None:
        if self.is_running:  # what was worked out may come when the screen has gone
            self._editor.lint.show(self._advice, pending=pending)

    @work(exclusive=True, group="dialog")
    async def action_show_lint(self) -> None:
        await self._take_typed()
        evaluation, prompts = self.evaluation, self.prompts
        if evaluation is None:
            self.notify("Nothing is evaluated yet.")
            return
        advice, topic = self._advice, self.session.topic
        if self._linted is None or self._linted != self._lint_key(evaluation):
            # A page that is asked for may take the time that embedding takes, beside a scan too.
            advice = await self._linted_now(topic, evaluation, prompts, True)

        def body() -> Text:
            ranges = [
                ("", "")
                if one.removal is None
                else (_interval(one.removal.before), _interval(one.removal.after))
                for one in advice
            ]
            return advice_text(advice, ranges, len(prompts), self.scanner.encoder_name)

        title = "Advice on the definition"
        await self.app.push_screen_wait(LintPage(title, await asyncio.to_thread(body)))


def _interval(metrics: Metrics) -> str:
    interval = coverage_interval(metrics)
    return "" if interval is None else f"[{interval.low:.2f} – {interval.high:.2f}]"
