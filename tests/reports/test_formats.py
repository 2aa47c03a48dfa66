"""Every format that is built in says what it is for, and has an ending of its own."""

from __future__ import annotations

import re

from guardtui.reports.formats import FORMATS, VARIANTS, format_of, report_formats


def test_every_built_in_format_is_described_in_one_line() -> None:
    for name in FORMATS:
        # 80 columns less the frame of the dialog and the name.
        assert 10 < len(format_of(name).about) <= 59, name
    for name, variant in VARIANTS.items():
        assert name in FORMATS
        assert 10 < len(variant.about) <= 70, name


def test_no_two_formats_have_one_ending() -> None:
    endings = [one.ending for one in FORMATS.values()]
    assert len(set(endings)) == len(endings)


def test_a_format_of_another_package_gets_a_safe_file_suffix() -> None:
    assert set(FORMATS) <= set(report_formats())
    assert re.fullmatch(r"[\w-]+", format_of("acme/../x").ending)
    assert format_of("…").ending == "report"
