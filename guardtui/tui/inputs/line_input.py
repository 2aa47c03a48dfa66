"""A one-line input in which Alt with a letter is a key, not text."""

from __future__ import annotations

from textual import events
from textual.widgets import Input


class LineInput(Input):
    """Textual's input types the letter of an Alt combination; here the app's keys work."""

    def on_key(self, event: events.Key) -> None:
        if event.key.startswith("alt+"):
            event.prevent_default()  # the handler of `Input`; what is bound to the key still runs
