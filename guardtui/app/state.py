"""The state of the app: one frozen snapshot, and the store that publishes each new one."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TypeAlias

from guardtui.advice.lint_advice import Advice
from guardtui.app.advice.ideas import Ideas
from guardtui.app.experiments.status import ExperimentStatus
from guardtui.app.labels.audit import Audit
from guardtui.domain.comparison import Comparison
from guardtui.domain.estimates import PartialRates
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.forecast_record import CheckedCoverage
from guardtui.domain.operating_point import ThresholdFit
from guardtui.domain.prompts import PromptSet
from guardtui.domain.series import BestOfSeries
from guardtui.domain.topic import Topic
from guardtui.domain.user_metric import UserMetric
from guardtui.forecast.forecaster import Forecast
from guardtui.scanners.base import Progress, Traffic
from guardtui.session.companions import Companions
from guardtui.session.session import Iteration
from guardtui.session.workspace import Workspace


class EditKind(Enum):
    """Kind of the last change of the definition, for the editor."""

    TYPED = auto()
    """Typed in the fields, which show it already."""
    REPLACED = auto()
    """Replaced as a whole: restored, proposed, or merged."""
    STEPPED = auto()
    """By undo or redo: the cursor moves to the change."""


class StopReason(Enum):
    """Reasons for the early end of a scan."""

    AUTHOR = auto()
    EDIT = auto()
    """The definition or the prompts changed."""


@dataclass(frozen=True, slots=True)
class ScanStatus:
    """Status of a remote scan: a step in words, or its progress.

    `who` names the scanner, engine or model at work. `check` is the status of a check of likely
    flips, `stopped` why the scan ended early.
    """

    step: str
    progress: Progress | None = None
    traffic: Traffic | None = None
    problem: bool = False
    who: str = "AIRS"
    check: CheckedCoverage | None = None
    stopped: StopReason | None = None


@dataclass(frozen=True, slots=True)
class Connection:
    """The remote guardrail used by scans: `title` is a profile and its host, or a model.

    `revision` is that of the profile in effect, or None. `definition` is the one that the profile
    is known to have.
    """

    who: str
    title: str
    revision: int | None = None
    definition: Topic | None = None


@dataclass(frozen=True, eq=False)
class AppState:
    """Snapshot of everything shown of one workspace.

    `evaluation`, `comparison`, `partial` and `figures` belong together and to the prompts
    `evaluated`, which may be older than `prompts` while a new evaluation is under way. `figures` is
    None while the user's own metrics are being computed. `fit` is the fit behind the threshold of
    the evaluation, if any, and `series` what the best iteration was chosen from. With a `forecast`,
    the `evaluation` holds the likelier verdicts of the forecast guardrail. `ideas` and the
    `experiment` are for the definition that they name. The `audit` is of a log, not of the prompts.
    """

    topic: Topic
    prompts: PromptSet
    edit: EditKind = EditKind.TYPED
    iterations: tuple[Iteration, ...] = ()
    pinned: int | None = None
    evaluation: Evaluation | None = None
    evaluated: PromptSet | None = None
    comparison: Comparison | None = None
    partial: PartialRates | None = None
    forecast: Forecast | None = None
    figures: tuple[UserMetric, ...] | None = ()
    fit: ThresholdFit | None = None
    series: BestOfSeries | None = None
    scan: ScanStatus | None = None
    experiment: ExperimentStatus | None = None
    connection: Connection | None = None
    companions: Companions | None = None
    advice: tuple[Advice, ...] = ()
    ideas: Ideas | None = None
    audit: Audit | None = None
    files: int = 0
    """Number of reads and writes of the topic file, after which "unsaved" may change."""


def with_session(state: AppState, workspace: Workspace) -> AppState:
    """Return the state updated from the session, the prompts and the topic file."""
    session = workspace.session
    return replace(
        state,
        topic=session.topic,
        prompts=workspace.prompts,
        iterations=tuple(session.iterations),
        pinned=session.pinned,
        files=state.files + 1,
    )


def _changed(old: AppState, new: AppState) -> set[str]:
    """Return the names of the fields that are other objects."""
    before = vars(old)
    return {name for name, value in vars(new).items() if value is not before[name]}


Listener: TypeAlias = Callable[[AppState, AppState], None]
"""Listener, called with the old and the new state."""


class Store:
    """Holds the newest state and calls its listeners, in the order of subscription.

    `publish` is only for the thread that made the store (the event loop); in others it raises
    RuntimeError. A listener may publish again; every listener gets every state, in order.
    """

    def __init__(self, state: AppState) -> None:
        self._state = state
        self._listeners: list[tuple[Listener, tuple[str, ...]]] = []
        self._published: deque[tuple[AppState, AppState]] = deque()
        self._publishing = False
        self._thread = threading.get_ident()

    @property
    def state(self) -> AppState:
        """The newest state."""
        return self._state

    def subscribe(self, listener: Listener, *fields: str) -> None:
        """Call `listener` at each change of these fields of the state, or of any without names."""
        self._listeners.append((listener, fields))

    def publish(self, state: AppState) -> None:
        """Replace the state, usually by `replace(store.state, …)`."""
        if threading.get_ident() != self._thread:
            raise RuntimeError("the state can be changed only on the event loop")
        old, self._state = self._state, state
        self._published.append((old, state))
        if self._publishing:
            return
        self._publishing = True
        try:
            while self._published:
                change = self._published.popleft()
                changed = _changed(*change)
                for listener, fields in self._listeners:
                    if not fields or not changed.isdisjoint(fields):
                        listener(*change)
        finally:
            self._publishing = False
            self._published.clear()

    def show_scan(self, scan: ScanStatus | None) -> None:
        """Publish the status of a scan; None clears it."""
        if scan != self._state.scan:
            self.publish(replace(self._state, scan=scan))

    @contextlib.contextmanager
    def step(self, step: str, who: str = "Engine") -> Iterator[None]:
        """Show a step of `who` in the line of the scan during the context."""
        self.show_scan(ScanStatus(step, who=who))
        try:
            yield
        finally:
            self.show_scan(None)
