"""Edits of a prompt file: what was asked for changes, and every other byte stays as it was."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.prompt_edit import Add, PromptEdit, Relabel, Remove
from guardtui.domain.prompts import TRUE, PromptSet, PromptSetError
from guardtui.files.atomic import write_atomically
from guardtui.files.problems import FileError, read_bytes
from guardtui.files.prompt_documents import Document, Rows, column_of, document_of
from guardtui.files.prompt_files import RawRows, parse_prompts, read_rows
from guardtui.files.table_formats import is_packed, pack, unpack


@dataclass(frozen=True, eq=False)
class EditedPrompts:
    """What an edit did. `count` rows were touched; with 0 the file was not written.

    `prompts` are read from the file's new content `after`; `before` is the old one.
    """

    prompts: PromptSet
    count: int
    before: bytes
    after: bytes


class PromptsChangedError(FileError):
    """Another program wrote the prompt file since it was read."""

    def __init__(
        self,
        path: Path,
        remedy: str = "nothing was written: they are read anew by themselves, then do it again",
    ) -> None:
        problem = "the prompts were changed by another program since they were read"
        super().__init__(path, problem, remedy)


def edit_prompts(
    path: Path, prompts: PromptSet, edit: PromptEdit, *, backup_folder: Path | None = None
) -> EditedPrompts:
    """Change a prompt file. `prompts` must be what was read from it.

    The new content is read back before it is written; the file is replaced as a whole, after a
    copy of it was put into `backup_folder`. What gzip packed is packed again. Raises
    `PromptsChangedError` when the file is not what `prompts` was read from, and FileError when the
    edit cannot be made or would leave a file that is no prompt set. The file is then as it was.
    """
    before = read_bytes(path)
    try:
        content = unpack(path, before)
        found = read_rows(path, content)
    except FileError as problem:
        raise PromptsChangedError(path) from problem
    if found.unread or not _same(found, prompts):
        raise PromptsChangedError(path)
    document = document_of(path, content, found, prompts)
    after, texts, labels, count = _edited(path, prompts, edit, document)
    if not count:
        return EditedPrompts(prompts, 0, before, before)
    if is_packed(before):
        after = pack(after)
    try:
        result = parse_prompts(path, after, prompts.intent)
    except PromptSetError as error:
        why = f"this edit would leave no usable prompt set: {error.findings[0].message}"
        raise FileError(path, why, "nothing was written") from error
    if not (result.prompts.equals(texts) and np.array_equal(result.expected, labels)):
        raise FileError(
            path, "this edit cannot be written in the format of the file", "nothing was written"
        )
    if read_bytes(path) != before:  # in the time that reading took
        raise PromptsChangedError(path)
    write_atomically(path, after, backup_folder=backup_folder)
    return EditedPrompts(result, count, before, after)


def _same(found: RawRows, prompts: PromptSet) -> bool:
    """Whether the rows are those that the prompt set was made of."""
    raw = found.raw
    try:
        ours = [column_of(raw, name) for name in _own_columns(prompts)]
    except KeyError:
        return False
    extra = [name for name in raw.columns if name not in ours]
    if raw.height != len(prompts) or len(extra) != len(prompts.extra_columns):
        return False
    label = raw[ours[1]].fill_null("").str.strip_chars().str.to_lowercase()
    said = raw[ours[2]] if prompts.intent_given else pl.Series([prompts.intent.value])
    intent = said.fill_null("").str.strip_chars().str.to_lowercase()
    return (
        np.array_equal(found.lines, prompts.frame["line"].to_numpy())
        and raw[ours[0]].equals(prompts.prompts)
        and label.is_in(TRUE).equals(prompts.frame["expected"])
        and bool((intent == prompts.intent.value).all())
        and all(
            raw[name].fill_null("").equals(prompts.frame[own])
            for name, own in zip(extra, prompts.extra_columns, strict=True)
        )
    )


def _own_columns(prompts: PromptSet) -> tuple[str, ...]:
    """The names, in lower case, of the file's columns that have a meaning of their own."""
    return ("prompt", "expected", "intent") if prompts.intent_given else ("prompt", "expected")


def _edited(
    path: Path, prompts: PromptSet, edit: PromptEdit, document: Document
) -> tuple[bytes, pl.Series, NDArray[np.bool_], int]:
    """The new content, its prompts and labels as they ought to be, and how many rows it touches."""
    texts, labels = prompts.prompts, prompts.expected
    if isinstance(edit, Add):
        _check_text(path, edit)
        others = _known_columns(path, prompts, document.raw, edit.others)
        added = pl.Series([edit.prompt], dtype=pl.String)
        return (
            document.added(edit.prompt, edit.expected, others),
            pl.concat([texts, added]),
            np.append(labels, edit.expected),
            1,
        )
    rows = _rows_of(path, prompts, edit.keys)
    if isinstance(edit, Relabel):
        if edit.expected is not None:
            rows = rows[labels[rows] != edit.expected]
        labels = labels.copy()
        labels[rows] = ~labels[rows]
        return document.relabelled(rows), texts, labels, len(rows)
    if isinstance(edit, Remove):
        if len(rows) == len(prompts):
            raise FileError(path, "no prompt would be left", "nothing was written")
        stay = np.ones(len(prompts), bool)
        stay[rows] = False
        return document.removed(rows), texts.filter(pl.Series(stay)), labels[stay], len(rows)
    counts = np.ones(len(prompts), np.intp)
    counts[rows] = 2
    places = np.repeat(np.arange(len(prompts)), counts)
    return document.duplicated(rows), texts.gather(places), labels[places], len(rows)


def _rows_of(path: Path, prompts: PromptSet, keys: frozenset[int]) -> Rows:
    wanted = np.fromiter(keys, np.uint64, len(keys))
    rows = np.flatnonzero(np.isin(prompts.keys, wanted))
    if len(rows) != len(keys):
        missing = len(keys) - len(rows)
        raise FileError(
            path,
            f"{missing} of the {len(keys)} prompts to be changed are no longer there",
            "choose them anew: nothing was written",
        )
    return rows


def _check_text(path: Path, edit: Add) -> None:
    for text in (edit.prompt, *edit.others.values()):
        if "\0" in text:
            raise FileError(path, "the new prompt holds a NUL, which no text file can", "remove it")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise FileError(
                path, "the new prompt holds half of a surrogate pair", "remove it"
            ) from error


def _known_columns(
    path: Path, prompts: PromptSet, raw: pl.DataFrame, others: dict[str, str]
) -> dict[str, str]:
    """Values by the file's own name of their column; an exact name goes before any other case."""
    ours = {column_of(raw, name) for name in _own_columns(prompts)}
    extra = [name for name in raw.columns if name not in ours]
    names = {name.strip().lower(): name for name in reversed(extra)}
    names |= {name: name for name in extra}
    names |= dict(zip(prompts.extra_columns, extra, strict=True))
    found: dict[str, str] = {}
    for name, value in others.items():
        column = names.get(name, names.get(name.strip().lower()))
        if column is None or column in found:
            problem = "has no column" if column is None else "has only one column"
            have = ", ".join(extra) or "none"
            raise FileError(
                path, f"the file {problem} {name!r}", f"columns besides the three required: {have}"
            )
        found[column] = value
    return found
