"""Scans by a remote guardrail: put the definition into effect, ask, show what comes, record it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual import work

from guardtui.domain.comparison import ABSENT, answers_for, codes_for
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.late import late
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic, violations
from guardtui.domain.verdicts import Triggered
from guardtui.http.errors import ServiceError
from guardtui.scanners.airs.connection import AirsConnection, InEffect
from guardtui.scanners.airs.lifecycle import Applied, Plan
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.vectors import cache_folder
from guardtui.session.applied import AppliedLog
from guardtui.session.evaluator import RemoteEvaluator
from guardtui.session.scan_order import Order, scan_order
from guardtui.session.session import Decision, Iteration
from guardtui.session.store import StoreError
from guardtui.session.verdict_cache import SqliteVerdicts
from guardtui.tui.remote import RemoteOptions, profile_names
from guardtui.tui.screens.dialogs import Choice, Confirm
from guardtui.tui.screens.files import FilesScreen
from guardtui.tui.screens.scan_dialogs import Cost, ScanChoice, ScanDialog, ScanPlan
from guardtui.tui.widgets.scan_pane import ScanPane, ScanState

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late("numpy")

AIRS = "airs"
SHOW_EVERY = 0.25
"""Seconds between two looks at the verdicts that came in."""
_SETTING = "airs"


@dataclass(frozen=True, slots=True)
class Wish:
    """What a scan is to do: ask first in any case, or only the rows that have no verdict."""

    ask: bool = False
    missing: bool = False


class ScanningScreen(FilesScreen):
    """The actions of a remote scan; what is shown is a scan wherever there is one."""

    remote_options = RemoteOptions()
    connection: AirsConnection | None = None
    remote: RemoteEvaluator | None = None
    """The scan under way, or the last one."""
    companions: tuple[str, ...] = ()
    """Names of other topics of the profile that are measured with this one."""

    _scanned: Evaluation | None = None
    """What the last scan gave, also where it was stopped."""
    _prefers_preview = False
    _predicted: tuple[Topic, str, NDArray[np.int8]] | None = None
    """What is expected of the definition that is scanned, on which prompts."""
    _in_effect: InEffect | None = None
    _verdicts: SqliteVerdicts | None = None
    _rate: float | None = None
    _shown_at = 0.0
    _step = ""

    # --- what is shown --------------------------------------------------------------------

    @property
    def scanning(self) -> bool:
        """Whether a remote scan is under way."""
        return self.remote is not None and self.remote.busy

    def standing_scan(self) -> Evaluation | None:
        """What a remote guardrail says of the definition and the prompts as they are, if it did."""
        if self._prefers_preview:
            return None
        running = self.remote.so_far() if self.scanning and self.remote is not None else None
        recorded = (one.evaluation for one in reversed(self.session.iterations))
        for evaluation in (running, self._scanned, *recorded):
            if evaluation is not None and self._is_current(evaluation):
                return evaluation
        return None

    def _is_current(self, evaluation: Evaluation) -> bool:
        return (
            evaluation.settings.name == AIRS
            and evaluation.topic == self.session.topic
            and evaluation.prompt_set == self.workspace.prompts.fingerprint
        )

    def iteration_of(self, evaluation: Evaluation) -> Iteration | None:
        """The iteration that a scan was recorded as."""
        for one in reversed(self.session.iterations):
            recorded = one.evaluation
            same = recorded is evaluation or (
                recorded.settings == evaluation.settings
                and recorded.topic == evaluation.topic
                and recorded.prompt_set == evaluation.prompt_set
                and np.array_equal(recorded.verdicts.triggered, evaluation.verdicts.triggered)
            )
            if same:
                return one
        return None

    def _is_recorded(self, evaluation: Evaluation) -> bool:
        if evaluation.settings.name == AIRS:
            return self.iteration_of(evaluation) is not None
        return super()._is_recorded(evaluation)

    def predicted_verdicts(self, evaluation: Evaluation) -> NDArray[np.int8] | None:
        known = self._predicted
        if known is None or evaluation.settings.name != AIRS:
            return None
        topic, fingerprint, predicted = known
        fits = topic == evaluation.topic and fingerprint == evaluation.prompt_set
        return predicted if fits else None

    def _changed(self) -> None:
        self._prefers_preview = False
        scan = self.remote
        asked = scan.asked if scan is not None and scan.busy else None
        if asked is not None and scan is not None:
            topic, prompts = asked
            if (
                topic != self.session.topic
                or prompts.fingerprint != self.workspace.prompts.fingerprint
            ):
                scan.cancel()  # the newest edit wins; what came is kept
        elif not self.scanning and not self._step:
            self._pane.show(None)
        super()._changed()

    def header_note(self) -> Text:
        """Which guardrail is connected."""
        if self.connection is None:
            return super().header_note()
        text = Text("  AIRS ", "bold $text-success")
        text.append(display_text(self.connection.place))
        if self._in_effect is not None:
            text.append(f" r{self._in_effect.profile.revision}")
        return text

    @property
    def _pane(self) -> ScanPane:
        return self.query_one(ScanPane)

    def _tell_scan(self, step: str, *, problem: bool = False) -> None:
        self._step = "" if problem else step
        self._pane.show(ScanState(step, problem=problem) if step else None)

    def _poll(self) -> None:
        super()._poll()
        scan = self.remote
        progress = scan.progress if scan is not None else None
        if scan is None or progress is None:
            return
        traffic = progress.traffic() if progress.traffic is not None else None
        self._pane.show(ScanState(progress.phase, progress, traffic))
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
        self._scan(Wish())

    def action_scan_options(self) -> None:
        self._scan(Wish(ask=True))

    def action_scan_missing(self) -> None:
        shown = self.standing_scan()
        if self.scanning:
            self.notify("A scan is under way.")
        elif shown is None:
            self.notify("This definition was not scanned yet.")
        elif not shown.metrics.errors:
            self.notify("Every prompt has a verdict.")
        else:
            self._scan(Wish(missing=True))

    def action_pause_scan(self) -> None:
        scan = self.remote
        if scan is None or not scan.busy:
            self.notify("No scan is under way.")
            return
        scan.hold(not scan.held)
        self.notify("Paused: nothing more is sent." if scan.held else "The scan goes on.")

    def action_stop_scan(self) -> None:
        if self.scanning or self._step:
            self.workers.cancel_group(self, "scan")
        else:
            self.notify("No scan is under way.")

    def action_swap_preview(self) -> None:
        self._prefers_preview = not self._prefers_preview
        if not self._prefers_preview and self.standing_scan() is None:
            self._prefers_preview = False
            self.notify("This definition was not scanned: what is shown is the preview.")
            return
        shown = "the embedded engine's preview" if self._prefers_preview else "the scan"
        self.notify(f"Shown: {shown}.")
        self._preview()

    @work(exclusive=True, group="scan")
    async def _scan(self, wish: Wish) -> None:
        try:
            await self._scan_now(wish)
        except (ScannerError, ServiceError, StoreError) as error:
            self._tell_scan(f"not scanned: {error}", problem=True)
            self.notify(str(error), title="AIRS", severity="error", timeout=15)
        except asyncio.CancelledError:
            self._stopped()
            raise
        finally:
            self._step = ""
            if self.is_mounted:
                self._show_header()

    def _stopped(self) -> None:
        """Keep in sight what came of a scan that was stopped."""
        scan = self.remote
        evaluation = scan.so_far() if scan is not None else None
        if evaluation is not None:
            self._scanned = evaluation
        if not self.is_mounted:
            return
        if evaluation is None:
            self._tell_scan("stopped before anything was scanned", problem=True)
            return
        left = evaluation.metrics.errors
        total = len(evaluation.keys)
        self._tell_scan(f"stopped: {total - left} of {total} verdicts, kept", problem=True)
        self._preview()

    # --- a scan ---------------------------------------------------------------------------

    async def _scan_now(self, wish: Wish) -> None:
        await self._take_typed()
        topic, prompts = self.session.topic, self.workspace.prompts
        connection = await self._connected()
        if connection is None:
            return
        if connection.manages and (broken := violations(topic)):
            self.notify(f"Not sent: {broken[0].message}", severity="error", timeout=8)
            return
        onto = self.standing_scan() if wish.missing else None
        self._tell_scan(f"looks at profile {connection.place} …")
        plan = await connection.look(topic)
        order, cost = await self._costs(connection, topic, prompts, plan)
        choice = await self._choose(connection, plan, cost, wish)
        if choice is None:
            self._tell_scan("")
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
            rows = order.rows[onto.verdicts.triggered[order.rows] == Triggered.NO_VERDICT]
        await self._ask_for(connection, topic, prompts, rows, onto)

    async def _connected(self) -> AirsConnection | None:
        """The connection of this session, made when it is first needed; None when left."""
        if self.connection is not None:
            return self.connection
        settings = self.remote_options.settings()
        name = settings.profile or str(self._remembered().get("profile", ""))
        if not name:
            if not settings.client_id:
                self.notify(
                    "No security profile is named: start with --profile NAME, or set "
                    "PANW_AI_SEC_PROFILE_NAME.",
                    severity="error",
                    timeout=10,
                )
                return None
            self._tell_scan("looks for profiles …")
            names = await profile_names(settings)
            self._tell_scan("")
            options = [(str(place), Text(display_text(one))) for place, one in enumerate(names)]
            chosen = await self.app.push_screen_wait(Choice("Security profile", options))
            if chosen is None:
                return None
            name = names[int(chosen)]
        self.connection = self.remote_options.connect(settings, name)
        self._show_header()
        return self.connection

    def _remembered(self) -> dict[str, Any]:
        """What the session knows of the guardrail: its profile, and whether to apply unasked."""
        known = self.workspace.store.settings().get(_SETTING)
        return known if isinstance(known, dict) else {}

    @property
    def agreed(self) -> bool:
        """Whether the author wants definitions put into effect here without being asked."""
        return (
            self.connection is not None and self._remembered().get("agreed") == self.connection.key
        )

    async def _costs(
        self, connection: AirsConnection, topic: Topic, prompts: PromptSet, plan: Plan | None
    ) -> tuple[Order, Cost]:
        """In which order to ask, and what that costs."""
        before = self._last_scan()
        now = None if plan is None else connection.planned(topic, plan)

        def work_out() -> tuple[Order, Cost]:
            order = self._ordered(topic, prompts, before)
            # SQLite's connections belong to one thread.
            with contextlib.closing(SqliteVerdicts(cache_folder())) as cache:
                scanner = connection.scanner(
                    now, cache=cache, fresh=self.remote_options.fresh, companions=self.companions
                )
                known = scanner.known(topic, prompts)
            likely = order.rows[: order.likely]
            rate = self._rate if connection.rate is None else connection.rate
            return order, Cost(
                len(prompts), int(known.sum()), len(likely), int(known[likely].sum()), rate
            )

        return await asyncio.to_thread(work_out)

    def _last_scan(self) -> Evaluation | None:
        """The newest scan of this session, on whatever definition."""
        for one in reversed(self.session.iterations):
            if one.evaluation.settings.name == AIRS:
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
        expected = np.where((answers >= 0) & ~flipped, answers, now.triggered)
        self._predicted = topic, prompts.fingerprint, expected.astype(np.int8)
        earlier = codes_for(before, prompts.keys, prompts.expected)
        return scan_order(np.abs(now.score - then.score), flipped, earlier)

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
            f"Profile {connection.place}{revision}", changes, warnings, cost, self.agreed
        )
        choice = await self.app.push_screen_wait(ScanDialog(shown))
        if choice is not None:
            agreed = connection.key if choice.agreed else ""
            known = {"profile": connection.profile, "told": connection.key, "agreed": agreed}
            self._remember({_SETTING: known})
        return choice

    async def _apply(
        self, connection: AirsConnection, topic: Topic, plan: Plan | None
    ) -> Applied | None:
        """Put the definition into effect and wait until scans know it; None when left."""
        self._tell_scan(f"puts the definition into profile {connection.place} …")
        applied = await self._applied(connection, topic, plan)
        while True:
            self._tell_scan(f"waits until revision {applied.profile.revision} judges …")
            live = await connection.wait(topic, applied.profile)
            if live.live:
                return applied
            question = (
                f"After {live.seconds:.0f} s the change is not in effect: {live.reason}.\n"
                "Verdicts of an older revision would not be counted."
            )
            if not await self.app.push_screen_wait(Confirm(question, "Wait on", "Scan later")):
                self._tell_scan(f"not scanned: {live.reason}", problem=True)
                return None

    async def _applied(
        self, connection: AirsConnection, topic: Topic, plan: Plan | None
    ) -> Applied:
        """Put the definition into effect, remember the way back, and tell what is doubtful."""
        log = AppliedLog(self.workspace.store, connection.key)

        async def apply() -> Applied:
            applied = await connection.apply(topic, plan)
            if applied.changes:
                await asyncio.to_thread(log.push, applied.before.model_dump(mode="json"))
            return applied

        # A change that was begun is finished, and its way back is known, whatever comes.
        applied = await asyncio.shield(asyncio.ensure_future(apply()))
        for warning in applied.warnings:
            self.notify(warning, title="AIRS", severity="warning", timeout=15)
        return applied

    async def _ask_for(
        self,
        connection: AirsConnection,
        topic: Topic,
        prompts: PromptSet,
        rows: NDArray[np.intp],
        onto: Evaluation | None,
    ) -> None:
        if self._verdicts is None:
            self._verdicts = SqliteVerdicts(cache_folder())
        if not self._verdicts.works:
            self.notify(
                f"{self._verdicts.path}: cannot be used, so verdicts are not kept",
                severity="warning",
            )
        scanner = connection.scanner(
            self._in_effect,
            cache=self._verdicts,
            fresh=self.remote_options.fresh,
            companions=self.companions,
        )
        self.remote = scan = RemoteEvaluator(scanner)
        self._prefers_preview = False
        self._step = ""
        evaluation = await scan.evaluate_rows(topic, prompts, rows, onto)
        self._scanned = evaluation
        await self._record(evaluation, onto)
        if self._is_current(evaluation):
            await self._show(evaluation)

    async def _record(self, evaluation: Evaluation, onto: Evaluation | None) -> None:
        """Write a scan to the session, or complete the one it went on from; tell about it."""
        metrics = evaluation.metrics
        total, left = len(evaluation.keys), metrics.errors
        if left == total:
            reason = next(iter(evaluation.verdicts.errors.values()), "")
            self._tell_scan(f"no prompt got a verdict: {reason}", problem=True)
            self.notify(
                f"No prompt got a verdict: {reason}", title="AIRS", severity="error", timeout=15
            )
            return
        first = all(one.evaluation.settings.name != AIRS for one in self.session.iterations)
        known = self.iteration_of(onto) if onto is not None else None
        if known is not None:
            iteration = replace(known, evaluation=evaluation)
            await asyncio.to_thread(self.workspace.complete, iteration)
            self.session.complete(iteration)
        else:
            unchanged = evaluation.topic == self.workspace.topic_file.topic
            keep = first and not left and unchanged
            decision = Decision.KEEP if keep else Decision.UNDECIDED
            iteration = await asyncio.to_thread(self.workspace.write, evaluation, decision)
            self.session.record(iteration)
        told = f"#{iteration.number}: {total} prompts scanned"
        unasked = len(evaluation.verdicts.open_rows)
        if left:
            told = f"#{iteration.number}: {total - left} of {total} prompts have a verdict"
            told += f", {unasked} were not scanned" if unasked else ""
            told += f", {left - unasked} failed" if left - unasked else ""
        self._tell_scan(told, problem=bool(left - unasked))
        self._step = ""
        self._show_header()

    # --- what was put into effect -----------------------------------------------------------

    async def restore_remotely(self, topic: Topic) -> None:
        """Put a definition back into effect, as after a discard, when the author agreed to that."""
        connection = self.connection
        if connection is None or not connection.manages or not self.agreed:
            return
        try:
            plan = await connection.look(topic)
            if plan is None or not plan.changes:
                return
            applied = await self._applied(connection, topic, plan)
        except (ScannerError, ServiceError, StoreError) as error:
            self.notify(
                f"The profile still has the discarded definition: {error}",
                title="AIRS",
                severity="error",
                timeout=15,
            )
            return
        self._in_effect = connection.in_effect(topic, applied)
        self._show_header()
        self.notify("The profile has the best definition again.", title="AIRS")

    def on_unmount(self) -> None:
        if self._verdicts is not None:
            self._verdicts.close()
