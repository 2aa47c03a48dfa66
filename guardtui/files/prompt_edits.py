"""Edits of a prompt file: only the requested change is made, all other bytes stay."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.prompt_edit import (
    Add,
    PromptEdit,
    Relabel,
    Remove,
    RemovedRow,
    Restore,
    Rewrite,
    prompt_problem,
    text_problem,
)
from guardtui.domain.prompt_reading import AS_WRITTEN, Reading
from guardtui.domain.prompts import TRUE, PromptSet, PromptSetError, prompt_keys, unlabelled_rows
from guardtui.domain.text import display_start
from guardtui.files.atomic import write_atomically
from guardtui.files.problems import FileError, read_bytes
from guardtui.files.prompt_documents import PromptDocument, Rows, column_of, document_of
from guardtui.files.prompt_files import parse_prompts
from guardtui.files.prompt_rows import read_rows
from guardtui.files.raw_rows import RawRows
from guardtui.files.table_formats import is_packed, pack, unpack

_PLACED_BY = 100
"""Rows before a removed one by which its place is found again."""

_NAME_SHOWN = 40  # characters of a column's name in a message


@dataclass(frozen=True, eq=False)
class EditedPrompts:
    """The result of an edit; `count` rows changed, with 0 the file was not written.

    `prompts` are read from the file's new content `after`; `before` is the old content. `removed`
    are the rows of a restorable removal.
    """

    prompts: PromptSet
    count: int
    before: bytes
    after: bytes
    removed: tuple[RemovedRow, ...] = ()


class PromptsChangedError(FileError):
    """Another program changed the prompt file since it was read."""

    def __init__(
        self,
        path: Path,
        remedy: str = "nothing was written: they are reloaded automatically, then try again",
    ) -> None:
        problem = "the prompts were changed by another program since they were read"
        super().__init__(path, problem, remedy)


def edit_prompts(
    path: Path,
    prompts: PromptSet,
    edit: PromptEdit,
    *,
    backup_folder: Path | None = None,
    reading: Reading = AS_WRITTEN,
) -> EditedPrompts:
    """Edit a prompt file; `prompts` must be what was read from it, as `reading` says.

    The new content is read back before it is written. The file is replaced atomically, after a copy
    of it was put into `backup_folder`. A gzipped file is packed again. Raises `PromptsChangedError`
    if the file is not the one that `prompts` was read from. Raises FileError if the edit cannot be
    made or would not leave a valid prompt set. The file is then unchanged.
    """
    before = read_bytes(path)
    try:
        content = unpack(path, before)
        rows = read_rows(path, content, sheet=reading.sheet)
        places = _places(rows, reading)
    except (FileError, KeyError) as problem:
        raise PromptsChangedError(path) from problem
    if rows.unread or not _same(rows.raw[places], rows.lines[places], prompts):
        raise PromptsChangedError(path)
    document = document_of(path, content, rows, prompts, places)
    plan = _planned(path, prompts, edit, document)
    after, count = plan.after, plan.count
    if not count:
        return EditedPrompts(prompts, 0, before, before)
    if is_packed(before):
        after = pack(after)
    try:
        result = parse_prompts(path, after, prompts.intent, reading)
    except PromptSetError as error:
        message = f"this edit would leave no usable prompt set: {error.findings[0].message}"
        raise FileError(path, message, "nothing was written") from error
    others = result.frame[list(result.extra_columns)]
    if (
        not result.prompts.equals(plan.texts)
        or not np.array_equal(result.expected, plan.labels)
        or not (plan.others is None or _in_order(others).equals(_in_order(plan.others)))
    ):
        raise FileError(
            path, "this edit cannot be written in the format of the file", "nothing was written"
        )
    if read_bytes(path) != before:  # changed while it was read
        raise PromptsChangedError(path)
    write_atomically(path, after, backup_folder=backup_folder)
    return EditedPrompts(result, count, before, after, plan.removed)


def _in_order(others: pl.DataFrame) -> pl.DataFrame:
    return others.select(sorted(others.columns))


def _places(rows: RawRows, reading: Reading) -> Rows:
    """Return the indices of the rows that are prompts. Raises KeyError without labels."""
    if reading.unlabelled.leaves_out:
        return np.flatnonzero(~unlabelled_rows(rows.raw[column_of(rows.raw, "expected")]))
    return np.arange(rows.raw.height)


def _same(raw: pl.DataFrame, lines: NDArray[np.uint32], prompts: PromptSet) -> bool:
    """Return whether the prompt set was made from these rows."""
    try:
        ours = [column_of(raw, name) for name in _own_columns(prompts)]
    except KeyError:
        return False
    extra = [name for name in raw.columns if name not in ours]
    if raw.height != len(prompts) or len(extra) != len(prompts.extra_columns):
        return False
    label = raw[ours[1]].fill_null("").str.strip_chars().str.to_lowercase()
    given = raw[ours[2]] if prompts.intent_given else pl.Series([prompts.intent.value])
    intent = given.fill_null("").str.strip_chars().str.to_lowercase()
    return (
        np.array_equal(lines, prompts.frame["line"].to_numpy())
        and raw[ours[0]].equals(prompts.prompts)
        and label.is_in(TRUE).equals(prompts.frame["expected"])
        and bool((intent == prompts.intent.value).all())
        and all(
            raw[name].fill_null("").equals(prompts.frame[own])
            for name, own in zip(extra, prompts.extra_columns, strict=True)
        )
    )


def _own_columns(prompts: PromptSet) -> tuple[str, ...]:
    """Return the names, in lower case, of the file's columns that have a meaning."""
    return ("prompt", "expected", "intent") if prompts.intent_given else ("prompt", "expected")


