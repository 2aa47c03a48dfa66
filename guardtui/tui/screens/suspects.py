"""Labels in doubt: prompts whose label at least two independent scanners contradict."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from guardtui.app.problems import problems_shown
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.figures import count_text
from guardtui.domain.suspects import LEAST_AGAINST
from guardtui.domain.text import display_text
from guardtui.session.confirmed_labels import confirm_labels, read_confirmed
from guardtui.session.independence import ENGINE, SANDBOX
from guardtui.session.panel import Sight
from guardtui.tui.content import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.panel_rows import (
    BLIND_SPOT_COLUMNS,
    SUSPECT_COLUMNS,
    BlindSpotRows,
    among,
    suspect_rows,
)
from guardtui.tui.screens.dialogs import Confirm
from guardtui.tui.screens.panel import SUSPECTS, PanelFeature, SightAccess, SightDialog

_KEYS = "a relabel · x label is right · f blind spot · Enter read · Esc"
_BLIND_SPOT_KEYS = "f labels in doubt · Enter read · Esc"

_NONE = "No label is in doubt: none is contradicted by two independent scanners."
_NO_BLIND_SPOT = "No prompt is known that only the embedded engine gets wrong. f shows the labels."
_ALL_REJECTED = "You said of all of them that the label is right. r shows them again."
_NOT_IN_DOUBT = "This label is not in doubt: only the embedded engine contradicts it."


class SuspectsDialog(SightDialog):
    """Labels in doubt, the most doubtful first, and apart from them the engine's blind spot."""

    BINDINGS = [
        ("a", "accept", "Accept"),
        ("x", "reject", "Reject"),
        ("r", "show_rejected", "Show those rejected"),
        ("f", "next_list", "Blind spot"),
        ("u", "undo", "Undo in the prompts"),
        ("escape,q", "close", "Close"),
    ]
    help_pane = "suspects"

    def __init__(
        self,
        sight: Sight,
        access: SightAccess,
        rejected: frozenset[int],
        confirm: Callable[[Collection[int], bool], None],
    ) -> None:
        """`rejected` are keys of prompts whose label is right; `confirm` remembers more of them.

        With False it forgets them.
        """
        super().__init__(sight, access)
        self._rejected, self._confirm = rejected, confirm
        self._taken: frozenset[int] = frozenset()
        self._all = False
        self._blind = False
        self._told = Static("", id="panel-figures", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = "Labels in doubt"
            page.border_subtitle = _KEYS
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
        found = sight.suspects
        rejected = int(among(sight, found.rows, self._rejected).sum())
        count = len(found) - int(among(sight, found.rows, self._rejected | self._taken).sum())
        if self._blind:
            self.table.empty_text = _NO_BLIND_SPOT
            self.table.set_source(BlindSpotRows(sight, found.blind_spot))
        else:
            self.table.empty_text = self._empty(len(found), rejected)
            rows = suspect_rows(sight, self._rejected, self._taken, all_of_them=self._all)
            self.table.set_source(rows)
        self._told.update(themed(self._figures(count, rejected)))

    def _figures(self, count: int, rejected: int) -> Text:
        """Both lists with their sizes, what the one shown is, and who was asked."""
        sight, text = self.sight, Text()
        blind = len(sight.suspects.blind_spot)
        doubt = f"{count_text(count, 'label')} in doubt"
        spot = f"engine's blind spot {blind}"
        for told, chosen in ((doubt, not self._blind), (spot, self._blind)):
            text.append(f"[{told}]" if chosen else f" {told} ", "bold reverse" if chosen else "")
            text.append(" ")
        if self._blind:
            text.append(
                "\nonly the embedded engine contradicts these labels: its weakness, not theirs"
            )
        else:
            text.append(f"\nof {len(sight.prompts)}: two independent scanners contradict each")
            if rejected:
                shown = "r hides them" if self._all else "r shows them"
                text.append(f"; {rejected} rejected (x): {shown}")
        names = ", ".join(display_text(one.name) for one in sight.independent) or "none"
        return text.append(f"\nindependent scanners: {names}", "$text-muted")

    def _empty(self, count: int, rejected: int) -> str:
        """Why no label is listed, and what helps."""
        if count and count == rejected:
            return _ALL_REJECTED
        scanners = self.sight.independent
        if len(scanners) >= LEAST_AGAINST:
            return _NONE
        only = f"only {display_text(scanners[0].name)} has" if scanners else "no scanner has"
        if any(
            one.evaluation.settings.identity.startswith(SANDBOX) for one in self.sight.iterations
        ):
            only = only.replace(ENGINE, f"{ENGINE}, with which the sandbox judges too,")
        return (
            f"No label is in doubt: {only} answered, and one scanner cannot tell a wrong label "
            "from a weakness of its own. Scan with AIRS or a judge "
            f"({self.access.scan_keys}), then look here again."
        )

    # --- keys -----------------------------------------------------------------------------

    def action_next_list(self) -> None:
        """Show the engine's blind spot, or the labels in doubt again."""
        self._blind = not self._blind
        self.table.drop_marks(self.table.marked_ids.tolist())
        self.table.set_columns(BLIND_SPOT_COLUMNS if self._blind else SUSPECT_COLUMNS)
        self.query_one(".page").border_subtitle = _BLIND_SPOT_KEYS if self._blind else _KEYS
        self._show()

    def action_accept(self) -> None:
        """Turn the label of this prompt, or after a question those of all that are marked."""
        if self._blind:
            self.notify(_NOT_IN_DOUBT)
            return
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
            self.app.push_screen(Confirm(question, "Turn", "Cancel"), answered)

    def action_reject(self) -> None:
        """Remember that these labels are right; said of one that was rejected, it is open again."""
        if self._blind:
            self.notify(_NOT_IN_DOUBT)
            return
        keys = frozenset(self.sight.prompts.keys[self.wanted_rows()].tolist())
        if not keys:
            self.notify("Select a prompt first.")
            return
        right = not keys <= self._rejected
        self._rejected = self._rejected | keys if right else self._rejected - keys
        self.table.drop_marks(keys)
        self._confirm(keys, right)
        self._show()

    def action_show_rejected(self) -> None:
        """List those that were rejected too, or leave them out again."""
        self._all = not self._all
        self._show()

    def action_close(self) -> None:
        self.dismiss(None)


class SuspectsFeature:
    """Lists the labels in doubt."""

    def __init__(self, services: Services, window: Window, panel: PanelFeature) -> None:
        self._services, self._window, self._panel = services, window, panel
        self.actions: Mapping[str, ActionMethod] = {SUSPECTS: window.action(self.show_suspects)}

    def state_changed(self, old: AppState, new: AppState) -> None:
        """The panel keeps the open list up to date."""

    async def show_suspects(self) -> None:
        """Show the labels that two independent scanners contradict."""
        sight = await self._panel.compare()
        confirmed = read_confirmed(self._services.workspace.store)
        self._panel.open(SuspectsDialog(sight, self._panel.access, confirmed, self._confirm))

    def _confirm(self, keys: Collection[int], right: bool) -> None:
        with problems_shown(self._window):
            confirm_labels(self._services.workspace.store, keys, right=right)
