"""A scorer run over a file of outputs in a thread, with progress and stopping."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guardtui.files.output_files import OutputSet
from guardtui.scorer.aggregate import Reducers
from guardtui.scorer.models import GraderModel, NoModelError
from guardtui.scorer.registry import (
    OWN,
    is_registered,
    lookup,
    registry_info,
    registry_params,
)
from guardtui.scorer.state import TaskState
from guardtui.scorer.types import Score, Scorer, Target, is_unscored
from guardtui.session.graders import Graders, ScoreError
from guardtui.session.score_cache import AnswerCache
from guardtui.session.score_run import NamedScorer, RowScores, ScorerResult, score_rows, summarised

NOT_YET, NO_VALUE, DECLINED, FAILED = "…", "n/a", "–", "error"
"""Texts of rows that were not reached, have no value, were declined, failed."""

PIECE = 1024
"""Rows after which a run publishes its results and checks whether it was stopped."""

MANY_ROWS = 5000
"""Rows from which on metrics take a while."""

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}


@dataclass(frozen=True)
class Grading:
    """Models for grading: `make` returns one by its name `URL#name`, or raises ValueError.

    `models` are graders, `roles` names those of other roles; several form a panel.
    """

    make: Callable[[str], tuple[str, GraderModel]]
    models: tuple[str, ...] = ()
    concurrency: int = 8
    fresh: bool = False
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def uses_models(scorer: Scorer) -> bool:
    """Return whether a scorer, or one inside of it, may use a model, which costs.

    Scorers of other packages count as if they did.
    """
    if not is_registered(scorer):
        return True
    return _uses_model(registry_info(scorer).name, registry_params(scorer))


def _uses_model(name: str, params: Mapping[str, Any]) -> bool:
    if "/" in name and not name.startswith(f"{OWN}/"):
        return True
    try:
        factory = lookup("scorer", name)
    except (LookupError, ImportError):
        return True
    if not str(getattr(factory, "__module__", "")).startswith("guardtui.scorer"):
        return True
    if "graded" in name:
        return True
    return any(_uses_model(scorer["name"], scorer["params"]) for scorer in _nested(params))


def _nested(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        if value.get("type") == "scorer" and "name" in value:
            yield {"name": value["name"], "params": value.get("params", {})}
            return
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for item in value:
        yield from _nested(item)


def value_text(score: Score | None) -> str:
    """Return the value of a score as a short text; texts are returned unchanged."""
    if score is None:
        return DECLINED
    value = score.value
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return NO_VALUE if is_unscored(value) else f"{value:.4g}"
    with suppress(TypeError, ValueError):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def value_number(score: Score | None) -> float:
    """Return the value as the built-in metrics count it; NaN if it is not a number."""
    if score is None:
        return math.nan
    value = score.value
    if isinstance(value, str):
        known = _LETTERS.get(value)
        if known is not None:
            return known
    if isinstance(value, str | int | float):
        with suppress(ValueError, OverflowError):
            return float(value)
    return math.nan


class ScorerRun:
    """One scorer over all rows. `score` and `measure` block: they belong into a thread.

    `others` are the scorers that `score()` asks when this one calls it.

    Meanwhile `done`, `texts` and `numbers` ([N], NaN where there is none) grow, and may be read.
    """

    def __init__(
        self,
        outputs: OutputSet,
        judge: NamedScorer,
        grading: Grading | None,
        cluster: str | None = None,
        others: Sequence[Scorer] = (),
    ) -> None:
        count = len(outputs)
        self.outputs = outputs
        self.judge = judge
        self.asks = uses_models(judge.scorer)
        self.result = RowScores(judge, [None] * count)
        self.texts: list[str] = [NOT_YET] * count
        self.numbers: NDArray[np.float64] = np.full(count, np.nan)
        self.done = 0
        self.finished = False
        self.problem = ""
        self.measured: ScorerResult | None = None
        self.models: list[str] = []
        self.roles: Mapping[str, Sequence[str]] = {}
        self.asked = self.found = 0
        self._grading = grading
        self._cluster = cluster
        self._others = others
        self._stopped = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def total(self) -> int:
        """Number of rows."""
        return len(self.outputs)

    @property
    def stopped(self) -> bool:
        """Whether the run was stopped."""
        return self._stopped

    def stop(self) -> None:
        """Stop the run soon; results are kept. May be called from any thread."""
        self._stopped = True
        loop, task = self._loop, self._task
        if loop is not None and task is not None:
            with suppress(RuntimeError):  # it has ended meanwhile
                loop.call_soon_threadsafe(task.cancel)

    # --- scoring ------------------------------------------------------------------------------

    def score(self) -> None:
        """Score all rows; `problem` is set if that fails altogether."""

        async def work() -> None:
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
            if self._stopped:
                return
            await (self._graded() if self.asks else self._in_pieces())

        try:
            asyncio.run(work())
        except asyncio.CancelledError:
            pass
        except ScoreError as error:
            self.problem = str(error)
        finally:
            self._loop = self._task = None
            self.finished = True

    async def _in_pieces(self) -> None:
        for start in range(0, self.total, PIECE):
            if self._stopped:
                return
            stop = min(start + PIECE, self.total)
            (scored,) = await score_rows(
                _part(self.outputs, start, stop), [self.judge], scorers=self._others
            )
            self.result.errors.update(
                {start + row: reason for row, reason in scored.errors.items()}
            )
            self.result.scores[start:stop] = scored.scores
            self.texts[start:stop] = [
                FAILED if row in scored.errors else value_text(score)
                for row, score in enumerate(scored.scores)
            ]
            self.numbers[start:stop] = [value_number(score) for score in scored.scores]
            self.done = stop

    async def _graded(self) -> None:
        """Score all rows concurrently, and store each result as it arrives."""
        outputs, inner = self.outputs, self.judge.scorer
        row_of = {key: row for row, key in enumerate(zip(outputs.ids, outputs.epochs, strict=True))}

        async def noted(state: TaskState, target: Target) -> Score | None:
            row = row_of[str(state.sample_id), state.epoch]
            try:
                score = await inner(state, target)
            except (ScoreError, NoModelError):
                raise
            except Exception as error:
                self.result.errors[row] = str(error) or type(error).__name__
                self.texts[row] = FAILED
                self.done += 1
                raise
            if score is None or isinstance(score, Score):
                self._note(row, score)
                self.done += 1
            return score

        judge = replace(self.judge, scorer=noted)
        grading = self._grading
        if grading is None:
            (scored,) = await score_rows(outputs, [judge], scorers=self._others)
        else:
            scored = await self._score_with_models(judge, grading)
        self.result.errors.clear()
        self.result.errors.update(scored.errors)
        self.result.not_asked.update(scored.not_asked)
        for row, score in enumerate(scored.scores):
            self._note(row, score)
        self.done = self.total

    async def _score_with_models(self, judge: NamedScorer, grading: Grading) -> RowScores:
        from guardtui.scanners.local.vectors import cache_folder

        opened: list[AnswerCache] = []

        def cache() -> AnswerCache:
            if not opened:
                opened.append(AnswerCache(cache_folder()))
            return opened[0]

        graders = Graders(grading.make, cache, fresh=grading.fresh)
        try:
            with graders.used(grading.models, grading.roles):
                (scored,) = await score_rows(
                    self.outputs, [judge],
                    concurrency=grading.concurrency, settle=graders.settle, scorers=self._others,
                )  # fmt: skip
            await graders.settle()
            return scored
        finally:
            self.models = list(graders.known)
            self.roles = graders.names_of(grading.roles)
            self.asked, self.found = graders.sent, graders.cached
            await graders.close()
            for answers in opened:
                answers.close()

    def _note(self, row: int, score: Score | None) -> None:
        self.result.scores[row] = score
        self.texts[row] = FAILED if row in self.result.errors else value_text(score)
        self.numbers[row] = value_number(score)

    # --- metrics ------------------------------------------------------------------------------

    def measure(self, reducers: Reducers, group: str | None = None) -> ScorerResult:
        """Return the metrics over the scored rows. Raises ScoreError."""
        return summarised(self.outputs, self.result, reducers, group=group, cluster=self._cluster)


def _part(outputs: OutputSet, start: int, stop: int) -> OutputSet:
    def cut(values: Sequence[Any]) -> Sequence[Any]:
        return values[start:stop]

    return replace(
        outputs,
        lines=cut(outputs.lines),
        inputs=cut(outputs.inputs),
        targets=cut(outputs.targets),
        outputs=cut(outputs.outputs),
        ids=cut(outputs.ids),
        epochs=cut(outputs.epochs),
        choices=cut(outputs.choices),
        input_messages=cut(outputs.input_messages),
        messages=cut(outputs.messages),
        metadata={name: cut(values) for name, values in outputs.metadata.items()},
    )
