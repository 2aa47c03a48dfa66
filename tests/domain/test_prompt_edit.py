"""What can be a prompt: what no file holds is refused in words, and so is a repeat."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardtui.domain.prompt_edit import prompt_problem, text_problem
from guardtui.domain.prompts import PROMPT_BYTES, PromptSet
from guardtui.files.prompt_files import parse_prompts


def prompt_set() -> PromptSet:
    rows = b"prompt,expected,intent\na,true,block\nb,false,block\nb,false,block\n"
    return parse_prompts(Path("p.csv"), rows)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (" \n\t", "empty prompt"),
        ("a\0", "holds a NUL"),
        ("a\ud800", "half of a surrogate pair"),
        ("é" * (PROMPT_BYTES // 2 + 1), "more than 1 MiB"),
        ("é" * (PROMPT_BYTES // 2), ""),
        ("a", ""),
    ],
    ids=["blank", "NUL", "surrogate", "too long", "as long as allowed", "short"],
)
def test_text_that_no_file_can_contain_is_rejected(text: str, problem: str) -> None:
    result = prompt_problem(text, prompt_set())
    assert problem in result
    assert bool(result) == bool(problem)


def test_a_row_gets_no_text_that_another_row_has() -> None:
    prompts = prompt_set()
    first, second, third = prompts.keys.tolist()
    assert prompt_problem("b", prompts, first) == (
        "line 3 has the same prompt already: write another, or remove this row"
    )
    assert prompt_problem("a", prompts, first) == ""
    assert prompt_problem("b", prompts, second) == prompt_problem("b", prompts, third) == ""
    assert prompt_problem("c", prompts, second) == ""


def test_the_column_is_named() -> None:
    assert text_problem("\0", "column note").startswith("the column note holds a NUL")
