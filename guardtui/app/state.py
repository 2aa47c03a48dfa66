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
from guardtui.app.flip_check import FlipStatus
from guardtui.app.next_steps import NextSteps
from guardtui.domain.comparison import Comparison
from guardtui.domain.evaluation import Evaluation, ScannerSettings
from guardtui.domain.guardrail import DECISION
from guardtui.domain.operating_point import BetterThreshold, ThresholdFit
from guardtui.domain.own_figure import OwnFigure
from guardtui.domain.partial_rates import PartialRates
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.forecast.forecaster import Forecast
from guardtui.scanners.base import Progress, Traffic
from guardtui.session.companions import Companions
from guardtui.session.session import Iteration
from guardtui.session.workspace import Workspace


class EditKind(Enum):
    """How the current definition came about; an editor follows it differently."""

    TYPED = auto()
    """In the fields themselves, which show it already."""
    REPLACED = auto()
    """As a whole: restored, proposed, merged with another program's."""
    STEPPED = auto()
    """By undo or redo: the cursor goes to where it changed."""


class StoppedBy(Enum):
    """What ended a scan before it was complete."""

    AUTHOR = auto()
    EDIT = auto()
    """The definition or the prompts changed."""


@dataclass(frozen=True, slots=True)
class ScanStatus:
    """What is known of a remote scan: a step in words, or its progress.

    `who` names the scanner, or the engine or model that works for the author. `check` is how far a
    check of the likely flips is, `stopped` what ended the scan before it was complete.
    """

    step: str
    progress: Progress | None = None
    traffic: Traffic | None = None
    problem: bool = False
    who: str = "AIRS"
    check: FlipStatus | None = None
    stopped: StoppedBy | None = None


@dataclass(frozen=True, slots=True)
class Connection:
    """The remote guardrail that scans ask: `place` is a profile and its host, or a model.

    `revision` is that of the profile in effect, None where it is not known.
    """

    who: str
    place: str
    revision: int | None = None


@dataclass(frozen=True, eq=False)
class AppState:
    """Everything that is shown of one workspace, at one moment.

    `evaluation`, `comparison`, `partial` and `figures` belong together and to the prompts
    `evaluated`, which may be older than `prompts` while a new evaluation is under way. `figures`
    is None while the user's own metrics are being computed. `fit` is the engine's threshold fitted
    to the labels, where there is one, `decision_fit` that of a decision model, `held_out` the
    coverage of this evaluation cross-validated with it, and `better` another threshold that would
    now give significantly more. With a `forecast`, the `evaluation` holds the likelier verdicts of
    the guardrail that it is about. `next` is what could be done now, of the definition that it
    names.
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
    figures: tuple[OwnFigure, ...] | None = ()
    fit: ThresholdFit | None = None
    decision_fit: ThresholdFit | None = None
    better: BetterThreshold | None = None
    held_out: float | None = None
    scan: ScanStatus | None = None
    connection: Connection | None = None
    companions: Companions | None = None
    advice: tuple[Advice, ...] = ()
    advice_pending: bool = False
    next: NextSteps | None = None
    files: int = 0
    """Counts what was read or written of the topic file: "unsaved" may have changed."""

    def fit_for(self, settings: ScannerSettings) -> ThresholdFit | None:
        """The fit of the scanner with these settings, if it has one."""
        return self.decision_fit if settings.name == DECISION else self.fit


def with_session(state: AppState, workspace: Workspace) -> AppState:
    """Return the state with what the session, the prompts and the topic file say now."""
    session = workspace.session
    return replace(
        state,
        topic=session.topic,
        prompts=workspace.prompts,
        iterations=tuple(session.iterations),
        pinned=session.pinned,
        files=state.files + 1,
    )


Listener: TypeAlias = Callable[[AppState, AppState], None]
"""Called with the old and the new state."""


class Store:
    """Holds the newest state and tells its listeners, in the order in which they subscribed.

    State changes on the thread that made the store only (the event loop): `publish` raises
    RuntimeError elsewhere. A listener may publish again; every listener sees every state, in order.
    """

    def __init__(self, state: AppState) -> None:
        self._state = state
        self._listeners: list[Listener] = []
        self._published: deque[tuple[AppState, AppState]] = deque()
        self._publishing = False
        self._thread = threading.get_ident()

    @property
    def state(self) -> AppState:
        """The newest state."""
        return self._state

    def subscribe(self, listener: Listener) -> None:
        """Call `listener` at each change from now on."""
        self._listeners.append(listener)

    def publish(self, state: AppState) -> None:
        """Make this the state, usually `replace(store.state, …)`."""
        if threading.get_ident() != self._thread:
            raise RuntimeError("state changes on the event loop only")
        old, self._state = self._state, state
        self._published.append((old, state))
        if self._publishing:
            return
        self._publishing = True
        try:
            while self._published:
                change = self._published.popleft()
                for listener in self._listeners:
                    listener(*change)
        finally:
            self._publishing = False
            self._published.clear()

    def show_scan(self, scan: ScanStatus | None) -> None:
        """Publish what is known of a scan; None when there is nothing to show."""
        if scan != self._state.scan:
            self.publish(replace(self._state, scan=scan))

    @contextlib.contextmanager
    def step(self, step: str, who: str = "Engine") -> Iterator[None]:
        """Show in the line of the scan what `who` does, until it is done."""
        self.show_scan(ScanStatus(step, who=who))
        try:
            yield
        finally:
            self.show_scan(None)