@dataclass(frozen=True, eq=False)
class _Plan:
    """The new content of a file, and what must be read back from it.

    `texts` and `labels` are those of all rows; `others` are further columns if they are written
    too. `count` is the number of changed rows, `removed` as in `EditedPrompts`.
    """

    after: bytes
    texts: pl.Series
    labels: NDArray[np.bool_]
    count: int
    others: pl.DataFrame | None = None
    removed: tuple[RemovedRow, ...] = ()


def _planned(path: Path, prompts: PromptSet, edit: PromptEdit, document: PromptDocument) -> _Plan:
    """Compute the new content for an edit. Raises FileError if the edit cannot be made."""
    texts, labels = prompts.prompts, prompts.expected
    if isinstance(edit, Rewrite):
        return _rewritten(path, prompts, edit, document)
    if isinstance(edit, Add):
        _check(path, prompt_problem(edit.prompt, prompts))
        _check_texts(path, edit.others)
        others = _known_columns(path, prompts, document.raw, edit.others)
        added = pl.Series([edit.prompt], dtype=pl.String)
        return _Plan(
            document.added([(edit.prompt, edit.expected)], others),
            pl.concat([texts, added]),
            np.append(labels, edit.expected),
            1,
        )
    if isinstance(edit, Restore):
        return _restored(path, prompts, edit, document)
    rows = _rows_of(path, prompts, edit.keys)
    if isinstance(edit, Relabel):
        if edit.expected is not None:
            rows = rows[labels[rows] != edit.expected]
        labels = labels.copy()
        labels[rows] = ~labels[rows]
        written = {row: bool(labels[row]) for row in rows.tolist()}
        return _Plan(document.labelled(written), texts, labels, len(rows))
    if isinstance(edit, Remove):
        if len(rows) == len(prompts):
            raise FileError(path, "no prompt would be left", "nothing was written")
        remaining = np.ones(len(prompts), bool)
        remaining[rows] = False
        return _Plan(
            document.removed(rows),
            texts.filter(pl.Series(remaining)),
            labels[remaining],
            len(rows),
            removed=(_removed_rows(prompts, document, rows, remaining) if edit.restorable else ()),
        )
    counts = np.ones(len(prompts), np.intp)
    counts[rows] = 2
    rows_twice = np.repeat(np.arange(len(prompts)), counts)
    return _Plan(document.duplicated(rows), texts.gather(rows_twice), labels[rows_twice], len(rows))


def _removed_rows(
    prompts: PromptSet, document: PromptDocument, rows: Rows, remaining: NDArray[np.bool_]
) -> tuple[RemovedRow, ...]:
    """Return what puts rows back that are about to be removed."""
    keys = prompt_keys(prompts.prompts.filter(pl.Series(remaining)).to_list())
    return tuple(
        RemovedRow(
            int(prompts.keys[row]),
            prompts.prompts[row],
            bool(prompts.expected[row]),
            {name: prompts.frame[name][row] for name in prompts.extra_columns},
            tuple(keys[max(0, place - _PLACED_BY) : place][::-1].tolist()),
            document.stored(row),
        )
        for row, place in zip(rows.tolist(), np.cumsum(remaining)[rows].tolist(), strict=True)
    )


