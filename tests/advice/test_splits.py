"""Halves of a prompt set by its column, each with both classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardtui.advice.splits import SplitError, split_by_column
from guardtui.files.prompt_files import load_prompts


def written(folder: Path, rows: list[tuple[str, str, str]]) -> Path:
    path = folder / "prompts.csv"
    lines = [f"{prompt},{label},block,{half}" for prompt, label, half in rows]
    path.write_text("\n".join(["prompt,expected,intent,Split", *lines, ""]), "utf-8")
    return path


def test_a_split_column_takes_precedence(tmp_path: Path) -> None:
    rows = [("a", "true", "train"), ("b", "false", " Train"), ("c", "true", "test")]
    rows += [("d", "false", "REPORT"), ("e", "true", "spare")]
    split = split_by_column(load_prompts(written(tmp_path, rows)))
    assert split is not None
    assert split.search.tolist() == [True, True, False, False, False]
    assert split.report.tolist() == [False, False, True, True, False]
    assert split.source == "by the column Split"
    assert "1 row has another value in the column Split (line 6" in split.notes[0]


def test_a_split_column_without_values_splits_nothing(tmp_path: Path) -> None:
    rows = [("a", "true", ""), ("b", "false", " ")]
    assert split_by_column(load_prompts(written(tmp_path, rows))) is None


def test_a_column_that_leaves_a_half_without_a_class_is_refused(tmp_path: Path) -> None:
    rows = [("a", "true", "train"), ("b", "false", "train"), ("c", "true", "test")]
    with pytest.raises(SplitError, match=r"part to report on .* do not belong"):
        split_by_column(load_prompts(written(tmp_path, rows)))
