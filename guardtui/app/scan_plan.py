"""The plan of a remote scan: its order, cost and expected verdicts, and what the author chooses."""

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
from guardtui.domain.evaluation import Evaluation, ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Usage, is_answered
from guardtui.forecast.expected import Expected
from guardtui.forecast.forecaster import Forecast
from guardtui.scanners.base import RemoteScanner, VerdictCache
from guardtui.scanners.expense import CallExpense, Paid
from guardtui.scanners.local.vectors import cache_folder
from guardtui.session.scan_order import Order, forecast_order, movement, scan_order
from guardtui.session.verdict_cache import SqliteVerdicts

MakeScanner: TypeAlias = Callable[[VerdictCache], RemoteScanner]
"""Makes a remote scanner that uses this cache."""


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """What the author asked for.

    With `ask` the plan is shown in any case; with `missing` only rows without a verdict are
    scanned, with `flips` only those in doubt, in rounds.
    """

    ask: bool = False
    missing: bool = False
    flips: bool = False


@dataclass(frozen=True, slots=True)
class ScanCost:
    """Prompts of a scan, how many of them are cached, and the same for the likely changes.

    `rate` is prompts a second, None where it is not known yet; `expense` is what a call to a judge
    uses, None where calls have no price.
    """

    prompts: int
    known: int
    likely: int
    likely_known: int
    rate: float | None
    epochs: int = 1
    expense: CallExpense | None = None

    def calls(self, prompts: int, known: int) -> int:
        """Return the calls for so many prompts, of which so many are cached."""
        return prompts - known + prompts * (self.epochs - 1)


@dataclass(frozen=True, slots=True)
class ScanChoice:
    """How to scan: deploy the definition first or not, all rows or the likely changes only.

    With `agreed` definitions are deployed without a question from now on; with `other` the other
    guardrail (AIRS or the judge) is to scan. `goal` is when a check of the likely flips ends.
    """

    apply: bool
    likely: bool
    agreed: bool
    other: bool = False
    goal: FlipGoal | None = None


@dataclass(frozen=True, slots=True)
class ScanPlan(Question[ScanChoice]):
    """What a scan would change and cost. `changes` is None where nothing can be deployed.

    `place` is the profile or the model. With `judge` models answer, and nothing is deployed;
    `other` names the other guardrail that could scan, "" without one.
    """

    place: str
    changes: tuple[str, ...] | None
    warnings: tuple[str, ...]
    cost: ScanCost
    agreed: bool
    judge: bool = False
    other: str = ""
    who: str = "a judge"


@dataclass(frozen=True, slots=True)
class FlipPlan(Question[ScanChoice]):
    """What a check of the likely flips would do: `scan` says where, and what it changes there.

    `coverage` is as it is expected before it, from `scans` recorded ones. `doubtful` prompts are in
    doubt, `known` of them cached. `goal` is what is offered.
    """

    scan: ScanPlan
    coverage: Expected
    scans: int
    doubtful: int
    known: int
    goal: FlipGoal

    @property
    def calls(self) -> int:
        """The calls for every prompt in doubt."""
        return self.scan.cost.calls(self.doubtful, self.known)


@dataclass(frozen=True, eq=False)
class Prediction:
    """The verdicts expected of a definition on a prompt set: Triggered codes, int8 [N]."""

    topic: Topic
    prompt_set: str
    triggered: NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class ScanEstimate:
    """The order of a scan, its cost, and the verdicts that are expected of it.

    `known` (bool [N]) are the prompts with a cached verdict, `settings` those of the scanner,
    `forecast` what earlier scans by it say.
    """

    order: Order
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
    """Order the rows of a scan and work out its cost. Blocks; changes nothing.

    `before` is the last scan by the same scanner, of whatever definition; a `forecast` of it tells
    more than the engine does. Where only `missing` rows (bool [N]) are to be scanned, the cost is
    theirs. `used` gives what is recorded of calls to a judge with these settings. Raises
    ScannerError.
    """
    if forecast is not None:
        prediction = Prediction(topic, prompts.fingerprint, forecast.likelier)
        order = forecast_order(forecast.changes)
    else:
        order, prediction = _ordered(engine, topic, prompts, before)
    # A connection of SQLite belongs to one thread.
    with contextlib.closing(SqliteVerdicts(cache_folder())) as cache:
        scanner = make(cache)
        known, settings = scanner.known(topic, prompts), scanner.settings
        expense = None
        if isinstance(scanner, Paid):
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
) -> tuple[Order, Prediction]:
    now = engine.verdicts(topic, prompts)
    if before is None:
        order = scan_order(None, None, np.full(len(prompts), ABSENT, np.int8))
        return order, Prediction(topic, prompts.fingerprint, now.triggered)
    then = engine.verdicts(before.topic, prompts)
    flipped = now.triggered != then.triggered
    # Where the engine sees no change, the last answer is the best guess.
    answers = answers_for(before, prompts.keys)
    expected = np.where(is_answered(answers) & ~flipped, answers, now.triggered)
    prediction = Prediction(topic, prompts.fingerprint, expected.astype(np.int8))
    threshold = engine.scanner.settings.threshold
    threshold = 0.5 if threshold is None else min(max(threshold, 0.001), 0.999)
    earlier = codes_for(before, prompts.keys, prompts.expected)
    order = scan_order(movement(then.score, now.score, threshold), flipped, earlier)
    return order, prediction
