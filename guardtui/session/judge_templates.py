"""Wordings of judges by which verdicts were given, in a table of the session's file."""

from __future__ import annotations

from guardtui.session.store import SessionStore


def read_templates(store: SessionStore) -> dict[str, str]:
    """Return the texts of all templates that were used, by their ids. Raises StoreError."""
    with store.connection() as database:
        rows = database.execute(
            "SELECT id, text FROM judge_template WHERE session = ?", (store.session_id,)
        ).fetchall()
    return {str(template_id): str(text) for template_id, text in rows}


def keep_template(store: SessionStore, template_id: str, text: str) -> None:
    """Keep the text of a template, unless it is kept already. Raises StoreError."""
    with store.transaction() as database:
        database.execute(
            "INSERT OR IGNORE INTO judge_template(session, id, text) VALUES (?, ?, ?)",
            (store.session_id, template_id, text.encode("utf-8", "replace").decode()),
        )
