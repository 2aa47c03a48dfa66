"""Texts like YAML, for tests that nothing in a file of the author ends in an unexpected error."""

from __future__ import annotations

from hypothesis import strategies as st

_SCALARS = [
    "null",
    "~",
    "true",
    "on",
    "1",
    "-1.5",
    ".inf",
    ".nan",
    "0x1f",
    "0o7",
    "1:20",
    "2020-01-01",
    "2020-99-99",
    "2020-01-01T99:00:00Z",
    "=",
    "a",
]
_SCALARS += ["9" * 5000, "'a b'", '"\\u0007"', '"\\ud800"', "é", "\U0001f600"]
_TAGS = [
    "!!set",
    "!!omap",
    "!!pairs",
    "!!map",
    "!!seq",
    "!!str",
    "!!int",
    "!!float",
    "!!bool",
    "!!null",
    "!!binary",
    "!!timestamp",
    "!!merge",
    "!!python/name:os.system",
    "!x",
    "!",
    "!<tag:x>",
]
_SIGNS = [
    "[",
    "]",
    "{",
    "}",
    ",",
    "-",
    "?",
    ":",
    "|",
    ">",
    "&",
    "*",
    "&a",
    "*a",
    "&b",
    "*b",
    "<<:",
    "<<:",
    "#",
    "'",
    '"',
    "@",
    "`",
    "%",
    "%YAML",
    "%TAG",
]
_LINES = [
    "\n", "\n", "\n", "\n  ", "\n  - ", "\n- ", "\r\n", "\n---\n", "\n...\n", "\n%YAML 1.1\n---\n",
    "\n%YAML 1.5\n---\n", "\n%TAG ! tag:x,2000:\n---\n", "\n# a comment\n", "\n\t",
]  # fmt: skip
_ODD = ["\t", "\x85", "\u2028", "\ufeff", "\x07", "\x7f", "\ufffe"]


def yaml_texts(keys: tuple[str, ...], *valid: str) -> st.SearchStrategy[str]:
    """Return texts of YAML's tokens and these keys, and the valid texts with tokens put in."""
    entries = tuple(f"\n{key}: " for key in keys)
    token = st.one_of(
        st.sampled_from(entries * 2 + keys),
        st.sampled_from(_SCALARS),
        st.sampled_from(_TAGS).map("{} ".format),
        st.sampled_from([*_SIGNS, *_ODD]),
        st.sampled_from(_LINES),
        st.sampled_from([" ", " ", ": "]),
    )
    inserted = st.tuples(st.floats(0, 1), st.floats(0, 0.2), st.lists(token, max_size=3))

    def changed(text: str, edits: list[tuple[float, float, list[str]]]) -> str:
        for position, removed, tokens in edits:
            start = int(position * len(text))
            text = text[:start] + "".join(tokens) + text[start + int(removed * len(text)) :]
        return text

    return st.one_of(
        st.lists(token, max_size=25).map("".join),
        st.builds(changed, st.sampled_from(valid), st.lists(inserted, min_size=1, max_size=3)),
    )
