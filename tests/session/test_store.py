"""The store: everything comes back, two processes share it, kill -9 leaves a whole file."""

from __future__ import annotations

import gc
import os
import signal
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from guardtui.domain.estimates import RateEstimate
from guardtui.domain.forecast_record import ForecastBefore
from guardtui.domain.profile import StoppedBy
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Triggered, Usage
from guardtui.session.applied import AppliedLog
from guardtui.session.evaluation_codec import pack_forecast
from guardtui.session.schema import MIGRATIONS
from guardtui.session.session import Decision, Iteration, Recorder, Session
from guardtui.session.session_file import FILE
from guardtui.session.store import Draft, SessionStore, StoreError
from tests.session.test_session import TOPIC, evaluation


def iteration(hits: int = 5, of: int = 10):  # type: ignore[no-untyped-def]
    return Session(TOPIC).next_iteration(evaluation(TOPIC, hits, of), Decision.KEEP, "2026-01-01")


DEEP = "[" * 100_000
FORECAST_OF_TWO = pack_forecast(
    ForecastBefore({"coverage": None}, 1, 2, np.array([0.5, 0.25], np.float32))
)
"""Too few for the prompts of `iteration`."""


def test_forecast_made_before_a_scan_is_restored(tmp_path: Path) -> None:
    given = iteration()
    count = len(given.evaluation.keys)
    rates = {"coverage": RateEstimate(0.8, 0.7, 0.9), "true_positive_rate": None}
    chances = np.linspace(0, 1, count).astype(np.float32)
    before = ForecastBefore(rates, 3, count - 1, chances)
    store = SessionStore(tmp_path / "tax.yaml")
    store.add_iteration(replace(given, forecast=before))
    store.add_iteration(given)
    # More verdicts change nothing of what was expected before them.
    store.complete_iteration(replace(given, number=0))
    first, second = SessionStore(tmp_path / "tax.yaml").iterations()
    assert second.forecast is None
    assert first.forecast is not None
    assert (first.forecast.rates, first.forecast.scans) == (rates, 3)
    assert first.forecast.verdicts == count - 1
    np.testing.assert_allclose(first.forecast.triggers, chances, atol=1e-4)


def test_only_iterations_that_another_process_changed_are_read_again(tmp_path: Path) -> None:
    store, other = (SessionStore(tmp_path / "tax.yaml") for _ in range(2))
    known = Session(TOPIC, [store.add_iteration(iteration(7)), store.add_iteration(iteration(8))])
    signature = store.signature
    assert store.changed_iterations(known.marks) == []
    by = replace(iteration(9), by=Recorder.COMMAND)
    other.add_iteration(by)
    other.decide(1, Decision.DISCARD)
    assert store.signature != signature
    changed = store.changed_iterations(known.marks)
    assert [(one.number, one.decision, one.by) for one in changed] == [
        (1, Decision.DISCARD, Recorder.APP),
        (2, Decision.KEEP, Recorder.COMMAND),
    ]


def test_verdicts_that_two_processes_add_to_an_iteration_are_all_kept(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "tax.yaml")
    whole = iteration(7, of=10)
    count = len(whole.evaluation.keys)

    def some(rows: slice) -> Iteration:
        triggered = np.full(count, Triggered.NOT_ASKED, np.int8)
        triggered[rows] = whole.evaluation.verdicts.triggered[rows]
        verdicts = replace(whole.evaluation.verdicts, triggered=triggered)
        made: Iteration = replace(whole, evaluation=replace(whole.evaluation, verdicts=verdicts))
        return made

    store.add_iteration(replace(some(slice(0, 0)), decision=Decision.UNDECIDED))
    store.complete_iteration(some(slice(0, 4)))
    store.decide(0, Decision.DISCARD)
    stored = store.complete_iteration(some(slice(4, None)))  # knew none of those four
    (read,) = store.iterations()
    for one in (stored, read):
        assert (one.decision, one.completions) == (Decision.DISCARD, 2)
        np.testing.assert_array_equal(
            one.evaluation.verdicts.triggered, whole.evaluation.verdicts.triggered
        )


