"""Schema of the session's file: a script for each version, and data migrations."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from guardtui.session.stored_json import read_json

_SCHEMA_1 = """
CREATE TABLE session (
  id INTEGER PRIMARY KEY, topic_file TEXT UNIQUE NOT NULL, prompt_file TEXT NOT NULL DEFAULT '',
  settings TEXT NOT NULL DEFAULT '{}', pinned INTEGER, draft TEXT, draft_base TEXT,
  used TEXT NOT NULL DEFAULT '');
CREATE TABLE iteration (
  session INTEGER NOT NULL REFERENCES session(id), number INTEGER NOT NULL,
  created TEXT NOT NULL, decision TEXT NOT NULL, topic TEXT NOT NULL, scanner TEXT NOT NULL,
  prompt_set TEXT NOT NULL, columns BLOB NOT NULL, errors TEXT NOT NULL DEFAULT '{}',
  PRIMARY KEY (session, number));
"""

# A draft belongs to one process, so that two processes do not overwrite each other's.
_SCHEMA_2 = """
CREATE TABLE draft (
  session INTEGER NOT NULL REFERENCES session(id), owner TEXT NOT NULL, topic TEXT NOT NULL,
  base TEXT NOT NULL, PRIMARY KEY (session, owner));
INSERT INTO draft
  SELECT id, 'before', draft, coalesce(draft_base, '') FROM session WHERE draft IS NOT NULL;
UPDATE session SET draft = NULL, draft_base = NULL;
"""

# Few distinct notes and topic names apply to many rows each: they are stored by text.
_SCHEMA_3 = """
ALTER TABLE iteration ADD COLUMN notes TEXT NOT NULL DEFAULT '[]';
ALTER TABLE iteration ADD COLUMN stopped_by TEXT NOT NULL DEFAULT '[]';
"""

# Reasons and cost of a judge, and the answers of epochs: compressed, as they may be large.
_SCHEMA_4 = """
ALTER TABLE iteration ADD COLUMN judged BLOB NOT NULL DEFAULT x'';
"""

# Settings were one JSON value: two writers overwrote each other's changes.
_SCHEMA_5 = """
CREATE TABLE setting (
  session INTEGER NOT NULL REFERENCES session(id), name TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (session, name));
CREATE TABLE undo_journal (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL REFERENCES session(id),
  place TEXT NOT NULL, way TEXT NOT NULL);
CREATE TABLE confirmed_label (
  session INTEGER NOT NULL REFERENCES session(id), prompt_key TEXT NOT NULL,
  PRIMARY KEY (session, prompt_key));
CREATE TABLE judge_template (
  session INTEGER NOT NULL REFERENCES session(id), id TEXT NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY (session, id));
"""

# Forecast made before a scan: compressed, as it has a probability for each prompt.
_SCHEMA_6 = """
ALTER TABLE iteration ADD COLUMN forecast BLOB NOT NULL DEFAULT x'';
"""

# Definitions measured between iterations; only a few figures.
_SCHEMA_7 = """
CREATE TABLE trial (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL REFERENCES session(id),
  created TEXT NOT NULL, topic TEXT NOT NULL, scanner TEXT NOT NULL, prompt_set TEXT NOT NULL,
  figures TEXT NOT NULL);
"""

# Guardrails were sentences; they become objects, in the same columns.
_SCHEMA_8 = ""

# Plans of experiments on a guardrail, and each verdict as it arrives: `definition` 0 is the current
# one. `owner` is the process that runs it, `ending` empty until it has ended.
_SCHEMA_9 = """
CREATE TABLE experiment (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL REFERENCES session(id),
  created TEXT NOT NULL, topic TEXT NOT NULL, scanner TEXT NOT NULL, prompt_set TEXT NOT NULL,
  prompts BLOB NOT NULL, candidates TEXT NOT NULL, seed INTEGER NOT NULL,
  calls INTEGER NOT NULL DEFAULT 0, owner TEXT NOT NULL DEFAULT '',
  ending TEXT NOT NULL DEFAULT '', kept INTEGER);
CREATE TABLE experiment_verdict (
  experiment INTEGER NOT NULL REFERENCES experiment(id), definition INTEGER NOT NULL,
  row INTEGER NOT NULL, triggered INTEGER NOT NULL, score REAL, texts TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (experiment, definition, row)) WITHOUT ROWID;
