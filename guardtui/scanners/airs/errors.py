"""Errors of AIRS, with messages that an author can act on."""

from __future__ import annotations

from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.scanners.base import ScannerError


class AirsError(ScannerError):
    """An operation on AIRS failed; the message is safe to show anywhere."""


UNKNOWN_FATE = frozenset(
    {ErrorKind.BROKEN, ErrorKind.TIMEOUT, ErrorKind.SERVER, ErrorKind.CONTENT, ErrorKind.SIZE}
)
"""Failures after which it is unknown whether the service processed the request."""


def reworded(error: ServiceError, message: str) -> ServiceError:
    """Return the same failure with another message."""
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
    """Return the error of a request that is not sent because the service would reject it."""
    return ServiceError(ErrorKind.REQUEST, message, final=True, attempts=0)


def unusable(message: str) -> ServiceError:
    """Return the error of a response that is JSON but not of the expected form."""
    return ServiceError(ErrorKind.CONTENT, f"the answer cannot be used: {message}", final=True)


_SCAN_HINTS = {
    400: "the prompt is empty, or this key has no profile {profile}",
    401: "no credential arrived, or the bearer token is wrong or expired",
    403: "the API key is wrong, expired or revoked, or it belongs to another region than {host}, "
    "or its quota is used up",
    404: "{host} has no scan API at this path, or the profile {profile} does not exist: "
    "check the endpoint and the profile's name",
    405: "{host} has no scan API at this path: check the endpoint",
    413: "the prompt is too large for one request (2 MB alone, 5 MB in a batch)",
    415: "a proxy on the way to {host} changes the content type",
}


def scan_error(error: ServiceError, host: str, profile: str = "") -> ServiceError:
    """Return a failure of the scan API with the likely cause of its status (400 to 415)."""
    hint = _SCAN_HINTS.get(error.status or 0)
    if hint is None:
        return error
    # The name may be long; the problem must not be truncated.
    named = repr(profile[:60]) if profile else "of that name"
    hint = hint.format(host=host, profile=named)
    return reworded(error, f"{error.message[:120]} ({hint})")
