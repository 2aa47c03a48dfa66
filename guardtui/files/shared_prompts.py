"""A prompt file for several topics; its column `topic` names the topic that a row labels."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.prompt_reading import AS_WRITTEN, Reading, Unlabelled
from guardtui.domain.prompts import PromptSet, PromptSetError, build_prompt_set
from guardtui.domain.topic import Intent
from guardtui.files.problems import FileError
from guardtui.files.prompt_rows import read_prompt_bytes, read_rows

COLUMN = "topic"

_REMEDY = (
    "a prompt set for several topics has a column topic, with the name of the topic that a row "
    "labels; for one topic name it: --prompts TOPIC=FILE"
)


@dataclass(frozen=True, eq=False)
class SharedPrompts:
    """The unchecked rows of the file; `column` is the file's name of the column `topic`.

    `raw` has the file's columns, all String [N]; `lines` (uint32 [N]) are the lines of the rows.
    """

    path: Path
    raw: pl.DataFrame
    lines: NDArray[np.uint32]
    column: str
    names: tuple[str, ...]
    """Distinct values of the column, in row order."""

    unlabelled: Unlabelled = Unlabelled.ERROR

    def rows_of(self, names: Collection[str], intent: Intent | None) -> PromptSet:
        """Return the rows of one topic; `intent` applies if there is no column `intent`.

        Raises PromptSetError.
        """
        mask = self.raw[self.column].is_in(list(names))
        part = self.raw.filter(mask).drop(self.column)
        lines = self.lines[mask.to_numpy()]
        try:
            return build_prompt_set(
                part, lines, str(self.path), intent or Intent.BLOCK, unlabelled=self.unlabelled
            )
        except PromptSetError as error:
            error.args = (f"{error}\n  in the rows of topic {' / '.join(names)[:60]!r}",)
            raise

    def line_of(self, name: str) -> int:
        """Return the first line that names this topic."""
        return int(self.lines[int((self.raw[self.column] == name).arg_max() or 0)])


def load_shared(path: Path, reading: Reading = AS_WRITTEN) -> SharedPrompts:
    """Read a prompt file for several topics. Raises FileError naming the line."""
    path, content = read_prompt_bytes(path)
    rows = read_rows(path, content, (COLUMN, "prompt", "expected"), reading.sheet)
    if rows.unread:
        first = rows.unread[0]
        line = first.lines[0] if first.lines else None
        raise FileError(path, first.message, f"{len(rows.unread)} rows cannot be read", line)
    columns = [name for name in rows.raw.columns if name.strip().lower() == COLUMN]
    if len(columns) != 1:
        problem = "the column topic is missing" if not columns else "the column topic is duplicated"
        raise FileError(path, problem, _REMEDY, 1)
    raw = rows.raw.with_columns(pl.col(columns[0]).fill_null("").str.strip_chars())
    unnamed = (raw[columns[0]] == "").to_numpy()
    if unnamed.any():
        line = int(rows.lines[int(np.argmax(unnamed))])
        raise FileError(path, "the row has no topic", _REMEDY, line)
    names = tuple(raw[columns[0]].unique(maintain_order=True).to_list())
    return SharedPrompts(path, raw, rows.lines, columns[0], names, reading.unlabelled)
