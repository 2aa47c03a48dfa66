"""An input for a secret: masked, and never copied to a clipboard."""

from __future__ import annotations

from guardtui.tui.inputs.line_input import LineInput


class SecretInput(LineInput):
    """The dialog that shows it clears it on closing."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as Textual calls it
        super().__init__(password=True, id=id, compact=True)

    def action_copy(self) -> None:
        """Copy nothing: a clipboard is read by other programs."""

    def action_cut(self) -> None:
        """Delete the selection, and copy nothing."""
        self.delete_selection()