def test_the_first_iteration_of_two_programs_is_recorded_once(tmp_path: Path) -> None:
    ours, theirs = SessionStore(tmp_path / "tax.yaml"), SessionStore(tmp_path / "tax.yaml")
    first = ours.add_iteration(iteration(7), first=True)
    assert theirs.add_iteration(iteration(7), first=True).created == first.created
    other = theirs.add_iteration(iteration(8), first=True)
    assert (other.number, other.decision) == (1, Decision.UNDECIDED)
    assert [one.decision for one in ours.iterations()] == [Decision.KEEP, Decision.UNDECIDED]


def test_all_fields_of_an_iteration_are_restored(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "tax.yaml")
    written = store.add_iteration(iteration(7))
    store.add_iteration(iteration(8))
    store.decide(1, Decision.DISCARD)
    store.pin(0)
    store.use_prompt_file("/some/where.csv")
    store.update_settings({"encoder": "static"})
    again = SessionStore(tmp_path / "tax.yaml")
    first, second = again.iterations()
    assert (first.number, second.number) == (0, 1)
    assert second.decision is Decision.DISCARD
    assert first.evaluation.topic == TOPIC
    assert first.evaluation.settings == written.evaluation.settings
    assert first.evaluation.metrics == written.evaluation.metrics
    for name in ("keys", "expected"):
        result = getattr(first.evaluation, name)
        assert np.array_equal(result, getattr(written.evaluation, name))
    assert again.pinned() == 0
    assert again.prompt_file() == "/some/where.csv"
    assert again.settings() == {"encoder": "static"}


def told(notes: dict[int, str], stopped_by: Mapping[int, tuple[str, ...]], of: int = 10):  # type: ignore[no-untyped-def]
    """An iteration whose verdicts have these notes and names of topics."""
    made = iteration(of=of)
    verdicts = replace(made.evaluation.verdicts, notes=notes, stopped_by=stopped_by)
    return replace(made, evaluation=replace(made.evaluation, verdicts=verdicts))


def test_judge_reasons_and_epochs_are_restored(tmp_path: Path) -> None:
    made = iteration()
    count = len(made.evaluation.keys)
    repeats = np.resize(np.array([1, 0, -1], np.int8), (3, count))
    verdicts = replace(
        made.evaluation.verdicts,
        reasons={2: "since \x1b[31m \ud800"},
        used=Usage(3, 40, 5, 0.25, 1),
        repeats=repeats,
    )
    store = SessionStore(tmp_path / "t.yaml")
    store.add_iteration(replace(made, evaluation=replace(made.evaluation, verdicts=verdicts)))
    store.add_iteration(iteration())
    first, second = (one.evaluation.verdicts for one in store.iterations())
    assert (first.reasons, first.used) == (verdicts.reasons, verdicts.used)
    assert np.array_equal(first.repeats, repeats)
    assert (second.reasons, second.used, second.repeats) == ({}, None, None)


def test_notes_and_stopping_topics_are_restored(tmp_path: Path) -> None:
    notes = {3: "doubtful \ud800 \x1b[31m", 0: "other", 7: "other"}
    stopped_by = {0: ("Tax",), 2: ("Tax", "[b]a,b"), 3: ("Tax",), 5: ()}
    store = SessionStore(tmp_path / "t.yaml")
    store.add_iteration(told(notes, stopped_by))
    store.add_iteration(iteration())
    first, second = SessionStore(tmp_path / "t.yaml").iterations()
    assert first.evaluation.verdicts.notes == notes
    assert first.evaluation.verdicts.stopped_by == stopped_by
    assert not second.evaluation.verdicts.notes
    assert not second.evaluation.verdicts.stopped_by
    store.complete_iteration(replace(told({1: "new"}, {1: ("Tax",)}), number=0))
    (again, _) = store.iterations()
    assert again.evaluation.verdicts.notes == {1: "new"}
    assert again.evaluation.verdicts.stopped_by == {1: ("Tax",)}


