"""Payloads of faults: spoilt verdicts, retry hints in all known forms, HTML pages."""

from __future__ import annotations

import math
from email.utils import formatdate
from typing import Any

from guardtui.sandbox.faults import DrawnFault
from guardtui.sandbox.replies import CANONICAL, RefusedError, SandboxReply, error_reply

HTML = (
    b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head>"
    b"<body><h1>Sign in to continue</h1></body></html>\n"
)
"""Page of a proxy or a portal instead of the service."""

_HINTS = ("429-header", "429-body", "429-top")


def spoil(verdict: dict[str, Any], kind: str) -> None:
    """Change a verdict in place so that a client must not use it as a verdict on the topic.

    The kinds are those of `faults.VERDICTS`; only `dlp-error` leaves the topic's verdict valid.
    """
    if kind == "no-detected":
        for side in ("prompt", "response"):
            verdict.pop(f"{side}_detected", None)
            verdict.pop(f"{side}_detection_details", None)
        return
    name, _, status = kind.partition("-")
    if name == "dlp":
        verdict["error"] = True
        verdict["errors"] = [{"content_type": "prompt", "feature": "dlp", "status": "error"}]
        return
    # An unfinished scan does not stop the prompt: at first sight its verdict looks benign.
    verdict.update(action="allow", category="benign")
    detected = verdict["prompt_detected"]
    verdict.pop("prompt_detection_details", None)
    if name == "topic":
        detected.pop("topic_violation", None)
        feature = {"content_type": "prompt", "feature": "topic_violation", "status": status}
        verdict["errors"] = [feature]
        verdict[status] = True
        return
    if "topic_violation" in detected:
        detected["topic_violation"] = False
    if name == "flag":
        verdict[status] = True
    else:
        verdict["category"] = status


def status_reply(group: str, drawn: DrawnFault, retry_after: float, now: float) -> SandboxReply:
    """Return the error response of a fault. A 5xx of the scan API has one of its known forms."""
    kind = drawn.fault.kind
    hint = _HINTS[drawn.number % len(_HINTS)] if kind == "429" else kind
    status = int(kind[:3])
    if status == 429:
        return limited(group, retry_after, now, hint)
    reply = error_reply(group, RefusedError(status, CANONICAL.get(status, f"Error {status}")))
    message = CANONICAL.get(status, f"Error {status}")
    if group == "scan" and status >= 500:
        forms = (
            reply.content,
            {"status_code": status, "message": message},
            {"message": message, "error": "server_error"},
        )
        reply.content = forms[drawn.number % len(forms)]
    return reply


def limited(group: str, seconds: float, now: float, hint: str = "429-body") -> SandboxReply:
    """Return a 429 with its hint in a header, a header with a date, the error, the top, or none."""
    reply = error_reply(group, RefusedError(429, CANONICAL[429]))
    if hint == "429-header":
        reply.headers["Retry-After"] = str(math.ceil(seconds))
    elif hint == "429-date":
        reply.headers["Retry-After"] = formatdate(math.ceil(now + seconds), usegmt=True)
    elif hint == "429-top":
        reply.content["retry_after"] = _interval(seconds)
    elif hint == "429-body":
        error = reply.content.get("error")
        reply.content["error"] = {
            **(error if isinstance(error, dict) else {"message": CANONICAL[429]}),
            "retry_after": _interval(seconds),
        }
    return reply


def _interval(seconds: float) -> dict[str, Any]:
    if seconds >= 60 and seconds % 60 == 0:
        return {"interval": int(seconds // 60), "unit": "minute"}
    if seconds == int(seconds):
        return {"interval": int(seconds), "unit": "second"}
    return {"interval": math.ceil(seconds * 1000), "unit": "ms"}
