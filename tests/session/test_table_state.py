"""Widths of columns and filter history in the settings of a session, damaged ones too."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from guardtui.session.table_state import read_lines, read_widths, write_lines, write_widths

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
COLUMN = st.fixed_dictionaries({"key": JSON | st.text(), "width": JSON | st.integers()})


@given(
    settings=st.fixed_dictionaries(
        {},
        optional={
            "results_columns": JSON | st.lists(COLUMN | JSON),
            "filter_history": JSON | st.lists(JSON | st.text()),
        },
    )
)
def test_damaged_settings_do_not_matter(settings: dict[str, object]) -> None:
    widths, lines = read_widths(settings), read_lines(settings)
    written = json.loads(json.dumps({**write_widths(widths), **write_lines(lines)}))
    assert (read_widths(written), read_lines(written)) == (widths, lines)


def test_damaged_entries_do_not_affect_others() -> None:
    columns = [{"key": 3, "width": 9}, {"key": "score", "width": 9}, {"key": "was"}, "x"]
    assert read_widths({"results_columns": columns}) == {"score": 9}
    assert read_lines({"filter_history": ["fn", 3, "", "tax"]}) == ("fn", "tax")
