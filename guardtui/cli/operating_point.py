"""The embedded engine for a command, with the threshold for its topic and prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guardtui.cli import diagnostics
from guardtui.domain.evaluation import ENGINE, Evaluation
from guardtui.domain.operating_point import (
    BY_HAND,
    FITTED,
    SHIPPED,
    ThresholdFit,
    Wanted,
    fit_threshold,
)
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner

if TYPE_CHECKING:
    from guardtui.domain.prompts import PromptSet
    from guardtui.domain.topic import Topic
    from guardtui.scanners.base import Progress
    from guardtui.shards.merge import Merged
    from guardtui.shards.parts import Run

_FIT_FILE = "fit.json"  # in the folder of a run


def show_progress(now: Progress) -> None:
    """Show the progress of the engine on standard error."""
    diagnostics.progress(f"{now.phase} {now.done}/{now.total}")


def kept_fit(topic_path: Path, engine: str) -> ThresholdFit | None:
    """Return the fit in the session of a topic file for an engine of this identity, or None.

    Warns if the session cannot be read.
    """
    from guardtui.session.threshold_fits import read_fit

    fit = read_fit(_kept_settings(topic_path))
    return fit if fit is not None and fit.engine == engine else None


def kept_threshold(topic_path: Path, identity: str) -> ThresholdFit | float | None:
    """Return the threshold in the session for a decision model of this identity.

    A fit, or a number set by hand, or None; otherwise like `kept_fit`.
    """
    from guardtui.session.threshold_fits import read_decision_threshold

    return read_decision_threshold(_kept_settings(topic_path), identity)


def _kept_settings(topic_path: Path) -> Mapping[str, Any]:
    from guardtui.session.store import StoreError
    from guardtui.session.threshold_fits import settings_of_session

    try:
        return settings_of_session(topic_path)
    except StoreError as error:
        diagnostics.warn(f"{error}\n  its fitted threshold is unknown")
        return {}


def settled_engine(
    encoder: str | None,
    wanted: Wanted,
    topic_path: Path,
    topic: Topic,
    prompts: PromptSet,
    baseline: Evaluation | None = None,
) -> tuple[LocalScanner, ThresholdFit | None]:
    """Return the engine with its threshold, and the fit that the threshold is from, or None.

    Without a wanted threshold it is that of the session; or that of a `baseline` by the same
    engine, so that the two are comparable; or one fitted to the labels; or, with too few of them,
    the shipped one.
    Raises `OperatingPointError` and ScannerError.
    """
    from guardtui.app.operating_point import fit_of, settle_threshold

    scanner = LocalScanner(encoder or ENCODERS[0])
    kept = None
    if wanted in (None, FITTED):
        settings = scanner.settings
        kept = kept_fit(topic_path, settings.identity)
        previous = None if baseline is None else baseline.settings
        if wanted is None and kept is None and previous and previous.identity == settings.identity:
            if previous.threshold_source != SHIPPED:
                scanner.use_threshold(previous.threshold, previous.threshold_source)
            return scanner, None
    try:
        fit = settle_threshold(
            scanner, wanted, kept, lambda: fit_of(scanner, topic, prompts, show_progress)
        )
    finally:
        diagnostics.progress("")
    return scanner, fit


@dataclass(frozen=True, slots=True)
class ShardsThreshold:
    """The threshold of a set in shards: `value` is None for the shipped one.

    `fit` is the fit that it is from, or None. `unfitted` says that it is to be fitted once all
    shards have scores.
    """

    value: float | None
    source: str
    fit: ThresholdFit | None = None
    unfitted: bool = False


def threshold_for_shards(
    encoder: str | None, wanted: Wanted, topic_path: Path, baseline: Evaluation | None = None
) -> ShardsThreshold:
    """Return the threshold of a set in shards, chosen as `settled_engine` chooses it."""
    if isinstance(wanted, float):
        return ShardsThreshold(wanted, BY_HAND)
    if wanted == SHIPPED:
        return ShardsThreshold(None, SHIPPED)
    engine = LocalScanner(encoder or ENCODERS[0]).settings.identity
    if (fit := kept_fit(topic_path, engine)) is not None:
        return ShardsThreshold(fit.threshold, fit.source, fit)
    if wanted is None and baseline is not None and baseline.settings.identity == engine:
        previous = baseline.settings
        value = None if previous.threshold_source == SHIPPED else previous.threshold
        return ShardsThreshold(value, previous.threshold_source)
    return ShardsThreshold(None, SHIPPED, unfitted=True)


def threshold_for_merge(
    merged: Merged, wanted: Wanted, baseline: Evaluation | None = None
) -> ShardsThreshold | None:
    """Return the threshold by which a run is to be evaluated again, or None.

    A run at the shipped threshold, such as that of the tasks of an array, is treated like in
    `threshold_for_shards`: it takes that of a `baseline` by the same engine, or one fitted to the
    scores of all shards. Raises `OperatingPointError` and FileError.
    """
    settings = merged.run.settings
    if settings.name != ENGINE or settings.threshold_source != SHIPPED or wanted == SHIPPED:
        return None
    if wanted is None and baseline is not None and baseline.settings.identity == settings.identity:
        previous = baseline.settings
        if previous.threshold == settings.threshold:
            return None
        return ShardsThreshold(previous.threshold, previous.threshold_source)
    return fitted_to_shards(merged, wanted)


def keep_fit(run: Run, fit: ThresholdFit | None) -> None:
    """Write the fit of a run's threshold beside the run. Raises FileError."""
    if fit is not None:
        from guardtui.session.threshold_fits import FIT, write_fit
        from guardtui.shards.leftovers import write_shared

        document = {"schema_version": 1, FIT: write_fit(fit)[FIT]}
        write_shared(run.folder / _FIT_FILE, f"{json.dumps(document, indent=2)}\n".encode())


def fit_of_run(run: Run) -> ThresholdFit | None:
    """Return the fit that a run's threshold is from, or None."""
    from guardtui.session.threshold_fits import read_fit

    try:
        document = json.loads((run.folder / _FIT_FILE).read_bytes())
    except (OSError, ValueError):
        return None
    fit = read_fit(document) if isinstance(document, dict) else None
    settings = run.settings
    is_its = fit is not None and (fit.threshold, fit.source) == (
        settings.threshold,
        settings.threshold_source,
    )
    return fit if is_its else None


def fitted_to_shards(merged: Merged, wanted: Wanted) -> ShardsThreshold | None:
    """Return the threshold fitted to the scores of all shards; None with too few labels.

    Raises `OperatingPointError` if a fit was requested and there are too few, and FileError.
    """
    from guardtui.app.operating_point import unfittable

    evaluation = merged.evaluation
    assert evaluation.settings.threshold is not None  # noqa: S101 - the engine has one
    try:
        fit = fit_threshold(evaluation, evaluation.settings.threshold)
    except ValueError as reason:
        if wanted == FITTED:
            raise unfittable(reason) from reason
        return None
    return ShardsThreshold(fit.threshold, fit.source, fit)
