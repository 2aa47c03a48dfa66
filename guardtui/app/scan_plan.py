"""The plan of a remote scan: order, cost, expected verdicts, and the author's choice."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.app.engine import Engine
from guardtui.app.flip_check import FlipGoal
from guardtui.app.ports import Question
from guardtui.domain.comparison import ABSENT, answers_for, codes_for
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Usage, is_answered
from guardtui.forecast.expected import Expected
from guardtui.forecast.forecaster import Forecast
from guardtui.scanners.base import RemoteScanner, VerdictCache
from guardtui.scanners.local.vectors import cache_folder
from guardtui.scanners.models.expense import CallExpense, PaidScanner
from guardtui.session.scan_order import ScanOrder, forecast_order, movement, scan_order
from guardtui.session.verdict_cache import SqliteVerdicts

MakeScanner: TypeAlias = Callable[[VerdictCache], RemoteScanner]
"""Makes a remote scanner that uses this cache."""


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """Scan requested by the author.

    `ask` always shows the plan; `missing` scans only rows without a verdict, `flips` only those in
    doubt, in rounds.
    """

    ask: bool = False
    missing: bool = False
    flips: bool = False


@dataclass(frozen=True, slots=True)
class ScanCost:
    """Prompts of a scan and how many are cached; the same for the likely changes.

    `rate` is in prompts a second, None if unknown; `expense` is the usage of a judge's call, None
    if calls are free.
    """

    prompts: int
    known: int
    likely: int
    likely_known: int
    rate: float | None
    epochs: int = 1
    expense: CallExpense | None = None

    def calls(self, prompts: int, known: int) -> int:
        """Return the number of calls for `prompts` prompts of which `known` are cached."""
        return prompts - known + prompts * (self.epochs - 1)


@dataclass(frozen=True, slots=True)
class ScanChoice:
    """The author's choice: deploy the definition first or not, all rows or only likely changes.

    `agreed` deploys definitions without a question from now on; `other` scans with the other
    guardrail (AIRS or the judge). `goal` ends a check of likely flips.
    """

    apply: bool
    likely: bool
    agreed: bool
    other: bool = False
    goal: FlipGoal | None = None


@dataclass(frozen=True, slots=True)
class ScanPlan(Question[ScanChoice]):
    """Question about the changes and cost of a scan. `changes` is None without deployment.

    `title` is the profile or the model. With `judge` a model scans, without deployment. `other`
    names the other guardrail that could scan, or is "".
    """

    title: str
    changes: tuple[str, ...] | None
    warnings: tuple[str, ...]
    cost: ScanCost
    agreed: bool
    judge: bool = False
    other: str = ""
    who: str = "a judge"


@dataclass(frozen=True, slots=True)
class FlipPlan(Question[ScanChoice]):
    """Question about a check of likely flips; `scan` is the plan of its scan.

    `coverage` is expected from `scans` recorded scans. `doubtful` prompts are in doubt, `known` of
    them cached. `goal` is the default.
    """

    scan: ScanPlan
    coverage: Expected
    scans: int
    doubtful: int
    known: int
    goal: FlipGoal

    @property
    def calls(self) -> int:
        """Number of calls for all prompts in doubt."""
        return self.scan.cost.calls(self.doubtful, self.known)


@dataclass(frozen=True, eq=False)
class Prediction:
    """Expected verdicts of a definition on a prompt set: Triggered codes, int8 [N]."""

    topic: Topic
    prompt_set: str
    triggered: NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class ScanEstimate:
    """Order, cost and expected verdicts of a scan.

    `known` (bool [N]) are prompts with a cached verdict, `settings` those of the scanner,
    `forecast` is from its earlier scans.
    """

    order: ScanOrder
    cost: ScanCost
    prediction: Prediction
    known: NDArray[np.bool_]
    settings: ScannerSettings
    forecast: Forecast | None = None


def estimate_scan(
    engine: Engine,
    make: MakeScanner,
    topic: Topic,
    prompts: PromptSet,
    before: Evaluation | None,
    forecast: Forecast | None = None,
    *,
    missing: NDArray[np.bool_] | None = None,
    used: Callable[[ScannerSettings], Usage | None] = lambda settings: None,
    rate: float | None,
    epochs: int = 1,
) -> ScanEstimate:
    """Order the rows of a scan and estimate its cost. Blocks.

    `before` is the last scan by the same scanner, of any definition; a `forecast` is better than
    the engine. With `missing` (bool [N]) only these rows are scanned. `used` returns the recorded
    usage of calls with these settings. Raises ScannerError.
    """
    if forecast is not None:
        prediction = Prediction(topic, prompts.fingerprint, forecast.likelier)
        order = forecast_order(forecast.changes)
    else:
        order, prediction = _ordered(engine, topic, prompts, before)
    # An SQLite connection belongs to one thread.
    with contextlib.closing(SqliteVerdicts(cache_folder())) as cache:
        scanner = make(cache)
        known, settings = scanner.known(topic, prompts), scanner.settings
        expense = None
        if isinstance(scanner, PaidScanner):
            expense = scanner.expense(topic, prompts.prompts.to_list(), used(settings))
    rows, likely = order.rows, order.likely_rows
    if missing is not None:
        rows = likely = order.rows[missing[order.rows]]
    cost = ScanCost(
        len(rows),
        int(known[rows].sum()),
        len(likely),
        int(known[likely].sum()),
        rate,
        epochs,
        expense,
    )
    return ScanEstimate(order, cost, prediction, known, settings, forecast)


def _ordered(
    engine: Engine, topic: Topic, prompts: PromptSet, before: Evaluation | None
) -> tuple[ScanOrder, Prediction]:
    judged = engine.evaluate_now(topic, prompts)
    now = judged.verdicts
    if before is None:
        order = scan_order(None, None, np.full(len(prompts), ABSENT, np.int8))
        return order, Prediction(topic, prompts.fingerprint, now.triggered)
    then = engine.evaluate_now(before.topic, prompts).verdicts
    flipped = now.triggered != then.triggered
    # Without a change by the engine, the last verdict is the best guess.
    answers = answers_for(before, prompts.keys)
    expected = np.where(is_answered(answers) & ~flipped, answers, now.triggered)
    prediction = Prediction(topic, prompts.fingerprint, expected.astype(np.int8))
    threshold = judged.settings.threshold
    threshold = 0.5 if threshold is None else min(max(threshold, 0.001), 0.999)
    earlier = codes_for(before, prompts.keys, prompts.expected)
    order = scan_order(movement(then.score, now.score, threshold), flipped, earlier)
    return order, prediction
