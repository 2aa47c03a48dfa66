"""Numbers as people and models write them: with currency, grouping, fractions, other scripts."""

from __future__ import annotations

import math
import re
import unicodedata

from guardtui.scorer.text import finite

_ESCAPED = re.compile(r"\\([$,£€*_])")
_SIGNS = str.maketrans("", "", "$€£,*_")
_STOPS = re.compile(r"\.(?=\D|$)")
_NEVER = re.compile(r"[A-DF-Za-df-z%#&/<=>@\\^|~]")
"""What no number holds: most words are told from one before anything tries to read them."""
_AROUND = "!?:;()[]{}\"'`"


def clean_numeric(text: str) -> str:
    """Without currency signs, grouping commas, emphasis, and full stops that are no points."""
    unescaped = _ESCAPED.sub(r"\1", text)
    return _STOPS.sub("", unescaped.translate(_SIGNS))


def read_number(word: str, *, trim: bool = True) -> float | None:
    """The finite number that a word is, or None; `trim` takes quotes and brackets off first."""
    text = word.strip(_AROUND) if trim else word
    if _NEVER.search(text):
        return None
    number = finite(text)
    if number is None:
        number = read_unicode_number(text)
    return number if number is not None and math.isfinite(number) else None


def normal_form(number: float) -> str:
    """The number with five significant digits, as numbers are compared."""
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
    """A number in digits of any script, Chinese numerals, fractions, superscript exponents.

    None when the text is none. Any number of signs may stand before it, each minus turns it
    round, and the sign binds to the base: "-2²" is 4.
    """
    rest = text.strip()
    sign = 1
    start = 0
    for mark in rest:
        if mark in _MINUS:
            sign = -sign
        elif mark not in _PLUS and not mark.isspace():
            break
        start += 1
    rest = rest[start:]
    if len(rest) == 1 and (alone := unicodedata.numeric(rest, None)) is not None:
        return sign * alone
    power = _POWER.fullmatch(_without_separators_behind(rest))
    if power is None:
        number = _unsigned(rest)
        return None if number is None else sign * number
    base = _unsigned(power[1])
    if base is None:
        return None
    return _raised(sign * base, power[3], negative=power[2] == "⁻")


def _raised(base: float, superscripts: str, *, negative: bool) -> float | None:
    try:
        # Python refuses to read integers of more than some thousand digits.
        exponent = int(superscripts.translate(_SUPERSCRIPTS))
        return float(base ** (-exponent if negative else exponent))
    except (ArithmeticError, ValueError):
        return None


def _unsigned(text: str) -> float | None:
    """A number without sign and power: one sign for all of it, digits, or with a fraction."""
    text = text.strip()
    for place, sign in enumerate(text):
        part = unicodedata.numeric(sign, 0.0)
        if 0 < part < 1:
            return _with_fraction(text[:place].strip(), part, text[place + 1 :])
    if _CHINESE.search(text):
        return _chinese("".join(text.split()))
    if len(text) == 1 and (alone := unicodedata.numeric(text, None)) is not None:
        return alone
    return _positional(text)


def _with_fraction(whole: str, part: float, behind: str) -> float | None:
    if _without_separators_behind(behind):
        return None
    left = _unsigned(whole) if whole else 0.0
    return None if left is None else left + part


def _without_separators_behind(text: str) -> str:
    end = len(text)
    while end and (text[end - 1] in _GROUPING or text[end - 1].isspace()):
        end -= 1
    return text[:end]


def _digit(sign: str) -> int | None:
    known = _DIGITS.get(sign)
    return unicodedata.digit(sign, None) if known is None else known


def _digits(text: str) -> str | None:
    """The ASCII digits of a text that is all digits, else None."""
    digits = [_digit(sign) for sign in text]
    return None if None in digits else "".join(map(str, digits))


def _chinese(text: str) -> float | None:
    """Chinese numerals with units, with a point, or both: 三百二十点五."""
    whole, *parts = _CHINESE_POINT.split(text)
    if len(parts) > 1:
        return None
    decimals = _digits("".join(parts))
    left = _counted(whole) if any(sign in _COUNTED for sign in whole) else _digits(whole)
    if left is None or decimals is None:
        return None
    return float(f"{left or 0}.{decimals or 0}")


def _counted(text: str) -> int | None:
    """A whole number of digits and units; before a unit only the last digit counts."""
    total = section = digit = 0
    for sign in text:
        known = _digit(sign)
        if sign in _ZEROS:
            continue
        if known is not None:
            digit = known
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
    """Digits of any script with grouping, at most one decimal mark and at most one exponent."""
    written: list[str] = []
    before = ""
    for sign in text:
        after_e, before = before in ("e", "E"), sign
        if sign in _GROUPING or sign.isspace():
            continue
        digit = _digit(sign)
        if digit is not None:
            written.append(str(digit))
        elif sign in _POINTS:
            written.append(".")
        elif sign in "eE":
            written.append("e")
        elif after_e and sign in "-−﹣－+＋﹢":
            written.append("+" if sign in _PLUS else "-")
        else:
            return None
    try:
        # Infinite ones are sorted out after the power: of too large a base the zeroth is 1.
        return float("".join(written))
    except ValueError:
        return None
