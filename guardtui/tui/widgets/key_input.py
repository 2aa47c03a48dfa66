"""A line for a secret: it is masked, and no clipboard gets it."""

from __future__ import annotations

from guardtui.tui.widgets.line_input import LineInput


class KeyInput(LineInput):
    """Whoever shows it clears it when the dialog closes."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as Textual calls it
        super().__init__(password=True, id=id, compact=True)

    def action_copy(self) -> None:
        """Copy nothing: a clipboard is read by other programs."""

    def action_cut(self) -> None:
        """Delete the selection, and copy nothing."""
        self.delete_selection()
