"""`export`, `check`, `sample` and `doctor` as processes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.verdicts import Verdicts
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic
from guardtui.session.session import Decision, Iteration
from guardtui.session.session_file import session_file
from guardtui.session.store import SessionStore
from tests.guardrails import engine_settings

from .conftest import POSITIVE, Run


@pytest.fixture
def session(folder: Path) -> SessionStore:
    """Three iterations: all prompts wrong but one class, better (kept), worse (discarded)."""
    prompts = load_prompts(folder / "prompts.csv")
    topic = load_topic(folder / "topic.yaml").topic
    store = SessionStore(folder / "topic.yaml")
    steps = (
        (Decision.KEEP, (1, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
        (Decision.KEEP, (1, 1, 1, 1, 0, 0, 0, 0, 0, 1)),
        (Decision.DISCARD, (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
    )
    for number, (decision, triggered) in enumerate(steps):
        count = len(triggered)
        verdicts = Verdicts(
            np.array(triggered, np.int8), np.full(count, 0.5, np.float32), np.zeros(count, np.int16)
        )
        evaluation = Evaluation(
            topic.model_copy(update={"description": "x" * (number + 1)}),
            engine_settings("1", 0.5, "built-in"),
            prompts.fingerprint,
            prompts.keys,
            prompts.expected,
            verdicts,
        )
        store.add_iteration(Iteration(number, "2026-01-01T00:00:00Z", decision, evaluation))
    store.use_prompt_file(str((folder / "prompts.csv").resolve()))
    return store


def test_export_reports_the_best(run: Run, session: SessionStore) -> None:
    result = run("export", "topic.yaml")
    assert (result.code, result.err) == (0, "")
    assert "change against the baseline (iteration 0): coverage +" in result.out
    assert POSITIVE[4] in result.out  # the false negative that is left
    assert run("export").out == result.out


def test_export_tsv(run: Run, session: SessionStore, folder: Path) -> None:
    result = run("export", "topic.yaml", "--format", "tsv", "--output", "results.tsv")
    assert (result.code, result.out, result.err) == (0, "", "")
    lines = (folder / "results.tsv").read_text("utf-8").splitlines()
    assert lines[0].startswith("iteration\tcoverage\t")
    assert [line.split("\t")[5] for line in lines[1:]] == ["keep", "keep", "discard"]
    assert [line.split("\t")[1] for line in lines[1:]] == ["0.200", "0.800", "0.000"]


def test_export_of_an_iteration(run: Run, session: SessionStore) -> None:
    document = json.loads(run("export", "topic.yaml", "--format", "json", "--iteration", "0").out)
    assert document["metrics"]["tp"] == 1
    assert document["comparison"] is None
    last = json.loads(run("export", "topic.yaml", "--format", "json", "--iteration", "last").out)
    assert last["comparison"]["baseline_iteration"] == 1
    assert last["metrics"]["tp"] == 0


def test_export_without_the_prompt_file_warns(
    run: Run, session: SessionStore, folder: Path
) -> None:
    (folder / "prompts.csv").unlink()
    result = run("export", "topic.yaml")
    assert result.code == 0
    assert result.err.startswith("warning: ")
    assert "the report has no prompt texts" in result.err
    assert "(no longer in the prompt file)" in result.out


@pytest.mark.parametrize(("which", "said"), [("7", "no iteration 7"), ("x", "'x' is not a number")])
def test_export_of_an_unknown_iteration(
    run: Run, session: SessionStore, which: str, said: str
) -> None:
    result = run("export", "topic.yaml", "--iteration", which)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_export_of_a_damaged_store(run: Run, session: SessionStore) -> None:
    with closing(sqlite3.connect(session.path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    session.path.write_bytes(b"not a database at all" * 1000)
    result = run("export", "topic.yaml")
    assert (result.code, result.out) == (2, "")
    assert "sessions.sqlite3" in result.err


def test_sample_is_a_prompt_set(run: Run, folder: Path) -> None:
    result = run("sample")
    assert (result.code, result.err) == (0, "")
    (folder / "sample.csv").write_text(result.out, "utf-8")
    assert len(load_prompts(folder / "sample.csv")) > 2


def test_doctor_reports_and_writes_nothing(run: Run, folder: Path) -> None:
    result = run("doctor", "--json")
    document = json.loads(result.out)
    facts = {fact["name"]: fact for fact in document["facts"]}
    assert (result.code, result.err, document["ok"]) == (0, "", True)
    assert facts["encoder static"]["state"] == "ok"
    assert facts["sqlite"]["value"].endswith("WAL")
    assert {"python", "guardtui", "textual", "terminal", "cache", "sample data"} <= set(facts)
    assert sorted(path.name for path in folder.iterdir()) == ["prompts.csv", "topic.yaml"]


@pytest.mark.parametrize("name", ["topic.yaml", "prompts.csv", "hard", "session"])
def test_export_writes_over_nothing_it_reads(
    run: Run, session: SessionStore, folder: Path, name: str
) -> None:
    (folder / "hard").hardlink_to(folder / "prompts.csv")
    (folder / "session").symlink_to(session_file(folder / "topic.yaml"))
    start = slice(16)  # what tells of a file's kind; SQLite keeps counters behind it
    before = (folder / name).read_bytes()[start]
    done = run("export", "topic.yaml", "--format", "csv", "--output", name)
    assert (done.code, done.out) == (2, "")
    assert "it would be overwritten" in done.err
    assert (folder / name).read_bytes()[start] == before
    assert run("export", "topic.yaml").code == 0
