"""Counts with their nouns, changes with their signs."""

from __future__ import annotations

import pytest

from guardtui.domain.figures import capitalized, change_interval_text, change_text, count_text


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 errors"), (1, "1 error"), (2, "2 errors"), (21, "21 errors")]
)
def test_a_noun_agrees_with_its_count(count: int, words: str) -> None:
    assert count_text(count, "error") == words


def test_a_plural_of_its_own_is_used() -> None:
    assert [count_text(count, "fix", "fixes") for count in (0, 1, 2)] == [
        "0 fixes",
        "1 fix",
        "2 fixes",
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.1404, "+0.140"), (-0.1404, "−0.140"), (0.0004, "±0.000"), (-0.0, "±0.000")],
)
def test_a_change_has_its_sign(value: float, words: str) -> None:
    assert change_text(value) == words


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ((0.01, -0.03, 0.05), "+0.010 (−0.030 to +0.050)"),
        ((0.0, 0.0, 0.05), "±0.000 (±0.000 to +0.050)"),
        ((0.0, 0.0, 0.0), "±0.000 (±0.000 to ±0.000)"),
        ((0.002, 0.0004, 0.004), "+0.0020 (+0.0004 to +0.0040)"),
        ((0.0004, 0.00039, 0.00041), "+0.00040 (+0.00039 to +0.00041)"),
    ],
)
def test_an_interval_has_the_decimals_that_tell_its_bounds_from_0_and_from_each_other(
    change: tuple[float, float, float], words: str
) -> None:
    assert change_interval_text(*change) == words


def test_only_the_first_letter_of_a_sentence_is_changed() -> None:
    assert capitalized("no change of TPR") == "No change of TPR"
    assert capitalized("") == ""