def test_stopping_topics_of_many_prompts_are_stored_compactly(tmp_path: Path) -> None:
    hits = np.ones((2, 50_000), bool)
    hits[1, ::2] = False
    stopped_by = StoppedBy(["A topic with a rather long name", "Another one of these"], hits)
    store = SessionStore(tmp_path / "t.yaml")
    store.add_iteration(told({}, stopped_by, of=25_000))
    assert store.iterations()[0].evaluation.verdicts.stopped_by == dict(stopped_by)
    with closing(sqlite3.connect(store.path)) as database:
        (size,) = database.execute("SELECT length(stopped_by) FROM iteration").fetchone()
    assert size < 50_000 * 7


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_iterations_of_an_older_schema_are_kept(tmp_path: Path, version: int) -> None:
    store = SessionStore(tmp_path / "t.yaml")
    written = store.add_iteration(iteration(7)).evaluation
    with closing(sqlite3.connect(store.path)) as database:
        row = database.execute(
            "SELECT session, number, created, decision, topic, scanner, prompt_set, columns, "
            "errors FROM iteration"
        ).fetchone()
    store.path.unlink()
    for ending in ("-wal", "-shm"):
        store.path.with_name(FILE + ending).unlink(missing_ok=True)
    with closing(sqlite3.connect(store.path)) as database:
        database.executescript("".join(MIGRATIONS[:version]) + f"PRAGMA user_version = {version};")
        database.execute("INSERT INTO session(id, topic_file) VALUES (?, 't.yaml')", row[:1])
        names = "session, number, created, decision, topic, scanner, prompt_set, columns, errors"
        marks = ", ".join("?" for _ in row)
        database.execute(f"INSERT INTO iteration({names}) VALUES ({marks})", row)
        database.commit()
    new = SessionStore(tmp_path / "t.yaml")
    assert [one.evaluation.metrics for one in new.iterations()] == [written.metrics]
    assert new.add_iteration(told({1: "note"}, {1: ("Tax",)})).number == 1
    old, added = new.iterations()
    assert old.evaluation.verdicts.stopped_by == {}
    assert added.evaluation.verdicts.notes == {1: "note"}


def test_unscanned_rows_of_older_versions_are_open(tmp_path: Path) -> None:
    # There they were errors with one of two texts.
    then = iteration(7)
    triggered = then.evaluation.verdicts.triggered.copy()
    triggered[:4] = Triggered.NO_VERDICT
    errors = {
        0: "not scanned yet",
        1: "not scanned: its verdict was unlikely to change",
        2: "timeout",
        3: "not scanned yet, said the service",
    }
    verdicts = replace(then.evaluation.verdicts, triggered=triggered, errors=errors)
    SessionStore(tmp_path / "t.yaml").add_iteration(
        replace(then, evaluation=replace(then.evaluation, verdicts=verdicts))
    )
    (read,) = SessionStore(tmp_path / "t.yaml").iterations()
    assert (read.evaluation.metrics.open, read.evaluation.metrics.errors) == (2, 2)
    assert read.evaluation.verdicts.triggered.tolist()[:4] == [-2, -2, -1, -1]
    assert set(read.evaluation.verdicts.errors) == {2, 3}


def test_open_rows_and_partial_epochs_are_restored(tmp_path: Path) -> None:
    now = iteration(7)
    triggered = now.evaluation.verdicts.triggered.copy()
    triggered[0] = Triggered.NOT_ASKED
    repeats = np.stack([triggered, triggered])
    repeats[1, 1:] = [Triggered.NOT_ASKED, Triggered.NO_VERDICT, *repeats[1, 3:]]
    verdicts = replace(now.evaluation.verdicts, triggered=triggered, repeats=repeats)
    store = SessionStore(tmp_path / "t.yaml")
    store.add_iteration(replace(now, evaluation=replace(now.evaluation, verdicts=verdicts)))
    (read,) = SessionStore(tmp_path / "t.yaml").iterations()
    np.testing.assert_array_equal(read.evaluation.verdicts.triggered, triggered)
    np.testing.assert_array_equal(read.evaluation.verdicts.repeats, repeats)


def test_truncated_columns_are_reported_as_damage(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "tax.yaml")
    store.add_iteration(iteration())
    with closing(sqlite3.connect(store.path)) as database:
        (columns,) = database.execute("SELECT columns FROM iteration").fetchone()
        short = zlib.compress(zlib.decompress(columns[8:])[:-1])
        database.execute("UPDATE iteration SET columns = ?", (columns[:8] + short,))
        database.commit()
    with pytest.raises(StoreError, match="damaged"):
        store.iterations()


