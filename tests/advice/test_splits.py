"""Halves of a prompt set: stable for the same prompts, each with both classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.advice.splits import SplitError, hashed_split, split_by_column
from guardtui.domain.prompts import prompt_keys
from guardtui.files.prompt_files import load_prompts


def test_halves_are_near_halves_and_disjoint() -> None:
    keys = prompt_keys([f"prompt {number}" for number in range(4000)])
    expected = np.arange(4000) % 4 == 0
    split = hashed_split(keys, expected)
    assert not (split.search & split.report).any()
    assert (split.search | split.report).all()
    for label in (True, False):
        assert abs(split.search[expected == label].mean() - 0.5) < 0.05
    assert split.notes == ()


def test_a_prompt_keeps_its_half_when_rows_come_go_and_move() -> None:
    texts = [f"prompt {number}" for number in range(300)]
    expected = np.arange(300) % 2 == 0
    whole = dict(zip(texts, hashed_split(prompt_keys(texts), expected).search, strict=True))
    fewer = texts[250:40:-1]
    labels = expected[250:40:-1]
    part = hashed_split(prompt_keys(fewer), labels).search
    assert [whole[text] for text in fewer] == part.tolist()


@given(st.integers(2, 30), st.integers(2, 30), st.integers(0, 10_000))
def test_both_halves_have_both_classes(belong: int, others: int, seed: int) -> None:
    keys = prompt_keys([f"{seed} {number}" for number in range(belong + others)])
    expected = np.arange(belong + others) < belong
    split = hashed_split(keys, expected)
    for half in (split.search, split.report):
        assert expected[half].any()
        assert not expected[half].all()
    if min(belong, others) < 10:
        assert split.notes  # too few for a result: a note says so


def test_a_class_of_one_prompt_cannot_be_split() -> None:
    keys = prompt_keys([str(number) for number in range(20)])
    with pytest.raises(SplitError, match="no prompts that belong to the topic"):
        hashed_split(keys, np.arange(20) == 3)


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


def test_a_column_that_leaves_a_half_without_a_class_is_refused(tmp_path: Path) -> None:
    rows = [("a", "true", "train"), ("b", "false", "train"), ("c", "true", "test")]
    with pytest.raises(SplitError, match=r"part to report on .* do not belong"):
        split_by_column(load_prompts(written(tmp_path, rows)))
