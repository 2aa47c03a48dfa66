"""A scan result of AIRS read as a verdict on one topic."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from pydantic import ValidationError

from guardtui.domain.verdicts import Failure, Triggered, Verdict
from guardtui.http.errors import inert
from guardtui.scanners.airs.models import DetectorError, ScanResponse, TopicDetails, problem_of

TOPIC = "topic_violation"
Side = Literal["prompt", "response"]


def no_verdict(problem: str) -> Verdict:
    """A prompt that AIRS was asked about in vain."""
    return Verdict(Triggered.NO_VERDICT, problem=problem, failure=Failure.FAILED)


def read_answer(
    data: object, *, topic: str = "", side: Side = "prompt", seconds: float | None = None
) -> Verdict:
    """Read the JSON of a scan result. Never raises: what cannot be read gives no verdict.

    `topic` is the name of the topic under test, for telling when another one stopped the prompt.
    `topics` of the verdict are all block topics that matched, also where the prompt passed.
    """
    try:
        response = ScanResponse.model_validate(data)
    except (ValidationError, RecursionError) as error:
        problem = f"the scan result cannot be used: {problem_of(error)}"
        return replace(no_verdict(problem), seconds=seconds)
    detected = response.prompt_detected if side == "prompt" else response.response_detected
    details = (
        response.prompt_detection_details
        if side == "prompt"
        else response.response_detection_details
    ).topic_guardrails_details
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
    scanned = _Scanned(response.category, stopped and not others, _failed(response.errors, side))
    problem = _unfinished(response, side)
    violation = (detected or {}).get(TOPIC)
    if not problem and not isinstance(violation, bool):
        problem = _missing(base, details, scanned)
    if problem:
        return replace(base, topics=(), problem=problem, failure=Failure.FAILED)
    if isinstance(violation, bool):
        return _judged(base, violation, scanned, topic)
    verdict = _judged(base, bool(base.topics), scanned, topic)
    if verdict.triggered is Triggered.NO:
        return verdict
    note = _joined("topic_violation is missing; a block topic is named", verdict.note)
    return replace(verdict, doubtful=True, note=note)


@dataclass(frozen=True, slots=True)
class _Scanned:
    """What a result says of the whole scan.

    `unexplained` is true where the prompt was stopped and no other detector fired; `failed` are
    other detectors that failed.
    """

    category: str
    unexplained: bool
    failed: tuple[str, ...]


def _unfinished(response: ScanResponse, side: Side) -> str:
    """Why the topic was not judged to the end; empty when it was.

    Other detectors may have failed: that is no matter for the topic as long as `errors` says so.
    """
    if response.category.strip().lower() in ("error", "timeout"):
        return f"no verdict: the scan ended with {response.category.strip().lower()}"
    told = {one.status.strip().lower() for one in response.errors}
    for one in response.errors:
        # An entry without a feature or side can be about the topic.
        here = one.content_type.strip().lower() in (side, "")
        if one.feature.strip().lower() in (TOPIC, "") and here:
            return f"no verdict on the topic: {inert(one.status) or 'it failed'}"
    if response.timeout and "timeout" not in told:
        return "no verdict: a detector ran out of time, and it is not said which"
    if response.error and "error" not in told:
        return "no verdict: a detector failed, and it is not said which"
    return ""


def _failed(errors: tuple[DetectorError, ...], side: Side) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            one.feature if one.content_type == side else f"{one.feature} ({one.content_type})"
            for one in errors
        )
    )


def _missing(base: Verdict, details: TopicDetails, scanned: _Scanned) -> str:
    """Why there is no verdict where `topic_violation` is missing; "" where the lists give one.

    A list, also an empty one, says that topics were looked at. Without any there is no verdict,
    nor where something stopped the prompt and no list says what.
    """
    if base.topics:
        return ""
    problem = "no verdict on the topic: topic_violation is missing"
    if scanned.unexplained and not base.allowed_topics:
        return f"{problem}, though the prompt was stopped and no other detector fired"
    if not details.model_fields_set:
        return f"{problem}; are topic guardrails on in this profile?"
    return ""


def _judged(base: Verdict, violation: bool, scanned: _Scanned, topic: str) -> Verdict:
    doubts = []
    if not violation and scanned.unexplained:
        doubts.append("stopped, though topic_violation is false and no other detector fired")
    if not violation and base.topics and not base.allowed_topics:
        doubts.append(f"not stopped, though a block topic matched: {_names(base.topics)}")
    if scanned.failed:
        doubts.append(f"other detectors failed: {_names(scanned.failed)}")
    if scanned.category.strip().lower() not in ("benign", "malicious"):
        doubts.append(f"unknown category {inert(scanned.category)!r}")
    note = _joined(_attribution(base, violation, topic), *doubts)
    return replace(base, triggered=Triggered(violation), note=note, doubtful=bool(doubts))


def _attribution(base: Verdict, violation: bool, topic: str) -> str:
    """Which topic it was, where that is not plain."""
    notes = []
    if violation and topic and base.topics and topic not in base.topics:
        notes.append(f"stopped by another topic: {_names(base.topics)}")
    if base.topics and base.allowed_topics:
        blocked, allowed = _names(base.topics), _names(base.allowed_topics)
        notes.append(f"both matched: block {blocked}, allow {allowed}")
    return _joined(*notes)


def _joined(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def _names(names: tuple[str, ...]) -> str:
    shown = [inert(name)[:60] for name in names[:3]]
    return ", ".join(shown) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
