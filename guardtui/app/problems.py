"""Errors of files and of the session's store, shown to the author instead of raised."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from guardtui.app.ports import Author
from guardtui.domain.errors import GuardtuiError

READING_TIME = 15.0
"""Seconds for which a problem with a remedy is shown."""


@contextlib.contextmanager
def problems_shown(author: Author) -> Iterator[None]:
    """Notify the author of a FileError, PromptSetError or StoreError raised within."""
    try:
        yield
    except GuardtuiError as problem:
        author.notify(str(problem), severity="error", seconds=READING_TIME)
