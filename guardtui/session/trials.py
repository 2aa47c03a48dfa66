"""Trials of a topic: definitions that were measured while the author worked, in the session's file.

A trial is less than an iteration: it has figures and no verdicts, and no decision on it.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from guardtui.domain.evaluation import ScannerSettings
from guardtui.domain.topic import Topic
from guardtui.session.store import SessionStore

TRIALS_AT_MOST = 20
"""Trials of a topic that are kept: the newest."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What is shown of a definition: rates from 0 to 1, and the number of prompts.

    Of a forecast they are the expected ones.
    """

    coverage: float
    true_positive_rate: float
    true_negative_rate: float
    prompts: int


@dataclass(frozen=True, slots=True)
class Trial:
    """A definition with its figures, the guardrail that they are about, and when it was measured.

    `created` is ISO 8601 UTC, `prompt_set` the fingerprint of the prompts that it was measured on.
    """

    created: str
    topic: Topic
    settings: ScannerSettings
    prompt_set: str
    figures: Figures


def read_trials(store: SessionStore) -> list[Trial]:
    """Return the trials of a topic, the newest first; unreadable ones are left out.

    Raises StoreError.
    """
    with store.connection() as database:
        rows = database.execute(
            "SELECT created, topic, scanner, prompt_set, figures FROM trial WHERE session = ? "
            "ORDER BY id DESC LIMIT ?",
            (store.session_id, TRIALS_AT_MOST),
        ).fetchall()
    found = []
    for row in rows:
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            found.append(_read(*row))
    return found


def add_trial(store: SessionStore, trial: Trial) -> None:
    """Keep a trial as the newest, in place of an older one of its definition.

    One transaction; the oldest beyond `TRIALS_AT_MOST` go. Raises StoreError.
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
                json.dumps(asdict(trial.settings)),
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
    """Raises ValueError, TypeError or AttributeError for what was not written by `add_trial`."""
    known = Figures(**json.loads(figures))
    rates = (known.coverage, known.true_positive_rate, known.true_negative_rate)
    if not all(0 <= rate <= 1 for rate in rates) or type(known.prompts) is not int:
        raise ValueError("a rate is not between 0 and 1")
    settings = ScannerSettings(**json.loads(scanner))
    texts = (settings.name, settings.identity, settings.threshold_source, settings.revision)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("the name of a guardrail is no text")
    if settings.threshold is not None and not 0 <= settings.threshold <= 1:
        raise ValueError("a threshold is not between 0 and 1")
    return Trial(
        str(created),
        Topic.model_validate_json(topic),
        settings,
        str(prompt_set),
        known,
    )
