"""What came of a scan, written to the session: a new iteration, or the one it completes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
from guardtui.domain.late import late
from guardtui.session.session import Decision, Iteration
from guardtui.tui.screens.applying import REMOTE, ApplyingScreen

if TYPE_CHECKING:
    import numpy as np
else:
    np = late("numpy")


class RecordingScreen(ApplyingScreen):
    """Iterations of scans."""

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
        if evaluation.settings.name in REMOTE:
            return self.iteration_of(evaluation) is not None
        return super()._is_recorded(evaluation)

    async def _record(self, evaluation: Evaluation, onto: Evaluation | None) -> None:
        """Write a scan to the session, or complete the one it went on from; tell about it."""
        metrics = evaluation.metrics
        total, left = metrics.prompts, metrics.missing
        if left == total:
            reason = next(iter(evaluation.verdicts.errors.values()), "none was asked")
            self._tell_scan(f"no prompt got a verdict: {reason}", problem=True)
            self._warn(f"No prompt got a verdict: {reason}", error=True)
            return
        known = self.iteration_of(onto) if onto is not None else None
        keep = not left and self._is_first(known)
        keep = keep and evaluation.topic == self.workspace.topic_file.topic
        if known is not None:
            iteration = replace(known, evaluation=evaluation)
            await asyncio.to_thread(self.workspace.complete, iteration)
            self.session.complete(iteration)
            if keep:
                await asyncio.to_thread(self.workspace.write_decision, known.number, Decision.KEEP)
                self.session.decide(known.number, Decision.KEEP)
        else:
            decision = Decision.KEEP if keep else Decision.UNDECIDED
            iteration = await asyncio.to_thread(self.workspace.write, evaluation, decision)
            self.session.record(iteration)
        told = f"#{iteration.number}: {count_text(total, 'prompt')} scanned"
        if left:
            told = f"#{iteration.number}: {total - left} of {total} prompts have a verdict"
            told += f", {metrics.open} open" if metrics.open else ""
            told += f", {metrics.errors} failed" if metrics.errors else ""
        self._tell_scan(told, problem=bool(metrics.errors))
        self._step = ""
        self._show_header()

    def _is_first(self, completed: Iteration | None) -> bool:
        """Whether no other scan of the session was complete, or kept."""
        return not any(
            one.decision is Decision.KEEP or not one.evaluation.metrics.missing
            for one in self.session.iterations
            if one.evaluation.settings.name == self.asked_name
            and (completed is None or one.number != completed.number)
        )
