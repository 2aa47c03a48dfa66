"""State of the results table in a session: columns, filter history, saved views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

COLUMNS, HISTORY, VIEWS = "results_columns", "filter_history", "saved_views"
"""Names of the three values in a session's settings."""

NAME_LENGTH = 60
LINE_LENGTH = 2000
HISTORY_LENGTH = 50
VIEWS_AT_MOST = 200

_Line = Annotated[str, Field(max_length=LINE_LENGTH)]


class _Saved(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class SavedColumn(_Saved):
    """One column of the table; `width` None is the column's default."""

    key: _Line
    shown: bool = True
    width: int | None = Field(None, ge=1, le=1000)


class SavedView(_Saved):
    """A named view: filter, sorting and columns."""

    name: str = Field(min_length=1, max_length=NAME_LENGTH)
    filter: _Line
    category: str | None = None
    search: _Line = ""
    sort: _Line = "change"
    descending: bool = False
    columns: tuple[SavedColumn, ...] = ()


class TableState(_Saved):
    """The whole stored state of the table; names of views are unique."""

    columns: tuple[SavedColumn, ...] = ()
    history: tuple[str, ...] = ()
    views: tuple[SavedView, ...] = ()


_Model = TypeVar("_Model", bound=BaseModel)


def read_remembered(settings: Mapping[str, Any]) -> TableState:
    """Return the state in a session's settings; damaged entries are skipped."""
    columns = _entries(settings.get(COLUMNS), SavedColumn)
    views = _entries(settings.get(VIEWS), SavedView)
    lines = settings.get(HISTORY)
    history = [
        line
        for line in (lines if isinstance(lines, list) else [])
        if isinstance(line, str) and 0 < len(line) <= LINE_LENGTH and _encodable(line)
    ]
    return TableState(
        columns=tuple({column.key: column for column in columns}.values()),
        history=tuple(history[-HISTORY_LENGTH:]),
        views=tuple({view.name: view for view in views}.values())[-VIEWS_AT_MOST:],
    )


def _entries(value: object, kind: type[_Model]) -> list[_Model]:
    entries: list[_Model] = []
    for entry in value if isinstance(value, list) else []:
        try:
            # Not strict about lists for tuples: JSON has no tuples.
            entries.append(kind.model_validate(entry, strict=False))
        except ValidationError:
            continue
    return entries


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def write_columns(columns: Iterable[SavedColumn]) -> dict[str, Any]:
    """Return the columns as a change of a session's settings."""
    return {COLUMNS: [column.model_dump(mode="json") for column in columns]}


def write_history(lines: Iterable[str]) -> dict[str, Any]:
    """Return filter lines, oldest first, as a change of a session's settings."""
    return {HISTORY: [line for line in lines if len(line) <= LINE_LENGTH]}


def with_view(saved: object, view: SavedView) -> list[Any]:
    """Return the value of `VIEWS` with a view added, replacing one of the same name."""
    return [*without_view(saved, view.name), view.model_dump(mode="json")][-VIEWS_AT_MOST:]


def without_view(saved: object, name: str) -> list[Any]:
    """Return the value of `VIEWS` without the view of this name."""
    return [
        entry
        for entry in (saved if isinstance(saved, list) else [])
        if not (isinstance(entry, dict) and entry.get("name") == name)
    ]