"""

# Who recorded an iteration, and how often its verdicts were completed since.
_SCHEMA_10 = """
ALTER TABLE iteration ADD COLUMN recorded_by TEXT NOT NULL DEFAULT 'app';
ALTER TABLE iteration ADD COLUMN completions INTEGER NOT NULL DEFAULT 0;
"""

# Names of a threshold that nobody chose, and of ends of experiments.
_SCHEMA_11 = """
UPDATE iteration SET scanner = replace(
  scanner, '"threshold_source": "shipped"', '"threshold_source": "built-in"');
UPDATE trial SET scanner = replace(
  scanner, '"threshold_source": "shipped"', '"threshold_source": "built-in"');
UPDATE experiment SET scanner = replace(
  scanner, '"threshold_source": "shipped"', '"threshold_source": "built-in"');
UPDATE setting SET value = '"built-in"' WHERE name = 'threshold_source' AND value = '"shipped"';
UPDATE experiment SET ending = 'BETTER' WHERE ending = 'PROVEN';
UPDATE experiment SET ending = 'NOT_BETTER' WHERE ending = 'NOT_PROVEN';
"""

MIGRATIONS: tuple[str, ...] = (
    _SCHEMA_1,
    _SCHEMA_2,
    _SCHEMA_3,
    _SCHEMA_4,
    _SCHEMA_5,
    _SCHEMA_6,
    _SCHEMA_7,
    _SCHEMA_8,
    _SCHEMA_9,
    _SCHEMA_10,
    _SCHEMA_11,
)
"""One script for each version of the schema; its version is the number of scripts that have run."""


def migrate(database: sqlite3.Connection, version: int) -> None:
    """Migrate a file from schema `version`, inside the caller's transaction."""
    for number, script in enumerate(MIGRATIONS[version:], start=version + 1):
        for statement in filter(str.strip, script.split(";")):
            database.execute(statement)
        carry_over = _CARRIED.get(number)
        if carry_over is not None:
            carry_over(database)
    database.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


# --- version 5: one JSON value of settings becomes rows -----------------------------------------


def _settings_to_rows(database: sqlite3.Connection) -> None:
    """Move the settings of all sessions; a value that is not a JSON object is left unchanged."""
    for session, text in database.execute("SELECT id, settings FROM session").fetchall():
        try:
            settings = read_json(text)
        except ValueError:
            continue
        if not isinstance(settings, dict):
            continue
        for name, value in settings.items():
            carry = _TABLES.get(name, _setting)
            carry(database, session, name, value)
        database.execute("UPDATE session SET settings = '{}' WHERE id = ?", (session,))


def _setting(database: sqlite3.Connection, session: int, name: str, value: Any) -> None:
    database.execute(
        "INSERT OR REPLACE INTO setting(session, name, value) VALUES (?, ?, ?)",
        (session, _text(name), json.dumps(value)),
    )


def _applied(database: sqlite3.Connection, session: int, _name: str, value: Any) -> None:
    for place, records in _mapping(value).items():
        database.executemany(
            "INSERT INTO undo_journal(session, place, way) VALUES (?, ?, ?)",
            [
                (session, _text(place), json.dumps(record))
                for record in _list(records)
                if _mapping(record)
            ],
        )


def _suspects(database: sqlite3.Connection, session: int, _name: str, value: Any) -> None:
    keys = _list(_mapping(value).get("rejected"))
    database.executemany(
        "INSERT OR IGNORE INTO confirmed_label(session, prompt_key) VALUES (?, ?)",
        # Excludes True, which is an int too.
        [(session, str(key)) for key in keys if type(key) is int and 0 <= key < 2**64],
    )


def _judge_templates(database: sqlite3.Connection, session: int, _name: str, value: Any) -> None:
    database.executemany(
        "INSERT OR REPLACE INTO judge_template(session, id, text) VALUES (?, ?, ?)",
        [(session, _text(name), _text(text)) for name, text in _mapping(value).items()],
    )


_TABLES: Mapping[str, Callable[[sqlite3.Connection, int, str, Any], None]] = {
    "applied": _applied,
    "suspects": _suspects,
    "judge_templates": _judge_templates,
}
"""Settings that now have a table of their own, by their old names."""


def _guardrails_to_objects(database: sqlite3.Connection) -> None:
    # Imported when needed: few files are so old.
    from guardtui.session.guardrail_migration import guardrails_to_objects

    guardrails_to_objects(database)


_CARRIED: Mapping[int, Callable[[sqlite3.Connection], None]] = {
    5: _settings_to_rows,
    8: _guardrails_to_objects,
}
"""Data migrations that follow a script, by the version it creates."""


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    """Return text that SQLite accepts; JSON can contain half of a surrogate pair."""
    return str(value).encode("utf-8", "replace").decode()
