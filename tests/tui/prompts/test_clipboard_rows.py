"""Rows for the clipboard: complete, with a header, and inert for the target program."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from guardtui.domain.comparison import compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.files.prompt_files import load_prompts
from guardtui.tui.prompts.clipboard_rows import rows_as_tsv
from guardtui.tui.results.model import Results, ResultsView, build_results
from tests.guardrails import engine_settings

PROMPTS = [
    '"quoted from the start',
    "=cmd|'/c calc'!A1",
    "a tab\tand a\nnew line",
    "[/INST] \x1b]52;c;aGk=\x07 \u202eturned",
    "plain",
]


def results(folder: Path) -> Results:
    path = folder / "p.csv"
    pl.DataFrame(
        {
            "prompt": PROMPTS,
            "expected": ["true", "false", "true", "false", "true"],
            "intent": ["block"] * 5,
            "note": ["+1", "own note", "", "x", 'say "hi"'],
            "category": ["a", "b", "a", "b", "a"],
        }
    ).write_csv(path)
    prompts = load_prompts(path)
    topic = Topic(name="t", description="d", examples=("a", "b"), intent=Intent.BLOCK)
    settings = engine_settings("x", 0.5, "built-in")

    def evaluation(answers: list[int], **others: object) -> Evaluation:
        verdicts = Verdicts(
            np.array(answers, np.int8),
            np.array([0.9, 0.1, np.nan, 0.2, 0.3], np.float32),
            np.array([1, 0, -1, 2, 0], np.int16),
            **others,  # type: ignore[arg-type]
        )
        return Evaluation(
            topic, settings, prompts.fingerprint, prompts.keys, prompts.expected, verdicts
        )

    before = evaluation([1, 0, 1, 0, 1])
    now = evaluation([1, 1, -1, 0, 1], errors={2: "timeout\x1b[2J"}, notes={1: "doubtful"})
    built = build_results(prompts, now, compare(before, now), ResultsView(filter="all"))
    return replace(built, order=np.arange(len(PROMPTS)))


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), delimiter="\t"))


def test_a_spreadsheet_reads_every_cell_at_its_position(tmp_path: Path) -> None:
    shown = results(tmp_path)
    text = rows_as_tsv(shown, shown.order)
    assert len(text.splitlines()) == len(PROMPTS) + 1
    rows = read(text)
    assert [row["line"] for row in rows] == ["2", "3", "4", "6", "7"]
    assert [row["outcome"] for row in rows] == ["TP", "FP", "ERROR", "TN", "TP"]
    assert [row["change"] for row in rows] == ["", "regression", "no verdict", "", ""]
    assert [row["was"] for row in rows] == ["TP", "TN", "TP", "TN", "TP"]
    assert rows[0]["prompt"] == PROMPTS[0]
    assert rows[4]["score"] == "0.3000"
    assert rows[2]["score"] == ""
    assert rows[1]["note"] == "doubtful"
    assert rows[1]["note (prompt set)"] == "own note"
    assert rows[4]["note (prompt set)"] == 'say "hi"'


def test_nothing_in_it_is_executed(tmp_path: Path) -> None:
    shown = results(tmp_path)
    text = rows_as_tsv(shown, shown.order)
    rows = read(text)
    assert rows[1]["prompt"].startswith("'=cmd")
    assert rows[0]["note (prompt set)"] == "'+1"
    assert not [one for one in text if ord(one) < 0x20 and one not in "\t\n"]
    assert not {"\x7f", "\u202e", "\x9b"} & set(text)
    assert "␛[2J" in rows[2]["error"]


def test_one_row_and_no_column_that_is_empty(tmp_path: Path) -> None:
    shown = results(tmp_path)
    rows = read(rows_as_tsv(shown, np.array([4], np.intp)))
    assert len(rows) == 1
    assert rows[0]["prompt"] == "plain"
    assert "error" not in rows[0]
    assert rows[0]["note"] == 'say "hi"'
