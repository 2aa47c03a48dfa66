"""Differences by words lose nothing of either text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.word_diff import DiffKind, word_diff

TEXT = st.lists(st.sampled_from(["tax", "pay", " ", ",", "\n", "é", "less"]), max_size=12).map(
    "".join
)


@given(TEXT, TEXT)
def test_both_texts_can_be_read_off(old: str, new: str) -> None:
    result = word_diff(old, new)
    assert "".join(text for kind, text in result if kind is not DiffKind.ADDED) == old
    assert "".join(text for kind, text in result if kind is not DiffKind.REMOVED) == new
    assert all(text for _, text in result)
    assert all(kind is DiffKind.SAME for kind, _ in result) == (old == new)


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("pay less tax", "pay more tax", "pay [-less][+more] tax"),
        ("tax", "tax, fees", "tax[+, fees]"),
        ("", "new", "[+new]"),
        ("कर सलाह में मदद करें", "कर सलाह से मदद करें", "कर सलाह [-में][+से] मदद करें"),
        ("same", "same", "same"),
        ("Can I deduct it?", "How should I report this money?", "[-…][+…]"),
    ],
)
def test_reads_as_an_author_would_mark_it(old: str, new: str, shown: str) -> None:
    signs = {DiffKind.SAME: "{}", DiffKind.ADDED: "[+{}]", DiffKind.REMOVED: "[-{}]"}
    shown = shown.replace("-…", f"-{old}").replace("+…", f"+{new}")
    assert "".join(signs[kind].format(text) for kind, text in word_diff(old, new)) == shown
