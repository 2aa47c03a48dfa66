"""The comparison of two versions by the values that their command lines give."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from scripts.figures import compare
from scripts.figures.model_service import probability
from scripts.figures.values import Fields, differences, values_of

FIELDS = Fields(
    renamed={"scanner": "guardrail", "rows[*].label": "results[*].expected", "sample": None},
    left_out=frozenset({"seconds", "version"}),
    sentences=frozenset({"sentence"}),
)


def differing(old: object, new: object) -> list[str]:
    before, after = (values_of("r.json", json.dumps(one).encode(), FIELDS) for one in (old, new))
    return differences(before, after, FIELDS)


# --- values and their differences -----------------------------------------------------------------


def test_changed_lost_and_added_values_are_told_apart() -> None:
    old = {"tp": 3, "fp": 1, "rows": [1, 2]}
    new = {"tp": 4, "rows": [1, 2, 3], "more": 5}
    assert differing(old, new) == [
        "tp: 3 is now 4",
        "fp: missing, was 1",
        "rows.length: 2 is now 3",
    ]


def test_times_and_versions_are_left_out_and_numbers_may_be_rounded_in_the_last_place() -> None:
    old = {"seconds": 1.5, "search": {"version": 1}, "coverage": 0.1 + 0.2}
    assert differing(old, {"seconds": 9, "coverage": 0.3}) == []
    assert len(differing(old, {"coverage": 0.3001})) == 1


def test_renamed_and_moved_fields_are_compared_at_their_new_places() -> None:
    old = {"scanner": {"threshold": 0.5}, "rows": [{"label": True}, {"label": False}], "sample": 3}
    new = {"guardrail": {"threshold": 0.5}, "results": [{"expected": True}, {"expected": True}]}
    found = differing(old, {**new, "rows": [None, None]})
    assert found == ["rows[1].label → results[1].expected: False is now True"]


def test_a_renamed_field_is_not_the_beginning_of_another_name() -> None:
    assert FIELDS.new_place("scanner.name") == "guardrail.name"
    assert FIELDS.new_place("scanners") == "scanners"


def test_a_field_without_a_value_may_go_but_not_get_one() -> None:
    assert differing({"usage": None}, {}) == []
    assert differing({"usage": None}, {"usage": 3}) == ["usage: None is now 3"]


def test_of_sentences_only_the_numbers_are_compared() -> None:
    old = {"sentence": "coverage is 0.71, of 200 prompts"}
    assert differing(old, {"sentence": "of 200 prompts, coverage 0.71"}) == []
    assert len(differing(old, {"sentence": "coverage is 0.72, of 200 prompts"})) == 1


@pytest.mark.parametrize(
    ("name", "old", "new", "count"),
    [
        ("stdout", "coverage 0.710 (0.6 to 0.8)", "Coverage is 0.710, 0.6 to 0.8", 0),
        ("stdout", "coverage 0.710, change −0.01", "coverage 0.710, change 0.01", 1),
        ("stdout", "2026-01-01 12:00, guardtui 1.0.0, cc1ebaf0", "guardtui 1.1.0", 0),
        ("r.md", "| 3 | 3 |", "| 3 |", 1),
        ("r.csv", "prompt,score\na,0.5\n", "score,prompt,more\n0.5,a,1\n", 0),
        ("r.csv", "\ufeffprompt\na\n", "prompt\na\n", 1),
        ("r.xml", '<a n="1"><b t="x"/></a>', '<a n="1"><b t="x"/><b t="y"/></a>', 1),
        ("r.html", "<style>1</style><svg>2</svg><b>3</b>", "<p>3</p>", 0),
        ("r.jsonl", '{"a": 1}\n{"a": 2}\n', '{"a": 1}\n', 2),
        ("r.yaml", "a: [1, 2]\n", "a:\n- 1\n- 2\n", 0),
    ],
)
def test_formats_are_read_as_values(name: str, old: str, new: str, count: int) -> None:
    before, after = (values_of(name, text.encode(), FIELDS) for text in (old, new))
    assert len(differences(before, after, FIELDS)) == count


def test_models_answer_by_text_model_and_definition_alone() -> None:
    asked = probability("m", "Is a tax due?", "Definition: Tax\nIn other words")
    assert asked == probability("m", "Is a tax due?", "Words\nDefinition: Tax")
    assert asked != probability("n", "Is a tax due?", "Definition: Tax")
    assert asked != probability("m", "Is a tax due?", "Definition: Taxes")


# --- command lines --------------------------------------------------------------------------------


def test_there_are_forty_lines_in_two_spellings() -> None:
    lines, fields = compare.load_lines(compare.LINES)
    assert len(lines) == 40
    assert all(line.old.strip() and line.new.strip() for line in lines)
    assert {"version", "seconds"} <= fields.left_out


def program(path: Path, coverage: float, option: str) -> str:
    """Write a program that knows one option, and prints and writes a coverage."""
    path.write_text(
        f"#!{sys.executable}\n"
        "import json, pathlib, sys\n"
        f"if {option!r} not in sys.argv:\n"
        "    print('refused', file=sys.stderr)\n"
        "    sys.exit(2)\n"
        "known = pathlib.Path('known.txt').read_text().strip()\n"
        f"print(json.dumps({{'coverage': {coverage}, 'known': known}}))\n",
        "utf-8",
    )
    path.chmod(0o755)
    return str(path)


@pytest.mark.process
def test_lines_are_the_same_or_different_or_not_runnable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tmp_path / "lines.yaml"
    lines.write_text(
        "renamed_fields: {}\nleft_out: []\nsentences: []\nlines:\n"
        "- {name: one, old: eval --old, new: eval --new, files: {known.txt: a}}\n",
        "utf-8",
    )
    old = program(tmp_path / "old", 0.5, "--old")
    same = program(tmp_path / "same", 0.5, "--new")
    worse = program(tmp_path / "worse", 0.4, "--new")
    given = ("--lines", str(lines))
    assert compare.main((old, same, *given)) == 0
    assert (
        "same          one                       2 values, exit code 0" in capsys.readouterr().out
    )
    assert compare.main((old, worse, *given)) == 1
    out = capsys.readouterr().out
    assert "different     one" in out
    assert "stdout: coverage: 0.5 is now 0.4" in out
    assert compare.main((old, same, "--with-old-spelling", *given)) == 1
    out = capsys.readouterr().out
    assert "not runnable  one" in out
    assert "guardtui eval --old\n    refused" in out
    assert compare.main((old, old, "--with-old-spelling", "--only", "one", *given)) == 0
    with pytest.raises(SystemExit):
        compare.main((old, old, "--only", "two", *given))
