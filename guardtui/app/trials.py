"""Trials: each definition measured at a pause in typing, for looking back and restoring.

A trial is recorded after the pause and written in a thread, so that typing never waits.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from itertools import zip_longest

from guardtui.app.editing import Editing
from guardtui.app.ports import Author, Jobs
from guardtui.app.state import AppState, Store
from guardtui.domain.edit_names import edit_names
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.operating_point import as_rule
from guardtui.forecast.forecaster import Forecast
from guardtui.session.store import StoreError
from guardtui.session.trials import TRIALS_AT_MOST, Figures, Trial, add_trial, read_trials
from guardtui.session.workspace import Workspace, now

PAUSE = 1.0
"""Seconds without an edit after which a measured definition becomes a trial.

Previews occur between words already; at a trial the author stopped to look.
"""

_GROUP = "trial"
_WRITING = "trial file"


@dataclass(frozen=True, slots=True)
class TrialEntry:
    """A listed trial, compared with the current definition.

    `change` is its coverage minus the current one; None if they cannot be compared, and `apart`
    says why. `changes` are those since the previous trial, empty for the oldest.
    """

    trial: Trial
    is_current: bool
    change: float | None
    apart: str
    changes: tuple[str, ...]


class Trials:
    """Records, lists and restores trials."""

    def __init__(
        self, store: Store, workspace: Workspace, editing: Editing, author: Author, jobs: Jobs
    ) -> None:
        self._store, self._workspace, self._editing = store, workspace, editing
        self._author, self._jobs = author, jobs
        self.pause = PAUSE
        self._trials: list[Trial] = []
        self._pending: Trial | None = None
        self._unwritten: list[Trial] = []
        self._one_at_a_time = asyncio.Lock()
        self._problem = ""

    # --- recording ------------------------------------------------------------------------

    async def open(self) -> None:
        """Read the trials of earlier runs."""
        try:
            self._trials = await asyncio.to_thread(read_trials, self._workspace.store)
        except StoreError as problem:
            self._author.notify(f"Earlier trials cannot be read: {problem}", severity="error")

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Wait for a pause after each measured definition; an edit cancels that."""
        edited = new.topic != old.topic or new.prompts is not old.prompts
        if edited:
            self._pending = None
            self._jobs.cancel(_GROUP)
        evaluation = new.evaluation
        if evaluation is None or (evaluation is old.evaluation and not edited):
            return
        if not evaluation.key.same_subject(new.topic, new.prompts.fingerprint):
            return  # a newer preview is on its way
        figures = None if evaluation.metrics.open else _figures(evaluation, new.forecast)
        if figures is None:
            return  # a part of the prompts, or of a scan
        settings, prompt_set = evaluation.settings, evaluation.prompt_set
        self._pending = Trial(now(), evaluation.topic, settings, prompt_set, figures)
        self._jobs.start(self._after_pause(), group=_GROUP, exclusive=True)

    async def _after_pause(self) -> None:
        await asyncio.sleep(self.pause)
        self._record()
        self._jobs.start(self._write(), group=_WRITING)  # the next key does not cancel this

    def _record(self) -> None:
        """Record a trial of the last measured definition."""
        trial, self._pending = self._pending, None
        if trial is None or (self._trials and _is_same(trial, self._trials[0])):
            return
        others = [other for other in self._trials if other.topic != trial.topic]
        self._trials = [trial, *others][:TRIALS_AT_MOST]
        self._unwritten.append(trial)

    async def _write(self) -> None:
        """Write new trials; notify the author of the first failure."""
        async with self._one_at_a_time:
            while self._unwritten:
                trial = self._unwritten[0]
                try:
                    await asyncio.to_thread(add_trial, self._workspace.store, trial)
                except StoreError as problem:
                    if str(problem) != self._problem:
                        self._problem = str(problem)
                        self._author.notify(
                            f"Trials are not kept on disk: {problem}", severity="error"
                        )
                    return
                self._problem = ""
                del self._unwritten[0]

    async def close(self) -> None:
        """Record and write the pending trial."""
        self._record()
        await self._write()

    # --- history --------------------------------------------------------------------------

    def listed(self) -> list[TrialEntry]:
        """Return the trials, the newest first, compared with the current definition.

        The last measured definition is included.
        """
        self._jobs.cancel(_GROUP)
        self._record()
        self._jobs.start(self._write(), group=_WRITING)
        state = self._store.state
        newest = next(iter(self._trials), None)
        # The measured current definition is the newest trial.
        current = newest if newest is not None and newest.topic == state.topic else None
        return [
            _entry(trial, before, state, current)
            for trial, before in zip_longest(self._trials, self._trials[1:])
        ]

    def bring_back(self, trial: Trial) -> None:
        """Restore a trial's definition in the editor, as one undo step."""
        if self._editing.replace(trial.topic):
            self._author.notify("The trial is in the editor; Undo restores yours.")
        else:
            self._author.notify("This definition is in the editor already.")


def _figures(evaluation: Evaluation, forecast: Forecast | None) -> Figures | None:
    """Return the shown rates of an evaluation; None if a class has no prompts."""
    metrics = evaluation.metrics
    if forecast is None:
        rates = (metrics.coverage, metrics.true_positive_rate, metrics.true_negative_rate)
    else:
        expected = (forecast.rates.coverage, forecast.rates.tpr, forecast.rates.tnr)
        coverage, tpr, tnr = (None if other is None else other.value for other in expected)
        rates = (coverage, tpr, tnr)
    coverage, tpr, tnr = rates
    if coverage is None or tpr is None or tnr is None:
        return None
    return Figures(coverage, tpr, tnr, metrics.prompts)


def _is_same(trial: Trial, other: Trial) -> bool:
    """Return whether two trials are equal except for their time."""
    return replace(trial, created="") == replace(other, created="")


def _entry(
    trial: Trial, before: Trial | None, state: AppState, current: Trial | None
) -> TrialEntry:
    apart = _apart(trial, state, current)
    change = None
    if not apart and current is not None:
        change = trial.figures.coverage - current.figures.coverage
    changes = () if before is None else edit_names(before.topic, trial.topic)
    return TrialEntry(trial, trial.topic == state.topic, change, apart, changes)


def _apart(trial: Trial, state: AppState, current: Trial | None) -> str:
    """Return why the coverage of a trial cannot be compared with the current one, or ""."""
    if trial.prompt_set != state.prompts.fingerprint:
        return "prompts changed"
    if current is None or current.prompt_set != state.prompts.fingerprint:
        return "not measured now"
    if _same_but_threshold(trial.settings) != _same_but_threshold(current.settings):
        return "other guardrail"
    same = as_rule(trial.settings).threshold == as_rule(current.settings).threshold
    return "" if same else "other threshold"


def _same_but_threshold(settings: ScannerSettings) -> ScannerSettings:
    """Return the settings that comparable figures share; the revision changes with definitions."""
    return replace(settings, threshold=None, threshold_source="", revision="")
