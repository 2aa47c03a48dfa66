"""The prompts of an inbox, with what the engine and the guardrail of production say of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.inbox import InboxPrompt, Production
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.scanners.base import Progress, Report, ScannerError
from guardtui.scanners.local.scanner import LocalScanner

Bools: TypeAlias = "NDArray[np.bool_]"
Floats: TypeAlias = "NDArray[np.floating]"
Rows: TypeAlias = "NDArray[np.intp]"

Before: TypeAlias = tuple[Topic, float | None]
"""A definition and the threshold of the engine for it, or None for that of the topic."""

ENGINE_NAME = "the engine"

_SHOWN = 12  # characters of the name of a definition


@dataclass(frozen=True, eq=False)
class JudgedLog:
    """Prompts of an inbox [N] by their ids, and verdicts on them.

    `scores` are the engine's, higher where it expects a prompt to belong, and `belonging` its
    verdicts, bool [N], with the operating point `cut`; `vectors` [N, d] are of unit length. The
    audit draws from `logged` rows only, intp [n]: `verdicts`, bool [n], say which of them `who`
    takes for prompts that belong. That is the guardrail of production if the log has its verdicts,
    else the engine with a definition, which `topic` is then. `compared` are verdicts by two
    definitions, bool [n] each, if they differ, of `compared_by`.
    """

    ids: tuple[str, ...]
    scores: Floats
    belonging: Bools
    cut: float
    vectors: Floats
    logged: Rows
    verdicts: Bools
    who: str
    topic: Topic | None
    compared: tuple[Bools, Bools] | None = None
    compared_by: str = ENGINE_NAME


@dataclass(frozen=True, eq=False)
class Pairs:
    """Verdicts of the guardrail `who` on prompts [N] by two definitions.

    `belong` is bool [2, N]; those are of its own that it judged by `both`, bool [N].
    """

    who: str
    both: Bools
    belong: Bools


def _quiet(progress: Progress) -> None:
    """Show no progress."""


def judged_log(
    prompts: Sequence[InboxPrompt],
    topic: Topic,
    engine: LocalScanner,
    threshold: float | None = None,
    stopped: Callable[[], bool] = lambda: False,
    before: Before | None = None,
    report: Report = _quiet,
    pairs: Pairs | None = None,
) -> JudgedLog | None:
    """Judge prompts with the engine, by default at its built-in threshold; None when stopped.

    `report` hears how far that is. `before` is a definition to compare the topic with, at its own
    threshold; where a guardrail gave verdicts by both, which are the `pairs`, those count instead.
    Raises ScannerError.
    """
    scanner = engine.beside()
    scanner.use_threshold(threshold)
    unlabelled = _prompt_set(prompts, topic.intent)
    evaluation = scanner.evaluate_now(topic, unlabelled, report, stopped)
    vectors = scanner.prompt_vectors(unlabelled, _quiet, stopped)
    if evaluation is None or vectors is None:
        return None
    cut = evaluation.settings.threshold
    if cut is None:
        raise ScannerError("the engine has no threshold")
    scores = evaluation.verdicts.score
    belonging = scores >= np.float32(cut)
    logged, verdicts, who = _verdicts(prompts, belonging, topic)
    compared, compared_by = None, ENGINE_NAME
    if before is not None and before[0] != topic:
        lowest = cut if before[1] is None else before[1]
        earlier = scanner.evaluate_now(before[0], unlabelled, _quiet, stopped)
        if earlier is None:
            return None
        both = np.stack([earlier.verdicts.score >= np.float32(lowest), belonging])
        if pairs is not None:
            both = np.where(pairs.both, pairs.belong, both)
            compared_by = _compared_by(pairs, logged)
        pair = both[0, logged], both[1, logged]
        compared = None if np.array_equal(*pair) else pair
    every = np.arange(len(prompts))
    return JudgedLog(
        tuple(prompt.id for prompt in prompts),
        scores,
        belonging,
        cut,
        vectors.matrix.vectors(every),
        logged,
        verdicts,
        who,
        topic if who == ENGINE_NAME else None,
        compared,
        compared_by,
    )


def _compared_by(pairs: Pairs, logged: Rows) -> str:
    count = int(pairs.both[logged].sum())
    if count == len(logged):
        return pairs.who
    of = f"{count:,} of {len(logged):,} prompts of the log"
    return f"{pairs.who} on {of}, {ENGINE_NAME} on the others"


def says_it_belongs(production: Production, intent: Intent) -> bool:
    """Return whether a guardrail took a prompt for one of the topic; not if it said both."""
    return production.triggered is (intent is Intent.BLOCK)


def _verdicts(
    prompts: Sequence[InboxPrompt], belonging: Bools, topic: Topic
) -> tuple[Rows, Bools, str]:
    """Return logged rows, the verdicts on them, and whose they are.

    A guardrail of production counts if it judged at least half of the log: its rates are those of
    what it judged.
    """
    logged = np.array([row for row, entry in enumerate(prompts) if not entry.draft], np.intp)
    answers = [
        {verdict.judge: verdict for verdict in prompt.production if verdict.triggered is not None}
        for prompt in prompts
    ]
    known = Counter(judge for row in logged.tolist() for judge in answers[row])
    if known:
        judge, count = known.most_common(1)[0]
        if 2 * count >= len(logged):
            rows = np.array([row for row in logged if judge in answers[row]], np.intp)
            verdicts = [says_it_belongs(answers[row][judge], topic.intent) for row in rows]
            guardrail, definition = judge
            who = guardrail or "the guardrail"
            if definition == topic.fingerprint:
                who += " with this definition"
            elif definition:
                who += f" with definition {definition[:_SHOWN]}"
            else:
                who += " (definition unknown, perhaps several)"
            return rows, np.array(verdicts, np.bool_), who
    return logged, belonging[logged], ENGINE_NAME


def _prompt_set(prompts: Sequence[InboxPrompt], intent: Intent) -> PromptSet:
    """Return prompts as a set for the engine, which reads no labels here."""
    frame = pl.DataFrame(
        [
            pl.Series("key", [int(prompt.id, 16) for prompt in prompts], dtype=pl.UInt64),
            pl.Series("line", range(1, len(prompts) + 1), dtype=pl.UInt32),
            pl.Series("prompt", [prompt.text for prompt in prompts], dtype=pl.String),
            pl.Series("expected", [False] * len(prompts), dtype=pl.Boolean),
        ]
    )
    return PromptSet(frame, intent, "")
