"""Endpoints of the management API: topics and profiles."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from guardtui.files.problems import FileError
from guardtui.sandbox.replies import RefusedError, SandboxReply, SandboxRequest
from guardtui.sandbox.settings import SandboxSettings
from guardtui.sandbox.state_file import StateFile
from guardtui.sandbox.tenant import Tenant
from guardtui.sandbox.tokens import IssuedTokens

Result = TypeVar("Result")

PAGE = 100
"""Rows of a page without `limit`."""


class ManagementEndpoints:
    """Handlers of all endpoints of the management API."""

    def __init__(
        self,
        tenant: Tenant,
        state: StateFile,
        tokens: IssuedTokens,
        settings: Callable[[], SandboxSettings],
    ) -> None:
        self._tenant, self._state, self._tokens = tenant, state, tokens
        self._settings = settings

    def answer(self, request: SandboxRequest) -> SandboxReply:
        """Return the reply of an endpoint. Raises `RefusedError`."""
        self._tokens.require_management(request)
        handlers: dict[str, Callable[[SandboxRequest], SandboxReply]] = {
            "topic-list": self._list_topics,
            "topic-list-tsg": self._list_topics,
            "topic-create": self._create_topic,
            "topic-update": self._update_topic,
            "topic-delete": self._delete_topic,
            "topic-force": self._delete_topic,
            "topic-force-old": self._delete_topic,
            "profile-list": self._list_profiles,
            "profile-list-tsg": self._list_profiles,
            "profile-create": self._create_profile,
            "profile-update": self._update_profile,
            "profile-delete": self._delete_profile,
            "profile-force": self._delete_profile,
            "profile-force-old": self._delete_profile,
        }
        return handlers[request.endpoint](request)

    def _create_topic(self, request: SandboxRequest) -> SandboxReply:
        record = self._change(lambda: self._tenant.create_topic(request.content))
        return SandboxReply(record.shown())

    def _update_topic(self, request: SandboxRequest) -> SandboxReply:
        record = self._change(
            lambda: self._tenant.update_topic(request.parameters["id"], request.content)
        )
        return SandboxReply(record.shown())

    def _delete_topic(self, request: SandboxRequest) -> SandboxReply:
        name = request.parameters["id"]
        force = request.endpoint != "topic-delete"
        self._change(lambda: self._tenant.delete_topic(name, force=force))
        return self._deleted(request, f"topic {name} was deleted")

    def _create_profile(self, request: SandboxRequest) -> SandboxReply:
        empty = self._settings().empty_topic_list == "accept"
        row = self._change(lambda: self._tenant.create_profile(request.content, empty_list=empty))
        return SandboxReply(row.shown())

    def _update_profile(self, request: SandboxRequest) -> SandboxReply:
        settings = self._settings()
        row = self._change(
            lambda: self._tenant.update_profile(
                request.parameters["id"],
                request.content,
                empty_list=settings.empty_topic_list == "accept",
                propagation=settings.propagation,
            )
        )
        return SandboxReply(row.shown())

    def _delete_profile(self, request: SandboxRequest) -> SandboxReply:
        if request.endpoint != "profile-delete" and not request.query.get("updated_by"):
            raise RefusedError(400, detail="updated_by is required")
        name = request.parameters["id"]
        self._change(lambda: self._tenant.delete_profile(name))
        return self._deleted(request, f"profile {name} was deleted")

    def _deleted(self, request: SandboxRequest, sentence: str) -> SandboxReply:
        form = self._settings().delete_reply
        # Clients of the old path expect the old form of the reply.
        if form == "object" or (form == "auto" and request.endpoint.endswith("-old")):
            return SandboxReply({"message": sentence})
        return SandboxReply(None if form == "empty" else sentence)

    def _list_topics(self, request: SandboxRequest) -> SandboxReply:
        rows = [topic.shown() for topic in self._ordered(self._tenant.data.topics)]
        return SandboxReply(_page("custom_topics", rows, request))

    def _list_profiles(self, request: SandboxRequest) -> SandboxReply:
        latest = request.query.get("latest", "false").lower()
        if latest not in ("true", "false"):
            raise RefusedError(400, detail="latest must be true or false")
        rows = self._tenant.latest() if latest == "true" else self._tenant.data.profiles
        return SandboxReply(
            _page("ai_profiles", [profile.shown() for profile in self._ordered(rows)], request)
        )

    def _ordered(self, rows: Sequence[Result]) -> list[Result]:
        order = self._settings().list_order
        if order == "shuffled":
            # The same order for all pages of a list while nothing is added.
            return random.Random(len(rows)).sample(list(rows), len(rows))
        return list(rows) if order == "oldest" else list(reversed(rows))

    def _change(self, work: Callable[[], Result]) -> Result:
        """Make a change and store it; undo it if it cannot be stored. Raises `RefusedError`."""
        result = work()
        try:
            self._state.save(self._tenant.data)
        except FileError as problem:
            self._tenant.changed()
            raise RefusedError(500, detail=f"the state cannot be written: {problem}") from problem
        return result


def _page(name: str, rows: list[dict[str, Any]], request: SandboxRequest) -> dict[str, Any]:
    """Return a page of a list; with `next_offset` only if more rows follow."""
    offset, limit = _number(request, "offset", 0, 0), _number(request, "limit", PAGE, 1)
    page: dict[str, Any] = {name: rows[offset : offset + limit]}
    if offset + limit < len(rows):
        page["next_offset"] = offset + limit
    return page


def _number(request: SandboxRequest, name: str, default: int, least: int) -> int:
    text = request.query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= least):
        raise RefusedError(400, detail=f"{name} is invalid")
    return int(text)
