"""A line to type into, in which a letter with Alt is a key and no letter."""

from __future__ import annotations

from textual import events
from textual.widgets import Input


class LineInput(Input):
    """Textual's own takes Alt and a letter for the letter, and keys of the app would be typed."""

    def on_key(self, event: events.Key) -> None:
        if event.key.startswith("alt+"):
            event.prevent_default()  # the handler of `Input`; what is bound to the key still runs
