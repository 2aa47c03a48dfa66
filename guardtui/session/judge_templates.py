"""Prompt templates of models with recorded verdicts, in a table of the session's file."""

from __future__ import annotations

from guardtui.domain.guardrail import ScannerSettings
from guardtui.session.store import SessionStore


def read_templates(store: SessionStore) -> dict[str, str]:
    """Return the texts of all used templates by id. Raises StoreError."""
    with store.connection() as database:
        rows = database.execute(
            "SELECT id, text FROM judge_template WHERE session = ?", (store.session_id,)
        ).fetchall()
    return {str(template_id): str(text) for template_id, text in rows}


def template_of(store: SessionStore, settings: ScannerSettings) -> str:
    """Return the text of a scan's template, or "" if it is not stored.

    Raises StoreError.
    """
    return read_templates(store).get(settings.guardrail.template, "")


def keep_template(store: SessionStore, template_id: str, text: str) -> None:
    """Store the text of a template, unless it is stored already. Raises StoreError."""
    with store.transaction() as database:
        database.execute(
            "INSERT OR IGNORE INTO judge_template(session, id, text) VALUES (?, ?, ?)",
            (store.session_id, template_id, text.encode("utf-8", "replace").decode()),
        )
