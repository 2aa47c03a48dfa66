"""Labels written into a prompt file by text: into empty cells, or as rows; the other bytes stay.

Unlike other edits, these need no prompts that were read before: whoever changed the file meanwhile,
a text is found in it again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.prompt_edit import text_problem
from guardtui.domain.prompts import (
    FALSE,
    TRUE,
    PromptSet,
    PromptSetError,
    prompt_keys,
    split_column,
    unlabelled_rows,
)
from guardtui.domain.topic import Intent
from guardtui.files.atomic import write_atomically
from guardtui.files.problems import FileError, read_bytes
from guardtui.files.prompt_documents import Label, PromptDocument, column_of, document_of
from guardtui.files.prompt_edits import PromptsChangedError
from guardtui.files.prompt_files import parse_prompts
from guardtui.files.prompt_rows import read_rows
from guardtui.files.prompt_writing import prompt_set_bytes
from guardtui.files.raw_rows import RawRows
from guardtui.files.table_formats import is_packed, pack, unpack

_UNFINISHED = ("one-class", "empty")
"""Codes of errors of a prompt set that labels of more prompts will correct."""


@dataclass(frozen=True, slots=True)
class LabelEdit:
    """Labels to write by text, and texts to take out of the file again.

    With None as its label, the cells of a text become empty. A text that the file lacks is
    appended, with its value of `splits` in a column `split`, if the file has one. `removed` are
    texts whose rows are removed.
    """

    labels: Mapping[str, bool | None]
    removed: Collection[str] = ()
    splits: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class LabelRows:
    """The rows of a prompt file, labelled or not; a missing or empty file has none.

    `content` is as it is on disk. `labels` are those of texts in the order of the file, None for a
    text whose cells are all empty; of a text with both labels the first counts.
    """

    path: Path
    content: bytes
    labels: Mapping[str, bool | None]
    rows: RawRows | None = None


def read_labels(path: Path) -> LabelRows:
    """Return the labels in a prompt file, which need not be a valid prompt set yet.

    Raises FileError, also for a row that cannot be read.
    """
    empty = not path.exists() or (path.is_file() and not path.stat().st_size)
    return _labels_of(path, b"" if empty else read_bytes(path))


def _labels_of(path: Path, content: bytes) -> LabelRows:
    if not content:
        return LabelRows(path, b"", {})
    rows = read_rows(path, unpack(path, content))
    for finding in rows.unread[:1]:
        raise FileError(path, finding.message, "correct the file first", *finding.lines[:1])
    prompt, expected, empty = _columns(path, rows)
    labels: dict[str, bool | None] = {}
    words = rows.raw[column_of(rows.raw, "expected")].fill_null("").str.strip_chars()
    wrong = ~words.str.to_lowercase().is_in([*TRUE, *FALSE, ""])
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        problem = f"expected is {words[row][:40]!r}"
        remedy = "write true or false (yes/no, 1/0, t/f, y/n)"
        raise FileError(path, problem, remedy, int(rows.lines[row]))
    for text, label, is_empty in zip(prompt, expected.tolist(), empty.tolist(), strict=True):
        if not is_empty and labels.get(text) is None:
            labels[text] = label
        elif is_empty and text.strip():
            labels.setdefault(text, None)
    return LabelRows(path, content, labels, rows)


def write_labels(
    before: LabelRows,
    edit: LabelEdit,
    intent: Intent,
    *,
    backup_folder: Path | None = None,
) -> None:
    """Write labels into the file that `before` was read from; it is created if it is missing.

    All rows of a text get its label. The file is replaced atomically, after a copy of it was put
    into `backup_folder`. It may have one class only until more is labelled, but nothing else may be
    wrong with it. Raises PromptsChangedError if it changed since, FileError, and PromptSetError;
    the file is then unchanged.
    """
    path = before.path
    for text, label in edit.labels.items():
        if label is not None and (problem := text_problem(text)):
            raise FileError(path, problem, "set it aside: nothing was written")
    after = _edited(before, edit, intent)
    if after == before.content:
        return
    if before.content and is_packed(before.content):
        after = pack(after)
    _check(path, after, edit, intent)
    if (path.read_bytes() if path.exists() else b"") != before.content:
        raise PromptsChangedError(path)
    write_atomically(path, after, backup_folder=backup_folder)


def _edited(before: LabelRows, edit: LabelEdit, intent: Intent) -> bytes:
    path, rows = before.path, before.rows
    new = [
        (text, label)
        for text, label in edit.labels.items()
        if label is not None and text not in before.labels
    ]
    if rows is None:
        texts, labels = [text for text, _ in new], [label for _, label in new]
        return prompt_set_bytes(path, texts, labels, intent, {}, one_class=True) if new else b""
    content = unpack(path, before.content)
    labels_of_rows: dict[int, Label] = {}
    prompt, expected, empty = _columns(path, rows)
    for row, text in enumerate(prompt):
        if text in edit.labels:
            label = edit.labels[text]
            if label is None and not empty[row]:
                labels_of_rows[row] = "empty"
            elif label is not None and (empty[row] or expected[row] != label):
                labels_of_rows[row] = label
    if labels_of_rows:
        content = _document(path, content, rows, intent).labelled(labels_of_rows)
        rows = read_rows(path, content)
    gone = np.flatnonzero(rows.raw[column_of(rows.raw, "prompt")].is_in(list(edit.removed)))
    if len(gone) == rows.raw.height and len(gone) and rows.layout is None:
        return b""
    if len(gone):
        content = _document(path, content, rows, intent).removed(gone)
        rows = read_rows(path, content) if new else rows
    column = split_column(rows.raw.columns)
    parts = groupby(new, lambda row: edit.splits.get(row[0], ""))
    for number, (split, part) in enumerate(parts):
        rows = read_rows(path, content) if number else rows
        others = {column: split} if column is not None and split else {}
        content = _document(path, content, rows, intent).added(list(part), others)
    return content


def _document(path: Path, content: bytes, rows: RawRows, intent: Intent) -> PromptDocument:
    """Return the document with all rows of a file, those without a label too."""
    prompt, expected, _ = _columns(path, rows)
    frame = pl.DataFrame(
        [
            pl.Series("key", prompt_keys(prompt), dtype=pl.UInt64),
            pl.Series("line", rows.lines, dtype=pl.UInt32),
            pl.Series("prompt", prompt, dtype=pl.String),
            pl.Series("expected", expected, dtype=pl.Boolean),
        ]
    )
    given = any(name.strip().lower() == "intent" for name in rows.raw.columns)
    prompts = PromptSet(frame, intent, str(path), intent_given=given)
    return document_of(path, content, rows, prompts, np.arange(len(prompts)))


def _columns(path: Path, rows: RawRows) -> tuple[list[str], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return texts [N], labels (bool [N]), and which labels are empty (bool [N])."""
    try:
        prompt, expected = (column_of(rows.raw, name) for name in ("prompt", "expected"))
    except KeyError as missing:
        problem = f"the column {missing.args[0]} is missing"
        raise FileError(path, problem, "guardtui sample prints an example", 1) from missing
    words = rows.raw[expected].fill_null("").str.strip_chars().str.to_lowercase()
    texts = rows.raw[prompt].fill_null("").to_list()
    return texts, words.is_in(TRUE).to_numpy(), unlabelled_rows(words)


def _check(path: Path, after: bytes, edit: LabelEdit, intent: Intent) -> None:
    """Raise an error unless the new content says what was to be written, and is no worse else."""
    try:
        if after:  # else no row is left
            parse_prompts(path, after, intent)
    except PromptSetError as error:
        if any(finding.code not in _UNFINISHED for finding in error.findings):
            raise
    labels = _labels_of(path, after).labels
    wrong = any(labels.get(text) is not label for text, label in edit.labels.items())
    if wrong or any(text in labels for text in edit.removed):
        problem = "this label cannot be written in the format of the file"
        raise FileError(path, problem, "nothing was written")
