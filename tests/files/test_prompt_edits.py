"""Edits of prompt files: only what was asked for changes, and bad edits are refused."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import xlsxwriter
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from guardtui.domain.prompt_edit import (
    Add,
    Duplicate,
    PromptEdit,
    Relabel,
    Remove,
    RemovedRow,
    Restore,
    Rewrite,
)
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent
from guardtui.files.problems import FileError
from guardtui.files.prompt_documents import opposite
from guardtui.files.prompt_edits import EditedPrompts, PromptsChangedError, edit_prompts
from guardtui.files.prompt_files import load_prompts
from guardtui.session.prompt_file import PromptFile
from tests.examples import up_to

pytestmark = pytest.mark.usefixtures("no_trial_reads")

HEADER = "prompt,expected,intent\n"
SMALL = HEADER + "a,true,block\nb,false,block\nc,true,block\nd,false,block\n"
PIECE = st.sampled_from([*'abé",;\t \n=\U0001f600', "\r\n", "\u2028", "\x1e", "\x85", "\ufeff"])
CELL = st.lists(PIECE, max_size=8).map("".join)
PROMPT = CELL.filter(lambda text: text.strip() != "")
SPELLINGS = st.sampled_from(
    [
        ("true", "false"),
        ("YES", "NO"),
        ("True", "False"),
        ("1", "0"),
        ("1.0", "0.0"),
        ("Y", "N"),
        ("t", "f"),
    ]
)
SHARED = settings(
    max_examples=up_to(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@st.composite
def files(draw: st.DrawFn, prompts: st.SearchStrategy[str] = PROMPT) -> bytes:
    """A CSV file with weird cells in a weird order, but one that is a prompt set."""
    rows = draw(st.lists(st.tuples(prompts, CELL), min_size=4, max_size=8))
    order = draw(st.permutations(["prompt", "expected", "intent", "note"]))
    quoting = draw(st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]))
    lines = [csv_row([f" {name}".title() for name in order], csv.QUOTE_MINIMAL)]
    for number, (prompt, note) in enumerate(rows):
        label = draw(SPELLINGS)[number % 2]
        blanks = draw(st.sampled_from(["{}", " {}", "{} "]))
        cells = {
            "prompt": prompt,
            "expected": blanks.format(label),
            "intent": draw(st.sampled_from(["block", "BLOCK "])),
            "note": note,
        }
        lines.append(csv_row([cells[name] for name in order], quoting))
    ends = st.sampled_from(["\n", "\r\n", "\n\n", "\r\n  \n"])
    text = "".join(line + draw(ends) for line in lines[:-1])
    text += lines[-1] + draw(st.sampled_from(["", "\n", "\r\n", "\n\n", "\n "]))
    return draw(st.sampled_from(["", "\ufeff"])).encode() + text.encode()


def csv_row(cells: list[str], quoting: int) -> str:
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator="\n", quoting=quoting).writerow(cells)  # type: ignore[arg-type]
    return stream.getvalue().removesuffix("\n")


def write(path: Path, content: bytes | str) -> PromptSet:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load_prompts(path)


def keys(prompts: PromptSet, *rows: int) -> frozenset[int]:
    return frozenset(int(prompts.keys[row]) for row in rows)


def edited(path: Path, prompts: PromptSet, edit: PromptEdit) -> PromptSet:
    """The prompt set after an edit, which is what a new read of the file gives."""
    result = edit_prompts(path, prompts, edit)
    assert path.read_bytes() == result.after
    assert result.prompts.frame.equals(load_prompts(path).frame)
    return result.prompts


@SHARED
@given(content=files(), data=st.data())
def test_relabelling_twice_restores_the_file(
    tmp_path: Path, content: bytes, data: st.DataObject
) -> None:
    path = tmp_path / "p.csv"
    prompts = write(path, content)
    # The first two keep their labels, so that none of the classes is left without a row.
    positions = data.draw(st.sets(st.integers(2, len(prompts) - 1), min_size=1))
    chosen = keys(prompts, *positions)
    once = edited(path, prompts, Relabel(chosen))
    turned = [row in positions for row in range(len(prompts))]
    assert once.expected.tolist() == [a ^ b for a, b in zip(prompts.expected, turned, strict=True)]
    assert once.frame.drop("expected").equals(prompts.frame.drop("expected"))
    assert path.read_bytes() != content
    edited(path, once, Relabel(chosen))
    assert path.read_bytes() == content


@SHARED
@given(content=files(), data=st.data())
def test_removal_keeps_all_other_lines(tmp_path: Path, content: bytes, data: st.DataObject) -> None:
    path = tmp_path / "p.csv"
    prompts = write(path, content)
    positions = data.draw(st.sets(st.integers(2, len(prompts) - 1), min_size=1))
    left = edited(path, prompts, Remove(keys(prompts, *positions)))
    stay = [row for row in range(len(prompts)) if row not in positions]
    assert left.frame.drop("key", "line").equals(prompts.frame[stay].drop("key", "line"))
    # By lines of the old file: each row goes with its own line end.
    starts = prompts.frame["line"].to_list()
    lines = content.split(b"\n")
    gone: set[int] = set()
    for place in positions:
        count = row_bytes(content, starts[place]).count(b"\n") + 1
        gone |= set(range(starts[place] - 1, starts[place] - 1 + count))
    kept = [line for number, line in enumerate(lines) if number not in gone]
    expected = b"\n".join(kept)
    if len(lines) - 1 in gone:
        expected = expected.removesuffix(b"\r")
    assert path.read_bytes() == expected


def taken_and_restored(path: Path, prompts: PromptSet, *rows: int) -> PromptSet:
    removal = edit_prompts(path, prompts, Remove(keys(prompts, *rows), restorable=True))
    return edited(path, removal.prompts, Restore(removal.removed))


@SHARED
@given(content=files() | files(st.sampled_from("ab")), data=st.data())
def test_removed_rows_come_back_at_their_places_with_all_columns(
    tmp_path: Path, content: bytes, data: st.DataObject
) -> None:
    path = tmp_path / "p.csv"
    prompts = now = write(path, content)
    # Two neighbours stay, so that none of the classes is left without a row.
    stays = data.draw(st.integers(1, len(prompts) - 1))
    others = [row for row in range(len(prompts)) if row not in (stays - 1, stays)]
    positions = data.draw(st.permutations(others))
    first = data.draw(st.integers(1, len(positions)))
    left, removed = list(range(len(prompts))), list[RemovedRow]()
    for rows in filter(None, (positions[:first], positions[first:])):
        chosen = keys(now, *(left.index(row) for row in rows))
        removal = edit_prompts(path, now, Remove(chosen, restorable=True))
        now, removed = removal.prompts, [*removed, *removal.removed]
        left = [row for row in left if row not in rows]
    back = edited(path, now, Restore(tuple(removed)))
    assert back.frame.drop("line").equals(prompts.frame.drop("line"))


def test_a_removed_row_comes_back_between_rows_that_were_edited_since(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    header = "prompt,expected,intent,note\n"
    prompts = write(path, f"{header}a,1,block,x\nb,1,block,\nc,1,block,'y'\nd,0,block,\n")
    removal = edit_prompts(path, prompts, Remove(keys(prompts, 0, 2), restorable=True))
    now = write(path, f"{header}f,1,block,\nb,1,block,\ne,1,block,\nd,0,block,z\n")
    edited(path, now, Restore(removal.removed))
    rows = [row.replace(",block", "") for row in path.read_text("utf-8").splitlines()[1:]]
    assert rows == ["a,1,x", "f,1,", "b,1,", "c,1,'y'", "e,1,", "d,0,z"]


@pytest.mark.parametrize("header", ["prompt,expected,intent,other", "note,prompt,expected,intent"])
def test_a_removed_row_does_not_come_back_into_other_columns(tmp_path: Path, header: str) -> None:
    path = tmp_path / "p.csv"
    columns = "prompt,expected,intent,note"
    prompts = write(path, f"{columns}\na,1,block,x\nb,0,block,y\nc,1,block,z\n")
    removal = edit_prompts(path, prompts, Remove(keys(prompts, 0), restorable=True))
    row = dict(zip(columns.split(","), ("{}", "{}", "block", ""), strict=True))
    cells = ",".join(row.get(name, "") for name in header.split(","))
    now = write(path, "\n".join([header, cells.format("b", 0), cells.format("c", 1), ""]))
    before = path.read_bytes()
    with pytest.raises(FileError, match="nothing was written"):
        edit_prompts(path, now, Restore(removal.removed))
    assert path.read_bytes() == before


def row_start(content: bytes, line: int) -> int:
    """Where a line begins."""
    return len(content) - len(content.split(b"\n", line - 1)[-1])


def row_bytes(content: bytes, line: int) -> bytes:
    """The bytes of the row that begins in a line, found one by one."""
    quoted, row = False, b""
    for byte in content.split(b"\n", line - 1)[-1]:
        quoted ^= byte == ord('"')
        if byte == ord("\n") and not quoted:
            return row
        row += bytes([byte])
    return row


@SHARED
@given(content=files(), prompt=PROMPT, note=CELL, expected=st.booleans())
def test_adding_and_removing_restores_the_file(
    tmp_path: Path, content: bytes, prompt: str, note: str, expected: bool
) -> None:
    path = tmp_path / "p.csv"
    prompts = write(path, content)
    more = edited(path, prompts, Add(prompt, expected, {"note": note}))
    assert len(more) == len(prompts) + 1
    assert more.frame[:-1].drop("key").equals(prompts.frame.drop("key"))
    assert more.frame[-1].select("prompt", "expected", "Note").row(0) == (prompt, expected, note)
    assert content.rstrip() in path.read_bytes()
    edited(path, more, Remove(keys(more, len(prompts))))
    assert path.read_bytes() == content


@SHARED
@given(content=files(), data=st.data(), prompt=PROMPT, note=CELL)
def test_rewriting_back_keeps_all_other_rows(
    tmp_path: Path, content: bytes, data: st.DataObject, prompt: str, note: str
) -> None:
    path = tmp_path / "p.csv"
    prompts = write(path, content)
    row = data.draw(st.integers(2, len(prompts) - 1))
    others = [text for index, text in enumerate(prompts.prompts) if index != row]
    assume(prompt not in others)
    (key,) = keys(prompts, row)
    label = data.draw(st.booleans())
    once = edited(path, prompts, Rewrite(key, prompt, label, {"note": note}))
    assert once.frame[row].select("prompt", "expected", "Note").row(0) == (prompt, label, note)
    rest = [index for index in range(len(prompts)) if index != row]
    # Of prompts that are there several times, each but the first has a key by its number.
    same = [frame[rest].drop("line", "key") for frame in (once.frame, prompts.frame)]
    assert same[0].equals(same[1])
    start = row_start(content, prompts.frame["line"][row])
    stop = start + len(row_bytes(content, prompts.frame["line"][row]))
    written = path.read_bytes()
    end = row_bytes(written, once.frame["line"][row])
    assert written[:start] == content[:start]
    # A carriage return before the line feed is no part of the row's last cell.
    assert (
        written[start + len(end.removesuffix(b"\r")) :]
        == content[stop - content[start:stop].endswith(b"\r") :]
    )
    (key,) = keys(once, row)
    text, expected, old = prompts.frame[row].select("prompt", "expected", "Note").row(0)
    assume(text not in others)
    back = edited(path, once, Rewrite(key, text, expected, {"note": old}))
    assert back.frame.equals(prompts.frame)


@SHARED
@given(content=files(), data=st.data())
def test_copies_follow_their_rows(tmp_path: Path, content: bytes, data: st.DataObject) -> None:
    path = tmp_path / "p.csv"
    prompts = write(path, content)
    positions = data.draw(st.sets(st.integers(0, len(prompts) - 1), min_size=1))
    more = edited(path, prompts, Duplicate(keys(prompts, *positions)))
    order = [row for row in range(len(prompts)) for _ in range(1 + (row in positions))]
    assert more.frame.drop("key", "line").equals(prompts.frame[order].drop("key", "line"))
    copies = {order.index(row) + 1 for row in positions}
    edited(path, more, Remove(keys(more, *copies)))
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("cell", "other"),
    [
        ("TRUE", "FALSE"),
        ("False", "True"),
        ('" yes "', '" no "'),
        ("\tN", "\tY"),
        ("0", "1"),
        ("f", "t"),
    ],
)
def test_spelling_is_kept(cell: str, other: str) -> None:
    assert opposite(cell) == other
    assert opposite(other) == cell


def test_only_rows_with_the_other_label_are_relabelled(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    prompts = write(path, SMALL)
    result = edit_prompts(path, prompts, Relabel(keys(prompts, 0, 1), expected=True))
    assert result.count == 1
    assert path.read_text() == SMALL.replace("b,false", "b,true")
    before = path.stat()
    again = edit_prompts(path, result.prompts, Relabel(keys(result.prompts, 0), expected=True))
    assert (again.count, again.prompts) == (0, result.prompts)
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_new_row_uses_the_spelling_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "p.tsv"
    text = "Note\tINTENT\tExpected\tprompt\r\n\tBlock\tYES\ta\r\n\tBlock\tNO\tb"
    prompts = write(path, text)
    edited(path, prompts, Add('say "x"\t,', False))
    assert path.read_bytes().decode() == text + '\r\n\tBlock\tNO\t"say ""x""\t,"'


REFUSED: dict[str, tuple[PromptEdit, str]] = {
    "the last of a class": (Remove(frozenset({1, 3})), "no row has expected false"),
    "all": (Remove(frozenset({0, 1, 2, 3})), "no prompt would be left"),
    "relabelled away": (Relabel(frozenset({0, 2})), "no row has expected true"),
    "an empty prompt": (Add(" \n", True), "empty prompt"),
    "a NUL": (Add("a\0", True), "NUL"),
    "half a pair": (Add("a\ud800", True), "surrogate"),
    "too long": (Add("x" * (1 << 21), True), "1 MiB"),
    "an unknown column": (Add("a", True, {"notes": "x"}), "no column 'notes'"),
    "a column of ours": (Add("a", True, {"intent": "allow"}), "no column 'intent'"),
}


REFUSED |= {
    "rewritten as nothing": (Rewrite(1, "", False), "empty prompt"),
    "rewritten too long": (Rewrite(1, "x" * (1 << 21), False), "1 MiB"),
    "rewritten as another row": (Rewrite(1, "d", False), "line . has the same prompt"),
    "rewritten with a NUL": (Rewrite(1, "x", False, {"note": "\0"}), "column note holds a NUL"),
    "rewritten without a column": (Rewrite(1, "x", False, {"note": "x"}), "no column 'note'"),
}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(("edit", "said"), REFUSED.values(), ids=REFUSED)
def test_invalid_edit_is_rejected_before_writing(
    tmp_path: Path, edit: PromptEdit, said: str, ending: str
) -> None:
    path = tmp_path / f"p.{ending}"
    frame = pl.read_csv(io.StringIO(SMALL))
    if ending == "csv":
        path.write_text(SMALL)
    elif ending == "jsonl":
        frame.write_ndjson(path)
    else:
        frame.write_parquet(path)
    prompts, before = load_prompts(path), path.read_bytes()
    if isinstance(edit, Rewrite):
        (key,) = keys(prompts, edit.key)
        edit = replace(edit, key=key)
    elif not isinstance(edit, Add):
        edit = type(edit)(keys(prompts, *edit.keys))
    with pytest.raises(FileError, match=said) as caught:
        edit_prompts(path, prompts, edit, backup_folder=tmp_path / "backups")
    assert caught.value.remedy
    assert path.read_bytes() == before
    assert not (tmp_path / "backups").exists()


def test_missing_keys_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    prompts = write(path, SMALL)
    gone = frozenset({7}) | keys(prompts, 0)
    with pytest.raises(FileError, match="1 of the 2 prompts"):
        edit_prompts(path, prompts, Relabel(gone))


@pytest.mark.parametrize(
    "theirs",
    [
        SMALL.replace("a,true", "a,false"),
        SMALL.replace("d,", "e,"),
        SMALL + "e,true,block\n",
        SMALL.replace("\nb", "\n\nb"),
        SMALL.replace("block", "allow"),
        SMALL.replace("intent\n", "intent,note\n").replace("block", "block,x"),
        HEADER + "half",
        'prompt,"exp',
        "\0",
    ],
)
def test_changed_file_is_not_overwritten(tmp_path: Path, theirs: str) -> None:
    path = tmp_path / "p.csv"
    prompts = write(path, SMALL)
    path.write_text(theirs)
    with pytest.raises(PromptsChangedError, match="reloaded"):
        edit_prompts(path, prompts, Relabel(keys(prompts, 0)))
    assert path.read_text() == theirs


def test_deleted_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    prompts = write(path, SMALL)
    path.unlink()
    with pytest.raises(FileError, match="no such file"):
        edit_prompts(path, prompts, Relabel(keys(prompts, 0)))
    assert not path.exists()


def test_read_only_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.csv"
    prompts = write(path, SMALL)
    path.chmod(0o444)
    if os.access(path, os.W_OK):  # a superuser writes anything
        monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(FileError, match="read-only"):
        edit_prompts(path, prompts, Relabel(keys(prompts, 0)))
    assert path.read_text() == SMALL


def test_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.csv"
    prompts = write(path, SMALL)

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="disk is full"):
        edit_prompts(path, prompts, Relabel(keys(prompts, 0)), backup_folder=tmp_path / "b")
    assert path.read_text() == SMALL
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["p.csv"]


def test_old_content_is_backed_up(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    prompts = write(path, SMALL)
    result: EditedPrompts = edit_prompts(
        path, prompts, Remove(keys(prompts, 0)), backup_folder=tmp_path / "backups"
    )
    assert (tmp_path / "backups/p.csv.1.bak").read_text() == SMALL
    assert (result.before, result.after) == (SMALL.encode(), path.read_bytes())


def test_contradictory_copies_are_written_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    prompts = write(path, SMALL)
    more = edited(path, prompts, Add("A ", False))
    assert "contradictory-label" in [finding.code for finding in more.findings]
    # Of two equal texts the key tells which is meant.
    twice = edited(path, more, Add("b", True))
    back = edited(path, twice, Relabel(keys(twice, 5), expected=False))
    assert back.expected.tolist() == [True, False, True, False, False, False]
    edited(path, back, Remove(keys(back, 1)))
    assert path.read_text().endswith('d,false,block\n"A ",false,block\nb,false,block\n')


JSONL = (
    '\ufeff{"prompt": "a\\u00e9",  "Expected":true,"intent":"block", "n": 1.0}\r\n'
    "\n"
    '{"expected ": 0, "Expected": "\\u004eO", "intent": "block", "prompt": "b\u2028"}\n'
    '{"intent":"block","Expected":"false","Expected":"yes","prompt":"c","deep":{"Expected":[1]}}\n'
    '  {"prompt":"d","Expected":0,"intent":"block"}'
)


def test_json_lines_change_only_where_they_are_touched(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    text = JSONL.replace('"expected ": 0, ', "")
    prompts = write(path, text)
    assert prompts.expected.tolist() == [True, False, True, False]
    once = edited(path, prompts, Relabel(keys(prompts, 0)))
    assert path.read_bytes().decode() == text.replace('"Expected":true', '"Expected":false')
    edited(path, once, Relabel(keys(once, 0)))
    assert path.read_bytes().decode() == text
    turned = edited(path, prompts, Relabel(keys(prompts, 0, 1, 2, 3)))
    changed = text.replace(':true,"', ':false,"').replace('"\\u004eO"', '"YES"')
    changed = changed.replace('"yes"', '"no"').replace('"Expected":0', '"Expected":1')
    assert path.read_bytes().decode() == changed
    edited(path, turned, Remove(keys(turned, 0, 3)))
    kept = changed.split("\n")
    assert path.read_bytes().decode() == "\ufeff" + "\n".join(kept[1:4])


def test_json_lines_rows_are_added_and_removed(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    text = JSONL.replace('"expected ": 0, ', "")
    prompts = write(path, text)
    more = edited(path, prompts, Add('é "\n', False, {"n": "2"}))
    last = path.read_bytes().decode().split("\n")[-1]
    assert last == '{"prompt":"é \\"\\n","Expected":0,"intent":"block","n":"2"}'
    more = edited(path, more, Add("x", True))
    assert json.loads(path.read_bytes().decode().split("\n")[-1])["Expected"] == "yes"
    left = edited(path, more, Remove(keys(more, 4, 5)))
    assert path.read_bytes().decode() == text
    edited(path, left, Duplicate(keys(left, 3)))
    assert path.read_bytes().decode() == text + "\n" + text.split("\n")[-1]


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([True, False, True, False], pl.Boolean),
        (["Yes", "No", "Yes", "No"], pl.String),
        ([1, 0, 1, 0], pl.Int8),
        (["t", "f", "t", "f"], pl.Enum(["t", "f"])),
    ],
)
def test_parquet_keeps_its_types(tmp_path: Path, labels: list[object], kind: pl.DataType) -> None:
    path = tmp_path / "p.parquet"
    frame = pl.DataFrame(
        {
            "N": pl.Series([1.5, None, 2.0, 3.0], dtype=pl.Float32),
            "Prompt": ["a", "b", "c", "d"],
            "expected": pl.Series(labels, dtype=kind),
            "intent": pl.Series(["block"] * 4, dtype=pl.Categorical),
            "ok": [True, None, False, True],
        }
    )
    frame.write_parquet(path, metadata={"note": "theirs"})
    prompts = load_prompts(path)
    prompts = edited(path, prompts, Relabel(keys(prompts, 1, 2)))
    assert prompts.expected.tolist() == [True, True, False, False]
    prompts = edited(path, prompts, Relabel(keys(prompts, 1, 2)))
    assert pl.read_parquet(path).equals(frame)
    taken_and_restored(path, prompts, 0, 3)
    assert pl.read_parquet(path).equals(frame)
    prompts = edited(path, prompts, Add("e", True, {"n": "7", "ok": ""}))
    prompts = edited(path, prompts, Duplicate(keys(prompts, 0)))
    prompts = edited(path, prompts, Remove(keys(prompts, 2)))
    result = pl.read_parquet(path)
    assert result.schema == frame.schema
    assert pl.read_parquet_metadata(path)["note"] == "theirs"
    assert result["Prompt"].to_list() == ["a", "a", "c", "d", "e"]
    assert result["N"].to_list() == [1.5, 1.5, 2.0, 3.0, 7.0]
    assert result["expected"].to_list() == [labels[0], *labels[:1], *labels[2:], labels[0]]
    first = int(prompts.keys[0])
    turned = edited(path, prompts, Rewrite(first, "z", False, {"N": "", "ok": "false"}))
    one = pl.read_parquet(path)
    assert one.schema == frame.schema
    assert one["N"].to_list()[:2] == [None, 1.5]
    assert one["Prompt"].to_list() == ["z", "a", "c", "d", "e"]
    assert one["ok"].to_list()[0] is False
    (first,) = keys(turned, 0)
    prompts = edited(path, turned, Rewrite(first, "y", True, {"N": "7", "ok": "True"}))
    assert prompts.frame["N"][0] == "7.0"
    with pytest.raises(FileError, match="Float32"):
        edit_prompts(path, prompts, Rewrite(int(prompts.keys[1]), "a", True, {"N": "x"}))
    with pytest.raises(FileError, match="Float32"):
        edit_prompts(path, prompts, Add("e", True, {"n": "seven"}))
    with pytest.raises(FileError, match="Boolean"):
        edit_prompts(path, prompts, Add("e", True, {"ok": "seven"}))


def test_rewritten_cell_keeps_its_quotes_and_its_type(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    text = 'note,"prompt",Expected,intent\r\n"n","a",YES,block\r\n,b, no ,block\r\nm,c,1,block'
    prompts = write(path, text)
    (first, second) = sorted(keys(prompts, 0, 1), key=list(prompts.keys).index)
    once = edited(path, prompts, Rewrite(first, 'say "x"\nthen, y', False, {"note": ""}))
    changed = text.replace('"n","a",YES', '"","say ""x""\nthen, y",NO')
    assert path.read_bytes().decode() == changed
    edited(path, once, Rewrite(second, "b", True))
    assert path.read_bytes().decode() == changed.replace(", no ,", ", yes ,")
    path = tmp_path / "p.jsonl"
    text = JSONL.replace('"expected ": 0, ', "")
    prompts = write(path, text)
    rows = prompts.keys.tolist()
    once = edited(path, prompts, Rewrite(rows[0], "é\n", False, {"n": "2.5", "deep": "x"}))
    changed = text.replace('"a\\u00e9",  "Expected":true', '"é\\n",  "Expected":false')
    changed = changed.replace('"n": 1.0}', '"n": 2.5, "deep": "x"}')
    assert path.read_bytes().decode() == changed
    once = edited(path, once, Rewrite(rows[2], "c", True, {"deep": '{"a": [2]}'}))
    once = edited(path, once, Rewrite(rows[3], "d", False, {"n": "null"}))
    changed = changed.replace('{"Expected":[1]}', '{"a": [2]}')
    last = '"Expected":0,"intent":"block"'
    changed = changed.replace(f"{last}}}", f'{last},"n":"null"}}')
    assert path.read_bytes().decode() == changed
    edited(path, once, Rewrite(int(once.keys[0]), "é\n", False, {"n": "NaN"}))
    assert '"n": "NaN"' in path.read_text("utf-8")


def test_rewrite_that_changes_nothing_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    prompts = write(path, HEADER + "a,true,block\na,true,block\nb,false,block\n")
    before = path.stat().st_mtime_ns
    same = edit_prompts(path, prompts, Rewrite(int(prompts.keys[2]), "b", False))
    assert (same.count, path.stat().st_mtime_ns) == (0, before)
    # A repeat may stay one, but its text cannot be given to another row.
    turned = edited(path, prompts, Rewrite(int(prompts.keys[1]), "a", False))
    assert turned.expected.tolist() == [True, False, False]
    with pytest.raises(FileError, match="line 2 has the same prompt"):
        edit_prompts(path, turned, Rewrite(int(turned.keys[2]), "a", False))


def test_dates_in_parquet_stay_dates(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    columns = {"prompt": ["a", "b"], "expected": [True, False], "intent": ["block"] * 2}
    frame = pl.DataFrame(columns).with_columns(day=pl.date(2026, 1, 2))
    frame.write_parquet(path)
    prompts = load_prompts(path)
    once = edited(path, prompts, Rewrite(int(prompts.keys[1]), "b", False, {"day": "2026-03-04"}))
    assert pl.read_parquet(path)["day"].to_list() == [date(2026, 1, 2), date(2026, 3, 4)]
    with pytest.raises(FileError, match="holds Date, which 'soon' is not"):
        edit_prompts(path, once, Rewrite(int(once.keys[1]), "b", False, {"day": "soon"}))


def test_many_rows_are_edited_at_once(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(["prompt", "expected", "intent"])
    for number in range(20_000):
        writer.writerow([f'p {number},\n"x"', "yes" if number % 2 else "no", "block"])
    prompts = write(path, stream.getvalue())
    some = frozenset(prompts.keys[1000:18_000].tolist())
    turned = edited(path, prompts, Relabel(some))
    assert int(np.count_nonzero(turned.expected != prompts.expected)) == 17_000
    edited(path, turned, Relabel(some))
    assert path.read_bytes().decode() == stream.getvalue()


# --- other forms ----------------------------------------------------------------------------

SEMICOLONS = (
    "\ufeffprompt;expected;intent;note\r\na, b;1.0;block;\r\nc;0.0;block;x\r\nd;1.0;block;\r\n"
)


JSON_ROWS = "".join(
    json.dumps({"prompt": text, "expected": label, "intent": "block"}) + "\n"
    for text, label in (("a", True), ("b", False), ("c", True))
)


def test_delimiter_of_the_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    prompts = write(path, SEMICOLONS)
    prompts = edited(path, prompts, Relabel(keys(prompts, 2)))
    assert path.read_bytes().decode() == SEMICOLONS.replace("d;1.0", "d;0.0")
    edited(path, prompts, Add("e; f, g", False, {"note": "n"}))
    assert path.read_bytes().decode().endswith('d;0.0;block;\r\n"e; f, g";0.0;block;n\r\n')


def test_gzipped_file_is_packed_again(tmp_path: Path) -> None:
    for name, text in (("p.csv.gz", SEMICOLONS), ("p.jsonl.gz", JSON_ROWS)):
        path = tmp_path / name
        prompts = write(path, gzip.compress(text.encode()))
        edited(path, prompts, Relabel(keys(prompts, 2)))
        assert path.read_bytes().startswith(b"\x1f\x8b")
        assert gzip.decompress(path.read_bytes()) != text.encode()
        edited(path, load_prompts(path), Relabel(keys(prompts, 2)))
        assert gzip.decompress(path.read_bytes()) == text.encode()
        taken_and_restored(path, load_prompts(path), 0)
        assert gzip.decompress(path.read_bytes()) == text.encode()


def test_file_without_intents_gets_no_intent_column(tmp_path: Path) -> None:
    for name, text, added in (
        ("p.csv", "expected,prompt\n1,a\n0,b\n", "1,c\n"),
        (
            "p.jsonl",
            '{"expected": true, "prompt": "a"}\n{"expected": false, "prompt": "b"}\n',
            '{"expected": true, "prompt": "c"}\n',
        ),
    ):
        path = tmp_path / name
        path.write_text(text)
        prompts = load_prompts(path, Intent.ALLOW)
        result = edit_prompts(path, prompts, Add("c", True))
        assert path.read_text() == text + added
        assert (result.prompts.intent, result.prompts.intent_given) == (Intent.ALLOW, False)


ARRAY = """\
[
  {"prompt": "é ] , [", "expected": true, "intent": "block"},
  {
    "prompt": "b",
    "expected" : 1.0, "intent": "block"
  } , {"prompt": "c", "expected": "No", "intent": "block", "x": [1, {}]},

  {"prompt": "d", "expected": false, "intent": "block"}
]
"""


@SHARED
@given(data=st.data(), number=st.integers(1, 3))
def test_json_array_can_be_edited(tmp_path: Path, data: st.DataObject, number: int) -> None:
    path = tmp_path / "p.json"
    prompts = write(path, ARRAY)
    positions = data.draw(st.sets(st.sampled_from([0, 1, 2, 3]), min_size=1, max_size=number))
    once = edited(path, prompts, Duplicate(keys(prompts, *positions)))
    assert once.prompts.to_list() == [
        text for row, text in enumerate(prompts.prompts) for _ in range(1 + (row in positions))
    ]
    write(path, ARRAY)
    if len({0, 1} - positions) and len({2, 3} - positions):
        left = edited(path, prompts, Remove(keys(prompts, *positions)))
        assert left.prompts.to_list() == [
            text for row, text in enumerate(prompts.prompts) if row not in positions
        ]
        assert len(json.loads(path.read_text("utf-8"))) == 4 - len(positions)
        write(path, ARRAY)
        taken_and_restored(path, prompts, *positions)
        assert json.loads(path.read_text("utf-8")) == json.loads(ARRAY)
    write(path, ARRAY)
    turned = edited(path, prompts, Relabel(keys(prompts, 1, 2)))
    changed = ARRAY.replace("1.0", "0.0").replace('"No"', '"Yes"')
    assert path.read_text("utf-8") == changed
    (key,) = keys(turned, 0)
    again = edited(path, turned, Rewrite(key, "f", True, {"x": "1"}))
    first = '"prompt": "f", "expected": true, "intent": "block", "x": "1"}'
    assert first in path.read_text("utf-8").splitlines()[1]
    (key,) = keys(again, 0)
    assert path.read_text("utf-8").splitlines()[2:] == changed.splitlines()[2:]
    turned = edited(path, again, Rewrite(key, "é ] , [", True, {"x": ""}))
    added = edited(path, turned, Add("e", False, {"x": "y"}))
    assert added.prompts.to_list()[-2:] == ["d", "e"]
    assert path.read_text("utf-8").endswith("}\n]\n")


def test_workbook_is_read_only(tmp_path: Path) -> None:
    path = tmp_path / "p.xlsx"
    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet()
    for row, cells in enumerate((("prompt", "expected"), ("a", 1), ("b", 0))):
        sheet.write_row(row, 0, (*cells, "block" if row else "intent"))
    book.close()
    prompts = load_prompts(path)
    before = path.read_bytes()
    with pytest.raises(FileError, match=r"guardtui convert p\.xlsx -o p\.csv"):
        edit_prompts(path, prompts, Relabel(keys(prompts, 0)))
    assert path.read_bytes() == before
    assert PromptFile(path).refusal
    path = tmp_path / "p.csv"
    write(path, SMALL)
    assert not PromptFile(path).refusal


# --- files as spreadsheets write them -------------------------------------------------------------

PADDED = (
    "sep=;\r\nprompt;expected;;note;\r\nz;no\r\na;true;;x;\r\n;;;;\r\nb;FALSE\r\n"
    "c;true;;;;;\r\n;;;;\r\n"
)


def changed(path: Path, edit: Callable[[PromptSet, int], PromptEdit], row: int) -> str:
    prompts = load_prompts(path, Intent.BLOCK)
    edit_prompts(path, prompts, edit(prompts, int(prompts.keys[row])))
    return path.read_bytes().decode()


@pytest.mark.parametrize(
    ("edit", "row", "old", "new"),
    [
        (lambda _, key: Relabel(frozenset({key})), 2, "b;FALSE", "b;TRUE"),
        (lambda _, key: Relabel(frozenset({key})), 3, "c;true;;;;;", "c;false;;;;;"),
        (lambda _, key: Remove(frozenset({key})), 3, "c;true;;;;;\r\n", ""),
        (lambda _, key: Duplicate(frozenset({key})), 2, "b;FALSE\r\n", "b;FALSE\r\nb;FALSE\r\n"),
        (lambda _, key: Rewrite(key, "b;", False, {"note": "y"}), 2, "b;FALSE", '"b;";FALSE;;y;'),
        (lambda _, key: Rewrite(key, "b", True, {}), 2, "b;FALSE", "b;TRUE"),
        (lambda _, key: Rewrite(key, "c", True, {"note": "z"}), 3, "c;true;;;;;", "c;true;;z;;;"),
        (
            lambda _, key: Add("d", False, {"note": "n"}), 0,
            "c;true;;;;;\r\n", "c;true;;;;;\r\nd;FALSE;;n;\r\n",
        ),
    ],
)  # fmt: skip
def test_edits_of_a_padded_file_change_only_their_cells(
    tmp_path: Path,
    edit: Callable[[PromptSet, int], PromptEdit],
    row: int,
    old: str,
    new: str,
) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(PADDED.encode())
    assert changed(path, edit, row) == PADDED.replace(old, new)


UNQUOTED = 'prompt\texpected\nHe said "hi" twice\ttrue\n"Deduct" it\tfalse\n5" pipe\ttrue\n'


def test_edits_of_unquoted_tsv_change_only_their_cells(tmp_path: Path) -> None:
    path = tmp_path / "p.tsv"
    path.write_text(UNQUOTED)
    after = changed(path, lambda _, key: Relabel(frozenset({key})), 0)
    assert after == UNQUOTED.replace("twice\ttrue", "twice\tfalse")
    after = changed(path, lambda _, key: Rewrite(key, 'say "a\tb"', False, {}), 1)
    assert after.splitlines()[2] == '"say ""a\tb"""\tfalse'
    assert load_prompts(path, Intent.BLOCK).prompts.to_list() == [
        'He said "hi" twice', 'say "a\tb"', '5" pipe',
    ]  # fmt: skip
