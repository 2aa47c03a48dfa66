"""How a prompt file is read: rows without a label, and the sheet of a workbook."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Unlabelled(StrEnum):
    """What a row with an empty label is: in the inbox, left out, not expected, or an error.

    A row in the inbox is in no figure, but waits for its label.
    """

    INBOX = "inbox"
    LEAVE_OUT = "leave-out"
    FALSE = "false"
    ERROR = "error"

    @property
    def leaves_out(self) -> bool:
        """Return whether such rows are no part of the prompt set."""
        return self in (Unlabelled.INBOX, Unlabelled.LEAVE_OUT)


@dataclass(frozen=True, slots=True)
class Reading:
    """The author's choices for reading a prompt file; `sheet` is "" for the first sheet."""

    unlabelled: Unlabelled = Unlabelled.INBOX
    sheet: str = ""


AS_WRITTEN = Reading()
"""The default: the first sheet, and rows without a label are in the inbox."""
