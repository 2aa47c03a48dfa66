"""Numbers are read as people and models write them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.scorer.numerals import (
    clean_numeric,
    normal_form,
    read_number,
    read_unicode_number,
)
from tests.scorer.samples import generated


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("$1,234.50.", "1234.50"),
        ("\\$5 \\* 3", "5  3"),
        ("**42**", "42"),
        ("v3.x", "v3x"),
        ("3.14", "3.14"),
        ("60%", "60%"),
        ("€5_000", "5000"),
    ],
)
def test_cleaning(text: str, cleaned: str) -> None:
    assert clean_numeric(text) == cleaned


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("(42)", 42), ("'5'!", 5), (".5", 0.5), ("5.", 5), ("1e3", 1000), ("+7", 7),
        ("٤٢", 42), ("½", 0.5), ("Ⅻ", 12), ("三", 3), ("①", 1), ("²", 2), ("3²", 9),
        ("10⁻³", 0.001), ("-2²", 4), ("2½", 2.5), ("-2½", -2.5), ("--5", 5), ("− −5", 5),
        ("负5", -5), ("二〇二五", 2025), ("一万二千", 12000), ("12万", 20000), ("廿五", 25),
        ("三点一四", 3.14), ("1 234", 1234), ("1’234", 1234), ("3٫5", 3.5), ("3．5", 3.5),
        ("億", 1e8), ("1E310⁰", 1),
    ],
)  # fmt: skip
def test_numbers_are_read(word: str, number: float) -> None:
    assert read_number(word) == pytest.approx(number)


@pytest.mark.parametrize(
    "word",
    ["", "x", "nan", "inf", "1e400", "~42", ">=42", "x=42", "42%", "#4", "1/2", "–5", "½½",
     "½三", "1.2.3", "e5", "-", "3½万", "一e", "点点", "2⁻⁺²"],
)  # fmt: skip
def test_other_texts_are_not_numbers(word: str) -> None:
    assert read_number(word) is None


def test_untrimmed() -> None:
    assert read_number("(42)", trim=False) is None


@pytest.mark.parametrize(
    ("number", "form"),
    [(123456, "1.2346e+05"), (99999, "99999"), (3.14159, "3.1416"), (2.0, "2"), (-0.0, "-0"),
     (1e-9, "1e-09")],
)  # fmt: skip
def test_normal_forms(number: float, form: str) -> None:
    assert normal_form(number) == form


@generated
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_is_read_back(number: float) -> None:
    assert read_number(repr(number)) == number


@pytest.mark.parametrize(
    "text", ["1" + "²" * 5000, "三" * 5000, "-" * 50_000, "½" * 5000, "1²" * 5000, "1 " * 5000]
)
def test_long_texts_are_read_at_once(text: str) -> None:
    assert read_number(text) is None


@generated
@given(st.text())
def test_any_text_is_a_finite_number_or_none(text: str) -> None:
    number = read_number(text)
    assert number is None or math.isfinite(number)
    read_unicode_number(text)
