"""What the results pane remembers in a session: columns, lines of the filter, saved views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

COLUMNS, HISTORY, VIEWS = "results_columns", "filter_history", "saved_views"
"""Names of the three among the settings of a session."""

NAME_LENGTH = 60
LINE_LENGTH = 2000
HISTORY_LENGTH = 50
VIEWS_AT_MOST = 200

_Line = Annotated[str, Field(max_length=LINE_LENGTH)]


class _Saved(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class SavedColumn(_Saved):
    """One column of the table; `width` None is the column's own."""

    key: _Line
    shown: bool = True
    width: int | None = Field(None, ge=1, le=1000)


class SavedView(_Saved):
    """What the author looked at, under a name."""

    name: str = Field(min_length=1, max_length=NAME_LENGTH)
    filter: _Line
    category: str | None = None
    search: _Line = ""
    sort: _Line = "change"
    descending: bool = False
    columns: tuple[SavedColumn, ...] = ()


class Remembered(_Saved):
    """All that the pane remembers; a name occurs once among the views."""

    columns: tuple[SavedColumn, ...] = ()
    history: tuple[str, ...] = ()
    views: tuple[SavedView, ...] = ()


_Model = TypeVar("_Model", bound=BaseModel)


def read_remembered(settings: Mapping[str, Any]) -> Remembered:
    """What the settings of a session hold; a damaged entry is left out, the others are kept."""
    columns = _entries(settings.get(COLUMNS), SavedColumn)
    views = _entries(settings.get(VIEWS), SavedView)
    lines = settings.get(HISTORY)
    history = [
        line
        for line in (lines if isinstance(lines, list) else [])
        if isinstance(line, str) and 0 < len(line) <= LINE_LENGTH and _encodable(line)
    ]
    return Remembered(
        columns=tuple({one.key: one for one in columns}.values()),
        history=tuple(history[-HISTORY_LENGTH:]),
        views=tuple({one.name: one for one in views}.values())[-VIEWS_AT_MOST:],
    )


def _entries(value: object, kind: type[_Model]) -> list[_Model]:
    found: list[_Model] = []
    for entry in value if isinstance(value, list) else []:
        try:
            # Not strict about lists for tuples: JSON knows no tuples.
            found.append(kind.model_validate(entry, strict=False))
        except ValidationError:
            continue
    return found


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def write_columns(columns: Iterable[SavedColumn]) -> dict[str, Any]:
    """The columns as a change of a session's settings."""
    return {COLUMNS: [column.model_dump(mode="json") for column in columns]}


def write_history(lines: Iterable[str]) -> dict[str, Any]:
    """Lines of the filter, oldest first, as a change of a session's settings."""
    return {HISTORY: [line for line in lines if len(line) <= LINE_LENGTH]}


def with_view(saved: object, view: SavedView) -> list[Any]:
    """The value of `VIEWS` with a view added, in place of one of the same name."""
    return [*without_view(saved, view.name), view.model_dump(mode="json")][-VIEWS_AT_MOST:]


def without_view(saved: object, name: str) -> list[Any]:
    """The value of `VIEWS` without the view of this name."""
    return [
        entry
        for entry in (saved if isinstance(saved, list) else [])
        if not (isinstance(entry, dict) and entry.get("name") == name)
    ]
