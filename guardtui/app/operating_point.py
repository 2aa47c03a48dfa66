"""The operating point: a threshold fitted to the labels, stored in the session, and refitted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from guardtui.app.editing import Editing
from guardtui.app.engine import Engine
from guardtui.app.ports import Author, Jobs
from guardtui.app.preview import Preview
from guardtui.app.problems import problems_shown
from guardtui.app.scan import Scans
from guardtui.app.state import AppState, Store
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import threshold_text
from guardtui.domain.operating_point import (
    BY_HAND,
    FITTED,
    LABELS_AT_LEAST,
    SHIPPED,
    ThresholdFit,
    Wanted,
    better_threshold,
    fit_threshold,
)
from guardtui.domain.prompts import Finding, PromptSet, Severity
from guardtui.domain.topic import Topic
from guardtui.scanners.base import Report
from guardtui.scanners.decision.scanner import THRESHOLD
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.companions import kept_path
from guardtui.session.threshold_fits import DECISION as DECISION_THRESHOLD
from guardtui.session.threshold_fits import read_fit, write_fit
from guardtui.session.workspace import Workspace


def threshold_finding(scanner: LocalScanner, topic: Topic, prompts: PromptSet) -> Finding | None:
    """Return a warning if another threshold would be significantly better, or None. Blocks.

    Raises ScannerError.
    """
    evaluation = _evaluated(scanner, topic, prompts, lambda progress: None)
    better = better_threshold(evaluation)
    if better is None:
        return None
    now = threshold_text(evaluation.settings.threshold or 0.0)
    return Finding(
        Severity.WARNING,
        "threshold",
        f"the threshold {now} ({evaluation.settings.threshold_source}) does not suit this "
        f"definition: {threshold_text(better.threshold)} would give coverage {better.change}, "
        "cross-validated; fit it again in the app, or look at 'guardtui sweep'",
    )


class OperatingPointError(GuardtuiError):
    """A requested threshold cannot be fitted; the message says why."""

    exit_code = 2


def unfittable(reason: ValueError) -> OperatingPointError:
    """Return the error that a threshold cannot be fitted, with its remedy."""
    return OperatingPointError(
        f"the threshold cannot be fitted: {reason}\n"
        "  label more prompts, or use --threshold shipped or a number"
    )


def fit_of(
    scanner: LocalScanner, topic: Topic, prompts: PromptSet, report: Report = lambda progress: None
) -> ThresholdFit:
    """Return the threshold fitted to the labels of a prompt set for this definition. Blocks.

    Raises ScannerError, and ValueError if there are too few labels.
    """
    evaluation = _evaluated(scanner, topic, prompts, report)
    return fit_threshold(evaluation, scanner.shipped_threshold)


def _evaluated(
    scanner: LocalScanner, topic: Topic, prompts: PromptSet, report: Report
) -> Evaluation:
    verdicts = scanner.scan_now(topic, prompts, report)
    assert verdicts is not None  # noqa: S101 - nothing stops it
    return Evaluation(
        topic, scanner.settings, prompts.fingerprint, prompts.keys, prompts.expected, verdicts
    )


def settle_threshold(
    scanner: LocalScanner,
    wanted: Wanted,
    kept: ThresholdFit | None,
    fit: Callable[[], ThresholdFit],
) -> ThresholdFit | None:
    """Set the threshold of a scanner, and return its fit, or None.

    `kept` is the fit of the session, if it is for this engine; otherwise `fit` makes one. Raises
    `OperatingPointError` if a fitted one is requested and there are too few labels, and what `fit`
    raises.
    """
    if wanted == SHIPPED:
        scanner.use_threshold(None)
        return None
    if isinstance(wanted, float):
        scanner.use_threshold(wanted, BY_HAND)
        return None
    if kept is None or kept.engine != scanner.settings.identity:
        try:
            kept = fit()
        except ValueError as reason:
            scanner.use_threshold(None)
            if wanted == FITTED:
                raise unfittable(reason) from reason
            return None
    scanner.use_threshold(kept.threshold, kept.source)
    return kept


class OperatingPoint:
    """Fits the threshold when a workspace is opened, and again on request."""

    def __init__(
        self,
        store: Store,
        workspace: Workspace,
        engine: Engine,
        editing: Editing,
        preview: Preview,
        scans: Scans,
        author: Author,
        jobs: Jobs,
        wanted: Wanted = None,
    ) -> None:
        """`wanted` is the threshold given at the start, unless the scanner has it."""
        self._store, self._workspace, self._engine = store, workspace, engine
        self._editing, self._preview, self._scans = editing, preview, scans
        self._author, self._jobs = author, jobs
        self._wanted = wanted
        self.pending = False
        """Whether the threshold will be fitted once all prompts are embedded."""

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Look for a better threshold after each evaluation by the engine."""
        evaluation = new.evaluation
        if evaluation is not None and evaluation is not old.evaluation:
            self._jobs.start(self._look(evaluation), group="operating point", exclusive=True)

    async def _look(self, evaluation: Evaluation) -> None:
        better = await asyncio.to_thread(better_threshold, evaluation)
        state = self._store.state
        if state.evaluation is evaluation and (better is not None or state.better is not None):
            self._store.publish(replace(state, better=better))

    async def settle(self) -> bool:
        """Set the threshold for the opened prompts; return False if the engine fails.

        It is fitted once for a session, unless the author set one.
        """
        workspace, engine = self._workspace, self._engine
        with problems_shown(self._author):
            fit = read_fit(await asyncio.to_thread(workspace.store.settings), DECISION_THRESHOLD)
            self._store.publish(replace(self._store.state, decision_fit=fit))
        prompts, scanner = workspace.prompts, engine.scanner
        belong = int(np.count_nonzero(prompts.expected))
        few = min(belong, len(prompts) - belong) < LABELS_AT_LEAST
        if few and self._wanted != FITTED:
            return True
        if not await asyncio.to_thread(self._is_wanted):
            return True
        with problems_shown(self._author):
            fit = await asyncio.to_thread(self._kept)
            if fit is None:
                self.pending = True
                try:
                    evaluation = await self._preview.complete(workspace.topic_file.topic)
                finally:
                    self.pending = False
                if evaluation is None:
                    return False
                if scanner is not engine.scanner or not self._is_wanted():
                    return True  # the author chose another one in the meantime
                try:
                    fit = await self._fitted(evaluation)
                except ValueError as reason:
                    self._author.notify(f"The threshold cannot be fitted: {reason}.")
                    return True
                await asyncio.to_thread(workspace.store.update_settings, write_fit(fit))
            scanner.use_threshold(fit.threshold, fit.source)
            self._store.publish(replace(self._store.state, fit=fit))
        return True

    def _is_wanted(self) -> bool:
        """Return whether the threshold is to be fitted: the author has chosen none."""
        if self._wanted == SHIPPED:
            return False
        return self._engine.scanner.settings.threshold_source == SHIPPED

    def set(self, threshold: float | None, source: str) -> None:
        """Use a threshold set by hand, or the shipped one (None); it is not fitted afterwards."""
        self._engine.scanner.use_threshold(threshold, source)
        self._wanted = SHIPPED if source == SHIPPED else None
        self.pending = False

    def _kept(self) -> ThresholdFit | None:
        """Return the fit of the session if it is for these prompts and this engine, or None."""
        workspace = self._workspace
        fit = read_fit(workspace.store.settings())
        if fit is None or fit.engine != self._engine.scanner.settings.identity:
            return None
        same = fit.prompts == self._prompts_path or fit.prompt_set == workspace.prompts.fingerprint
        return fit if same else None

    @property
    def _prompts_path(self) -> str:
        workspace = self._workspace
        return kept_path(workspace.topic_file.path, workspace.prompts_path)

    async def _fitted(self, evaluation: Evaluation) -> ThresholdFit:
        """Fit to the scores of the engine, without companion topics."""
        scanner = self._engine.scanner
        own = replace(evaluation, settings=scanner.settings)
        fit = await asyncio.to_thread(fit_threshold, own, scanner.shipped_threshold)
        return replace(fit, prompts=self._prompts_path)

    async def fit_again(self) -> None:
        """Fit the threshold to the labels for the current definition, and use it.

        The threshold is that of the decision model whose scan is shown, or that of the engine.
        """
        await self._editing.finish_typing()
        if (scan := self._scans.results.decided()) is not None:
            await self._fit_decisions(scan)
            return
        if not self._preview.has_all():
            return
        evaluation = await self._preview.complete(self._workspace.session.topic)
        if evaluation is None:
            return
        try:
            fit = await self._fitted(evaluation)
        except ValueError as reason:
            self._author.notify(f"The threshold cannot be fitted: {reason}.")
            return
        await self.use(fit)
        self._author.notify(_fitted_text(fit))

    async def _fit_decisions(self, scan: Evaluation) -> None:
        """Fit the threshold of a decision model to the probabilities of its scan."""
        if self._scans.under_way:
            self._author.notify("A scan is under way: let it end, or stop it first.")
            return
        try:
            fit = await asyncio.to_thread(fit_threshold, scan, THRESHOLD)
        except ValueError as reason:
            self._author.notify(f"The threshold cannot be fitted: {reason}.")
            return
        self._scans.use_threshold(replace(fit, prompts=self._prompts_path))
        self._author.notify(_fitted_text(fit))

    async def use(self, fit: ThresholdFit) -> None:
        """Use a fit, and store it in the session."""
        with problems_shown(self._author):
            await asyncio.to_thread(self._workspace.store.update_settings, write_fit(fit))
        self._engine.scanner.use_threshold(fit.threshold, fit.source)
        self._store.publish(replace(self._store.state, fit=fit))
        self._preview.request()


def _fitted_text(fit: ThresholdFit) -> str:
    return (
        f"Threshold {threshold_text(fit.threshold)}, fitted to your {fit.labels} labels: "
        f"coverage {fit.coverage:.3f}, cross-validated {fit.held_out:.3f}."
    )
