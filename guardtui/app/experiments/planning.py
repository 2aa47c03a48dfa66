"""Plans of experiments: which candidates are tried, and how many calls that takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.candidates import Candidate, CandidateKind
from guardtui.advice.engine_objective import EngineObjective
from guardtui.advice.engine_scores import open_scores
from guardtui.advice.experiment import Experiment, fewest_of_a_class
from guardtui.advice.experiment_candidates import EDITS, best_edits, with_subsets
from guardtui.advice.objective import OwnPrompts, Stopped
from guardtui.advice.splits import SplitError, split_by_column
from guardtui.domain.comparison import carried_over
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.evaluation import Evaluation, should_trigger
from guardtui.domain.figures import calls_text, capitalized
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.operating_point import LABELS_AT_LEAST, at_threshold
from guardtui.domain.prompts import PromptSet
from guardtui.domain.sweep import stratified_folds
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import is_answered
from guardtui.scanners.base import Report
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.experiments import ExperimentRecord, answered_by_any
from guardtui.session.workspace import now

Bools: TypeAlias = "NDArray[np.bool_]"

SEED = 11
"""Determines the order of the prompts."""


class ExperimentError(GuardtuiError):
    """An experiment cannot be made; the message says why, and a remedy."""

    exit_code = 2


@dataclass(frozen=True, eq=False)
class Calls:
    """The fewest and the most calls; `current` of them are about the current definition."""

    least: int
    most: int
    current: int

    @property
    def expected(self) -> int:
        """The middle between the fewest and the most."""
        return (self.least + self.most) // 2


def experiment_step(prompts: PromptSet, who: str, known: Evaluation | None) -> str:
    """Return an experiment on the guardrail `who` as a next step in words.

    The calls are those of as many edits as the engine has at most, and those of the definition's
    prompts without a `known` verdict, as in the plan.
    """
    rows = np.ones((EDITS, len(prompts)), bool)
    order = np.arange(len(prompts), dtype=np.intp)
    least, most = Experiment(rows[0], prompts.expected, rows, order).calls_left()
    calls = (least + most) // 2 + int(np.count_nonzero(_missing(prompts, known)))
    return f"Test up to {EDITS} edits on {who}. {capitalized(calls_text(calls))}"


def _missing(prompts: PromptSet, known: Evaluation | None) -> Bools:
    """Return which prompts have no verdict on the definition, bool [N]."""
    if known is None:
        return np.ones(len(prompts), bool)
    return ~is_answered(known.verdicts.triggered)


def gathered(
    topic: Topic,
    prompts: PromptSet,
    wordings: Sequence[Candidate],
    engine: LocalScanner,
    report: Report = lambda progress: None,
    stopped: Stopped = lambda: False,
) -> tuple[Candidate, ...]:
    """Return the candidates: wordings with subsets of their examples, else the engine's edits.

    Those for which too few prompts count are left out. Blocks. Raises ExperimentError if there are
    none, and ScannerError.
    """
    require_labels(topic, prompts)
    if wordings:
        found = with_subsets(topic, wordings)
        if not found:
            raise ExperimentError(
                "no wording differs from the definition within the limits\n  give other wordings"
            )
        return _decidable(topic, prompts, found)
    scores = open_scores(engine, prompts, report, stopped)
    if scores is None:
        return ()
    objective = EngineObjective(scores, experiment_rows(prompts), fitted=True)
    edits = best_edits(objective, topic, stopped=stopped) or ()
    if not edits and not stopped():
        raise ExperimentError("no edit of its examples to try\n  give wordings of your own")
    return _decidable(topic, prompts, edits)


def experiment_rows(prompts: PromptSet) -> NDArray[np.intp]:
    """Return the rows that candidates are tried on, intp [k].

    Those that a column `split` holds out are neither asked for candidates nor shown to a writer.
    Raises ExperimentError for a column that leaves too few.
    """
    try:
        split = split_by_column(prompts)
    except SplitError as error:
        raise ExperimentError(f"{prompts.source}: {error}") from error
    return np.arange(len(prompts), dtype=np.intp) if split is None else split.search_rows


def require_labels(topic: Topic, prompts: PromptSet) -> None:
    """Raise ExperimentError if too few prompts of a label count for any candidate."""
    _decidable(topic, prompts, [Candidate(topic, CandidateKind.COMPLETE, "")])


def _decidable(
    topic: Topic, prompts: PromptSet, candidates: Sequence[Candidate]
) -> tuple[Candidate, ...]:
    """Return the candidates for which enough prompts count. Raises ExperimentError if none has."""
    fewest = fewest_of_a_class(_counted(topic, prompts, candidates), prompts.expected)
    kept = tuple(
        candidate
        for candidate, count in zip(candidates, fewest.tolist(), strict=True)
        if count >= LABELS_AT_LEAST
    )
    if candidates and not kept:
        raise ExperimentError(
            f"too few prompts: only {int(fewest.max())} of a label count, and an experiment needs "
            f"{LABELS_AT_LEAST} that belong to the topic and {LABELS_AT_LEAST} that do not\n"
            "  add prompts of the label that has too few; examples of a definition do not count"
        )
    return kept


def _counted(topic: Topic, prompts: PromptSet, candidates: Sequence[Candidate]) -> Bools:
    """Return which prompts count for each candidate, bool [k, N]. Raises ExperimentError."""
    rows = np.arange(len(prompts), dtype=np.intp)
    tried = np.isin(rows, experiment_rows(prompts))
    definition = Candidate(topic, CandidateKind.COMPLETE, "")
    all_ = OwnPrompts(prompts, rows).counted([definition, *candidates])
    counted: Bools = all_[0] & all_[1:] & tried
    return counted


def recorded(
    evaluations: Sequence[Evaluation], topic: Topic, settings: ScannerSettings, prompts: PromptSet
) -> Evaluation | None:
    """Return the newest recorded evaluation of a definition by a guardrail, or None.

    It is carried over to these prompts. A decision model's is taken at the threshold of `settings`.
    """
    for evaluation in reversed(evaluations):
        own = evaluation.settings
        if (
            answered_by_any(own.guardrail) == answered_by_any(settings.guardrail)
            and (not own.guardrail.models or own.revision == settings.revision)
            and not own.is_forecast
            and evaluation.topic == topic
        ):
            known = carried_over(evaluation, prompts)
            if not known.metrics.total:
                continue
            if settings.threshold is None or own.threshold == settings.threshold:
                return known
            return at_threshold(known, settings.threshold, settings.threshold_source)
    return None


@dataclass(frozen=True, eq=False)
class Design:
    """Which prompts count for which candidates, and in which order they are asked."""

    prompts: PromptSet
    topic: Topic
    candidates: tuple[Candidate, ...]
    seed: int = SEED

    def experiment(self, triggered: NDArray[np.int8] | None = None) -> Experiment:
        """Return the experiment before its first verdict.

        `triggered` are the current definition's verdicts, int8 [N] (`Triggered`), or None before
        they are known. Examples of a definition do not count, nor prompts without its verdict.
        """
        prompts = self.prompts
        counted = _counted(self.topic, prompts, self.candidates)
        right = np.ones(len(prompts), bool)
        if triggered is not None:
            right = self.right(triggered)
            counted &= is_answered(triggered)
        order = np.argsort(
            stratified_folds(prompts.expected, len(prompts), self.seed, prompts.keys),
            kind="stable",
        )
        # The rounds are parts of the prompts that count.
        return Experiment(
            right, prompts.expected, counted, order[np.isin(order, experiment_rows(prompts))]
        )

    def right(self, triggered: NDArray[np.int8]) -> Bools:
        """Return which verdicts (int8 [N]) are right, bool [N]."""
        duty = should_trigger(self.prompts.expected, self.topic.intent)
        right: Bools = triggered == duty
        return right

    @property
    def definitions(self) -> tuple[Topic, ...]:
        """The current definition and the candidates."""
        return (self.topic, *(candidate.topic for candidate in self.candidates))

    def calls(self, known: Evaluation | None, cached: Bools | None = None) -> Calls:
        """Return the numbers of calls, where verdicts on the definition are `known`.

        Verdicts on definitions that are `cached`, bool [k, N], are no calls.
        """
        missing, tried = _missing(self.prompts, known), None
        if cached is not None:
            missing, tried = missing & ~cached[0], cached[1 : len(self.candidates) + 1]
        current = int(np.count_nonzero(missing))
        least, most = self.experiment().calls_left(tried)
        return Calls(current + least, current + most, current)

    def within(self, calls: int, known: Evaluation | None, cached: Bools | None = None) -> Design:
        """Return the design with the first candidates whose experiment ends within these calls.

        At least one stays.
        """
        count = len(self.candidates)
        design = self
        while count > 1 and design.calls(known, cached).most > calls:
            count -= 1
            design = replace(self, candidates=self.candidates[:count])
        return design

    def record(self, settings: ScannerSettings) -> ExperimentRecord:
        """Return the experiment to store."""
        return ExperimentRecord(
            0,
            now(),
            self.topic,
            settings,
            self.prompts.fingerprint,
            self.prompts.keys,
            self.prompts.expected,
            tuple((candidate.topic, _details(candidate)) for candidate in self.candidates),
            self.seed,
        )


def _details(candidate: Candidate) -> dict[str, Any]:
    return {
        "kind": candidate.kind.value,
        "change": candidate.change,
        "sources": candidate.sources,
        "origin": candidate.origin,
        "why": candidate.why,
    }


def design_of(record: ExperimentRecord, prompts: PromptSet) -> Design:
    """Return the design of a stored experiment."""
    return Design(
        prompts,
        record.topic,
        tuple(_candidate(topic, details) for topic, details in record.candidates),
        record.seed,
    )


def _candidate(topic: Topic, details: Mapping[str, Any]) -> Candidate:
    return Candidate(
        topic,
        CandidateKind(details["kind"]),
        str(details["change"]),
        tuple(map(str, details["sources"])),
        str(details["origin"]),
        str(details["why"]),
    )
