"""The management API: topics and profiles listed, made, changed and deleted."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from guardtui.files.problems import FileError
from guardtui.sandbox.replies import Asked, RefusedError, Reply
from guardtui.sandbox.settings import Settings
from guardtui.sandbox.state_file import StateFile
from guardtui.sandbox.tenant import Tenant
from guardtui.sandbox.tokens import Tokens

Result = TypeVar("Result")

PAGE = 100
"""Rows of a list without `limit`."""


class Management:
    """Answers for every endpoint of the management API."""

    def __init__(
        self, tenant: Tenant, state: StateFile, tokens: Tokens, settings: Callable[[], Settings]
    ) -> None:
        self._tenant, self._state, self._tokens = tenant, state, tokens
        self._settings = settings

    def answer(self, asked: Asked) -> Reply:
        """The reply of an endpoint; raises `RefusedError`."""
        self._tokens.require_management(asked)
        handlers: dict[str, Callable[[Asked], Reply]] = {
            "scan-token": self._tokens.scan_token,
            "scan-token-end": self._tokens.end_scan_token,
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
        return handlers[asked.endpoint](asked)

    def _create_topic(self, asked: Asked) -> Reply:
        record = self._change(lambda: self._tenant.create_topic(asked.content))
        return Reply(record.shown())

    def _update_topic(self, asked: Asked) -> Reply:
        record = self._change(
            lambda: self._tenant.update_topic(asked.parameters["id"], asked.content)
        )
        return Reply(record.shown())

    def _delete_topic(self, asked: Asked) -> Reply:
        name = asked.parameters["id"]
        force = asked.endpoint != "topic-delete"
        self._change(lambda: self._tenant.delete_topic(name, force=force))
        return self._deleted(asked, f"topic {name} was deleted")

    def _create_profile(self, asked: Asked) -> Reply:
        empty = self._settings().empty_topic_list == "accept"
        row = self._change(lambda: self._tenant.create_profile(asked.content, empty_list=empty))
        return Reply(row.shown())

    def _update_profile(self, asked: Asked) -> Reply:
        settings = self._settings()
        row = self._change(
            lambda: self._tenant.update_profile(
                asked.parameters["id"],
                asked.content,
                empty_list=settings.empty_topic_list == "accept",
                propagation=settings.propagation,
            )
        )
        return Reply(row.shown())

    def _delete_profile(self, asked: Asked) -> Reply:
        if asked.endpoint != "profile-delete" and not asked.query.get("updated_by"):
            raise RefusedError(400, detail="updated_by is needed")
        name = asked.parameters["id"]
        self._change(lambda: self._tenant.delete_profile(name))
        return self._deleted(asked, f"profile {name} was deleted")

    def _deleted(self, asked: Asked, sentence: str) -> Reply:
        form = self._settings().delete_reply
        # Clients of the old path know only the old form of its answer.
        if form == "object" or (form == "auto" and asked.endpoint.endswith("-old")):
            return Reply({"message": sentence})
        return Reply(None if form == "empty" else sentence)

    def _list_topics(self, asked: Asked) -> Reply:
        rows = [one.shown() for one in self._ordered(self._tenant.data.topics)]
        return Reply(_page("custom_topics", rows, asked))

    def _list_profiles(self, asked: Asked) -> Reply:
        latest = asked.query.get("latest", "false").lower()
        if latest not in ("true", "false"):
            raise RefusedError(400, detail="latest must be true or false")
        rows = self._tenant.latest() if latest == "true" else self._tenant.data.profiles
        return Reply(_page("ai_profiles", [one.shown() for one in self._ordered(rows)], asked))

    def _ordered(self, rows: Sequence[Result]) -> list[Result]:
        order = self._settings().list_order
        if order == "shuffled":
            # The same for all pages of a list, as long as nothing is added.
            return random.Random(len(rows)).sample(list(rows), len(rows))
        return list(rows) if order == "oldest" else list(reversed(rows))

    def _change(self, work: Callable[[], Result]) -> Result:
        """Do and keep it; what cannot be kept is undone. Raises `RefusedError`."""
        result = work()
        try:
            self._state.save(self._tenant.data)
        except FileError as problem:
            self._tenant.changed()
            raise RefusedError(500, detail=f"the state cannot be written: {problem}") from problem
        return result


def _page(name: str, rows: list[dict[str, Any]], asked: Asked) -> dict[str, Any]:
    """One page of a list; `next_offset` is there only when more rows follow."""
    offset, limit = _number(asked, "offset", 0, 0), _number(asked, "limit", PAGE, 1)
    page: dict[str, Any] = {name: rows[offset : offset + limit]}
    if offset + limit < len(rows):
        page["next_offset"] = offset + limit
    return page


def _number(asked: Asked, name: str, default: int, least: int) -> int:
    text = asked.query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= least):
        raise RefusedError(400, detail=f"{name} is invalid")
    return int(text)