def test_topics_of_one_folder_have_separate_sessions(tmp_path: Path) -> None:
    SessionStore(tmp_path / "a.yaml").add_iteration(iteration())
    assert SessionStore(tmp_path / "b.yaml").iterations() == []


DRAFT = Draft(Topic(name="half a sen", examples=("\x1b[31m",)), "base")


def write_drafts_and_die(topic: Path, *names: str) -> None:
    """Each name is typed by a process of its own, which ends without a word."""
    script = (
        "import os, sys; from pathlib import Path\n"
        "from guardtui.domain.topic import Topic\n"
        "from guardtui.session.store import Draft, SessionStore\n"
        "SessionStore(Path(sys.argv[1])).save_draft(Draft(Topic(name=sys.argv[2]), 'base'))\n"
        "os._exit(9)\n"
    )
    for name in names:
        subprocess.run([sys.executable, "-c", script, str(topic), name], check=False)


@pytest.mark.process
def test_draft_of_a_killed_process_is_offered_until_dropped(tmp_path: Path) -> None:
    write_drafts_and_die(tmp_path / "t.yaml", "first", "second")
    store = SessionStore(tmp_path / "t.yaml")
    offered = store.abandoned_drafts()
    assert [draft.topic.name for draft in offered] == ["second", "first"]
    store.drop_draft(offered[0])
    store.save_draft(None)  # this process's own, of which there is none
    assert [draft.topic.name for draft in store.abandoned_drafts()] == ["first"]
    assert SessionStore(tmp_path / "other.yaml").abandoned_drafts() == []


def test_draft_of_a_running_process_is_not_offered(tmp_path: Path) -> None:
    one, other = SessionStore(tmp_path / "t.yaml"), SessionStore(tmp_path / "t.yaml")
    one.save_draft(DRAFT)
    other.save_draft(Draft(Topic(name="theirs"), "base"))
    assert one.abandoned_drafts() == other.abandoned_drafts() == []
    other.save_draft(None)
    del one  # its end frees the claim, as that of a process does
    gc.collect()
    assert SessionStore(tmp_path / "t.yaml").abandoned_drafts() == [DRAFT]


def test_draft_of_the_first_schema_is_still_offered(tmp_path: Path) -> None:
    folder = tmp_path / ".guardtui"
    folder.mkdir()
    with closing(sqlite3.connect(folder / "sessions.sqlite3")) as database:
        database.executescript(MIGRATIONS[0] + "PRAGMA user_version = 1;")
        database.execute(
            "INSERT INTO session(topic_file, draft, draft_base) VALUES (?, ?, ?)",
            ("t.yaml", DRAFT.topic.model_dump_json(), "base"),
        )
        database.commit()
    assert SessionStore(tmp_path / "t.yaml").abandoned_drafts() == [DRAFT]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE iteration SET errors = '[1]'",
        "UPDATE iteration SET notes = '[[1,[2]]]'",
        "UPDATE iteration SET notes = '{'",
        "UPDATE iteration SET stopped_by = '[[[1],[2]]]'",
        'UPDATE iteration SET stopped_by = \'[[["a"],["b"]]]\'',
        "UPDATE iteration SET stopped_by = '[3]'",
        "UPDATE iteration SET judged = x'00ff'",
        "UPDATE iteration SET forecast = x'00ff'",
        f"UPDATE iteration SET forecast = x'{FORECAST_OF_TWO.hex()}'",
        "UPDATE iteration SET topic = CAST(x'ff00' AS TEXT)",
        "UPDATE iteration SET columns = x'00'",
        'UPDATE iteration SET errors = \'{"20": "timeout"}\'',
        "UPDATE iteration SET errors = '{\"2\": 3}'",
        "UPDATE iteration SET notes = '[[\"note\",[-1]]]'",
        f"UPDATE iteration SET errors = '{DEEP}'",
        f"UPDATE iteration SET notes = '{DEEP}'",
        f"UPDATE iteration SET scanner = '{DEEP}'",
        f"UPDATE iteration SET topic = '{DEEP}'",
        f"UPDATE iteration SET judged = x'{zlib.compress(DEEP.encode()).hex()}'",
        'UPDATE iteration SET scanner = \'{"guardrail": {"kind": 1}}\'',
        'UPDATE iteration SET scanner = \'{"guardrail": {"kind": "a"}, "threshold": 7}\'',
        "UPDATE iteration SET created = x'00'",
        "UPDATE iteration SET prompt_set = x'00'",
        "UPDATE iteration SET created = CAST(x'ff' AS TEXT)",
        "DROP TABLE iteration",
    ],
)
def test_damaged_value_is_reported_as_damage(tmp_path: Path, damage: str) -> None:
    store = SessionStore(tmp_path / "t.yaml")
    store.add_iteration(iteration())
    with closing(sqlite3.connect(store.path)) as database:
        database.execute(damage)
        database.commit()
    with pytest.raises(StoreError, match="damaged: move it away"):
        SessionStore(tmp_path / "t.yaml").iterations()