def _restored(path: Path, prompts: PromptSet, edit: Restore, document: PromptDocument) -> _Plan:
    """Insert rows, each behind the nearest of the rows that were before it."""
    rows, count = edit.rows, len(prompts)
    texts = [*prompts.prompts, *(row.prompt for row in rows)]
    order = list(range(count))
    # The last that left first: equal prompts have keys by their number, and so those they had then.
    known = dict(zip(prompts.keys.tolist(), order, strict=True))
    there = set(texts[:count])
    for index in reversed(range(len(rows))):
        behind = next((known[key] for key in rows[index].before if key in known), None)
        at = count + index
        order.insert(0 if behind is None else order.index(behind) + 1, at)
        if texts[at] in there:  # which changes the keys of those behind it
            keys = prompt_keys([texts[each] for each in order]).tolist()
            known = dict(zip(keys, order, strict=True))
        else:
            known[int(prompt_keys([texts[at]])[0])] = at
            there.add(texts[at])
    stored, last = [], -1
    for at in order:
        if at < count:
            last = at
        else:
            stored.append((last, rows[at - count].stored))
    # Rows of JSON may bring columns of their own.
    names = dict.fromkeys([*prompts.extra_columns, *(name for row in rows for name in row.others)])
    others = pl.DataFrame(
        {
            name: [
                *(prompts.frame[name] if name in prompts.extra_columns else [""] * count),
                *(row.others.get(name, "") for row in rows),
            ]
            for name in names
        }
    )
    return _Plan(
        document.inserted(stored),
        pl.Series([texts[at] for at in order], dtype=pl.String),
        np.append(prompts.expected, [row.expected for row in rows])[order],
        len(rows),
        others[order] if names else None,
    )


def _rewritten(path: Path, prompts: PromptSet, edit: Rewrite, document: PromptDocument) -> _Plan:
    """Replace the cells of a row that differ; the count is 0 if none does."""
    row = int(_rows_of(path, prompts, frozenset((edit.key,)))[0])
    _check(path, prompt_problem(edit.prompt, prompts, edit.key))
    _check_texts(path, edit.others)
    values = _known_columns(path, prompts, document.raw, edit.others)
    values = {
        name: text
        for name, text in {document.prompt: edit.prompt, **values}.items()
        if (document.raw[name][row] or "") != text
    }
    texts, labels = prompts.prompts.to_list(), prompts.expected.copy()
    texts[row], labels[row] = edit.prompt, edit.expected
    label = edit.expected if bool(prompts.expected[row]) != edit.expected else None
    own = dict(zip(_extra(document.raw, prompts), prompts.extra_columns, strict=True))
    others = prompts.frame[list(prompts.extra_columns)]
    for name, text in values.items():
        if name != document.prompt:
            others[row, own[name]] = document.as_read(name, text)
    if not (values or label is not None):
        return _Plan(b"", prompts.prompts, labels, 0)
    after = document.rewritten(row, values, label)
    return _Plan(after, pl.Series("prompt", texts, dtype=pl.String), labels, 1, others)


def _rows_of(path: Path, prompts: PromptSet, keys: frozenset[int]) -> Rows:
    wanted_keys = np.fromiter(keys, np.uint64, len(keys))
    rows = np.flatnonzero(np.isin(prompts.keys, wanted_keys))
    if len(rows) != len(keys):
        missing = len(keys) - len(rows)
        raise FileError(
            path,
            f"{missing} of the {len(keys)} prompts to be changed are no longer there",
            "select them again: nothing was written",
        )
    return rows


def _check(path: Path, problem: str) -> None:
    if problem:
        raise FileError(path, problem, "nothing was written")


def _check_texts(path: Path, others: dict[str, str]) -> None:
    for name, text in others.items():
        _check(path, text_problem(text, f"column {display_start(name, _NAME_SHOWN)}"))


def _extra(raw: pl.DataFrame, prompts: PromptSet) -> list[str]:
    """Return the file's own names of the columns without a special meaning, in order."""
    ours = {column_of(raw, name) for name in _own_columns(prompts)}
    return [name for name in raw.columns if name not in ours]


def _known_columns(
    path: Path, prompts: PromptSet, raw: pl.DataFrame, others: dict[str, str]
) -> dict[str, str]:
    """Map values to the file's own column names; an exact name takes precedence over case."""
    extra = _extra(raw, prompts)
    names = {name.strip().lower(): name for name in reversed(extra)}
    names |= {name: name for name in extra}
    names |= dict(zip(prompts.extra_columns, extra, strict=True))
    values: dict[str, str] = {}
    for name, value in others.items():
        column = names.get(name, names.get(name.strip().lower()))
        if column is None or column in values:
            problem = "has no column" if column is None else "has only one column"
            have = ", ".join(extra) or "none"
            raise FileError(
                path, f"the file {problem} {name!r}", f"columns besides the three required: {have}"
            )
        values[column] = value
    return values
