"""The survey that a report tells unasked: only where it can be had, and soon."""

from __future__ import annotations

from guardtui.advice.prompt_set import Stopped, Survey, survey
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.scanner import LocalScanner

REPORTED = 5_000
"""Prompts up to which a report tells clusters unasked: it takes a second or two."""


def survey_for_report(
    scanner: LocalScanner,
    prompts: PromptSet | None,
    evaluation: Evaluation,
    stopped: Stopped = lambda: False,
) -> Survey | None:
    """Return the clusters of an evaluation's prompts; None where there are none to tell of.

    Whoever judged: the vectors are those of the embedded engine. None can be had when the prompts
    are no longer those of the evaluation, or when the engine cannot be loaded; of more prompts than
    `REPORTED` nobody waits for them.
    """
    if prompts is None or len(prompts) > REPORTED:
        return None
    try:
        return survey(scanner, prompts, evaluation, stopped)
    except (ScannerError, ValueError):
        return None
