"""One experiment on a guardrail: asks round by round, stores each verdict, and can be resumed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.experiment import ROUNDS, Experiment
from guardtui.app.experiments.answering import Answering, DefinitionRows
from guardtui.app.experiments.planning import Design, ExperimentError, design_of
from guardtui.app.experiments.status import CandidateStatus, ExperimentStatus
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
from guardtui.domain.guardrail import guardrail_text
from guardtui.domain.prompts import PromptSet
from guardtui.domain.verdicts import Failure, Triggered, Verdict, VerdictColumns, is_answered
from guardtui.scanners.base import Progress
from guardtui.session.experiments import Arrival, ExperimentLog, ExperimentRecord, same_answers
from guardtui.session.store import StoreError

FAILED_AT_MOST = 0.1
"""Share of failed answers with which a round is still taken; they count as wrong."""

Shown: TypeAlias = "Callable[[ExperimentStatus], None]"
Recorded: TypeAlias = "Callable[[Evaluation], Awaitable[object]]"
"""Records the whole scan of the current definition as an iteration."""


class _StoppedError(Exception):
    """The experiment ends before its end; the message says why."""


class ExperimentRun:
    """Makes an experiment that is in the log, from the verdicts that it has.

    The same verdicts always give the same questions: what was killed goes on where it was. The
    state is on the event loop; each verdict is written by a thread as soon as it arrives.
    """

    def __init__(
        self,
        log: ExperimentLog,
        record: ExperimentRecord,
        prompts: PromptSet,
        answering: Answering,
        *,
        show: Shown = lambda status: None,
        scanned: Recorded | None = None,
    ) -> None:
        """`show` gets a snapshot after each change, `scanned` each scan of the definition.

        Raises ExperimentError if the prompts are not those of the experiment.
        """
        if prompts.fingerprint != record.prompt_set:
            raise ExperimentError("the prompts were changed meanwhile: begin again")
        self.record = record
        self._log, self._prompts, self._answering = log, prompts, answering
        self._show, self._scanned = show, scanned
        self._design: Design = design_of(record, prompts)
        self._columns = [VerdictColumns(len(prompts)) for _ in record.definitions]
        self._experiment: Experiment = self._design.experiment()
        self._calls_before = record.calls
        self._most = 0
        self._step, self._held, self._stopped = "", False, ""
        self._progress: Progress | None = None
        self._phase = ""
        self._unwritten: list[Arrival] = []
        self._written_calls = record.calls
        self._failed: dict[tuple[int, int], Verdict] = {}
        self._spent = ""
        self._settings = record.settings
        """Settings of the guardrail that gave the verdicts."""
        self._answered = record.calls > 0
        self._writer: asyncio.Task[None] | None = None

    # --- what is known ----------------------------------------------------------------------

    @property
    def calls(self) -> int:
        """Number of calls of all runs of this experiment."""
        return self._calls_before + self._answering.calls

    @property
    def status(self) -> ExperimentStatus:
        """A snapshot."""
        experiment = self._experiment
        least, most = experiment.calls_left()
        arrived = sum(
            int(np.count_nonzero(~self._columns[candidate + 1].not_asked[rows]))
            for candidate in experiment.alive
            if len(rows := experiment.unasked(candidate))
        )
        least, most = least - arrived, most - arrived
        if self._step == _SCANNING:
            open_ = len(self._open_rows())
            least, most = least + open_, most + open_
        progress, calls = self._progress, self.calls
        return ExperimentStatus(
            settings=self._settings,
            topic=self.record.topic,
            candidates=tuple(
                CandidateStatus(candidate, standing)
                for candidate, standing in zip(
                    self._design.candidates, experiment.standings, strict=True
                )
            ),
            round=min(experiment.round, len(ROUNDS)),
            rounds=len(ROUNDS),
            calls=calls,
            expected=calls + (least + most) // 2,
            most=calls + most,
            step=", ".join(filter(None, (self._step, self._phase))),
            held=self._held,
            traffic=None if progress is None or progress.traffic is None else progress.traffic(),
            best=experiment.best,
            ending=experiment.ending,
            stopped=self._stopped,
        )

    def evaluation(self, number: int) -> Evaluation:
        """Return the evaluation of a definition (0: the current one) by its verdicts so far."""
        evaluation = self.record.evaluation(number, self._columns[number].verdicts())
        return replace(evaluation, settings=self._settings)

    def best(self) -> Evaluation | None:
        """Return the evaluation of the better candidate; rows not asked are open. None without."""
        best = self._experiment.best
        return None if best is None else self.evaluation(best + 1)

    # --- what its author does ---------------------------------------------------------------

    def hold(self, held: bool) -> None:
        """Pause or resume; requests in flight are completed."""
        self._held = held
        self._answering.hold(held)
        self._show(self.status)

    async def run(self, most: int | None = None) -> ExperimentStatus:
        """Go on until the end, or until `most` calls of all runs would be exceeded.

        A status with `stopped` is not completed, and another run goes on. Cancelling stops soon
        and loses no verdict. Raises ScannerError, ServiceError, AirsError and StoreError, after
        which another run goes on too.
        """
        self._most = len(self._prompts) * len(self._columns) + self.calls if most is None else most
        self._stopped = self._spent = ""
        with self._log.claimed(self.record):
            known = await asyncio.to_thread(self._log.verdicts, self.record)
            for number, columns in known.items():
                self._columns[number] = columns
            self._answered = self._answered or bool(known)
            try:
                self._say("prepares the guardrail")
                async with self._answering:
                    try:
                        await self._scan_current()
                        await self._ask_rounds()
                    finally:
                        if self._writer is not None:  # it has a batch, which it finishes
                            await asyncio.wait([self._writer])
                        self._write_rest()
                        self._say("leaves the guardrail as it was")
                ending = self._experiment.ending
                assert ending is not None  # noqa: S101 - `_ask_rounds` ends with it
                await asyncio.to_thread(self._log.end, self.record, ending.name)
            except _StoppedError as reason:
                self._stopped = str(reason)
            except asyncio.CancelledError:
                self._stopped = "stopped"
                self._say("")
                raise
        self._say("")
        return self.status

    # --- one run ----------------------------------------------------------------------------

    def _open_rows(self) -> NDArray[np.intp]:
        return np.flatnonzero(self._columns[0].not_asked)

    async def _scan_current(self) -> None:
        """Complete the verdicts on the current definition, and record them."""
        self._say(_SCANNING)
        await self._ask(lambda: [(0, self._open_rows())], len(self._prompts))
        triggered = self._columns[0].verdicts().triggered
        evaluation = self.evaluation(0)
        if self._scanned is not None:
            await self._scanned(evaluation)
        self._experiment = self._design.experiment(triggered)

    async def _ask_rounds(self) -> None:
        """Ask and take rounds until the experiment has ended."""
        experiment = self._experiment
        while experiment.ending is None:
            self._say(f"round {experiment.round} of {len(ROUNDS)}")
            await self._ask(self._unasked, experiment.wanted)
            for candidate in experiment.alive:
                self._record_known(candidate)
            experiment.take_rounds()

    def _unasked(self) -> list[tuple[int, NDArray[np.intp]]]:
        """Return what the next round needs, after what is known was recorded."""
        for candidate in self._experiment.alive:
            self._record_known(candidate)
        return [
            (candidate + 1, self._experiment.unasked(candidate))
            for candidate in self._experiment.alive
        ]

    def _record_known(self, candidate: int) -> None:
        rows = self._experiment.unasked(candidate)
        columns = self._columns[candidate + 1]
        known = rows[~columns.not_asked[rows]]
        if len(known):
            triggered = columns.verdicts().triggered
            right = self._design.right(triggered)
            answered = is_answered(triggered)
            self._experiment.record(
                candidate,
                known,
                [bool(right[row]) if answered[row] else None for row in known.tolist()],
            )

    async def _ask(
        self, wanted: Callable[[], Sequence[tuple[int, NDArray[np.intp]]]], total: int
    ) -> None:
        """Ask for all `wanted` rows of definitions, and once more for those that failed.

        They are the rest of `total` answers, of which few may fail.

        Raises _StoppedError if calls or budget end before, or if too many answers failed.
        """
        for attempt in range(2):
            self._failed.clear()
            while rows := [(number, some) for number, some in wanted() if len(some)]:
                rows = [(number, self._without_failed(number, some)) for number, some in rows]
                rows = [(number, some) for number, some in rows if len(some)]
                if not rows:
                    break
                await self._ask_some(rows)
            if not self._failed:
                return
            if attempt == 0:
                self._say(f"asks again for {count_text(len(self._failed), 'answer')}")
        failed = len(self._failed)
        if failed > FAILED_AT_MOST * total:
            problems = Counter(verdict.problem for verdict in self._failed.values())
            problem, _ = problems.most_common(1)[0]
            raise _StoppedError(f"{failed} of {total} answers failed: {problem}")
        for (number, row), verdict in self._failed.items():
            self._take(number, row, verdict)
        await self._write()

    def _without_failed(self, number: int, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        return rows[[(number, row) not in self._failed for row in rows.tolist()]]

    async def _ask_some(self, rows: Sequence[tuple[int, NDArray[np.intp]]]) -> None:
        """Ask once, as far as calls are left. Raises _StoppedError."""
        left = self._most - self.calls
        if left <= 0:
            raise _StoppedError(f"the limit of {count_text(self._most, 'call')} is reached")
        asked = []
        for number, some in rows:
            if left > 0:
                asked.append(DefinitionRows(number, self.record.definitions[number], some[:left]))
                left -= len(some)
        waiting = {
            (definition.number, row) for definition in asked for row in definition.rows.tolist()
        }

        def arrived(number: int, row: int, verdict: Verdict) -> None:
            if (problem := self._write_problem()) is not None:
                raise problem  # nothing more is paid that cannot be stored
            waiting.discard((number, row))
            if verdict.failure is Failure.BUDGET:
                self._spent = verdict.problem
            elif verdict.failure is not None:
                self._failed[number, row] = verdict
            else:
                self._take(number, row, verdict)

        await self._answering.ask(asked, self._prompts, arrived, self._report)
        await self._write()
        if self._spent:
            raise _StoppedError(self._spent)
        if waiting:
            failed = next(iter(self._failed.values()), None)
            why = "the guardrail did not answer" if failed is None else failed.problem
            raise _StoppedError(f"{count_text(len(waiting), 'question')} not asked: {why}")

    # --- verdicts ---------------------------------------------------------------------------

    def _take(self, number: int, row: int, verdict: Verdict) -> None:
        if verdict.triggered is Triggered.NOT_ASKED:
            return
        self._use_settings()
        self._columns[number].put([row], verdict, verdict.note)
        self._unwritten.append((number, row, verdict))
        writer = self._writer
        if writer is None or (writer.done() and self._write_problem() is None):
            self._writer = asyncio.create_task(self._write())

    def _use_settings(self) -> None:
        """Use the settings of the newest answer. Raises _StoppedError for another guardrail."""
        settings = self._answering.settings
        if self._answered and not same_answers(settings, self._settings):
            raise _StoppedError(
                f"other verdicts were by {guardrail_text(self._settings)}, now "
                f"{guardrail_text(settings)} answers: make a new experiment"
            )
        self._answered = True
        self._settings = settings.titled(self.record.settings.guardrail.title)

    def _write_problem(self) -> BaseException | None:
        writer = self._writer
        return writer.exception() if writer is not None and writer.done() else None

    async def _write(self) -> None:
        """Write what has arrived, in a thread. Raises StoreError."""
        writer = self._writer
        if writer is not None and writer is not asyncio.current_task():
            await writer
        while self._unwritten or self._written_calls != self.calls:
            batch, self._unwritten = self._unwritten, []
            calls = self.calls
            settings = self._settings
            try:
                await asyncio.to_thread(
                    self._log.keep_verdicts, self.record, batch, calls, settings
                )
            except StoreError:
                self._unwritten = [*batch, *self._unwritten]
                raise
            self._written_calls = calls

    def _write_rest(self) -> None:
        """Write what has arrived at once; after a cancellation there is no time for a thread."""
        if self._unwritten or self._written_calls != self.calls:
            batch, self._unwritten = self._unwritten, []
            self._log.keep_verdicts(self.record, batch, self.calls, self._settings)
            self._written_calls = self.calls

    def _report(self, progress: Progress) -> None:
        self._progress, self._phase = progress, progress.phase
        self._show(self.status)

    def _say(self, step: str) -> None:
        self._step, self._phase = step, ""
        self._show(self.status)


_SCANNING = "scans the current definition"
