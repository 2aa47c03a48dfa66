"""Labels in doubt: prompts of which every scanner and every iteration say the opposite."""

from __future__ import annotations

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from guardtui.domain.figures import count_text
from guardtui.domain.suspects import LEAST_VOICES
from guardtui.session.confirmed_labels import read_confirmed
from guardtui.session.panel import Sight
from guardtui.tui.content import themed
from guardtui.tui.messages import LabelsConfirmed
from guardtui.tui.panel_rows import SUSPECT_COLUMNS, among, suspect_rows
from guardtui.tui.panel_text import named
from guardtui.tui.screens.dialogs import Confirm
from guardtui.tui.screens.panel import SUSPECTS, PanelScreen, SightDialog
from guardtui.tui.screens.scanning import ScanningScreen

_NONE = "No label is in doubt: none that every scanner and every iteration contradict."
_TOO_FEW = (
    "Two voices at least must speak against a label: scan with AIRS or a judge, or try another "
    "definition, and come back."
)
_ALL_REJECTED = "You said of all of them that the label is right. r shows them again."


class SuspectsDialog(SightDialog):
    """Suspect labels, the most suspicious first; each is accepted or rejected by a key."""

    BINDINGS = [
        ("a", "accept", "Accept"),
        ("x", "reject", "Reject"),
        ("r", "show_rejected", "Show those rejected"),
        ("u", "undo", "Undo in the prompts"),
        ("escape,q", "close", "Leave"),
    ]
    help_pane = "suspects"

    def __init__(self, host: ScanningScreen, sight: Sight, rejected: frozenset[int]) -> None:
        super().__init__(host, sight)
        self._rejected = rejected
        self._taken: frozenset[int] = frozenset()
        self._all = False
        self._told = Static("", id="panel-figures", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = "Labels in doubt"
            page.border_subtitle = "a relabels · x label is right · Enter reads · Esc leaves"
            yield self._told
            yield self.table

    def on_mount(self) -> None:
        self.table.set_columns(SUSPECT_COLUMNS)
        self.table.focus()
        self._show()

    def renew(self, sight: Sight) -> None:
        super().renew(sight)
        self._taken = frozenset()  # written by now, or it failed
        self._show()

    def _show(self) -> None:
        sight = self.sight
        rows = suspect_rows(sight, self._rejected, self._taken, all_of_them=self._all)
        found = sight.suspects.rows
        rejected = int(among(sight, found, self._rejected).sum())
        count = len(found) - int(among(sight, found, self._rejected | self._taken).sum())
        self.table.empty_text = self._empty(len(found), rejected)
        self.table.set_source(rows)
        text = Text()
        text.append(f"{count} label{'s' * (count != 1)} in doubt", "bold")
        text.append(f" of {len(sight.prompts)}: all that was ever said of them contradicts.")
        if rejected:
            shown = "r hides them" if self._all else "r shows them"
            text.append(f" {rejected} rejected (x): {shown}.")
        voices = ", ".join(map(named, sight.voices)) or "none"
        text.append(f"\nscanners: {voices}; iterations: {len(sight.iterations)}", "$text-muted")
        self._told.update(themed(text))

    def _empty(self, count: int, rejected: int) -> str:
        if count and count == rejected:
            return _ALL_REJECTED
        return _NONE if self.sight.speakers >= LEAST_VOICES else f"{_NONE} {_TOO_FEW}"

    # --- keys -----------------------------------------------------------------------------

    def action_accept(self) -> None:
        """Turn the label of this prompt, or after a question those of all that are marked."""
        rows = self.wanted_rows()
        if not len(rows):
            self.notify("Select a prompt first.")
            return
        labels = ~self.sight.prompts.expected[rows]

        def answered(answer: bool | None) -> None:
            if answer:
                self._taken |= frozenset(self.sight.prompts.keys[rows].tolist())
                self.relabel(rows, labels)
                self._show()

        if len(rows) == 1:
            answered(True)
        else:
            question = f"Turn the labels of {count_text(len(rows), 'prompt')}?\n{self.listed(rows)}"
            self.app.push_screen(Confirm(question, "Turn", "Leave"), answered)

    def action_reject(self) -> None:
        """Remember that these labels are right; said of one that was rejected, it is open again."""
        keys = frozenset(self.sight.prompts.keys[self.wanted_rows()].tolist())
        if not keys:
            self.notify("Select a prompt first.")
            return
        right = not keys <= self._rejected
        self._rejected = self._rejected | keys if right else self._rejected - keys
        self.table.drop_marks(keys)
        self._host.post_message(LabelsConfirmed(keys, right=right))
        self._show()

    def action_show_rejected(self) -> None:
        """List those that were rejected too, or leave them out again."""
        self._all = not self._all
        self._show()

    def action_close(self) -> None:
        self.dismiss(None)


class SuspectsScreen(PanelScreen):
    """The action that lists the labels in doubt."""

    @work(exclusive=True, group="dialog")
    async def action_show_suspects(self) -> None:
        await self._take_typed()
        sight = await self._sight()
        rejected = read_confirmed(self.workspace.store)
        self.app.push_screen(SuspectsDialog(self, sight, rejected))

    def _panel_left(self, following: str | None) -> None:
        if following == SUSPECTS:
            self.action_show_suspects()
