"""Messages of the table, available as `FrameTable.RowSelected` and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from guardtui.tui.table.frame_table import FrameTable


class TableMessage(Message, namespace="frame_table"):
    """A message of a table."""

    def __init__(self, table: FrameTable) -> None:
        super().__init__()
        self.table = table


class RowSelected(TableMessage, namespace="frame_table"):
    """The cursor is on another row; `row_id` is None in an empty table."""

    def __init__(self, table: FrameTable, row_id: int | None) -> None:
        super().__init__(table)
        self.row_id = row_id

    def can_replace(self, message: Message) -> bool:
        """Keep only the newest selection: a held key must not queue work."""
        return isinstance(message, RowSelected) and message.table is self.table


class RowActivated(TableMessage, namespace="frame_table"):
    """The row was opened with Enter or a double click."""

    def __init__(self, table: FrameTable, row_id: int) -> None:
        super().__init__(table)
        self.row_id = row_id


class HeaderClicked(TableMessage, namespace="frame_table"):
    """The header of a column was clicked."""

    def __init__(self, table: FrameTable, column_key: str) -> None:
        super().__init__(table)
        self.column_key = column_key


class ColumnResized(TableMessage, namespace="frame_table"):
    """A column was resized by hand, in cells; sent once, at the end of a drag."""

    def __init__(self, table: FrameTable, key: str, width: int) -> None:
        super().__init__(table)
        self.key = key
        self.width = width


class MarksChanged(TableMessage, namespace="frame_table"):
    """Other rows are marked than before."""

    def can_replace(self, message: Message) -> bool:
        """Keep only the newest marks: a held key must not queue work."""
        return isinstance(message, MarksChanged) and message.table is self.table
