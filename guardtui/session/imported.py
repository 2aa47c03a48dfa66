"""Iterations imported from another tool's log, in a table of the session's file."""

from __future__ import annotations

import json
from collections.abc import Sequence

from guardtui.session.history import ImportedRow
from guardtui.session.session import Decision
from guardtui.session.store import SessionStore
from guardtui.session.stored_json import read_json

_COLUMNS = "number, coverage, tpr, tnr, f1, decision, description, examples, file"


def read_imported(store: SessionStore) -> tuple[ImportedRow, ...]:
    """Return all imported iterations, in import order; unreadable rows are skipped.

    Raises StoreError.
    """
    with store.connection() as database:
        rows = database.execute(
            f"SELECT {_COLUMNS} FROM imported_iteration WHERE session = ? ORDER BY id",  # noqa: S608
            (store.session_id,),
        ).fetchall()
    imported = []
    for number, coverage, tpr, tnr, f1, decision, description, examples, file in rows:
        try:
            imported.append(
                ImportedRow(
                    int(number),
                    float(coverage),
                    float(tpr),
                    float(tnr),
                    float(f1),
                    Decision(decision),
                    str(description),
                    tuple(map(str, read_json(examples))),
                    str(file),
                )
            )
        except (TypeError, ValueError, OverflowError):
            continue
    return tuple(imported)


def add_imported(store: SessionStore, rows: Sequence[ImportedRow]) -> None:
    """Add imported iterations; those of the same files are replaced, in one transaction.

    Raises StoreError.
    """
    marks = ", ".join("?" for _ in range(10))
    with store.transaction() as database:
        database.executemany(
            "DELETE FROM imported_iteration WHERE session = ? AND file = ?",
            [(store.session_id, file) for file in {_text(row.file) for row in rows}],
        )
        database.executemany(
            f"INSERT INTO imported_iteration(session, {_COLUMNS}) VALUES ({marks})",  # noqa: S608
            [
                (
                    store.session_id,
                    row.number,
                    row.coverage,
                    row.true_positive_rate,
                    row.true_negative_rate,
                    row.f1,
                    row.decision.value,
                    _text(row.description),
                    json.dumps(row.examples),
                    _text(row.file),
                )
                for row in rows
            ],
        )


def _text(value: str) -> str:
    """Return text that SQLite accepts; the name of a file need not be UTF-8."""
    return value.encode("utf-8", "replace").decode()
