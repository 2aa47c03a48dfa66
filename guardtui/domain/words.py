"""Words of texts in any script: letters and digits, with the marks and joiners among them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from guardtui.domain.text import character_ranges

_JOINERS = "\u200c\u200d"
"""Signs without a width that are part of the spelling, as in Persian and Hindi."""

_SELECTORS = range(0xE0100, 0xE01F0)
"""The only marks beyond the second plane."""


@cache
def _any_script() -> dict[str, str]:
    """Return what the names in a pattern stand for. Python's `re` has no class of marks."""
    signs = re.findall(r"[^\w\s]", "".join(map(chr, (*range(0x300, 0x20000), *_SELECTORS))))
    codes = (ord(sign) for sign in signs if unicodedata.category(sign)[0] == "M")
    marks = f"[{character_ranges(codes)}{_JOINERS}]"
    return {"WORD": rf"[^\W_]+(?:{marks}+[^\W_]*)*", "SIGN": rf"(?:[^\w\s]|_){marks}*"}


_ASCII = {"WORD": r"[^\W_]+", "SIGN": r"(?:[^\w\s]|_)"}


class WordPattern:
    """A regular expression in which WORD stands for a word and SIGN for any other character.

    A word has letters and digits, and among them the combining marks (`\\p{M}`) and joiners that
    many scripts are written with. A sign keeps its marks, too.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._ascii = self._compiled(_ASCII)  # the table of marks is made when a text may need it
        self._any: re.Pattern[str] | None = None

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Yield all matches in a text, from its start to its end."""
        return self._fitting(text).finditer(text)

    def findall(self, text: str) -> list[str]:
        """Return the texts of all matches."""
        return [match.group() for match in self.finditer(text)]

    def _fitting(self, text: str) -> re.Pattern[str]:
        if text.isascii():
            return self._ascii
        if self._any is None:
            self._any = self._compiled(_any_script())
        return self._any

    def _compiled(self, names: dict[str, str]) -> re.Pattern[str]:
        pattern = self._pattern
        for name, meaning in names.items():
            pattern = pattern.replace(name, meaning)
        return re.compile(pattern)


WORDS = WordPattern("WORD(?:['’]WORD)*")
"""Words, with the apostrophes within them: "don't" is one."""
