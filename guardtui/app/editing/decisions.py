"""Decisions on a definition: keep or discard it, and choose the baseline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from guardtui.app.context import Context
from guardtui.app.editing.preview import Preview
from guardtui.app.editing.workspace_sync import WorkspaceSync
from guardtui.app.guardrails.connections import Connections
from guardtui.app.ports import ChooseAnswer, Confirm
from guardtui.app.problems import READING_TIME, problems_shown
from guardtui.app.scan.record import is_recorded, iteration_of
from guardtui.app.scan.run import Scans
from guardtui.app.state import EditKind, with_session
from guardtui.domain.comparison import compare
from guardtui.domain.estimates import rate_bounds
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import capitalized
from guardtui.domain.guardrail import guardrail_text
from guardtui.session.series import series_of
from guardtui.session.session import PLATEAU, PLATEAU_ADVICE, Decision, Iteration

PLATEAU_TIME = 20.0
"""Seconds for which the advice on a plateau is shown."""


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
    ) -> None:
        """`restore_remotely` deploys the definition again if the author agreed to that."""
        self._store, self._workspace = context.store, context.workspace
        self._session, self._author = context.session, context.author
        self._preview, self._sync, self._scans = preview, sync, scans
        self._connections, self._restore_remotely = connections, restore_remotely

    # --- other windows --------------------------------------------------------------------

    async def learn(self) -> None:
        """Load iterations that another window of the same topic has recorded."""
        with problems_shown(self._author):
            iterations = await asyncio.to_thread(self._workspace.store.iterations)
            if self._session.learn(iterations):
                self._author.notify(
                    "Another window recorded iterations of this topic; they are in the history now."
                )
                self._publish()

    # --- decisions ------------------------------------------------------------------------

    async def keep(self) -> None:
        """Record the definition as kept and save it to the topic file."""
        await self.learn()
        if (forecast := self._store.state.forecast) is not None:
            self._author.notify(
                f"The screen shows a forecast of {guardrail_text(forecast.grounds.settings)}: scan "
                "this definition before you keep it, or keep what the engine says of it in its own "
                "view.",
                seconds=READING_TIME,
            )
            return
        evaluation = await self._preview.current()
        if evaluation is None:
            return
        recorded = self._recorded(evaluation)
        if recorded is not None and recorded.decision is Decision.KEEP:
            self._author.notify("No changes since the last kept iteration.")
            return
        if not await self._is_complete_enough(evaluation):
            return
        if self._session.iterations and not self._session.is_better(evaluation):
            best = self._session.best
            than = "" if best is None else f" than that of #{best.number}"
            difference = await self._against_best(evaluation, best)
            series = await asyncio.to_thread(series_of, self._session.iterations, best)
            if series is not None:
                difference += f" #{best.number if best else 0} is the {series.text}."
            text = f"Coverage is not greater{than}.{difference} Keep anyway?"
            if not await self._author.ask(Confirm(text, "Keep", "Cancel")):
                return
        with problems_shown(self._author):
            await self._write_kept(evaluation, recorded)
        self._decided()
        await self._preview.show(evaluation)

    async def _write_kept(self, evaluation: Evaluation, recorded: Iteration | None) -> None:
        scan = recorded if self._scans.results.is_current(evaluation) else None
        iteration, problem = await asyncio.to_thread(self._workspace.write_kept, evaluation, scan)
        number = iteration.number
        if scan is None:
            self._session.record(iteration)
        else:
            self._session.decide(scan.number, Decision.KEEP)
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
        """Record the current definition, which an experiment has proven better, as kept.

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
            self._author.notify(f"Nothing to discard: this is the best definition, #{best.number}.")
            return
        if self._session.is_better(evaluation):
            difference = await self._against_best(evaluation, best)
            text = f"Coverage is greater than that of #{best.number}.{difference} Discard anyway?"
            if not await self._author.ask(Confirm(text, "Discard", "Cancel")):
                return
        with problems_shown(self._author):
            iteration = await self._write_discarded(evaluation)
            self._session.restore_best()
            self._author.notify(f"Discarded as #{iteration.number}; back to #{best.number}")
        if self._session.plateau:
            self._author.notify(
                f"{PLATEAU} discards in a row: a plateau. {PLATEAU_ADVICE}",
                severity="warning",
                seconds=PLATEAU_TIME,
            )
        self._decided()
        self._restore_remotely()

    async def _write_discarded(self, evaluation: Evaluation) -> Iteration:
        """Record an evaluation as discarded; for a recorded scan only the decision."""
        workspace, session = self._workspace, self._session
        known = None
        if self._scans.results.is_current(evaluation):
            known = iteration_of(session, evaluation)
        if known is None or known.decision is Decision.KEEP:
            iteration = await asyncio.to_thread(workspace.write, evaluation, Decision.DISCARD)
            session.record(iteration)
            return iteration
        await asyncio.to_thread(workspace.store.decide, known.number, Decision.DISCARD)
        return session.decide(known.number, Decision.DISCARD)

    def _recorded(self, evaluation: Evaluation) -> Iteration | None:
        """Return the last iteration if it holds this evaluation, or None."""
        if self._scans.results.is_current(evaluation):
            return iteration_of(self._session, evaluation)
        recorded = is_recorded(self._session, evaluation)
        return self._session.iterations[-1] if recorded else None

    async def _against_best(self, evaluation: Evaluation, best: Iteration | None) -> str:
        """Return the comparison with the best iteration as a sentence, or ""."""
        if best is None:
            return ""

        def work_out() -> str:
            comparison = compare(best.evaluation, evaluation)
            return f" {capitalized(comparison.describe(f'#{best.number}'))}."

        return await asyncio.to_thread(work_out)

    async def _is_complete_enough(self, evaluation: Evaluation) -> bool:
        """Return whether to keep an evaluation; asks if prompts have no verdict."""
        if not self._scans.results.is_current(evaluation):
            if not self._connections.is_named:
                return True
            text = (
                f"{self._connections.who} has not scanned this definition: the screen shows the "
                "embedded engine's preview."
            )
            first = ("s", "scan", "Scan it first")
        elif missing := evaluation.metrics.missing:
            text = f"{missing} of {len(evaluation.keys)} prompts have no verdict."
            bounds = rate_bounds(evaluation.codes, evaluation.should_trigger)["coverage"]
            if bounds is not None:
                text += (
                    f" Coverage is between {bounds.low:.3f} and {bounds.high:.3f}, whatever "
                    "those are."
                )
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
