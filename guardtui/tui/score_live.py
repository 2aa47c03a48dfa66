"""A scorer tried on a file of outputs: in a thread, watched and stopped from outside."""

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
from guardtui.session.score_run import Judge, JudgeResult, RowScores, score_rows, summarised

NOT_YET, NO_VALUE, DECLINED, FAILED = "…", "n/a", "–", "error"
"""What stands for the value of a row that was not reached, has none, was left out, failed."""

PIECE = 1024
"""Rows after which a run shows what it has, and looks whether it is still wanted."""

MANY_ROWS = 5000
"""From so many rows on it takes a while."""

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}


@dataclass(frozen=True)
class Grading:
    """Which models may be asked: `make` gives one by its name `URL#name`, or raises ValueError.

    `models` play the role of the grader, `roles` names those of other roles; several are a panel.
    """

    make: Callable[[str], tuple[str, GraderModel]]
    models: tuple[str, ...] = ()
    concurrency: int = 8
    fresh: bool = False
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def asks_models(scorer: Scorer) -> bool:
    """Whether trying this scorer may cost something: it, or one inside of it, has a model.

    Of scorers that are not ours nobody knows, so they count as if they had.
    """
    if not is_registered(scorer):
        return True
    return _asks(registry_info(scorer).name, registry_params(scorer))


def _asks(name: str, params: Mapping[str, Any]) -> bool:
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
    return any(_asks(one["name"], one["params"]) for one in _nested(params))


def _nested(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        if value.get("type") == "scorer" and "name" in value:
            yield {"name": value["name"], "params": value.get("params", {})}
            return
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for one in value:
        yield from _nested(one)


def value_text(score: Score | None) -> str:
    """The value of a score in a few letters; the text of a text, as it is."""
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
    """The value as the usual metrics count it; NaN where that is no number."""
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


class LiveRun:
    """One scorer over all rows. `score` and `measure` block: they belong into a thread.

    `others` are the scorers that `score()` asks when this one calls it.

    Meanwhile `done`, `texts` and `numbers` ([N], NaN where there is none) grow, and may be read.
    """

    def __init__(
        self,
        outputs: OutputSet,
        judge: Judge,
        grading: Grading | None,
        cluster: str | None = None,
        others: Sequence[Scorer] = (),
    ) -> None:
        count = len(outputs)
        self.outputs = outputs
        self.judge = judge
        self.asks = asks_models(judge.scorer)
        self.result = RowScores(judge, [None] * count)
        self.texts: list[str] = [NOT_YET] * count
        self.numbers: NDArray[np.float64] = np.full(count, np.nan)
        self.done = 0
        self.finished = False
        self.problem = ""
        self.measured: JudgeResult | None = None
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
        """Rows there are."""
        return len(self.outputs)

    @property
    def stopped(self) -> bool:
        """Whether it was told to end before its time."""
        return self._stopped

    def stop(self) -> None:
        """Have it end soon; what was scored stays. May be called from any thread."""
        self._stopped = True
        loop, task = self._loop, self._task
        if loop is not None and task is not None:
            with suppress(RuntimeError):  # it has ended meanwhile
                loop.call_soon_threadsafe(task.cancel)

    # --- scoring ------------------------------------------------------------------------------

    def score(self) -> None:
        """Score all rows; `problem` tells why it could not be done at all."""

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
            (found,) = await score_rows(
                _part(self.outputs, start, stop), [self.judge], scorers=self._others
            )
            self.result.errors.update({start + row: why for row, why in found.errors.items()})
            self.result.scores[start:stop] = found.scores
            self.texts[start:stop] = [
                FAILED if row in found.errors else value_text(score)
                for row, score in enumerate(found.scores)
            ]
            self.numbers[start:stop] = [value_number(score) for score in found.scores]
            self.done = stop

    async def _graded(self) -> None:
        """All rows at once, each noted as it comes: an answer of a model takes its time."""
        outputs, inner = self.outputs, self.judge.scorer
        places = {key: row for row, key in enumerate(zip(outputs.ids, outputs.epochs, strict=True))}

        async def noted(state: TaskState, target: Target) -> Score | None:
            row = places[str(state.sample_id), state.epoch]
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
            (found,) = await score_rows(outputs, [judge], scorers=self._others)
        else:
            found = await self._asking(judge, grading)
        self.result.errors.clear()
        self.result.errors.update(found.errors)
        self.result.not_asked.update(found.not_asked)
        for row, score in enumerate(found.scores):
            self._note(row, score)
        self.done = self.total

    async def _asking(self, judge: Judge, grading: Grading) -> RowScores:
        from guardtui.scanners.local.vectors import cache_folder

        opened: list[AnswerCache] = []

        def cache() -> AnswerCache:
            if not opened:
                opened.append(AnswerCache(cache_folder()))
            return opened[0]

        graders = Graders(grading.make, cache, fresh=grading.fresh)
        try:
            with graders.used(grading.models, grading.roles):
                (found,) = await score_rows(
                    self.outputs, [judge],
                    concurrency=grading.concurrency, settle=graders.settle, scorers=self._others,
                )  # fmt: skip
            await graders.settle()
            return found
        finally:
            self.models = list(graders.known)
            self.roles = graders.names_of(grading.roles)
            self.asked, self.found = graders.asked, graders.found
            await graders.close()
            for one in opened:
                one.close()

    def _note(self, row: int, score: Score | None) -> None:
        self.result.scores[row] = score
        self.texts[row] = FAILED if row in self.result.errors else value_text(score)
        self.numbers[row] = value_number(score)

    # --- metrics ------------------------------------------------------------------------------

    def measure(self, reducers: Reducers, group: str | None = None) -> JudgeResult:
        """Metrics over what was scored. Raises ScoreError."""
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
