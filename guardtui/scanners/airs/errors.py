"""What goes wrong with AIRS, in words an author can act on."""

from __future__ import annotations

from guardtui.http.errors import Kind, ServiceError
from guardtui.scanners.base import ScannerError


class AirsError(ScannerError):
    """Something could not be done with AIRS; the message is one that may be shown anywhere."""


UNKNOWN_FATE = frozenset({Kind.BROKEN, Kind.TIMEOUT, Kind.SERVER, Kind.CONTENT, Kind.SIZE})
"""Failures after which nobody knows whether the service has done what it was asked for."""


def reworded(error: ServiceError, message: str) -> ServiceError:
    """The same failure with another message."""
    return ServiceError(
        error.kind,
        message,
        status=error.status,
        retry_after=error.retry_after,
        final=error.final,
        attempts=error.attempts,
        data=error.data,
    )


def refused(message: str) -> ServiceError:
    """What is not sent at all, because the service is known not to take it."""
    return ServiceError(Kind.REQUEST, message, final=True, attempts=0)


def unusable(message: str) -> ServiceError:
    """An answer that is JSON, but not the one that was expected."""
    return ServiceError(Kind.CONTENT, f"the answer cannot be used: {message}", final=True)


_SCAN_HINTS = {
    400: "the prompt is empty, or there is no profile {profile} for this key",
    401: "no credential came through, or the bearer token is wrong or expired",
    403: "the API key is wrong, expired or revoked; or it belongs to another region than {host}; "
    "or its quota is used up",
    404: "{host} has no scan API at this path, or there is no profile {profile}: "
    "check the endpoint and the profile's name",
    405: "{host} has no scan API at this path: check the endpoint",
    413: "the prompt is too large for one request (2 MB alone, 5 MB in a batch)",
    415: "something on the way to {host} changes the content type",
}


def scan_error(error: ServiceError, host: str, profile: str = "") -> ServiceError:
    """A failure of the scan API with what is likely behind its status (reference: 400 to 415)."""
    hint = _SCAN_HINTS.get(error.status or 0)
    if hint is None:
        return error
    # The name may be long; what it is about must not be cut off.
    named = repr(profile[:60]) if profile else "of that name"
    hint = hint.format(host=host, profile=named)
    return reworded(error, f"{error.message[:120]} ({hint})")
