"""JSON of requests and responses, token counts, and the messages of errors."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from guardtui.domain.errors import GuardtuiError
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.retries import asked_wait
from guardtui.http.secret import LONGEST, Secret, redacted

_SHOWN_BODY = 120
_KEPT_BODY = 64 * 1024
"""Maximum number of bytes of an error's JSON that is kept with the error."""
_USED_UP = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Codes of a 429 that waiting does not resolve (OpenAI)."""
_REASONS = {
    401: "the key is not accepted",
    403: "the key lacks the permission",
    404: "not found: check the URL",
    429: "too many requests",
}


class AnswerTooLargeError(GuardtuiError):
    """The response is larger than allowed."""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of a call to a model; None if the service did not report them."""

    input_tokens: int | None = None
    output_tokens: int | None = None


def json_body(data: Any) -> bytes:
    """Return JSON in UTF-8, or in ASCII if a text contains half a surrogate pair.

    UTF-8 cannot encode these. Raises ValueError for numbers that JSON lacks, such as NaN.
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(data, allow_nan=False, separators=(",", ":")).encode()


def plain_body(body: bytes, encoding: str, largest: int) -> bytes:
    """Return the body without Content-Encoding, which services use although not requested.

    Raises AnswerTooLargeError before more than `largest` bytes are unpacked, and ValueError for an
    unknown or violated encoding.
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise ValueError("its compression was not requested")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        plain = unpacker.decompress(body, largest + 1)
    except zlib.error:
        raise ValueError("it is marked as compressed, but is not") from None
    if len(plain) > largest:
        raise AnswerTooLargeError
    if not unpacker.eof:
        raise ValueError("its compressed data is truncated")
    return plain


class DuplicateKeyError(GuardtuiError, ValueError):
    """An object has a duplicate key."""


def read_json(body: bytes | str) -> Any:
    """Return the JSON value of a body. Raises ValueError with the problem.

    A duplicate key of an object is an error too (DuplicateKeyError): JSON does not define which
    value applies.
    """
    try:
        return json.loads(body, object_pairs_hook=_object)
    except DuplicateKeyError:
        raise
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except json.JSONDecodeError as error:
        ends = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated")
        problem = (
            "it is truncated" if ends else f"it is not valid JSON from character {error.pos} on"
        )
        raise ValueError(problem) from None
    except ValueError:  # invalid text, and integers of thousands of digits
        raise ValueError("it is not valid JSON") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise DuplicateKeyError("an object has a duplicate key")
    return members


def is_page(body: bytes, content_type: str) -> bool:
    """Return whether the body is a web page."""
    start = body[:200].lstrip().lower()
    return "html" in content_type.lower() or start.startswith((b"<!doctype", b"<html"))


def read_success(status: int, body: bytes, content_type: str) -> Any | ServiceError:
    """Return the JSON of a 2xx response (None if empty), or the error to report."""
    if not body.strip():
        return None
    try:
        if not is_page(body, content_type):
            return read_json(body)
        problem = "it is a web page: check the URL, or whether a proxy or a login page answers"
    except ValueError as error:
        problem = str(error)
    return ServiceError(
        ErrorKind.CONTENT, f"the answer (HTTP {status}) cannot be used: {problem}",
        status=status, final=True,
    )  # fmt: skip


def read_failure(
    status: int,
    body: bytes,
    headers: Mapping[str, str],
    wall: float,
    secrets: Collection[Secret] = (),
) -> ServiceError:
    """Return the error for a response other than 2xx; names of `headers` are in lower case.

    `secrets` are those of the request, which services sometimes repeat.
    """
    if 300 <= status < 400:
        # Without the query, which may be that of the request.
        target = redacted(headers.get("location", "").partition("?")[0], secrets)
        return ServiceError(
            ErrorKind.REDIRECT,
            f"HTTP {status}: redirected to {target[:100] or 'nowhere'}, which is not followed: "
            "give the URL of the service itself",
            status=status, final=True,
        )  # fmt: skip
    page = is_page(body, headers.get("content-type", ""))
    try:
        data = None if page else read_json(body)
    except ValueError:
        data = None
    text = "" if page else told_by(data).strip() or _start(body, secrets)
    message = text or _REASONS.get(status, "a web page" if page else "no reason given")
    kind = _kind(status)
    wait = (
        asked_wait(headers, data, wall) if kind in (ErrorKind.LIMITED, ErrorKind.SERVER) else None
    )
    final = kind in (ErrorKind.CREDENTIALS, ErrorKind.REQUEST) or status in (501, 505)
    if kind is ErrorKind.LIMITED and _USED_UP & _codes(data):
        final, wait = True, None
    return ServiceError(
        kind, f"HTTP {status}: {message}",
        status=status, retry_after=wait, final=final, secrets=secrets,
        data=_kept(data, len(body), tuple(secrets)),
    )  # fmt: skip


def _kept(data: Any, size: int, secrets: tuple[Secret, ...]) -> Any:
    """Return the JSON of an error if it is small and none of its texts contains a secret."""
    if data is None or size > _KEPT_BODY:
        return None
    pending = [data]
    while pending:
        item = pending.pop()
        if isinstance(item, str) and redacted(item, secrets) != item:
            return None
        if isinstance(item, dict):
            pending += [*item, *item.values()]
        elif isinstance(item, list):
            pending += item
    return data


def _start(body: bytes, secrets: Iterable[Secret]) -> str:
    text = body[: _SHOWN_BODY + 3 * LONGEST].decode("utf-8", "replace").strip()
    return redacted(text, secrets)[:_SHOWN_BODY]


def _kind(status: int) -> ErrorKind:
    if status < 200:
        return ErrorKind.BROKEN
    if status in (401, 403, 407):
        return ErrorKind.CREDENTIALS
    if status == 408:
        return ErrorKind.TIMEOUT
    if status in (425, 429):
        return ErrorKind.LIMITED
    return ErrorKind.SERVER if status >= 500 else ErrorKind.REQUEST


def told_by(data: object) -> str:
    """Return the message in the body of an error, from the fields that services use."""
    if isinstance(data, str):
        return data
    if isinstance(data, list):
        return "; ".join(text for text in map(told_by, data[:3]) if text)
    if not isinstance(data, dict):
        return ""
    for key in ("error_message", "message", "error", "Error", "error_description", "detail", "msg"):
        if text := told_by(data.get(key)).strip():
            return text
    return ""


def _codes(data: object) -> set[object]:
    error = data.get("error") if isinstance(data, dict) else None
    fields = error if isinstance(error, dict) else {}
    return {value for value in (fields.get("code"), fields.get("type")) if isinstance(value, str)}
