"""Excel workbooks: sheets, headers, columns without a name, and formulas without a result."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

from guardtui.domain.prompt_reading import Reading
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent
from guardtui.files.problems import FileError
from guardtui.files.prompt_files import parse_prompts

SET = (("prompt", "expected"), ("a", True), ("b", False))


def workbook(**sheets: tuple[tuple[Any, ...], ...]) -> bytes:
    stream = io.BytesIO()
    book = xlsxwriter.Workbook(stream, {"in_memory": True})
    for name, rows in sheets.items():
        sheet = book.add_worksheet(name.replace("_", " "))
        for number, row in enumerate(rows):
            sheet.write_row(number, 0, row)
    book.close()
    return stream.getvalue()


def without_results(content: bytes) -> bytes:
    """Remove the results of formulas, as openpyxl writes a workbook."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            if "sheets/" in name:
                part = re.sub(rb"(</f>)<v>[^<]*</v>", rb"\1<v />", part)
            new.writestr(name, part)
    return stream.getvalue()


def parsed(content: bytes, sheet: str = "") -> PromptSet:
    return parse_prompts(Path("p.xlsx"), content, Intent.BLOCK, Reading(sheet=sheet))


def problem(content: bytes, sheet: str = "") -> str:
    with pytest.raises(FileError) as caught:
        parsed(content, sheet)
    return str(caught.value)


def test_named_sheet_is_read() -> None:
    content = workbook(Notes=(("x",),), My_prompts=SET, Other=(("y",),))
    assert parsed(content, "My prompts").prompts.to_list() == ["a", "b"]
    said = problem(content, "Prompts")
    assert "no sheet is called 'Prompts'" in said
    assert "existing: Notes, My prompts, Other" in said
    assert "the first sheet is empty\n  name another one with --sheet NAME" in problem(
        workbook(Empty=(), Full=SET)
    )


def test_sheet_of_another_format_is_refused() -> None:
    with pytest.raises(FileError, match="--sheet is for Excel workbooks"):
        parse_prompts(Path("p.csv"), b"prompt,expected\na,1\nb,0\n", None, Reading(sheet="S"))


@pytest.mark.usefixtures("no_trial_reads")
def test_columns_without_name_are_called_by_their_position_or_dropped() -> None:
    rows = (("prompt", "expected"), ("a", True, "", "note"), ("b", False))
    assert parsed(workbook(S=rows)).extra_columns == ("column 4",)


@pytest.mark.usefixtures("no_trial_reads")
def test_two_columns_of_one_name_are_named_by_their_letters() -> None:
    rows = (("prompt", "expected", "note", "note"), ("a", True, "x", "y"))
    assert "two columns are called 'note': C and D" in problem(workbook(S=rows))


@pytest.mark.usefixtures("no_trial_reads")
def test_title_above_the_header_is_told() -> None:
    said = problem(workbook(S=(("My tests",), (), *SET)))
    assert "row 1 does not look like a header, row 3 does" in said


@pytest.mark.usefixtures("no_trial_reads")
def test_formula_without_result_is_told_as_such() -> None:
    rows = (("prompt", "expected"), ("a", "=TRUE()"), ("b", "=FALSE()"))
    said = problem(without_results(workbook(S=rows)))
    assert "the cell B2 is a formula without a result" in said
    assert "open the workbook in Excel or LibreOffice and save it" in said
    notes = (("prompt", "expected", "note"), ("a", True, "=A1"), ("b", False, ""))
    assert parsed(without_results(workbook(S=notes))).frame["note"].to_list() == ["", ""]
    second = workbook(S=SET, T=rows)
    assert "the cell B2 is a formula" in problem(without_results(second), "T")