@pytest.mark.parametrize("owner", ["char(0)", "'a/../b'", "''", "x'ff'"])
def test_damaged_owner_of_a_draft_is_reported_as_damage(tmp_path: Path, owner: str) -> None:
    store = SessionStore(tmp_path / "t.yaml")
    store.save_draft(DRAFT)
    store.close()
    with closing(sqlite3.connect(store.path)) as database:
        database.execute(f"UPDATE draft SET owner = {owner}")
        database.commit()
    for read in (store.abandoned_drafts, store.edited_elsewhere):
        with pytest.raises(StoreError, match="damaged: move it away"):
            read()


def test_damaged_pin_counts_as_unset(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "t.yaml")
    with closing(sqlite3.connect(store.path)) as database:
        database.execute("UPDATE session SET pinned = 'x'")
        database.commit()
    assert store.pinned() is None


def test_concurrent_processes_get_distinct_iteration_numbers(tmp_path: Path) -> None:
    one, other = SessionStore(tmp_path / "t.yaml"), SessionStore(tmp_path / "t.yaml")
    numbers = [store.add_iteration(iteration()).number for store in (one, other, one)]
    assert numbers == [0, 1, 2]


_KEEP_FOREVER = """
import sys
from contextlib import closing
from pathlib import Path
from guardtui.session.store import SessionStore
from tests.session.test_store import iteration
store = SessionStore(Path(sys.argv[1]))
while True:
    print(store.add_iteration(iteration()).number, flush=True)
"""


@pytest.mark.process
def test_kill_9_while_recording_loses_no_recorded_iteration(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _KEEP_FOREVER, str(tmp_path / "t.yaml")],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    numbers = [int(process.stdout.readline()) for _ in range(5)]
    os.kill(process.pid, signal.SIGKILL)
    numbers += [int(line) for line in process.stdout.read().split()]
    process.wait()
    process.stdout.close()
    kept = SessionStore(tmp_path / "t.yaml").iterations()
    assert [one.number for one in kept][: len(numbers)] == numbers
    assert len(kept) - len(numbers) <= 1
    assert all(one.evaluation.metrics.total == 20 for one in kept)


# --- settings -----------------------------------------------------------------------------------


def test_setting_change_keeps_all_others(tmp_path: Path) -> None:
    one, other = SessionStore(tmp_path / "t.yaml"), SessionStore(tmp_path / "t.yaml")
    one.update_settings({"encoder": "static", "threshold": 0.5})
    other.update_settings({"threshold": None, "widths": [1, {"a": "\ud800"}]})
    assert one.settings() == {
        "encoder": "static",
        "threshold": None,
        "widths": [1, {"a": "\ud800"}],
    }
    assert one.setting("encoder") == "static"
    assert one.setting("threshold") is one.setting("unknown") is None
    assert SessionStore(tmp_path / "other.yaml").settings() == {}


@pytest.mark.parametrize("damage", ["'{'", "x'ff00'", "3", "''", f"'{DEEP}'"], ids=range(5))
def test_damaged_setting_is_skipped(tmp_path: Path, damage: str) -> None:
    store = SessionStore(tmp_path / "t.yaml")
    store.update_settings({"encoder": "static", "threshold": 0.5})
    with closing(sqlite3.connect(store.path)) as database:
        database.execute(f"UPDATE setting SET value = {damage} WHERE name = 'threshold'")
        database.commit()
    known = store.settings()
    known.pop("threshold", None)  # a number is JSON, too
    assert known == {"encoder": "static"}
    assert store.setting("threshold") in (None, 3)


