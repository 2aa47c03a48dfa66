"""The embedded engine for a command, with the threshold for its topic and prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guardtui.cli import diagnostics
from guardtui.domain.evaluation import should_trigger
from guardtui.domain.guardrail import ENGINE, Guardrail
from guardtui.domain.operating_point import (
    BY_HAND,
    FITTED,
    SHIPPED,
    OperatingPointError,
    ThresholdFit,
    Wanted,
    fit_threshold,
    require_classes,
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


def kept_threshold(topic_path: Path, guardrail: Guardrail) -> float | None:
    """Return the threshold in the session for a decision model, or None.

    Warns if the session cannot be read.
    """
    from guardtui.session.chosen_thresholds import read_decision_threshold

    return read_decision_threshold(_kept_settings(topic_path), guardrail)


def _kept_settings(topic_path: Path) -> Mapping[str, Any]:
    from guardtui.session.chosen_thresholds import settings_of_session
    from guardtui.session.store import StoreError

    try:
        return settings_of_session(topic_path)
    except StoreError as error:
        diagnostics.warn(f"{error}\n  the threshold chosen in it is unknown")
        return {}


def unfittable(reason: ValueError) -> OperatingPointError:
    """Return the error that a threshold cannot be fitted, with its remedy."""
    return OperatingPointError(
        f"the threshold cannot be fitted: {reason}\n"
        "  label more prompts, or use --threshold shipped or a number"
    )


def settled_engine(
    encoder: str | None, wanted: Wanted, topic: Topic, prompts: PromptSet
) -> LocalScanner:
    """Return the engine with the wanted threshold for these prompts.

    By default it is fitted to the labels at each definition, or, with too few of them, the shipped
    one. Raises `OperatingPointError` if a fitted one is wanted and there are too few.
    """
    if wanted == FITTED:
        try:
            require_classes(should_trigger(prompts.expected, topic.intent))
        except ValueError as reason:
            raise unfittable(reason) from reason
    if wanted == SHIPPED:
        return LocalScanner(encoder or ENCODERS[0])
    return LocalScanner(encoder or ENCODERS[0], FITTED if wanted is None else wanted)


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


def threshold_for_shards(wanted: Wanted) -> ShardsThreshold:
    """Return the threshold of a set in shards, chosen as `settled_engine` chooses it."""
    if isinstance(wanted, float):
        return ShardsThreshold(wanted, BY_HAND)
    return ShardsThreshold(None, SHIPPED, unfitted=wanted != SHIPPED)


def threshold_for_merge(merged: Merged, wanted: Wanted) -> ShardsThreshold | None:
    """Return the threshold by which a run is to be evaluated again, or None.

    A run at the shipped threshold, such as that of the tasks of an array, gets one fitted to the
    scores of all shards. Raises `OperatingPointError` and FileError.
    """
    settings = merged.run.settings
    if settings.kind != ENGINE or settings.threshold_source != SHIPPED or wanted == SHIPPED:
        return None
    return fitted_to_shards(merged, wanted)


def keep_fit(run: Run, fit: ThresholdFit | None) -> None:
    """Write the fit of a run's threshold beside the run. Raises FileError."""
    if fit is not None:
        from guardtui.shards.leftovers import write_shared

        document = {"schema_version": 1, "threshold_fit": fit.to_json()}
        write_shared(run.folder / _FIT_FILE, f"{json.dumps(document, indent=2)}\n".encode())


def fit_of_run(run: Run) -> ThresholdFit | None:
    """Return the fit that a run's threshold is from, or None."""
    try:
        document = json.loads((run.folder / _FIT_FILE).read_bytes())
    except (OSError, ValueError):
        return None
    fit = _parse_fit(document.get("threshold_fit")) if isinstance(document, dict) else None
    settings = run.settings
    is_its = fit is not None and (fit.threshold, fit.source) == (
        settings.threshold,
        settings.threshold_source,
    )
    return fit if is_its else None


def _parse_fit(stored: object) -> ThresholdFit | None:
    """Return a fit from the mapping of its fields; None if it is missing or damaged."""
    if not isinstance(stored, dict):
        return None
    try:
        return ThresholdFit(
            threshold=_share(stored["threshold"]),
            shipped=_share(stored["shipped"]),
            labels=int(stored["labels"]),
            coverage=_share(stored["coverage"]),
            held_out=_share(stored["held_out"]),
            folds=tuple(map(_share, stored["folds"])),
            guardrail=Guardrail.from_json(stored["guardrail"]),
            prompt_set=str(stored["prompt_set"]),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _share(value: Any) -> float:
    number = float(value)
    if not 0 <= number <= 1:
        raise ValueError(f"{number} is not from 0 to 1")
    return number


def fitted_to_shards(merged: Merged, wanted: Wanted) -> ShardsThreshold | None:
    """Return the threshold fitted to the scores of all shards; None with too few labels.

    Raises `OperatingPointError` if a fit was requested and there are too few, and FileError.
    """
    evaluation = merged.evaluation
    assert evaluation.settings.threshold is not None  # noqa: S101 - the engine has one
    try:
        fit = fit_threshold(evaluation, evaluation.settings.threshold)
    except ValueError as reason:
        if wanted == FITTED:
            raise unfittable(reason) from reason
        return None
    return ShardsThreshold(fit.threshold, fit.source, fit)
