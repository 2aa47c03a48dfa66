"""Scans by a remote guardrail: put the definition into effect, ask, show what comes, record it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import work
from textual.worker import Worker

from guardtui.domain.comparison import ABSENT, answers_for, codes_for
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.late import late
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic, violations
from guardtui.domain.verdicts import is_answered
from guardtui.http.errors import ServiceError
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.lifecycle import Plan
from guardtui.scanners.base import RemoteScanner, ScannerError, VerdictCache
from guardtui.scanners.judge.options import JudgeOptions
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.vectors import cache_folder
from guardtui.session.evaluator import RemoteEvaluator
from guardtui.session.judge_templates import keep_template
from guardtui.session.scan_order import Order, movement, scan_order
from guardtui.session.store import StoreError
from guardtui.session.verdict_cache import SqliteVerdicts
from guardtui.session.workspace import Workspace
from guardtui.tui.screens.applying import JUDGE, REMOTE
from guardtui.tui.screens.recording import RecordingScreen
from guardtui.tui.screens.scan_dialogs import Cost, ScanChoice, ScanDialog, ScanPlan
from guardtui.tui.widgets.scan_pane import ScanState

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late("numpy")

SHOW_EVERY = 0.25
"""Seconds between two looks at the verdicts that came in."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a scan is to do: ask first in any case, or only the rows that have no verdict."""

    ask: bool = False
    missing: bool = False


