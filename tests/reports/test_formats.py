"""Every format that is built in says what it is for, and has an ending of its own."""

from __future__ import annotations

import re

from guardtui.reports.base import _BUILT_IN, report_formats
from guardtui.reports.formats import FORMATS, format_of, in_order


def test_every_built_in_format_is_described_in_one_line() -> None:
    assert set(_BUILT_IN) <= set(FORMATS)
    for name in _BUILT_IN:
        # 80 columns less the frame of the dialog and the name.
        assert 10 < len(format_of(name).about) <= 59, name


def test_no_two_formats_have_one_ending() -> None:
    endings = [one.ending for one in FORMATS.values()]
    assert len(set(endings)) == len(endings)


def test_the_list_has_every_format_once_and_those_of_others_last() -> None:
    listed = in_order((*report_formats(), "acme/../x"))
    assert sorted(listed) == sorted((*report_formats(), "acme/../x"))
    assert listed[-1] == "acme/../x"
    assert re.fullmatch(r"[\w-]+", format_of("acme/../x").ending)
    assert format_of("…").ending == "report"
