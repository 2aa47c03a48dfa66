"""Which choices an output selects: as inspect_ai's `multiple_choice` solver reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.session.selected_choices import selected_choices

# Beside each output what `parse_answers` of inspect-ai 0.3.285 gave for four choices.
READ_ALIKE = {
    "ANSWER: B": "B", "answer: b": "B", "**ANSWER: B**": "B", "ANSWER: B.": "B", "ANSWER:B": "B",
    "ANSWER : D": "D", "MYANSWER: B": "B", "ANSWER: (B)": "B", "ANSWER: B) foo": "B",
    "ANSWER: **B**": "B", "ANSWER: \nB": "B", "ANSWER:\n\n(B)": "B", "ANSWER: B\n.": "B",
    "ANSWER: A\nANSWER: B": "B", "foo ANSWER: A\nANSWER: C": "C", "ANSWER: A\n\nfoo": "A",
    "I think ANSWER: A. ANSWER: B": "B", "ANSWER: A\nANSWER:": "A",
    "ANSWER: A,B": "AB", "ANSWER: A, B": "AB", "ANSWER: AB": "AB", "ANSWER: A and B": "AB",
    "ANSWER: A AND B": "AB", "ANSWER: A B": "AB", "ANSWER: (A), (B)": "AB", "Answer: dac": "ACD",
    "ANSWER: b, and c": "BC", "ANSWER: A,A": "A", "ANSWER: A,\nB": "A", "ANSWER: A,": "A",
    "ANSWER: ,A": "A", "ANSWER: A\tB": "A", "ANSWER: A-B": "A", "ANSWER: A/B": "A",
    "ANSWER: A;B": "A", "ANSWER: A & C": "A",
    "": "", "B": "", "The ANSWER: C is": "", "ANSWER: E": "", "ANSWER: $B": "",
    "ANSWER: Because": "", "ANSWER: A because": "", "ANSWER: 1": "", "ANSWER: B, E": "",
    "ANSWER: ABE": "", "ANSWER: A or B": "", "ANSWER: A_": "", "ANSWER: Bé": "", "ANSWER: ÄB": "",
    "ANSWER: $B$": "B", "ANSWER: $ B $.": "B", "**ANSWER**: B": "B", "**ANSWER: $B$**": "B",
    "ANSWER: **$B$**": "B", "ANSWER: $A, C$": "AC", "ANSWER: $A$, $C$": "AC",
    "ANSWER: **B** and **C**": "BC", "ANSWER: A\nWait, no.\nANSWER: $B$": "B",
    "ANSWER: A\nThen ANSWER: B": "A", "ANSWER: A\n\nWait, ANSWER: $B$.": "A", "- ANSWER: B": "B",
    "- ANSWER: A\n- ANSWER: $D$ it is": "", "Final ANSWER: (B.": "", "**ANSWER:** B?": "",
    "ANSWER: AB, C": "", "x ANSWER: A\ny ANSWER: [B]": "", "x ANSWER: A\ny ANSWER:[B]": "A",
    "ANSWER: A\nANSWER: because": "", "ANSWER: A\nANSWER: E": "", "ANSWER: [B]": "",
    'ANSWER: "B"': "", "ANSWER: AandB": "", "ANSWER: A and": "", "ANSWER: A B the best": "",
}  # fmt: skip


@pytest.mark.parametrize(("output", "names"), READ_ALIKE.items())
def test_outputs_are_read_as_inspect_ai_reads_them(output: str, names: str) -> None:
    assert selected_choices(output, 4) == {"ABCD".index(name) for name in names}


def test_choices_after_z_are_numbered() -> None:
    assert selected_choices("ANSWER: Z", 30) == {25}
    assert selected_choices("ANSWER: 1", 30) == {26}
    assert selected_choices("ANSWER: A, 4", 30) == {0, 29}
    assert selected_choices("ANSWER: 5", 30) == set()
    assert selected_choices("ANSWER: 12", 40) == {37}

    assert selected_choices("ANSWER: 12", 30) == {26, 27}
    assert selected_choices("ANSWER: 1, 2", 40) == {26, 27}
    assert selected_choices("ANSWER: 1 2", 40) == {37}


@pytest.mark.parametrize("output", ["ANSWER: 0", "ANSWER: ٣", "ANSWER: " + "90" * 5000])
def test_unusual_digits_select_nothing(output: str) -> None:
    assert selected_choices(output, 40) == set()


@pytest.mark.parametrize("opening", ["ANSWER:", "ANSWER: A", "$A", "**A", "x:(A)", "ANSWER", ":"])
@pytest.mark.parametrize("filling", [" ", "\n", " \n", "A ", "$", "**", ":", ",(A)", "ANSWER:"])
def test_long_outputs_are_read_in_linear_time(opening: str, filling: str) -> None:
    # In quadratic time each of these would take minutes.
    assert selected_choices(opening + filling * 50_000 + "!é", 4) <= {0}


@given(st.text("aANSWERB: ,()*12and\n", max_size=40), st.integers(1, 40))
def test_only_existing_choices_are_selected(output: str, count: int) -> None:
    assert selected_choices(output, count) <= set(range(count))
