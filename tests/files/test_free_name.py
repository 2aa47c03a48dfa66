"""Names that are free in a folder."""

from __future__ import annotations

from pathlib import Path

from guardtui.files.free_name import free_name, names_in


def test_first_free_number_is_used(tmp_path: Path) -> None:
    assert free_name("tax", "html", names_in(tmp_path)) == "tax.html"
    for name in ("tax.html", "TAX-2.HTML", "tax-4.html", "tax.md"):
        (tmp_path / name).touch()
    # Case does not count: on some file systems it is one file.
    assert free_name("tax", "html", names_in(tmp_path)) == "tax-3.html"
    assert free_name("tax", "md", names_in(tmp_path)) == "tax-2.md"


def test_missing_folder_has_no_names(tmp_path: Path) -> None:
    assert names_in(tmp_path / "nowhere") == frozenset()
    assert names_in(Path("a\0b")) == frozenset()
