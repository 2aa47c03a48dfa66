"""Measured definitions in the session's file: the newest twenty of a topic, each once."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.topic import Topic
from guardtui.session.history import (
    MEASURED_AT_MOST,
    Figures,
    MeasuredDefinition,
    add_measured,
    read_measured,
)
from guardtui.session.store import SessionStore
from tests.guardrails import airs_settings, engine_settings

ENGINE = engine_settings("1, x", 0.5, "fitted to 30 labels")
FIGURES = '{"coverage": %s, "true_positive_rate": %s, "true_negative_rate": 1, "prompts": %s}'
AIRS = airs_settings("prod", "3")


def measured(
    text: str, settings: ScannerSettings = ENGINE, coverage: float = 0.5
) -> MeasuredDefinition:
    topic = Topic(name="T", description=text, examples=("a ↵ é", "b"))
    return MeasuredDefinition(
        "2026-01-02T03:04:05+00:00", topic, settings, "f" * 64, Figures(coverage, 0.5, 1.0, 20)
    )


def test_measured_definitions_are_read_newest_first(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "t.yaml")
    assert read_measured(store) == []
    written = [measured("one"), measured("two", AIRS), measured("three")]
    for one in written:
        add_measured(store, one)
    assert read_measured(SessionStore(tmp_path / "t.yaml")) == written[::-1]
    assert read_measured(SessionStore(tmp_path / "other.yaml")) == []


def test_definition_is_stored_once_with_its_newest_figures(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "t.yaml")
    for one in (measured("one"), measured("two"), measured("one", AIRS, coverage=0.25)):
        add_measured(store, one)
    assert read_measured(store) == [measured("one", AIRS, coverage=0.25), measured("two")]


def test_oldest_entries_are_deleted_beyond_the_limit(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "t.yaml")
    add_measured(SessionStore(tmp_path / "other.yaml"), measured("other"))
    for number in range(MEASURED_AT_MOST + 3):
        add_measured(store, measured(f"{number}"))
    results = [one.topic.description for one in read_measured(store)]
    assert results == [f"{number}" for number in range(MEASURED_AT_MOST + 2, 2, -1)]
    with store.connection() as database:
        (count,) = database.execute("SELECT count(*) FROM trial").fetchone()
    assert count == MEASURED_AT_MOST + 1
    assert len(read_measured(SessionStore(tmp_path / "other.yaml"))) == 1


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("topic", "{"),
        ("topic", "[]"),
        ("scanner", '{"nme": 1}'),
        ("scanner", "3"),
        ("scanner", '{"guardrail": {"kind": null}}'),
        ("scanner", '{"guardrail": {"kind": "engine"}, "threshold": "x"}'),
        ("scanner", '{"guardrail": {"kind": "engine"}, "threshold": 7}'),
        ("figures", '{"coverage": 1}'),
        ("figures", FIGURES % ("0.5", "-1", "20")),
        ("figures", FIGURES % ("NaN", "1", "20")),
        ("figures", FIGURES % ("null", "1", "20")),
        ("figures", FIGURES % ("0.5", "1", "2.5")),
        ("figures", "[]"),
        ("figures", b"\xff"),
    ],
)
def test_damaged_definition_is_skipped(tmp_path: Path, column: str, value: object) -> None:
    store = SessionStore(tmp_path / "t.yaml")
    add_measured(store, measured("one"))
    add_measured(store, measured("two"))
    with store.transaction() as database:
        database.execute(
            f"UPDATE trial SET {column} = ? WHERE topic LIKE '%two%'",
            (value,),
        )
    assert read_measured(store) == [measured("one")]
