"""Doubtful labels that the author confirmed, in a table of the session's file."""

from __future__ import annotations

import contextlib
from collections.abc import Collection

from guardtui.session.store import SessionStore


def read_confirmed(store: SessionStore) -> frozenset[int]:
    """Return the keys of the prompts (`PromptSet.keys`, uint64) whose label was confirmed.

    Unreadable rows are skipped. Raises StoreError.
    """
    with store.connection() as database:
        rows = database.execute(
            "SELECT prompt_key FROM confirmed_label WHERE session = ?", (store.session_id,)
        ).fetchall()
    keys = set()
    for (text,) in rows:
        with contextlib.suppress(ValueError, TypeError):
            keys.add(int(text))
    return frozenset(key for key in keys if 0 <= key < 2**64)


def confirm_labels(store: SessionStore, keys: Collection[int], *, right: bool = True) -> None:
    """Mark the labels of these prompts as confirmed, or as open again.

    One transaction. Raises StoreError.
    """
    # As text: SQLite has no unsigned 64-bit integers.
    rows = [(store.session_id, str(key)) for key in keys]
    with store.transaction() as database:
        database.executemany(
            "INSERT OR IGNORE INTO confirmed_label(session, prompt_key) VALUES (?, ?)"
            if right
            else "DELETE FROM confirmed_label WHERE session = ? AND prompt_key = ?",
            rows,
        )
