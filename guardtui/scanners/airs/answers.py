"""Conversion of scan results of AIRS to verdicts."""

from __future__ import annotations

from dataclasses import replace

from pydantic import ValidationError

from guardtui.domain.verdicts import Failure, Triggered, Verdict
from guardtui.http.errors import inert
from guardtui.scanners.airs.models import ScanResponse, TopicDetails, problem_of

TOPIC = "topic_violation"
_SIDE = "prompt"


def no_verdict(problem: str) -> Verdict:
    """Return a verdict for a failed scan."""
    return Verdict(Triggered.NO_VERDICT, problem=problem, failure=Failure.FAILED)


def read_answer(
    data: object, *, tr_id: str = "", scan_id: str = "", seconds: float | None = None
) -> Verdict:
    """Read the JSON of a scan result. Never raises: unreadable data gives no verdict.

    A result that names another `tr_id` or `scan_id` than those of the request is of another prompt
    and gives no verdict; services may omit them. `topics` of the verdict are all block topics that
    matched, even if the prompt passed.
    """
    try:
        response = ScanResponse.model_validate(data)
    except (ValidationError, RecursionError) as error:
        problem = f"the scan result cannot be used: {problem_of(error)}"
        return replace(no_verdict(problem), seconds=seconds)
    for name, returned, expected in (
        ("tr_id", response.tr_id, tr_id),
        ("scan_id", response.scan_id, scan_id),
    ):
        if returned and expected and returned != expected:
            problem = f"no verdict: the result is of another scan ({name} {inert(returned)[:60]})"
            return replace(no_verdict(problem), seconds=seconds)
    detected = response.prompt_detected
    details = response.prompt_detection_details.topic_guardrails_details
    base = Verdict(
        Triggered.NO_VERDICT,
        topics=details.blocked_topics,
        allowed_topics=details.allowed_topics,
        revision=response.profile_id.lower(),
        scan_id=response.scan_id,
        seconds=seconds,
    )
    others = any(value is True for name, value in (detected or {}).items() if name != TOPIC)
    stopped = response.category.strip().lower() == "malicious"
    unexplained = stopped and not others
    problem = _unfinished(response)
    violation = (detected or {}).get(TOPIC)
    if not problem and not isinstance(violation, bool):
        problem = _missing(base, details, unexplained)
    if problem:
        return replace(base, topics=(), problem=problem, failure=Failure.FAILED)
    if isinstance(violation, bool):
        return _judged(base, violation, response, unexplained)
    verdict = _judged(base, bool(base.topics), response, unexplained)
    if verdict.triggered is Triggered.NO:
        return verdict
    note = _joined("topic_violation is missing, but a block topic is named", verdict.note)
    return replace(verdict, doubtful=True, note=note)


def _unfinished(response: ScanResponse) -> str:
    """Return why the check of the topic did not complete, or "".

    Failures of other detectors do not affect the topic if `errors` names them.
    """
    if response.category.strip().lower() in ("error", "timeout"):
        return f"no verdict: the scan ended with {response.category.strip().lower()}"
    named = {error.status.strip().lower() for error in response.errors}
    for error in response.errors:
        # An entry without a feature or side can be about the topic.
        on_prompt = error.content_type.strip().lower() in (_SIDE, "")
        if error.feature.strip().lower() in (TOPIC, "") and on_prompt:
            return f"no verdict on the topic: {inert(error.status) or 'it failed'}"
    if response.timeout and "timeout" not in named:
        return "no verdict: an unnamed detector timed out"
    if response.error and "error" not in named:
        return "no verdict: an unnamed detector failed"
    return ""


def _missing(base: Verdict, details: TopicDetails, unexplained: bool) -> str:
    """Return why a result without `topic_violation` has no verdict; "" if its lists give one.

    A list, even an empty one, shows that topics were checked. The verdict is missing without any
    list, and if the prompt was stopped (`unexplained`: no other detector fired) but no list names a
    topic.
    """
    if base.topics:
        return ""
    problem = "no verdict on the topic: topic_violation is missing"
    if unexplained and not base.allowed_topics:
        return f"{problem}, though the prompt was stopped and no other detector fired"
    if not details.model_fields_set:
        return f"{problem}; are topic guardrails on in this profile?"
    return ""


def _judged(base: Verdict, violation: bool, response: ScanResponse, unexplained: bool) -> Verdict:
    doubts = []
    if not violation and unexplained:
        doubts.append("stopped, though topic_violation is false and no other detector fired")
    if not violation and base.topics and not base.allowed_topics:
        doubts.append(f"not stopped, though a block topic matched: {_names(base.topics)}")
    if response.errors:
        failed = (
            error.feature
            if error.content_type == _SIDE
            else f"{error.feature} ({error.content_type})"
            for error in response.errors
        )
        doubts.append(f"other detectors failed: {_names(tuple(dict.fromkeys(failed)))}")
    if response.category.strip().lower() not in ("benign", "malicious"):
        doubts.append(f"unknown category {inert(response.category)!r}")
    both = ""
    if base.topics and base.allowed_topics:
        both = f"both matched: block {_names(base.topics)}, allow {_names(base.allowed_topics)}"
    note = _joined(both, *doubts)
    return replace(base, triggered=Triggered(violation), note=note, doubtful=bool(doubts))


def _joined(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def _names(names: tuple[str, ...]) -> str:
    shown = [inert(name, characters=60) for name in names[:3]]
    return ", ".join(shown) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
