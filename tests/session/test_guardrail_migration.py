"""Guardrails of sessions that an older version wrote: sentences become objects."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.domain.guardrail import (
    AIRS,
    DECISION,
    ENGINE,
    JUDGE,
    Companion,
    Guardrail,
    ScannerSettings,
)
from guardtui.domain.topic import Intent
from guardtui.session.chosen_thresholds import read_decision_threshold
from guardtui.session.history import read_measured
from guardtui.session.other_verdicts import independent_names
from guardtui.session.schema import MIGRATIONS
from guardtui.session.session_file import FILE, FOLDER
from guardtui.session.store import SessionStore
from tests.examples import up_to

TOPIC = (
    '{"name":"Tax","description":"Advice on income tax","examples":["how do I file taxes",'
    '"which tax form do I need"],"intent":"block"}'
)
COLUMNS = bytes.fromhex(
    "02000000000000007801FBD2122B2B1F3A2D3B3D42FBE4E2FB659A8C0C8C0C0C0C07EA41F83F100000CDE80DB8"
)
"""Two prompts, as stored."""

FIGURES = '{"coverage": 1, "true_positive_rate": 1, "true_negative_rate": 1, "prompts": 2}'

PAY = Companion("Pay, wages (all); default", Intent.ALLOW, "3085e6ba")
LEGAL = Companion("Legal", Intent.BLOCK, "48e0ccae")
STATIC = Guardrail(ENGINE, encoder="static", version="cc1ebaf0")
PANEL = Guardrail(
    JUDGE,
    models=("m1", "m2", "m3", "", ""),
    template="c964ede7",
    form="graded",
    options='{"seed": 7, "stop": ["a, b"]}',
)
DATED = Guardrail(
    DECISION,
    models=("guard-2",),
    answered_by="guard-2-2026",
    template="db045588",
)

ROWS = (
    (
        r'{"name": "local", "identity": "static-cc1ebaf0", "threshold": 0.5, '
        r'"threshold_source": "shipped", "revision": ""}',
        ScannerSettings(STATIC, 0.5, "built-in"),
    ),
    (
        r'{"name": "local", "identity": "static-cc1ebaf0, together with Legal (block, 48e0ccae), '
        r'Pay, wages (all); default (allow, 3085e6ba)", "threshold": 0.5, '
        r'"threshold_source": "shipped", "revision": ""}',
        ScannerSettings(
            Guardrail(ENGINE, encoder="static", version="cc1ebaf0", companions=(LEGAL, PAY)),
            0.5,
            "built-in",
        ),
    ),
    (
        r'{"name": "local", "identity": "static-cc1ebaf0, together with Pay, wages (all); default '
        r'(allow, 3085e6ba); default block", "threshold": 0.3, "threshold_source": "by hand", '
        r'"revision": ""}',
        ScannerSettings(
            Guardrail(
                ENGINE, encoder="static", version="cc1ebaf0", companions=(PAY,), otherwise="block"
            ),
            0.3,
            "by hand",
        ),
    ),
    (
        r'{"name": "airs", "identity": "airs on this machine, profile sandbox", "threshold": null, '
        r'"threshold_source": "", "revision": "6 (7f0c-11)"}',
        ScannerSettings(Guardrail(AIRS, profile="sandbox", sandbox=True), revision="6 (7f0c-11)"),
    ),
    (
        r'{"name": "airs", "identity": "airs, profile prod, eu, 3 epochs by mode", '
        r'"threshold": null, "threshold_source": "", "revision": "3 (7f0c-11)"}',
        ScannerSettings(
            Guardrail(AIRS, profile="prod, eu", epochs=3, reducer="mode"), revision="3 (7f0c-11)"
        ),
    ),
    (
        r'{"name": "judge", "identity": "judge, m1, m2, m3 and 2 more, template c964ede7, graded, '
        r'{\"seed\": 7, \"stop\": [\"a, b\"]}", "threshold": null, "threshold_source": "", '
        r'"revision": "addresses 199fb1b1"}',
        ScannerSettings(PANEL, revision="addresses 199fb1b1"),
    ),
    (
        r'{"name": "judge", "identity": "judge, m5, m6, template c964ede7, 5 epochs by at_least_2",'
        r' "threshold": null, "threshold_source": "", "revision": "addresses ff0aa331"}',
        ScannerSettings(
            Guardrail(
                JUDGE,
                models=("m5", "m6"),
                template="c964ede7",
                epochs=5,
                reducer="at_least_2",
            ),
            revision="addresses ff0aa331",
        ),
    ),
    (
        r'{"name": "decision", "identity": "decision, guard-1, systemone, template db045588", '
        r'"threshold": 0.5, "threshold_source": "shipped", "revision": "addresses 757c2b43"}',
        ScannerSettings(
            Guardrail(
                DECISION,
                models=("guard-1",),
                api="systemone",
                template="db045588",
            ),
            0.5,
            "built-in",
            "addresses 757c2b43",
        ),
    ),
    (
        r'{"name": "decision", "identity": "decision, guard-2, answered by guard-2-2026, template '
        r'db045588", "threshold": 0.4, "threshold_source": "by hand", '
        r'"revision": "addresses f7be9a97"}',
        ScannerSettings(DATED, 0.4, "by hand", "addresses f7be9a97"),
    ),
    (
        r'{"name": "forecast", "identity": "airs, profile prod", "threshold": null, '
        r'"threshold_source": "", "revision": "2 (7f0c-11)"}',
        ScannerSettings(Guardrail(AIRS, profile="prod"), revision="2 (7f0c-11)", is_forecast=True),
    ),
    (
        r'{"name": "acme", "identity": "acme 2", "threshold": null}',
        ScannerSettings(Guardrail("acme", version="acme 2")),
    ),
)
"""Scanners of iterations as written with schema 7, and what they are now."""

FIT = (
    '{"threshold": 0.4, "shipped": 0.5, "labels": 200, "coverage": 0.9, "held_out": 0.88, '
    '"folds": [0.4, 0.41], "engine": "decision, guard-2, answered by guard-2-2026, template '
    'db045588", "prompt_set": "687c", "prompts": "tax.csv"}'
)


def older(folder: Path, scanners: list[str], threshold: str = FIT) -> SessionStore:
    """Open a session of schema 7 with an iteration and a trial for each scanner."""
    (folder / FOLDER).mkdir()
    with closing(sqlite3.connect(folder / FOLDER / FILE)) as database:
        database.executescript("".join(MIGRATIONS[:7]) + "PRAGMA user_version = 7;")
        database.execute("INSERT INTO session(topic_file) VALUES ('t.yaml')")
        for number, scanner in enumerate(scanners):
            database.execute(
                "INSERT INTO iteration(session, number, created, decision, topic, scanner, "
                "prompt_set, columns) VALUES (1, ?, '2026-11-01', 'keep', ?, ?, '687c', ?)",
                (number, TOPIC, scanner, COLUMNS),
            )
            database.execute(
                "INSERT INTO trial(session, created, topic, scanner, prompt_set, figures) VALUES "
                "(1, '2026-11-01', ?, ?, '687c', ?)",
                (TOPIC, scanner, FIGURES),
            )
        database.execute(
            "INSERT INTO setting(session, name, value) VALUES (1, 'decision_threshold', ?)",
            (threshold,),
        )
        database.execute("INSERT INTO judge_template VALUES (1, 'c964ede7', 'Is it?')")
        database.commit()
    return SessionStore(folder / "t.yaml")


def test_every_scanner_becomes_the_guardrail_that_it_was(tmp_path: Path) -> None:
    store = older(tmp_path, [text for text, _ in ROWS])
    wanted = [now for _, now in ROWS]
    assert [iteration.evaluation.settings for iteration in store.iterations()] == wanted
    assert [entry.settings for entry in reversed(read_measured(store))] == wanted
    # Opened again, it stays as it is.
    again = SessionStore(tmp_path / "t.yaml").iterations()
    assert [iteration.evaluation.settings for iteration in again] == wanted
    assert again[0].evaluation.verdicts.triggered.tolist() == [1, 0]


def test_the_threshold_of_a_decision_model_is_still_its_own(tmp_path: Path) -> None:
    store = older(tmp_path, [text for text, _ in ROWS])
    assert read_decision_threshold(store.settings(), DATED) == 0.4
    assert read_decision_threshold(store.settings(), PANEL) is None


def test_a_threshold_set_by_hand_is_kept(tmp_path: Path) -> None:
    by_hand = '{"threshold": 0.3, "engine": "decision, guard-2, template db045588"}'
    settings = older(tmp_path, [], by_hand).settings()
    guardrail = Guardrail(DECISION, models=("guard-2",), template="db045588")
    assert read_decision_threshold(settings, guardrail) == 0.3


def test_the_question_of_an_older_judge_is_found_by_its_template(tmp_path: Path) -> None:
    store = older(tmp_path, [text for text, _ in ROWS])
    assert store.template(PANEL.template) == "Is it?"


def test_a_panel_with_unnamed_members_is_independent_of_no_judge() -> None:
    single = ScannerSettings(Guardrail(JUDGE, models=("m5",)))
    assert independent_names([ScannerSettings(PANEL), single]) == ["judge m1, m2, m3, m5"] * 2


@pytest.mark.parametrize("text", ["{", "[]", '{"name": 3, "identity": ""}', "null", ""])
def test_a_damaged_scanner_stays_as_it_is(tmp_path: Path, text: str) -> None:
    store = older(tmp_path, [text], threshold="[")
    with closing(sqlite3.connect(store.path)) as database:
        assert database.execute("SELECT scanner FROM iteration").fetchall() == [(text,)]
        assert database.execute("SELECT value FROM setting").fetchall() == [("[",)]


NAMES = st.sampled_from(("local", "airs", "judge", "decision", "forecast", "acme"))
PARTS = st.sampled_from((
    "airs", "judge", "decision", ", profile p", " on this machine", ", m", " and 2 more",
    ", template 0a", ", {", ", 3 epochs by mode", ", together with A (allow, 0a1b2c3d)",
    "; default block", ", answered by m", ", systemone",
))  # fmt: skip
IDENTITIES = st.lists(PARTS | st.text(max_size=9), max_size=6).map("".join)


@settings(max_examples=up_to(60), deadline=None)
@given(st.lists(st.tuples(NAMES, IDENTITIES), min_size=1, max_size=5))
def test_any_sentence_becomes_a_guardrail(given_: list[tuple[str, str]]) -> None:
    scanners = [json.dumps({"name": name, "identity": identity}) for name, identity in given_]
    with TemporaryDirectory() as folder:
        iterations = older(Path(folder), scanners).iterations()
    kinds = [iteration.evaluation.settings.kind for iteration in iterations]
    assert kinds == ["engine" if name == "local" else name for name, _ in given_]
