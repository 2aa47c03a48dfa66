"""Trials of a topic: definitions measured while editing, in the session's file.

A trial is less than an iteration: it has figures but neither verdicts nor a decision.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.topic import Topic
from guardtui.session.evaluation_codec import read_settings, settings_to_text
from guardtui.session.store import SessionStore

TRIALS_AT_MOST = 20
"""Number of stored trials of a topic; older ones are deleted."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of a definition: rates from 0 to 1, and the number of prompts.

    For a forecast they are the expected ones.
    """

    coverage: float
    true_positive_rate: float
    true_negative_rate: float
    prompts: int


@dataclass(frozen=True, slots=True)
class Trial:
    """A definition with its figures, the measured guardrail, and the time of measurement.

    `created` is ISO 8601 UTC, `prompt_set` the fingerprint of the prompts it was measured on.
    """

    created: str
    topic: Topic
    settings: ScannerSettings
    prompt_set: str
    figures: Figures


def read_trials(store: SessionStore) -> list[Trial]:
    """Return the trials of a topic, newest first; unreadable ones are skipped.

    Raises StoreError.
    """
    with store.connection() as database:
        rows = database.execute(
            "SELECT created, topic, scanner, prompt_set, figures FROM trial WHERE session = ? "
            "ORDER BY id DESC LIMIT ?",
            (store.session_id, TRIALS_AT_MOST),
        ).fetchall()
    trials = []
    for row in rows:
        with contextlib.suppress(ValueError, TypeError, AttributeError, RecursionError):
            trials.append(_read(*row))
    return trials


def add_trial(store: SessionStore, trial: Trial) -> None:
    """Store a trial as the newest, replacing an older one of the same definition.

    One transaction; the oldest beyond `TRIALS_AT_MOST` are deleted. Raises StoreError.
    """
    topic = trial.topic.model_dump_json()
    with store.transaction() as database:
        database.execute(
            "DELETE FROM trial WHERE session = ? AND topic = ?", (store.session_id, topic)
        )
        database.execute(
            "INSERT INTO trial(session, created, topic, scanner, prompt_set, figures) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (
                store.session_id,
                trial.created,
                topic,
                settings_to_text(trial.settings),
                trial.prompt_set,
                json.dumps(asdict(trial.figures)),
            ),
        )
        database.execute(
            "DELETE FROM trial WHERE session = ? AND id NOT IN "
            "(SELECT id FROM trial WHERE session = ? ORDER BY id DESC LIMIT ?)",
            (store.session_id, store.session_id, TRIALS_AT_MOST),
        )


def _read(created: Any, topic: Any, scanner: Any, prompt_set: Any, figures: Any) -> Trial:
    """Parse a row. Raises ValueError, TypeError, AttributeError or RecursionError."""
    figures_read = Figures(**json.loads(figures))
    rates = (
        figures_read.coverage,
        figures_read.true_positive_rate,
        figures_read.true_negative_rate,
    )
    if not all(0 <= rate <= 1 for rate in rates) or type(figures_read.prompts) is not int:
        raise ValueError("a rate is not between 0 and 1")
    return Trial(
        str(created),
        Topic.model_validate_json(topic),
        read_settings(scanner),
        str(prompt_set),
        figures_read,
    )
