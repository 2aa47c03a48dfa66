"""One scan of a command: what is scanned, by which kind of guardrail, and its progress."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from guardtui.cli import diagnostics
from guardtui.cli.options import RunOptions
from guardtui.cli.progress import watched
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.findings import located
from guardtui.domain.guardrail import Guardrail, ScannerSettings
from guardtui.domain.operating_point import ThresholdFit
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.base import RemoteScanner, Scanner
from guardtui.session.companions import ALONE, Companions
from guardtui.session.epochs import Epochs
from guardtui.session.evaluator import Evaluator, RemoteEvaluator, with_epochs

if TYPE_CHECKING:
    from guardtui.app.guardrails.named import NamedGuardrail
    from guardtui.app.scan.plan import FlipCheck
    from guardtui.scanners.local.scanner import LocalScanner


BeginCheck: TypeAlias = "Callable[[ScannerSettings, NDArray[np.bool_], int], Awaitable[FlipCheck]]"


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why verdicts may be of another definition, in a clause; and whether they stay unrecorded.

    `remedy` are the words of the command that comes first, () if there is none.
    """

    text: str
    prevents_record: bool = True
    remedy: tuple[str | Path, ...] = ()


@dataclass(frozen=True, slots=True)
class ScanJob:
    """A topic and the prompts to scan (`rows` intp, None: all) with the rest of its profile.

    `onto` has the verdicts of other rows, which the guardrail gave in production.
    `guardrail_words` are the flags of a command that choose the guardrail.
    `baseline` is what the result is compared with. `repeated` returns the rows to scan again after
    the first of the `epochs`, None all of them. With a `begin`, which gets the scanner's settings,
    the cached prompts (bool [N]) and the number of epochs, a check of likely changes chooses the
    rows in rounds. `ended` gets the verdicts of a scan that was interrupted or failed; it must be
    quick.
    """

    topic_path: Path
    topic: Topic
    prompts: PromptSet
    companions: Companions = ALONE
    baseline: Evaluation | None = None
    epochs: Epochs | None = None
    repeated: Callable[[Evaluation], NDArray[np.intp]] | None = None
    rows: NDArray[np.intp] | None = None
    onto: Evaluation | None = None
    begin: BeginCheck | None = None
    ended: Callable[[Evaluation], object] = lambda evaluation: None
    guardrail_words: Sequence[str] = ()

    @property
    def scanned(self) -> PromptSet:
        """The prompts to scan."""
        prompts = self.prompts
        if self.rows is None:
            return prompts
        return PromptSet(prompts.frame[self.rows], prompts.intent, prompts.source)

    @property
    def epoch_count(self) -> int:
        """The number of scans of each prompt."""
        return 1 if self.epochs is None else self.epochs.count


_LISTED = 5


class ScanRun(Protocol):
    """A guardrail with the options of the command line."""

    @property
    def remote(self) -> bool:
        """Return whether another run may get missing verdicts."""

    @property
    def template(self) -> str:
        """Text of the template of a request, "" for none."""

    @property
    def stored_template(self) -> tuple[str, str] | None:
        """Id and text of the template that verdicts depend on, for the session."""

    @property
    def engine(self) -> LocalScanner | None:
        """The engine once it has evaluated, None for another guardrail."""

    @property
    def doubt(self) -> Doubt | None:
        """Why it is unknown whether the verdicts are of the definition, once it was evaluated."""

    @property
    def guardrail(self) -> Guardrail:
        """The guardrail, as far as it is known before it answers."""

    def evaluate(self, job: ScanJob) -> tuple[Evaluation, ThresholdFit | None]:
        """Return an evaluation at the wanted threshold, and the fit that it is from, or None.

        Raises UsageError, InputError, ScannerError, and `OperatingPointError` if there are too few
        labels to fit a threshold.
        """

    def say_incomplete(self, evaluation: Evaluation, *, allowed: bool) -> None:
        """Report the number of prompts without a verdict, and a remedy; a warning if `allowed`."""


_RUNS: Mapping[str, str] = {
    "engine": "engine",
    "airs": "airs",
    "judge": "models",
    "decision": "models",
}
"""Modules in this package with the `make_run` of each kind of guardrail."""


def make_run(guardrail: NamedGuardrail, options: RunOptions) -> ScanRun:
    """Return the run of a guardrail; imports what its kind needs. Raises UsageError, InputError."""
    module = import_module(f"guardtui.cli.scans.{_RUNS[guardrail.kind]}")
    run: ScanRun = module.make_run(guardrail, options)
    return run


async def evaluated(scanner: Scanner | RemoteScanner, job: ScanJob) -> Evaluation:
    """Evaluate with progress on standard error. Raises ScannerError."""
    topic, prompts, epochs = job.topic, job.prompts, job.epochs
    if not scanner.live:
        caller = cast("RemoteScanner", scanner)
        remote = RemoteEvaluator(caller)
        with remote.handing_over(job.ended):
            return await _asked(caller, remote, job)
    evaluator = Evaluator(scanner)
    evaluation = await watched(evaluator.evaluate(topic, prompts), lambda: evaluator.progress)
    if epochs is None:
        return evaluation
    # The engine is deterministic.
    return replace(evaluation, verdicts=epochs.combine([evaluation.verdicts] * epochs.count))


async def _asked(caller: RemoteScanner, remote: RemoteEvaluator, job: ScanJob) -> Evaluation:
    topic, prompts, epochs = job.topic, job.prompts, job.epochs
    if job.begin is not None:
        settings = with_epochs(caller.settings, epochs)
        check = await job.begin(settings, caller.known(topic, prompts), job.epoch_count)
        rounds = remote.evaluate_in_rounds(topic, prompts, check.next_rows, epochs=epochs)
        return await watched(rounds, lambda: remote.progress)
    run = remote.evaluate_rows(
        topic, prompts, job.rows, job.onto, epochs=epochs, repeated=job.repeated
    )
    return await watched(run, lambda: remote.progress)


def say_notes(prompts: PromptSet, evaluation: Evaluation) -> None:
    """Warn of doubtful verdicts: the first ones, and the number of others."""

    notes = evaluation.verdicts.notes
    lines = prompts.frame["line"]
    for row in sorted(notes)[:_LISTED]:
        diagnostics.warn(located(prompts.source, notes[row], [int(lines[row])]))
    if len(notes) > _LISTED:
        diagnostics.warn(f"{len(notes) - _LISTED} more verdicts are doubtful")
