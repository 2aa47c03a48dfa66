"""What faults look like: spoilt verdicts, retry hints in all their places, pages of HTML."""

from __future__ import annotations

import math
from email.utils import formatdate
from typing import Any

from guardtui.sandbox.faults import Struck
from guardtui.sandbox.replies import CANONICAL, RefusedError, Reply, error_reply

HTML = (
    b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head>"
    b"<body><h1>Sign in to continue</h1></body></html>\n"
)
"""What a proxy or a portal says instead of the service."""

_HINTS = ("429-header", "429-body", "429-top")


def spoil(verdict: dict[str, Any], kind: str) -> None:
    """Make a verdict, in place, one that a client must not take for a verdict on the topic.

    The kinds are those of `faults.VERDICTS`; `dlp-error` alone leaves the topic's verdict valid.
    """
    if kind == "no-detected":
        for side in ("prompt", "response"):
            verdict.pop(f"{side}_detected", None)
            verdict.pop(f"{side}_detection_details", None)
        return
    name, _, what = kind.partition("-")
    if name == "dlp":
        verdict["error"] = True
        verdict["errors"] = [{"content_type": "prompt", "feature": "dlp", "status": "error"}]
        return
    # What did not finish is not stopped: such a verdict looks like a benign one at first sight.
    verdict.update(action="allow", category="benign")
    detected = verdict["prompt_detected"]
    verdict.pop("prompt_detection_details", None)
    if name == "topic":
        detected.pop("topic_violation", None)
        feature = {"content_type": "prompt", "feature": "topic_violation", "status": what}
        verdict["errors"] = [feature]
        verdict[what] = True
        return
    if "topic_violation" in detected:
        detected["topic_violation"] = False
    if name == "flag":
        verdict[what] = True
    else:
        verdict["category"] = what


def status_reply(group: str, struck: Struck, retry_after: float, now: float) -> Reply:
    """The error that a fault answers with. A 5xx of the scan API comes in each known form."""
    kind = struck.fault.kind
    hint = _HINTS[struck.number % len(_HINTS)] if kind == "429" else kind
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
        reply.content = forms[struck.number % len(forms)]
    return reply


def limited(group: str, seconds: float, now: float, hint: str = "429-body") -> Reply:
    """A 429 with its hint as a header, a header with a date, in the error, at the top, or none."""
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
