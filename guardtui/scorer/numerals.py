"""Numbers as written by people and models: with currency, grouping, fractions, other scripts."""

from __future__ import annotations

import math
import re
import unicodedata

from guardtui.scorer.text import finite

_ESCAPED = re.compile(r"\\([$,£€*_])")
_SIGNS = str.maketrans("", "", "$€£,*_")
_STOPS = re.compile(r"\.(?=\D|$)")
_NEVER = re.compile(r"[A-DF-Za-df-z%#&/<=>@\\^|~]")
"""Characters that no number contains: they exclude most words before parsing."""
_AROUND = "!?:;()[]{}\"'`"


def clean_numeric(text: str) -> str:
    """Remove currency signs, grouping commas, emphasis, and full stops that are not points."""
    unescaped = _ESCAPED.sub(r"\1", text)
    return _STOPS.sub("", unescaped.translate(_SIGNS))


def read_number(word: str, *, trim: bool = True) -> float | None:
    """Return the finite number that a word is, or None; `trim` removes quotes and brackets."""
    text = word.strip(_AROUND) if trim else word
    if _NEVER.search(text):
        return None
    number = finite(text)
    if number is None:
        number = read_unicode_number(text)
    return number if number is not None and math.isfinite(number) else None


def normal_form(number: float) -> str:
    """Return the number with five significant digits, the form used for comparison."""
    return f"{number:.5g}"


# --- other scripts ----------------------------------------------------------------------------

_MINUS = frozenset("-−﹣－负負")
_PLUS = frozenset("+＋﹢正")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_POWER = re.compile(r"(?s)(.*[^⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹]|.+(?=[⁺⁻]))([⁺⁻]?)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)")

_SIGNS_OF_DIGITS = (
    "〇零○", "一壹幺", "二贰貳两兩", "三叁參", "四肆", "五伍", "六陆陸", "七柒", "八捌", "九玖",
)  # fmt: skip
_DIGITS = {sign: digit for digit, signs in enumerate(_SIGNS_OF_DIGITS) for sign in signs}
_ZEROS = frozenset("〇零○")
_UNITS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_TENS = {"廿": 20, "卅": 30, "卌": 40}
_MYRIADS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "兆": 10**12}
_COUNTED = {*_UNITS, *_TENS, *_MYRIADS}
_CHINESE = re.compile(f"[{''.join(_COUNTED)}点點]")
_CHINESE_POINT = re.compile("[点點.．]")

_GROUPING = frozenset(",'’ʼ٬、﹐＇，")
_POINTS = frozenset(".٫．")


def read_unicode_number(text: str) -> float | None:
    """Read a number in digits of any script, Chinese numerals, fractions, superscript exponents.

    None if the text is not a number. Any number of signs may precede it, each minus inverts it, and
    the sign binds to the base: "-2²" is 4.
    """
    remaining = text.strip()
    sign = 1
    start = 0
    for mark in remaining:
        if mark in _MINUS:
            sign = -sign
        elif mark not in _PLUS and not mark.isspace():
            break
        start += 1
    remaining = remaining[start:]
    if len(remaining) == 1 and (alone := unicodedata.numeric(remaining, None)) is not None:
        return sign * alone
    power = _POWER.fullmatch(_without_separators_behind(remaining))
    if power is None:
        number = _unsigned(remaining)
        return None if number is None else sign * number
    base = _unsigned(power[1])
    if base is None:
        return None
    return _raised(sign * base, power[3], negative=power[2] == "⁻")


def _raised(base: float, superscripts: str, *, negative: bool) -> float | None:
    try:
        # Python refuses to parse integers of several thousand digits.
        exponent = int(superscripts.translate(_SUPERSCRIPTS))
        return float(base ** (-exponent if negative else exponent))
    except (ArithmeticError, ValueError):
        return None


def _unsigned(text: str) -> float | None:
    """Return a number without sign and power: a single character, digits, or with a fraction."""
    text = text.strip()
    for index, sign in enumerate(text):
        part = unicodedata.numeric(sign, 0.0)
        if 0 < part < 1:
            return _with_fraction(text[:index].strip(), part, text[index + 1 :])
    if _CHINESE.search(text):
        return _chinese("".join(text.split()))
    if len(text) == 1 and (alone := unicodedata.numeric(text, None)) is not None:
        return alone
    return _positional(text)


def _with_fraction(whole: str, part: float, suffix: str) -> float | None:
    if _without_separators_behind(suffix):
        return None
    integer = _unsigned(whole) if whole else 0.0
    return None if integer is None else integer + part


def _without_separators_behind(text: str) -> str:
    end = len(text)
    while end and (text[end - 1] in _GROUPING or text[end - 1].isspace()):
        end -= 1
    return text[:end]


def _digit(sign: str) -> int | None:
    digit = _DIGITS.get(sign)
    return unicodedata.digit(sign, None) if digit is None else digit


def _digits(text: str) -> str | None:
    """Return the ASCII digits of a text that is all digits, else None."""
    digits = [_digit(sign) for sign in text]
    return None if None in digits else "".join(map(str, digits))


def _chinese(text: str) -> float | None:
    """Read Chinese numerals with units, with a point, or both: 三百二十点五."""
    whole, *parts = _CHINESE_POINT.split(text)
    if len(parts) > 1:
        return None
    decimals = _digits("".join(parts))
    integer = _counted(whole) if any(sign in _COUNTED for sign in whole) else _digits(whole)
    if integer is None or decimals is None:
        return None
    return float(f"{integer or 0}.{decimals or 0}")


def _counted(text: str) -> int | None:
    """Read an integer of digits and units; before a unit only the last digit counts."""
    total = section = digit = 0
    for sign in text:
        value = _digit(sign)
        if sign in _ZEROS:
            continue
        if value is not None:
            digit = value
        elif sign in _UNITS:
            section += (digit or 1) * _UNITS[sign]
            digit = 0
        elif sign in _TENS:
            section += _TENS[sign]
        elif sign in _MYRIADS:
            total += (section + digit) * _MYRIADS[sign]
            section = digit = 0
        else:
            return None
    return total + section + digit


def _positional(text: str) -> float | None:
    """Read digits of any script with grouping, at most one decimal mark and one exponent."""
    characters: list[str] = []
    before = ""
    for sign in text:
        after_e, before = before in ("e", "E"), sign
        if sign in _GROUPING or sign.isspace():
            continue
        digit = _digit(sign)
        if digit is not None:
            characters.append(str(digit))
        elif sign in _POINTS:
            characters.append(".")
        elif sign in "eE":
            characters.append("e")
        elif after_e and sign in "-−﹣－+＋﹢":
            characters.append("+" if sign in _PLUS else "-")
        else:
            return None
    try:
        # Infinity is handled after the power, because a huge base to the power 0 is 1.
        return float("".join(characters))
    except ValueError:
        return None
