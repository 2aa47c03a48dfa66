"""What the author decides: keep, discard, undo, pin."""

from __future__ import annotations

import asyncio

from textual import work

from guardtui.domain.comparison import compare
from guardtui.domain.estimates import rate_bounds
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import capitalized
from guardtui.domain.text import display_text
from guardtui.session.session import PLATEAU, PLATEAU_ADVICE, Decision, Iteration
from guardtui.tui.screens.dialogs import Confirm
from guardtui.tui.screens.remote_topics import RemoteTopicsScreen
from guardtui.tui.screens.scan_dialogs import Answers


class DecisionsScreen(RemoteTopicsScreen):
    """Actions that record an iteration, go back to one, or choose the baseline."""

    async def _current(self) -> Evaluation | None:
        """An evaluation of the definition exactly as it is now."""
        await self._take_typed()
        if self.scanning:
            self.notify("A scan is under way: let it end, or stop it first.")
            return None
        shown = self.evaluation
        if shown is not None and self._is_current(shown):
            return shown
        if (
            shown is not None
            and shown.topic == self.session.topic
            and shown.settings == self.measuring.settings
            and shown.prompt_set == self.workspace.prompts.fingerprint
        ):
            return shown
        evaluation = await self._evaluate(self.session.topic)
        if evaluation is not None:
            await self._show(evaluation)
        return evaluation

    async def _learn(self) -> None:
        """Know what another window on the same topic recorded meanwhile."""
        with self._told_problems():
            found = await asyncio.to_thread(self.workspace.store.iterations)
            if self.session.learn(found):
                self.notify("Another window recorded iterations of this topic; they are here now.")
                self._alignment = None
                self._show_dashboard()

    @work(exclusive=True, group="decide")
    async def action_keep(self) -> None:
        await self._learn()
        evaluation = await self._current()
        if evaluation is None:
            return
        recorded = self._recorded(evaluation)
        if recorded is not None and recorded.decision is Decision.KEEP:
            self.notify("Nothing to keep: the definition is as it was kept last.")
            return
        if not await self._complete_enough(evaluation):
            return
        if self.session.iterations and not self.session.is_better(evaluation):
            best = self.session.best
            than = "" if best is None else f" than that of #{best.number}"
            known = await self._against_best(evaluation, best)
            question = f"Coverage is not greater{than}.{known} Keep anyway?"
            if not await self.app.push_screen_wait(Confirm(question, "Keep", "Do not keep")):
                return
        with self._told_problems():
            scan = recorded if self._is_current(evaluation) else None
            kept = await asyncio.to_thread(self.workspace.write_kept, evaluation, scan)
            if scan is None:
                self.session.record(kept.iteration)
            else:
                self.session.decide(scan.number, Decision.KEEP)
            file = display_text(self.workspace.topic_file.path.name)
            if kept.not_saved:
                self.notify(
                    f"Kept as #{kept.iteration.number}, but not saved: {kept.not_saved}",
                    severity="error",
                    markup=False,
                    timeout=15,
                )
            else:
                self.notify(f"Kept as #{kept.iteration.number} and saved to {file}", markup=False)
        self._after_decision()
        await self._show(evaluation)

    @work(exclusive=True, group="decide")
    async def action_discard(self) -> None:
        await self._learn()
        evaluation = await self._current()
        best = self.session.best
        if evaluation is None or best is None:
            return
        if evaluation.topic == best.evaluation.topic:
            self.notify(f"Nothing to discard: this is the best definition, #{best.number}.")
            return
        if self.session.is_better(evaluation):
            known = await self._against_best(evaluation, best)
            question = f"Coverage is greater than that of #{best.number}.{known} Discard anyway?"
            if not await self.app.push_screen_wait(Confirm(question, "Discard", "Do not")):
                return
        with self._told_problems():
            iteration = await self._write_discarded(evaluation)
            self.session.restore_best()
            self.notify(f"Discarded as #{iteration.number}; back to #{best.number}")
        if self.session.plateau:
            self.notify(
                f"{PLATEAU} discards in a row: a plateau. {PLATEAU_ADVICE}",
                severity="warning",
                timeout=20,
            )
        self._after_decision()
        self._topic_replaced()
        self.restore_remotely(self.session.topic)

    async def _against_best(self, evaluation: Evaluation, best: Iteration | None) -> str:
        """What the comparison with the best iteration shows, as a sentence; "" without one."""
        if best is None:
            return ""

        def work_out() -> str:
            comparison = compare(best.evaluation, evaluation)
            return f" {capitalized(comparison.describe(f'#{best.number}'))}."

        return await asyncio.to_thread(work_out)

    async def _complete_enough(self, evaluation: Evaluation) -> bool:
        """Whether to keep an evaluation though not every prompt has a verdict on it."""
        if not self._is_current(evaluation):
            if self.connection is None and self.judge is None:
                return True
            question = (
                f"{self.who} has not judged this definition: what is shown is the embedded "
                "engine's preview."
            )
            answers = [("s", "scan", "Scan it first"), ("k", "keep", "Keep all the same")]
        elif left := evaluation.metrics.missing:
            question = f"{left} of {len(evaluation.keys)} prompts have no verdict."
            bounds = rate_bounds(evaluation.codes, evaluation.should_trigger)["coverage"]
            if bounds is not None:
                question += (
                    f" Coverage is between {bounds.low:.3f} and {bounds.high:.3f}, whatever "
                    "they are."
                )
            answers = [("m", "missing", "Scan those first"), ("k", "keep", "Keep all the same")]
        else:
            return True
        answer = await self.app.push_screen_wait(Answers(question, answers))
        if answer == "scan":
            self.action_scan()
        elif answer == "missing":
            self.action_scan_missing()
        return answer == "keep"

    async def _write_discarded(self, evaluation: Evaluation) -> Iteration:
        """Record an evaluation as discarded; of a scan, which is recorded, only the decision."""
        known = self.iteration_of(evaluation) if self._is_current(evaluation) else None
        if known is None or known.decision is Decision.KEEP:
            iteration = await asyncio.to_thread(self.workspace.write, evaluation, Decision.DISCARD)
            self.session.record(iteration)
            return iteration
        await asyncio.to_thread(self.workspace.write_decision, known.number, Decision.DISCARD)
        return self.session.decide(known.number, Decision.DISCARD)

    def _recorded(self, evaluation: Evaluation) -> Iteration | None:
        """The iteration that an evaluation was recorded as, if nothing was recorded since."""
        if self._is_current(evaluation):
            return self.iteration_of(evaluation)
        return self.session.iterations[-1] if self._is_recorded(evaluation) else None

    def _after_decision(self) -> None:
        self._alignment = None
        self._save_draft()
        self._show_header()
        self._show_dashboard()

    def action_undo(self) -> None:
        self._tell_step("Undone", self.session.undo(), "Nothing to undo.")

    def action_redo(self) -> None:
        self._tell_step("Done again", self.session.redo(), "Nothing to redo.")

    def _tell_step(self, verb: str, changes: tuple[str, ...], nothing: str) -> None:
        if not changes:
            self.notify(nothing)
            return
        self.notify(f"{verb}: {', '.join(changes)}", markup=False, timeout=2)
        self._topic_replaced(follow=True)

    def action_pin_baseline(self) -> None:
        session = self.session
        if session.pinned is not None or not session.iterations:
            self._pin(None)
        else:
            self._pin(session.iterations[-1].number)

    def _pin(self, number: int | None) -> None:
        with self._told_problems():
            self.workspace.pin(number)
            baseline = self.session.baseline
            name = f"#{baseline.number}" if baseline else "none yet"
            pinned = "pinned" if number is not None else "the last kept one"
            self.notify(f"Baseline: {name} ({pinned})")
        self._alignment = None
        self._preview()
