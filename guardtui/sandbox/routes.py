"""Paths of the APIs, and the endpoints and groups that faults can name."""

from __future__ import annotations

import re

from guardtui.sandbox.replies import RefusedError

_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_MANAGEMENT = "/v1/mgmt"

_ROUTES: tuple[tuple[str, str, str], ...] = (
    ("token", "POST", r"/oauth2/access_token|/am/oauth2/access_token"),
    ("sync", "POST", r"/v1/scan/sync/request"),
    ("async", "POST", r"/v1/scan/async/request"),
    ("results", "GET", r"/v1/scan/results"),
    ("reports", "GET", r"/v1/scan/reports"),
    ("decisions", "POST", r"/v1/decisions"),
    ("systemone", "POST", r"/v1/systemone"),
    ("topic-create", "POST", _MANAGEMENT + r"/topic"),
    ("topic-update", "PUT", _MANAGEMENT + rf"/topic/uuid/(?P<id>{_UUID})"),
    ("topic-list", "GET", _MANAGEMENT + r"/topics"),
    ("topic-list-tsg", "GET", _MANAGEMENT + r"/topics/tsg/(?P<tsg>[^/]+)"),
    ("topic-delete", "DELETE", _MANAGEMENT + rf"/topic/(?P<id>{_UUID})"),
    ("topic-force", "DELETE", _MANAGEMENT + rf"/topic/(?P<id>{_UUID})/force"),
    ("topic-force-old", "DELETE", _MANAGEMENT + rf"/topic/force/(?P<id>{_UUID})"),
    ("profile-create", "POST", _MANAGEMENT + r"/profile"),
    ("profile-update", "PUT", _MANAGEMENT + rf"/profile/uuid/(?P<id>{_UUID})"),
    ("profile-list", "GET", _MANAGEMENT + r"/profiles"),
    ("profile-list-tsg", "GET", _MANAGEMENT + r"/profiles/tsg/(?P<tsg>[^/]+)"),
    ("profile-delete", "DELETE", _MANAGEMENT + rf"/profile/(?P<id>{_UUID})"),
    ("profile-force", "DELETE", _MANAGEMENT + rf"/profile/(?P<id>{_UUID})/force"),
    ("profile-force-old", "DELETE", _MANAGEMENT + rf"/profile/force/(?P<id>{_UUID})"),
)

ENDPOINTS = tuple(name for name, _, _ in _ROUTES)
"""Names of all endpoints."""

_SCAN = ("sync", "async", "results", "reports")
DECISIONS = ("decisions", "systemone")
"""Endpoints that answer questions."""
_TOPICS = tuple(name for name in ENDPOINTS if name.startswith("topic-"))
_PROFILES = tuple(name for name in ENDPOINTS if name.startswith("profile-"))

GROUPS: dict[str, tuple[str, ...]] = {
    "scan": (*_SCAN, *DECISIONS),
    "verdicts": ("sync", "async"),
    "answers": DECISIONS,
    "topics": _TOPICS,
    "profiles": _PROFILES,
    "management": (*_TOPICS, *_PROFILES),
    "all": ENDPOINTS,
}
"""Endpoints by the name of their group."""

_COMPILED = [(name, method, re.compile(pattern)) for name, method, pattern in _ROUTES]


def api_of(path: str) -> str:
    """Return the API of a path, for its errors: scan, decision, token or management."""
    if path.startswith("/v1/scan"):
        return "scan"
    if path.removeprefix("/v1/") in DECISIONS:
        return "decision"
    return "token" if path.endswith("/access_token") else "management"


def find(method: str, path: str) -> tuple[str, dict[str, str]]:
    """Return endpoint and named parts of a path. Raises `RefusedError` with 404 or 405.

    The management API may have the prefix /aisec, as in the service's own base URL.
    """
    path = path.removeprefix("/aisec")
    methods = []
    for name, allowed, pattern in _COMPILED:
        if match := pattern.fullmatch(path):
            if method == allowed:
                return name, match.groupdict()
            methods.append(allowed)
    raise RefusedError(405 if methods else 404)
