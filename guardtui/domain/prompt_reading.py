"""How a prompt file is read: rows without a label, and the sheet of a workbook."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Unlabelled(StrEnum):
    """What a row with an empty label is: an error, left out, or not expected."""

    ERROR = "error"
    LEAVE_OUT = "leave-out"
    FALSE = "false"


@dataclass(frozen=True, slots=True)
class Reading:
    """The author's choices for reading a prompt file; `sheet` is "" for the first sheet."""

    unlabelled: Unlabelled = Unlabelled.ERROR
    sheet: str = ""


AS_WRITTEN = Reading()
"""The default: the first sheet, and every row has a label."""
