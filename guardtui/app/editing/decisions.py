"""Decisions on a definition: keep or discard it, and choose the baseline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from guardtui.advice.judgement import LIKELY
from guardtui.app.context import Context
from guardtui.app.editing.deciding import (
    against_discarding,
    against_keeping,
    missing_text,
    plateau_text,
)
from guardtui.app.editing.preview import Preview
from guardtui.app.editing.workspace_sync import WorkspaceSync
from guardtui.app.guardrails.connections import Connections
from guardtui.app.ports import ChooseAnswer, Confirm
from guardtui.app.problems import READING_TIME, problems_shown
from guardtui.app.scan.record import MeasuredDefinitions, iteration_behind, recorded_as
from guardtui.app.scan.run import Scans
from guardtui.app.shown_rates import shown_rates
from guardtui.app.state import EditKind, with_session
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import rate_text
from guardtui.domain.guardrail import guardrail_text
from guardtui.session.session import Decision, Iteration, Recorder

PLATEAU_TIME = 20.0
"""Seconds for which the advice on a plateau is shown."""

NOTHING_TO_KEEP = "No changes since the last kept iteration."
_TOLD = 5
_DECIDED = {Decision.KEEP: "kept", Decision.DISCARD: "discarded", Decision.UNDECIDED: "undecided"}
_RECORDERS = {
    Recorder.APP: "another window",
    Recorder.COMMAND: "a command",
    Recorder.AGENT: "an agent",
    Recorder.LOG: "labels of a log",
    Recorder.COMPLETED_LOG: "a scan after labels of a log",
}


@dataclass(frozen=True, slots=True)
class _Found:
    """What another program recorded: iterations, new or changed, and the pinned number."""

    iterations: Sequence[Iteration]
    pinned: int | None


def nothing_to_discard(best: int) -> str:
    """Return why the definition of the iteration `best` cannot be discarded."""
    return f"Nothing to discard: this is the best definition, #{best}."


class Decisions:
    """Records iterations with a decision; discarding restores the best definition."""

    def __init__(
        self,
        context: Context,
        preview: Preview,
        sync: WorkspaceSync,
        scans: Scans,
        connections: Connections,
        restore_remotely: Callable[[], None],
        measured: MeasuredDefinitions,
    ) -> None:
        """`restore_remotely` deploys the definition again if the author agreed to that."""
        self._measured = measured
        self._store, self._workspace = context.store, context.workspace
        self._session, self._author = context.session, context.author
        self._preview, self._sync, self._scans = preview, sync, scans
        self._connections, self._restore_remotely = connections, restore_remotely
        self._seen: tuple[object, ...] = ()

    # --- other programs -------------------------------------------------------------------

    async def learn(self) -> None:
        """Load what other programs have recorded and decided; cheap while the file is the same."""
        session, found, pinned = self._session, None, None
        with problems_shown(self._author):
            while True:
                version, pinned = session.version, session.pinned
                found = await asyncio.to_thread(self._recorded_elsewhere, session.marks)
                if session.version == version:
                    break
                self._seen = ()  # it was read before a change made here
        if found is None or not (found.iterations or found.pinned != pinned):
            return
        before = session.marks
        session.learn(found.iterations)
        if found.pinned in (None, *session.marks):
            session.pin(found.pinned)
        told = [
            _recorded_text(iteration, new=iteration.number not in before)
            for iteration in found.iterations
            if not self._workspace.is_own(iteration)
        ]
        if told:
            self._author.notify("\n".join(told[-_TOLD:]))
        self._publish()
        self._preview.request()

    def _recorded_elsewhere(self, known: Mapping[int, tuple[str, int]]) -> _Found | None:
        """Return what differs from the `known` iterations; None if the file is the same."""
        store = self._workspace.store
        signature = store.signature
        if signature == self._seen:
            return None
        self._seen = signature
        return _Found(self._workspace.changed_iterations(known), store.pinned())

    # --- decisions ------------------------------------------------------------------------

    async def keep(self) -> None:
        """Record the definition as kept and save it to the topic file."""
        await self.learn()
        if (forecast := self._store.state.forecast) is not None:
            self._author.notify(
                f"This is a forecast of {guardrail_text(forecast.grounds.settings)}: scan the "
                "definition before you keep it, or keep what the engine says of it in its view.",
                seconds=READING_TIME,
            )
            return
        evaluation = await self._preview.current()
        if evaluation is None:
            return
        recorded = recorded_as(self._session, evaluation)
        if recorded is not None and recorded.decision is Decision.KEEP:
            if self._workspace.unsaved:
                await self._sync.save()  # the file is missing, or has something else
            else:
                self._author.notify(NOTHING_TO_KEEP)
            return
        if not await self._is_complete_enough(evaluation):
            return
        if objection := await asyncio.to_thread(against_keeping, self._session, evaluation):
            question = Confirm(f"{objection} Keep anyway?", "Keep", "Cancel")
            if not await self._author.ask(question):
                return
        with problems_shown(self._author):
            await self._write_kept(evaluation, recorded)
        self._decided()
        await self._preview.show(evaluation)

    async def _write_kept(self, evaluation: Evaluation, recorded: Iteration | None) -> None:
        scan = recorded if self._scans.results.is_current(evaluation) else None
        iteration, problem = await asyncio.to_thread(self._workspace.write_kept, evaluation, scan)
        number = iteration.number
        self._session.record(iteration)
        if problem:
            self._author.notify(
                f"Kept as #{number}, but not saved: {problem}",
                severity="error",
                seconds=READING_TIME,
            )
        else:
            file = self._workspace.topic_file.path.name
            self._author.notify(f"Kept as #{number} and saved to {file}")

    async def keep_measured(self, evaluation: Evaluation) -> None:
        """Record the current definition, which an experiment has shown to be better, as kept.

        It is saved to the topic file. Raises StoreError.
        """
        await self.learn()
        await self._write_kept(evaluation, None)
        self._decided()
        self._preview.request()

    async def discard(self) -> None:
        """Record the definition as discarded and restore the best one."""
        await self.learn()
        evaluation = await self._preview.current()
        best = self._session.best
        if evaluation is None or best is None:
            return
        if evaluation.topic == best.evaluation.topic:
            self._author.notify(nothing_to_discard(best.number))
            return
        if objection := await asyncio.to_thread(self._against_discarding, evaluation, best):
            question = Confirm(f"{objection} Discard anyway?", "Discard", "Cancel")
            if not await self._author.ask(question):
                return
        done = ""
        with problems_shown(self._author):
            done = await self._write_discarded(evaluation)
            self._session.restore_best()
            self._author.notify(f"Discarded {done}; back to #{best.number}")
            await self._sync.follow(evaluation.topic)
        if not done:
            return
        if plateau := plateau_text(self._session):
            self._author.notify(plateau, severity="warning", seconds=PLATEAU_TIME)
        self._decided()
        self._restore_remotely()

    def _against_discarding(self, evaluation: Evaluation, best: Iteration) -> str:
        """Return what speaks against discarding by the shown figures, or ""."""
        forecast = self._store.state.forecast
        if forecast is None:
            return against_discarding(self._session, evaluation)
        if (forecast.rates.better or 0) < LIKELY:
            return ""
        return f"It is probably better than #{best.number}, by a forecast: a scan decides."

    async def _write_discarded(self, evaluation: Evaluation) -> str:
        """Record an evaluation as discarded; for a recorded scan only the decision.

        While a forecast is shown nothing was measured, so no iteration is recorded. Returns what
        was recorded, in words.
        """
        shown, forecast = self._store.state.evaluation, self._store.state.forecast
        if shown is not None and forecast is not None and shown.topic == evaluation.topic:
            await self._measured.discard(shown, forecast)
            coverage = shown_rates(self._store.state, shown)["coverage"].text
            return f"by its forecast, coverage {coverage}"
        known = None
        if self._scans.results.is_current(evaluation):
            known = iteration_behind(self._session, evaluation)
        iteration = await asyncio.to_thread(self._workspace.write_discarded, evaluation, known)
        self._session.record(iteration)
        return f"as #{iteration.number}"

    async def _is_complete_enough(self, evaluation: Evaluation) -> bool:
        """Return whether to keep an evaluation; asks if prompts have no verdict."""
        if not self._scans.results.is_current(evaluation):
            if not self._connections.is_named:
                return True
            text = (
                f"{self._connections.who} has not scanned this definition: the screen shows the "
                "engine's figures."
            )
            first = ("s", "scan", "Scan it first")
        elif text := missing_text(evaluation):
            first = ("m", "missing", "Scan those first")
        else:
            return True
        answer = await self._author.ask(ChooseAnswer(text, (first, ("k", "keep", "Keep anyway"))))
        if answer == "scan":
            self._scans.scan()
        elif answer == "missing":
            self._scans.scan_missing()
        return answer == "keep"

    def _decided(self) -> None:
        self._sync.save_draft_soon()
        self._publish(EditKind.REPLACED)

    # --- the baseline ---------------------------------------------------------------------

    def turn_pin(self) -> None:
        """Pin the last iteration as the baseline, or unpin the pinned one."""
        session = self._session
        if session.pinned is not None or not session.iterations:
            self.pin(None)
        else:
            self.pin(session.iterations[-1].number)

    def pin(self, number: int | None) -> None:
        """Use this iteration as the baseline; None: the last kept one."""
        with problems_shown(self._author):
            self._workspace.pin(number)
            baseline = self._session.baseline
            name = f"#{baseline.number}" if baseline else "none yet"
            pinned = "pinned" if number is not None else "the last kept one"
            self._author.notify(f"Baseline: {name} ({pinned})")
        self._publish()

    def _publish(self, edit: EditKind | None = None) -> None:
        state = with_session(self._store.state, self._workspace)
        self._store.publish(state if edit is None else replace(state, edit=edit))


def _recorded_text(iteration: Iteration, *, new: bool) -> str:
    """Return what another program did with an iteration."""
    decision, metrics = iteration.decision, iteration.evaluation.metrics
    if not new:
        done = "got further verdicts" if decision is Decision.UNDECIDED else _DECIDED[decision]
        return f"Another program: #{iteration.number} {done}."
    decided = "" if decision is Decision.UNDECIDED else f", {_DECIDED[decision]}"
    coverage = "" if metrics.coverage is None else f", coverage {rate_text(metrics.coverage)}"
    return f"#{iteration.number} is recorded by {_RECORDERS[iteration.by]}{coverage}{decided}."