class MistakeError(Exception):
    """No error of SQLite."""


def test_failed_transaction_is_rolled_back(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "t.yaml")
    store.update_settings({"encoder": "static"})

    def write_and_fail() -> None:
        with store.transaction() as database:
            database.execute("UPDATE setting SET value = '1'")
            raise MistakeError

    with pytest.raises(MistakeError):
        write_and_fail()

    def fail(_value: object) -> object:
        raise MistakeError

    with pytest.raises(MistakeError):
        store.change_setting("encoder", fail)
    with pytest.raises(TypeError):
        store.update_settings({"encoder": "minilm", "later": object()})
    assert store.settings() == {"encoder": "static"}
    store.update_settings({"encoder": "minilm"})  # nothing is locked
    assert store.settings() == {"encoder": "minilm"}


_WRITER = """
import sys
from pathlib import Path
from guardtui.session.applied import AppliedLog
from guardtui.session.store import SessionStore
store = SessionStore(Path(sys.argv[1]))
log = AppliedLog(store, "profile")
def meet():
    print("here", flush=True)
    assert sys.stdin.readline()
def widen(width):
    meet()  # inside the transaction
    return (width or 10) + 1
meet()
if sys.argv[2] == "screen":
    store.settings()
    meet()
    store.update_settings({"encoder": "static"})
    meet()
    store.change_setting("width", widen)
else:
    meet()
    first = log.push({"way": 1})
    meet()
    print("pushing", flush=True)
    log.replace(first, {"way": 2})
    log.push({"way": 3})
"""


@pytest.mark.process
def test_concurrent_processes_lose_neither_settings_nor_journal_entries(tmp_path: Path) -> None:
    topic = str(tmp_path / "t.yaml")
    screen, command = (
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, topic, role],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for role in ("screen", "command")
    )

    def line(process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        return process.stdout.readline().strip()

    def go(process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()

    for process in (screen, command):
        assert line(process) == "here"
        go(process)
        assert line(process) == "here"
    go(command)  # journals its way back after the screen has read the settings
    assert line(command) == "here"
    go(screen)  # writes one of them
    assert line(screen) == "here"
    go(screen)
    assert line(screen) == "here"  # in the middle of its transaction
    go(command)
    assert line(command) == "pushing"
    go(screen)
    for process in (screen, command):
        process.communicate(timeout=120)
        assert process.returncode == 0
    store = SessionStore(tmp_path / "t.yaml")
    assert store.settings() == {"encoder": "static", "width": 11}
    assert AppliedLog(store, "profile").ways() == [{"way": 2}, {"way": 3}]


# --- confirmed labels and templates -----------------------------------------------------------


def test_confirmed_labels_of_two_windows_are_all_stored(tmp_path: Path) -> None:
    one, other = SessionStore(tmp_path / "t.yaml"), SessionStore(tmp_path / "t.yaml")
    one.confirm_labels({0, 2**64 - 1})
    other.confirm_labels({5, 0})
    assert one.confirmed_labels() == {0, 5, 2**64 - 1}
    one.confirm_labels({0, 9}, right=False)
    assert other.confirmed_labels() == {5, 2**64 - 1}
    assert SessionStore(tmp_path / "other.yaml").confirmed_labels() == frozenset()


def test_damaged_confirmed_labels_are_skipped(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "t.yaml")
    store.confirm_labels({7})
    with closing(sqlite3.connect(store.path)) as database:
        database.executemany(
            "INSERT INTO confirmed_label(session, prompt_key) VALUES (1, ?)",
            [("x",), (b"\xff",), ("-1",), (str(2**64),), ("1.5",)],
        )
        database.commit()
    assert store.confirmed_labels() == {7}


def test_templates_of_two_windows_are_all_stored_the_first_text_for_good(tmp_path: Path) -> None:
    one, other = SessionStore(tmp_path / "t.yaml"), SessionStore(tmp_path / "t.yaml")
    one.keep_template("a", "Is {prompt} it?")
    other.keep_template("b", "b \ud800")
    other.keep_template("a", "another text")
    assert [one.template(name) for name in "abc"] == ["Is {prompt} it?", "b ?", ""]
