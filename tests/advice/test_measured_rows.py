"""The prompts that edits are measured on: all, or those selected by a column."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from guardtui.advice.measured_rows import TooFewPromptsError, measured_rows
from guardtui.advice.splits import SplitError
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.topic import Intent


def prompt_set(belong: int, others: int, split: list[str] | None = None) -> PromptSet:
    labels = ["true"] * belong + ["false"] * others
    columns = {"prompt": [f"prompt {n}" for n in range(len(labels))], "expected": labels}
    if split is not None:
        columns["split"] = split
    lines = np.arange(2, len(labels) + 2, dtype=np.uint32)
    return build_prompt_set(pl.DataFrame(columns), lines, "made up", Intent.BLOCK)


def test_all_prompts_are_measured_by_default() -> None:
    rows = measured_rows(prompt_set(12, 10))
    assert rows.chosen_on.tolist() == list(range(22))
    assert rows.held_out.tolist() == []
    assert (rows.source, rows.notes) == ("all prompts", ())


def test_a_split_column_selects_measured_and_held_out_prompts() -> None:
    rows = measured_rows(prompt_set(20, 20, ["train", "test"] * 20))
    assert rows.chosen_on.tolist() == list(range(0, 40, 2))
    assert rows.held_out.tolist() == list(range(1, 40, 2))
    assert "by the column split" in rows.source
    assert rows.notes == ()


def test_few_prompts_of_a_class_are_noted() -> None:
    assert measured_rows(prompt_set(9, 10)).notes == (
        "only 9 prompts belong to the topic: too few to tell much",
    )
    notes = measured_rows(prompt_set(12, 12, ["train", "test"] * 12)).notes
    assert len(notes) == 4  # of both halves, each once
    assert all("has only 6 prompts" in note for note in notes)


@pytest.mark.parametrize(("belong", "others"), [(2, 20), (20, 2), (1, 1)])
def test_fewer_than_three_of_a_class_are_an_error_that_says_what_to_add(
    belong: int, others: int
) -> None:
    with pytest.raises(TooFewPromptsError, match=r"add some.*3 of each kind"):
        measured_rows(prompt_set(belong, others))


@pytest.mark.parametrize(("belong", "text"), [(1, "1 prompt belongs"), (2, "2 prompts belong")])
def test_the_number_agrees_with_its_noun(belong: int, text: str) -> None:
    with pytest.raises(TooFewPromptsError, match=f"^{text} to the topic: add some"):
        measured_rows(prompt_set(belong, 20))


def test_fewer_than_three_prompts_to_choose_on_are_an_error() -> None:
    split = ["train", "train", *["test"] * 8, *["train"] * 10, "test"]
    with pytest.raises(TooFewPromptsError, match=r"2 of the prompts to choose on \(by the column"):
        measured_rows(prompt_set(10, 11, split))
    with pytest.raises(SplitError):
        measured_rows(prompt_set(10, 10, ["train"] * 20))


def test_large_classes_are_sampled_by_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guardtui.advice.measured_rows.MOST_OF_A_CLASS", 15)
    prompts = prompt_set(12, 60)
    sampled = measured_rows(prompts)
    assert sampled.chosen_on.tolist() == sorted(sampled.chosen_on.tolist())
    assert np.count_nonzero(prompts.expected[sampled.chosen_on]) == 12
    assert len(sampled.chosen_on) == 27
    assert sampled.notes == ("measured on 27 of 72 prompts, drawn by their hashes",)
    # The same prompts are drawn wherever they are.
    turned = PromptSet(prompts.frame.reverse(), prompts.intent, "")
    again = measured_rows(turned)
    first, second = (
        {*prompt_set.prompts.gather(rows.chosen_on)}
        for prompt_set, rows in ((prompts, sampled), (turned, again))
    )
    assert first == second
