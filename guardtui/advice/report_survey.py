"""Survey of the prompts for a report, if it is available soon."""

from __future__ import annotations

from guardtui.advice.prompt_set import Stopped, Survey, survey
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.scanner import LocalScanner

REPORTED = 5_000
"""Maximum number of prompts of a report's survey: it takes a second or two."""


def survey_for_report(
    scanner: LocalScanner,
    prompts: PromptSet | None,
    evaluation: Evaluation,
    stopped: Stopped = lambda: False,
) -> Survey | None:
    """Return the survey of an evaluation's prompts, or None.

    Vectors are those of the embedded engine, whichever scanner judged. Returns None if there are
    more prompts than `REPORTED`, if they are no longer those of the evaluation, or if the engine
    cannot be loaded.
    """
    if prompts is None or len(prompts) > REPORTED:
        return None
    try:
        return survey(scanner, prompts, evaluation, stopped)
    except (ScannerError, ValueError):
        return None
