"""One scan result read for one topic: triggered, not triggered, or no verdict and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from pydantic import ValidationError

from guardtui.http.errors import inert
from guardtui.scanners.airs.models import DetectorError, ScanResponse, TopicDetails, problem_of

TOPIC = "topic_violation"
Side = Literal["prompt", "response"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What AIRS says of one prompt.

    `triggered` is None without a verdict, and `reason` then says why. With a verdict, `reason` is
    what an author should know of it, and `doubtful` says whether it may not be the topic's.
    `other_detectors` are those that fired beside the topics; `action` and `category` are verdicts
    over all of them. `seconds` is the time of the call, None in a batch.
    """

    triggered: bool | None
    reason: str = ""
    doubtful: bool = False
    blocked_topics: tuple[str, ...] = ()
    allowed_topics: tuple[str, ...] = ()
    other_detectors: tuple[str, ...] = ()
    by_other_topic: bool = False
    """Stopped by a block topic, and not by the one that was asked for."""
    by_default: bool = False
    """Stopped by the guardrail's default: no block topic is named."""
    both_matched: bool = False
    """An allow topic and a block topic matched."""
    action: str = ""
    category: str = ""
    scan_id: str = ""
    report_id: str = ""
    profile_id: str = ""
    """The id of the revision of the profile that judged."""
    profile_name: str = ""
    seconds: float | None = None


def read_answer(
    data: object, *, topic: str = "", side: Side = "prompt", seconds: float | None = None
) -> Answer:
    """Read the JSON of a scan result. Never raises: what cannot be read is no verdict.

    `topic` is the name of the topic under test, for telling when another one stopped the prompt.
    """
    try:
        response = ScanResponse.model_validate(data)
    except (ValidationError, RecursionError) as error:
        return Answer(None, f"the scan result cannot be used: {problem_of(error)}", seconds=seconds)
    detected = response.prompt_detected if side == "prompt" else response.response_detected
    details = (
        response.prompt_detection_details
        if side == "prompt"
        else response.response_detection_details
    ).topic_guardrails_details
    others = tuple(sorted(k for k, v in (detected or {}).items() if v is True and k != TOPIC))
    base = Answer(
        triggered=None,
        blocked_topics=details.blocked_topics,
        allowed_topics=details.allowed_topics,
        other_detectors=others,
        both_matched=bool(details.blocked_topics and details.allowed_topics),
        action=response.action,
        category=response.category,
        scan_id=response.scan_id,
        report_id=response.report_id,
        profile_id=response.profile_id,
        profile_name=response.profile_name,
        seconds=seconds,
    )
    if problem := _unfinished(response, side):
        return replace(base, reason=problem)
    violation = (detected or {}).get(TOPIC)
    if not isinstance(violation, bool):
        return _without_field(base, details, _failed(response.errors, side), topic)
    return _with_field(base, violation, _failed(response.errors, side), topic)


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


def _without_field(
    base: Answer, details: TopicDetails, failed: tuple[str, ...], topic: str
) -> Answer:
    """The verdict by the lists of topics that matched, where `topic_violation` is missing.

    A list, also an empty one, says that topics were looked at. Without any there is no verdict,
    nor where something stopped the prompt and no list says what.
    """
    if not base.blocked_topics:
        reason = "no verdict on the topic: topic_violation is missing"
        if _unexplained(base) and not base.allowed_topics:
            told = "though the prompt was stopped and no other detector fired"
            return replace(base, reason=f"{reason}, {told}")
        if not details.model_fields_set:
            return replace(base, reason=f"{reason}; are topic guardrails on in this profile?")
    answer = _with_field(base, bool(base.blocked_topics), failed, topic)
    if not answer.triggered:
        return answer
    note = "topic_violation is missing; a block topic is named"
    reason = "; ".join(filter(None, (note, answer.reason)))
    return replace(answer, doubtful=True, reason=reason)


def _with_field(base: Answer, violation: bool, failed: tuple[str, ...], topic: str) -> Answer:
    answer = _attributed(replace(base, triggered=violation), topic)
    doubts = []
    if not violation and _unexplained(base):
        doubts.append("stopped, though topic_violation is false and no other detector fired")
    if not violation and base.blocked_topics and not base.allowed_topics:
        doubts.append(f"not stopped, though a block topic matched: {_names(base.blocked_topics)}")
    if failed:
        doubts.append(f"other detectors failed: {_names(failed)}")
    category = base.category.strip().lower()
    if category not in ("benign", "malicious"):
        doubts.append(f"unknown category {inert(base.category)!r}")
    if not doubts:
        return answer
    reasons = filter(None, (answer.reason, *doubts))
    return replace(answer, doubtful=True, reason="; ".join(reasons))


def _unexplained(base: Answer) -> bool:
    stopped = base.category.strip().lower() == "malicious"
    return stopped and not base.other_detectors


def _attributed(base: Answer, topic: str) -> Answer:
    """Say which topic it was."""
    notes = []
    other = bool(base.triggered and topic and base.blocked_topics)
    other = other and topic not in base.blocked_topics
    if other:
        notes.append(f"stopped by another topic: {_names(base.blocked_topics)}")
    if base.both_matched:
        blocked, allowed = _names(base.blocked_topics), _names(base.allowed_topics)
        notes.append(f"both matched: block {blocked}, allow {allowed}")
    return replace(
        base,
        by_other_topic=other,
        by_default=bool(base.triggered) and not base.blocked_topics,
        reason="; ".join(notes),
    )


def _names(names: tuple[str, ...]) -> str:
    shown = [inert(name)[:60] for name in names[:3]]
    return ", ".join(shown) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