class ScanningScreen(RecordingScreen):
    """The actions of a remote scan; what is shown is a scan wherever there is one."""

    remote: RemoteEvaluator | None = None
    """The scan under way, or the last one."""
    _scanned: Evaluation | None = None
    """What the last scan gave, also where it was stopped."""
    _prefers_preview = False
    _predicted: tuple[Topic, str, NDArray[np.int8]] | None = None
    """What is expected of the definition that is scanned, on which prompts."""
    _verdicts: SqliteVerdicts | None = None
    _rate: float | None = None
    _shown_at = 0.0
    _worker: Worker[None] | None = None
    """From a scan's key to its end: dialogs, changes and waits are part of it."""
    _asked_on: tuple[Topic, str] | None = None
    """What that scan is of: the definition, and which prompts."""

    def __init__(self, workspace: Workspace, scanner: LocalScanner) -> None:
        super().__init__(workspace, scanner)
        self._one_scan = asyncio.Lock()

    # --- what is shown --------------------------------------------------------------------

    @property
    def scanning(self) -> bool:
        """Whether a remote scan is under way."""
        return self.remote is not None and self.remote.busy

    def standing_scan(self) -> Evaluation | None:
        """What a remote guardrail says of the definition and the prompts as they are, if it did."""
        return None if self._prefers_preview else self._standing_scan()

    def _standing_scan(self) -> Evaluation | None:
        running = self.remote.so_far() if self.scanning and self.remote is not None else None
        recorded = (one.evaluation for one in reversed(self.session.iterations))
        for evaluation in (running, self._scanned, *recorded):
            if evaluation is not None and self._is_current(evaluation):
                return evaluation
        return None

    @property
    def _now(self) -> tuple[Topic, str]:
        return self.session.topic, self.workspace.prompts.fingerprint

    @property
    def _under_way(self) -> bool:
        """Whether a scan was asked for that has not ended, and was not told to."""
        worker = self._worker
        return worker is not None and not worker.is_finished and not worker.is_cancelled

    def _is_current(self, evaluation: Evaluation) -> bool:
        return (
            evaluation.settings.name in REMOTE
            and evaluation.topic == self.session.topic
            and evaluation.prompt_set == self.workspace.prompts.fingerprint
        )

    def predicted_verdicts(self, evaluation: Evaluation) -> NDArray[np.int8] | None:
        known = self._predicted
        if known is None or evaluation.settings.name not in REMOTE:
            return None
        topic, fingerprint, predicted = known
        fits = topic == evaluation.topic and fingerprint == evaluation.prompt_set
        return predicted if fits else None

    def _changed(self) -> None:
        self._prefers_preview = False
        if self._under_way:
            if self._asked_on not in (None, self._now):
                self.action_stop_scan()  # the newest edit wins; what came is kept
        else:
            self._show_scan(None)
        super()._changed()

    def _poll(self) -> None:
        super()._poll()
        scan = self.remote
        progress = scan.progress if scan is not None else None
        if scan is None or progress is None:
            return
        traffic = progress.traffic() if progress.traffic is not None else None
        self._show_scan(ScanState(progress.phase, progress, traffic, who=self.who))
        if traffic is not None and traffic.rate > 0:
            self._rate = traffic.rate
        if time.monotonic() - self._shown_at >= SHOW_EVERY:
            self._shown_at = time.monotonic()
            self._show_so_far()

    @work(exclusive=True, group="so-far")
    async def _show_so_far(self) -> None:
        evaluation = self.standing_scan()
        if evaluation is not None and self.scanning:
            await self._show(evaluation)

    # --- the actions ----------------------------------------------------------------------

    def action_scan(self) -> None:
        self._start(Wish())

    def action_scan_options(self) -> None:
        self._start(Wish(ask=True))

    def action_scan_missing(self) -> None:
        shown = self.standing_scan()
        if self._under_way:
            self._start(Wish(missing=True))
        elif shown is None or shown.settings.name != self.asked_name:
            self.notify("This definition was not scanned yet.")  # not by the one that is asked
        elif not shown.metrics.missing:
            self.notify("Every prompt has a verdict.")
        else:
            self._start(Wish(missing=True))

    def _start(self, wish: Wish) -> None:
        if self._under_way:
            self.notify("A scan is under way.")
            return
        self._asked_on = None
        self._worker = self._scan(wish)

    def action_pause_scan(self) -> None:
        scan = self.remote
        if scan is None or not scan.busy:
            self.notify("No scan is under way.")
            return
        scan.hold(not scan.held)
        self.notify("Paused: nothing more is sent." if scan.held else "The scan goes on.")

    def action_stop_scan(self) -> None:
        if self._under_way and self._worker is not None:
            self._worker.cancel()
        else:
            self.notify("No scan is under way.")

    def action_swap_preview(self) -> None:
        if self._standing_scan() is None:
            self.notify("This definition was not scanned: what is shown is the preview.")
            return
        self._prefers_preview = not self._prefers_preview
        shown = "the embedded engine's preview" if self._prefers_preview else "the scan"
        self.notify(f"Shown: {shown}.")
        self._preview()

    @work(group="scan")
    async def _scan(self, wish: Wish) -> None:
        async with self._one_scan:  # one that was stopped comes to its end first
            try:
                self.remote = None
                await self._scan_now(wish)
            except (ScannerError, ServiceError, StoreError) as error:
                self._keep_in_sight()
                self._tell_scan(f"not scanned: {error}", problem=True)
                self._warn(str(error), error=True)
                self._preview()
            except asyncio.CancelledError:
                self._stopped()
                raise
            finally:
                self._step = ""
                self._show_header()

    def _stopped(self) -> None:
        """Keep in sight what came of a scan that was stopped."""
        evaluation = self._keep_in_sight()
        if evaluation is None:
            self._tell_scan("stopped before anything was scanned", problem=True)
        else:
            metrics = evaluation.metrics
            told = f"stopped: {metrics.total} of {metrics.prompts} verdicts, kept"
            self._tell_scan(told, problem=True)
        if self.is_running:
            self._preview()

    def _keep_in_sight(self) -> Evaluation | None:
        """What came of a scan that did not come to its end; None where nothing did."""
        evaluation = self.remote.so_far() if self.remote is not None else None
        if evaluation is None or not evaluation.metrics.total:
            return None
        known = self._standing_scan()
        if known is None or evaluation.metrics.missing <= known.metrics.missing:
            self._scanned = evaluation
        return evaluation

    # --- a scan ---------------------------------------------------------------------------

    async def _scan_now(self, wish: Wish) -> None:
        await self._take_typed()
        topic, prompts = self.session.topic, self.workspace.prompts
        self._asked_on = self._now
        if self.judge is not None:
            await self._judge_now(self.judge, topic, prompts, wish)
            return
        connection = await self._connected()
        if connection is None:
            return
        if connection.manages and (broken := violations(topic)):
            self._warn(f"Not sent: {broken[0].message}", error=True)
            return
        onto = self._onto(wish)
        self._tell_scan(f"looks at profile {connection.place} …")
        plan = await self._planned(connection, topic)
        expected = None if plan is None else connection.planned(topic, plan)

        def would_ask(cache: VerdictCache) -> RemoteScanner:
            return connection.scanner(
                expected, cache=cache, fresh=self.remote_options.fresh, companions=self.companions
            )

        order, cost = await self._costs(would_ask, connection.rate, topic, prompts)
        choice = await self._choose(connection, plan, cost, wish)
        if choice is None:
            self._tell_scan("")
            self._left()
            return
        if choice.other:
            await self._ask_other()
            return
        now = connection.in_effect(topic, plan)
        if choice.apply and plan is not None:
            applied = await self._apply(connection, topic, plan)
            if applied is None:
                return
            now = connection.in_effect(topic, applied)
        self._in_effect = now
        self._show_header()
        rows = order.rows[: order.likely] if choice.likely else order.rows
        if onto is not None:
            rows = order.rows[~is_answered(onto.verdicts.triggered[order.rows])]

        def ask(cache: VerdictCache) -> RemoteScanner:
            return connection.scanner(
                now, cache=cache, fresh=self.remote_options.fresh, companions=self.companions
            )

        await self._ask_for(ask, topic, prompts, rows, onto)

    async def _judge_now(
        self, judge: JudgeOptions, topic: Topic, prompts: PromptSet, wish: Wish
    ) -> None:
        """Ask the models; there is nothing to put into effect."""

        def ask(cache: VerdictCache) -> RemoteScanner:
            return judge.scanner(
                cache,
                fresh=self.remote_options.fresh,
                went_out=lambda told: self.notify(display_text(told), severity="warning"),
            )

        onto = self._onto(wish)
        self._tell_scan("works out what is to be asked …")
        order, cost = await self._costs(ask, judge.rate, topic, prompts)
        likely = False
        if wish.ask or self._remembered(JUDGE).get("told") != judge.place:
            plan = ScanPlan(judge.place, (), (), cost, False, judge=True, other="Ask AIRS")
            choice = await self.app.push_screen_wait(ScanDialog(plan))
            if choice is None:
                self._tell_scan("")
                return
            if choice.other:
                await self._ask_other()
                return
            self._remember({JUDGE: {"told": judge.place}})
            likely = choice.likely
        # The wording is part of the verdicts: iterations name it, and the session keeps its text.
        template = judge.scanner().template
        with self._told_problems():
            keep_template(self.workspace.store, template.id, template.text)
        rows = order.rows[: order.likely] if likely else order.rows
        if onto is not None:
            rows = order.rows[~is_answered(onto.verdicts.triggered[order.rows])]
        await self._ask_for(ask, topic, prompts, rows, onto)

    def _onto(self, wish: Wish) -> Evaluation | None:
        """The scan that is to be completed: verdicts of two scanners are not mixed."""
        scan = self.standing_scan() if wish.missing else None
        return scan if scan is not None and scan.settings.name == self.asked_name else None

    async def _ask_other(self) -> None:
        """Ask AIRS instead of the judge from now on, or the other way round."""
        self._asks_airs = not self._asks_airs
        self._show_header()
        await self._scan_now(Wish(ask=True))

    async def _costs(
        self,
        make: Callable[[VerdictCache], RemoteScanner],
        rate: float | None,
        topic: Topic,
        prompts: PromptSet,
    ) -> tuple[Order, Cost]:
        """In which order to ask, and what that costs."""
        before, epochs = self._last_scan(), self.remote_options.epochs

        def work_out() -> tuple[Order, Cost]:
            order = self._ordered(topic, prompts, before)
            # SQLite's connections belong to one thread.
            with contextlib.closing(SqliteVerdicts(cache_folder())) as cache:
                known = make(cache).known(topic, prompts)
            likely = order.rows[: order.likely]
            return order, Cost(
                len(prompts),
                int(known.sum()),
                len(likely),
                int(known[likely].sum()),
                self._rate if rate is None else rate,
                1 if epochs is None else epochs.count,
            )

        return await asyncio.to_thread(work_out)

    def _last_scan(self) -> Evaluation | None:
        """The newest scan of this session, on whatever definition."""
        for one in reversed(self.session.iterations):
            if one.evaluation.settings.name == self.asked_name:
                return one.evaluation
        return self._scanned

    def _ordered(self, topic: Topic, prompts: PromptSet, before: Evaluation | None) -> Order:
        """The order of a scan; what is expected of it is kept, for estimates meanwhile."""
        now = self.scanner.scan_now(topic, prompts, lambda progress: None)
        assert now is not None  # noqa: S101 - nothing stops it
        self._predicted = topic, prompts.fingerprint, now.triggered
        if before is None:
            return scan_order(None, None, np.full(len(prompts), ABSENT, np.int8))
        then = self.scanner.scan_now(before.topic, prompts, lambda progress: None)
        assert then is not None  # noqa: S101
        flipped = now.triggered != then.triggered
        # Where the embedded engine sees no change, the last answer is the best guess.
        answers = answers_for(before, prompts.keys)
        expected = np.where(is_answered(answers) & ~flipped, answers, now.triggered)
        self._predicted = topic, prompts.fingerprint, expected.astype(np.int8)
        earlier = codes_for(before, prompts.keys, prompts.expected)
        moved = movement(then.score, now.score, self._threshold)
        return scan_order(moved, flipped, earlier)

    @property
    def _threshold(self) -> float:
        threshold = self.scanner.settings.threshold
        return 0.5 if threshold is None else min(max(threshold, 0.001), 0.999)

    async def _choose(
        self, connection: AirsConnection, plan: Plan | None, cost: Cost, wish: Wish
    ) -> ScanChoice | None:
        """What is to be done; asked unless the author agreed and nothing is out of order."""
        changes = None if plan is None else plan.changes
        warnings = () if plan is None else plan.warnings
        told = self._remembered().get("told") == connection.key
        quiet = self.agreed or (told and not changes)
        if not wish.ask and quiet and not warnings:
            return ScanChoice(bool(changes), likely=False, agreed=self.agreed)
        revision = "" if plan is None else f", revision {plan.profile.revision}"
        shown = ScanPlan(
            f"Profile {connection.place}{revision}",
            changes,
            warnings,
            cost,
            self.agreed,
            other="" if self.remote_options.judge is None else "Ask the judge",
        )
        choice = await self.app.push_screen_wait(ScanDialog(shown))
        if choice is not None and not choice.other:
            self._remember_choice(connection, agreed=choice.agreed)
        return choice

    async def _ask_for(
        self,
        make: Callable[[VerdictCache], RemoteScanner],
        topic: Topic,
        prompts: PromptSet,
        rows: NDArray[np.intp],
        onto: Evaluation | None,
    ) -> None:
        if self._verdicts is None:
            self._verdicts = SqliteVerdicts(cache_folder())
        if not self._verdicts.works:
            self._warn(f"{self._verdicts.path}: cannot be used, so verdicts are not kept")
        self.remote = scan = RemoteEvaluator(make(self._verdicts))
        self._prefers_preview = False
        self._step = ""
        epochs = self.remote_options.epochs
        evaluation = await scan.evaluate_rows(topic, prompts, rows, onto, epochs=epochs)
        self._scanned = evaluation
        await self._record(evaluation, onto)
        if self._is_current(evaluation):
            # What is being worked out of less than this must not come after it.
            for group in ("so-far", "preview"):
                self.workers.cancel_group(self, group)
            await self._show(evaluation)

    async def on_unmount(self) -> None:
        # The handler of the class above is called as well.
        if self._verdicts is not None:
            self._verdicts.close()
