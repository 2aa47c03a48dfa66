"""Choices are read from an output as inspect_ai's `multiple_choice` solver reads them."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.scorer.choices import letter
from guardtui.session.selected_choices import selected_choices
from tests.scorer.samples import generated

pytest.importorskip("inspect_ai", minversion="0.3.285")

from inspect_ai.model import ModelOutput
from inspect_ai.solver import TaskState
from inspect_ai.solver._multiple_choice import parse_answers

pytestmark = pytest.mark.exhaustive

MARKERS = (
    "ANSWER: {}", "ANSWER:{}", "answer : {}", "**ANSWER: {}**", "**ANSWER**: {}", "**ANSWER:** {}",
    "Final ANSWER: {}", "- ANSWER: {}", "1. ANSWER:\n{}", "ANSWER: A\nWait.\nANSWER: {}",
    "ANSWER: A\n\nWait, ANSWER: {}", "ANSWER: {}\nsince ANSWER: C", "> so ANSWER: \n{}",
)  # fmt: skip
NAMES = (
    "B", "$B$", "$ B $", "**B**", "** B **", "(B)", "( B )", "`B`", "[B]", r"\(B\)", "**$B$**",
    "$**B**$", "(B", "B)", "B.", "$B$.", "(B).", "B?", "B because", "A, C", "AC", "A and C",
    "A C", "A, B, and C", "$A$, $C$", "(A), (C)", "$A, C$", "$A$ and $C$", "AB, C", "E", "1", "",
)  # fmt: skip
PIECES = (
    "ANSWER:", "ANSWER: ", "answer", "An\u017fwer:", ":", " ", "\n", "\t", "\r", "\u3000", "A", "B",
    "c", "1", "12", "0", "\u0663", "and", " and ", " AND ", ",", ", ", "(", ")", "$", "*", "**",
    ".", "!", "é", "_", "[", "\\", "\u017f", "\u212a", "\u0131", "\u0130", "B) ",
)  # fmt: skip


def agree(output: str, count: int) -> None:
    state = TaskState(
        model="none/none",  # type: ignore[arg-type]
        sample_id=1,
        epoch=1,
        input="question",
        messages=[],
        choices=["a choice"] * count,
        output=ModelOutput.from_content("none/none", output),
    )
    mine = {letter(index) for index in selected_choices(output, count)}
    assert mine == parse_answers(state, multiple_correct=True), output


@pytest.mark.parametrize("ending", ["", "\n", ".", "\nThat is all."])
def test_common_forms(ending: str) -> None:
    for marker, names in product(MARKERS, NAMES):
        agree(marker.format(names) + ending, 4)


@generated
@given(st.lists(st.sampled_from(PIECES), max_size=12), st.sampled_from([1, 3, 26, 30, 40]))
def test_pieces_of_answers(pieces: list[str], count: int) -> None:
    agree("".join(pieces), count)
    agree("ANSWER: " + "".join(pieces), count)
    agree("so ANSWER:" + "".join(pieces), count)


@generated
@given(st.text(), st.text(max_size=5))
def test_any_text(before: str, names: str) -> None:
    agree(f"{before}ANSWER: {names}", 4)
