"""Reader of results.tsv, the log of iterations shared by refinement protocols."""

from __future__ import annotations

import math
from pathlib import Path

from guardtui.domain.text import display_start, starts_formula
from guardtui.files.problems import FileError, decode, read_bytes
from guardtui.session.history import ImportedRow
from guardtui.session.session import Decision

COLUMNS = ("iteration", "coverage", "tpr", "tnr", "f1", "status", "description", "examples")
"""Required columns of a log, in any order; others are ignored."""

_LARGEST = 16 * 1024 * 1024
_MOST_ROWS = 5_000
_LISTED = 20
_REMEDY = f"it must have the columns {', '.join(COLUMNS)}, separated by tabs"


def read_results(path: Path) -> tuple[ImportedRow, ...]:
    """Return the iterations of a log in order. Raises FileError with all its problems.

    The log is UTF-8 with or without a byte order mark, with LF or CRLF; examples are joined by "|".
    Rates are from 0 to 1; an empty rate or n/a counts as 0, as the format writes an undefined rate.
    """
    text = decode(path, read_bytes(path, if_empty=_REMEDY, limit=_LARGEST))
    # Not splitlines(): a description may contain one of the rarer line ends.
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    header = [name.strip().lower() for name in lines[0].split("\t")]
    if missing := [name for name in COLUMNS if name not in header]:
        raise FileError(path, f"no column {_names(missing)}", _REMEDY, 1)
    if duplicates := sorted(
        {name for name in header if header.count(name) > 1 and name in COLUMNS}
    ):
        raise FileError(path, f"column {_names(duplicates)} is duplicated", _REMEDY, 1)
    rows: list[ImportedRow] = []
    problems: list[str] = []
    seen: dict[int, int] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) != len(header):
            problems.append(f"line {number}: {len(cells)} columns, the header has {len(header)}")
            continue
        row_problems: list[str] = []
        row = _row(dict(zip(header, cells, strict=True)), path.name, row_problems)
        if row is not None and row.number in seen:
            row_problems.append(f"iteration {row.number} is already in line {seen[row.number]}")
        problems += [f"line {number}: {problem}" for problem in row_problems]
        if row is not None and not row_problems:
            seen[row.number] = number
            rows.append(row)
    _refuse(path, problems, rows)
    return tuple(rows)


def _refuse(path: Path, problems: list[str], rows: list[ImportedRow]) -> None:
    if problems:
        first, _, problem_text = problems[0].removeprefix("line ").partition(": ")
        more = "".join(f"\n  {path}:{_location(problem)}" for problem in problems[1:_LISTED])
        if len(problems) > _LISTED:
            more += f"\n  and {len(problems) - _LISTED} more"
        raise FileError(path, f"{problem_text}{more}", "fix it; nothing was imported", int(first))
    if not rows:
        raise FileError(path, "it has no iterations", "name a log that has some")
    if len(rows) > _MOST_ROWS:
        problem = f"{len(rows)} iterations are more than the {_MOST_ROWS} allowed"
        raise FileError(path, problem, "split the file")


def _location(problem: str) -> str:
    number, _, problem_text = problem.removeprefix("line ").partition(": ")
    return f"{number}: {problem_text}"


def _row(cells: dict[str, str], file: str, wrong: list[str]) -> ImportedRow | None:
    """Return one row; None, with its problems added to `wrong`, if it cannot be read."""
    try:
        number = int(cells["iteration"].strip().removeprefix("#"))
    except ValueError:
        number = -1
    if number < 0:
        wrong.append(f"iteration {_shown(cells['iteration'])} is not a number from 0 on")
    coverage, tpr, tnr, f1 = (
        _rate(name, cells[name], wrong) for name in ("coverage", "tpr", "tnr", "f1")
    )
    decision = Decision.UNDECIDED
    try:
        decision = Decision(cells["status"].strip().lower())
    except ValueError:
        wrong.append(f"status {_shown(cells['status'])} is not keep, discard or undecided")
    if wrong:
        return None
    examples = tuple(
        example for example in map(str.strip, _plain(cells["examples"]).split("|")) if example
    )
    description = _plain(cells["description"]).strip()
    return ImportedRow(number, coverage, tpr, tnr, f1, decision, description, examples, file)


def _plain(cell: str) -> str:
    """Return the cell without the prefix that keeps spreadsheets from reading it as a formula."""
    return cell[1:] if cell.startswith("'") and starts_formula(cell[1:]) else cell


def _rate(name: str, text: str, wrong: list[str]) -> float:
    if text.strip().lower() in ("", "n/a", "nan"):
        return 0.0
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        wrong.append(f"{name} {_shown(text)} is not a number from 0 to 1")
    return value


def _shown(text: str) -> str:
    return f"'{display_start(text.strip(), 40)}'"


def _names(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
