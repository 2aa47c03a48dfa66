"""What a session put into effect elsewhere, and the ways back, newest last."""

from __future__ import annotations

from typing import Any

from guardtui.session.store import SessionStore

_KEY = "applied"

WAYS_KEPT = 50


class AppliedLog:
    """Ways back from what was applied to one place, as JSON values that the scanner understands.

    `place` names the profile (`AirsConnection.key`). Kept in the session's file, so that a command
    and the app know of each other's. Raises StoreError.
    """

    def __init__(self, store: SessionStore, place: str) -> None:
        self._store, self._place = store, place

    def ways(self) -> list[dict[str, Any]]:
        """All ways back, oldest first."""
        applied = self._store.settings().get(_KEY)
        ways = applied.get(self._place) if isinstance(applied, dict) else None
        return [way for way in ways if isinstance(way, dict)] if isinstance(ways, list) else []

    def push(self, way: dict[str, Any]) -> None:
        """Remember the way back from what was just applied."""
        self._write([*self.ways(), way][-WAYS_KEPT:])

    def drop(self, count: int = 1) -> None:
        """Forget the newest ways back, which were gone."""
        self._write(self.ways()[: -count or None])

    def _write(self, ways: list[dict[str, Any]]) -> None:
        settings = self._store.settings()
        applied = settings.get(_KEY)
        places = dict(applied) if isinstance(applied, dict) else {}
        places[self._place] = ways
        self._store.save_settings({**settings, _KEY: places})
