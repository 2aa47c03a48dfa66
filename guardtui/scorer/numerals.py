"""Numbers as people and models write them: with currency, grouping, fractions, other scripts."""

from __future__ import annotations

import math
import re
import unicodedata

_ESCAPED = re.compile(r"\\([$,£€*_])")
_SIGNS = str.maketrans("", "", "$€£,*_")
_STOPS = re.compile(r"\.(?=\D|$)")
_AROUND = "!?:;()[]{}\"'`"


def clean_numeric(text: str) -> str:
    """Without currency signs, grouping commas, emphasis, and full stops that are no points."""
    unescaped = _ESCAPED.sub(r"\1", text)
    return _STOPS.sub("", unescaped.translate(_SIGNS))


def read_number(word: str, *, trim: bool = True) -> float | None:
    """The finite number that a word is, or None; `trim` takes quotes and brackets off first."""
    text = word.strip(_AROUND) if trim else word
    try:
        number = float(text)
    except ValueError:
        known = read_unicode_number(text)
        if known is None:
            return None
        number = known
    return number if math.isfinite(number) else None


def normal_form(number: float) -> str:
    """The number with five significant digits, as numbers are compared."""
    return f"{number:.5g}"


# --- other scripts ----------------------------------------------------------------------------

_MINUS = "-−﹣－负負"
_PLUS = "+＋﹢正"
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_EXPONENT = re.compile(
    r"^(?P<base>.*?[^⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹])(?P<sign>[⁺⁻]?)(?P<digits>[⁰¹²³⁴⁵⁶⁷⁸⁹]+)$", re.S
)

_DIGITS = {
    **dict(zip("〇零一二三四五六七八九", (0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9), strict=True)),
    **dict(zip("壹壱弌贰貳弐弍叁參参弎", (1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3), strict=True)),
    **dict(zip("肆伍陆陸柒漆捌玖两兩○", (4, 5, 6, 6, 7, 7, 8, 9, 2, 2, 0), strict=True)),
}
_UNITS = dict(zip("十拾百佰千仟", (10, 10, 100, 100, 1000, 1000), strict=True))
_TENS = {"廿": 20, "卄": 20, "卅": 30, "卌": 40}
_MYRIADS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "兆": 10**12}
_POINTS = "点點."
_CHINESE = {*_DIGITS, *_UNITS, *_TENS, *_MYRIADS, "点", "點"}

_SKIPPED = set(" \u00a0\u2009\u2007\u202f'’ʼ٬،、，")
_DECIMALS = {"٫": ".", "．": "."}


def read_unicode_number(text: str) -> float | None:
    """A number in digits of any script, Chinese numerals, fractions, superscript exponents.

    None when the text is none. Any number of signs may stand before it, each minus turns it
    round, and the sign binds to the base: "-2²" is 4.
    """
    rest = text.strip()
    sign = 1
    while rest and rest[0] in _MINUS + _PLUS:
        if rest[0] in _MINUS:
            sign = -sign
        rest = rest[1:].lstrip()
    if not rest:
        return None
    if len(rest) == 1:
        alone = unicodedata.numeric(rest, None)
        return None if alone is None else sign * alone
    power = _EXPONENT.match(rest)
    if power is not None:
        base = _plain(power["base"])
        if base is None:
            return None
        exponent = int(power["digits"].translate(_SUPERSCRIPTS))
        return _raised(sign * base, -exponent if power["sign"] == "⁻" else exponent)
    number = _plain(rest)
    return None if number is None else sign * number


def _raised(base: float, exponent: int) -> float | None:
    try:
        return float(base**exponent)
    except (OverflowError, ZeroDivisionError):
        return None


def _plain(text: str) -> float | None:
    """A number without sign and exponent."""
    fractions = [place for place, sign in enumerate(text) if _is_fraction(sign)]
    if fractions:
        place = fractions[0]
        behind = [sign for sign in text[place + 1 :] if sign not in _SKIPPED]
        if behind:
            return None
        whole = text[:place]
        left = 0.0 if not whole.strip() else _plain(whole)
        return None if left is None else left + unicodedata.numeric(text[place])
    if any(sign in _CHINESE for sign in text):
        return _chinese(text)
    return _positional(text)


def _is_fraction(sign: str) -> bool:
    return unicodedata.category(sign) == "No" and "FRACTION" in unicodedata.name(sign, "")


def _chinese(text: str) -> float | None:
    whole, point, part = _split_at_point(text)
    decimals = ""
    for sign in part:
        digit = _digit(sign)
        if digit is None:
            return None
        decimals += str(digit)
    if point and not decimals:
        return None
    left = _chinese_whole(whole) if whole else 0
    return None if left is None else float(f"{left}.{decimals}" if decimals else left)


def _split_at_point(text: str) -> tuple[str, str, str]:
    for place, sign in enumerate(text):
        if sign in _POINTS:
            return text[:place], sign, text[place + 1 :]
    return text, "", ""


def _digit(sign: str) -> int | None:
    if sign in _DIGITS:
        return _DIGITS[sign]
    return unicodedata.decimal(sign, None)


def _chinese_whole(text: str) -> int | None:
    if not any(sign in _UNITS or sign in _MYRIADS or sign in _TENS for sign in text):
        digits = [_digit(sign) for sign in text]
        if None in digits:
            return None
        return int("".join(map(str, digits)))
    total = section = digit = 0
    for sign in text:
        known = _digit(sign)
        if known is not None:
            digit = known
        elif sign in _UNITS:
            section += (digit or 1) * _UNITS[sign]
            digit = 0
        elif sign in _TENS:
            section += _TENS[sign]
            digit = 0
        elif sign in _MYRIADS:
            total += (section + digit) * _MYRIADS[sign]
            section = digit = 0
        else:
            return None
    return total + section + digit


def _positional(text: str) -> float | None:
    """Digits of any script with grouping and decimal marks; of "." and "," the last is decimal."""
    body, exponent = text, ""
    if found := re.fullmatch(r"(.*\d.*)[eE]([+-]?\d+)", text, re.S):
        body, exponent = found[1], f"e{int(found[2])}"
    point = _decimal_mark(body)
    digits, seen = "", False
    for sign in body:
        digit = unicodedata.decimal(sign, None)
        if digit is not None:
            digits += str(digit)
        elif sign == point or sign in _DECIMALS:
            if seen:
                return None
            digits, seen = f"{digits}.", True
        elif sign not in _SKIPPED and sign != ",":
            return None
    try:
        return float(digits + exponent)
    except ValueError:
        return None


def _decimal_mark(text: str) -> str:
    stop, comma = text.rfind("."), text.rfind(",")
    if stop >= 0 and comma >= 0:
        return "." if stop > comma else ","
    if comma >= 0:
        after = len(text) - comma - 1
        return "," if 1 <= after <= 3 and text.count(",") == 1 else ""
    return "."
