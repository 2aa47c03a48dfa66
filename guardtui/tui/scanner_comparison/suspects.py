"""Labels in doubt: prompts whose label at least two independent scanners contradict."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from guardtui.app.problems import problems_shown
from guardtui.app.services import Services
from guardtui.domain.figures import count_text
from guardtui.domain.suspects import LEAST_AGAINST
from guardtui.domain.text import display_text
from guardtui.session.confirmed_labels import confirm_labels, read_confirmed
from guardtui.session.independence import THE_ENGINE
from guardtui.session.scanner_comparison import ScannerVerdicts
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.scanner_comparison.dialog import (
    SUSPECTS,
    PromptListAccess,
    PromptListDialog,
    ScannerComparisonFeature,
)
from guardtui.tui.scanner_comparison.rows import (
    BLIND_SPOT_COLUMNS,
    SUSPECT_COLUMNS,
    BlindSpotRows,
    among,
    suspect_rows,
)

_KEYS = "a relabel · x label is right · f blind spot · Enter read · Esc"
_BLIND_SPOT_KEYS = "f labels in doubt · Enter read · Esc"

_NONE = "No label is in doubt: no two independent scanners contradict one."
_NO_BLIND_SPOT = "The embedded engine alone gets no known prompt wrong. f shows the labels."
_ALL_REJECTED = "You marked all these labels as right. r shows them again."
_NOT_IN_DOUBT = "This label is not in doubt: only the embedded engine contradicts it."


class SuspectsDialog(PromptListDialog):
    """Labels in doubt, the most doubtful first; on another page the engine's blind spot."""

    BINDINGS = [
        ("a", "accept", "Accept"),
        ("x", "reject", "Reject"),
        ("r", "show_rejected", "Show those rejected"),
        ("f", "next_list", "Blind spot"),
        ("u", "undo", "Undo in the prompts"),
    ]
    help_pane = "suspects"

    def __init__(
        self,
        sight: ScannerVerdicts,
        access: PromptListAccess,
        rejected: frozenset[int],
        confirm: Callable[[Collection[int], bool], None],
    ) -> None:
        """`rejected` are keys of prompts whose label is right; `confirm` adds or removes keys."""
        super().__init__(sight, access)
        self._rejected, self._confirm = rejected, confirm
        self._taken: frozenset[int] = frozenset()
        self._all = False
        self._blind = False
        self._summary = Static("", id="panel-figures", markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = "Labels in doubt"
            page.border_subtitle = _KEYS
            yield self._summary
            yield self.table

    def on_mount(self) -> None:
        self.table.set_columns(SUSPECT_COLUMNS)
        self.table.focus()
        self._show()

    def renew(self, sight: ScannerVerdicts) -> None:
        super().renew(sight)
        self._taken = frozenset()  # saved by now, or failed
        self._show()

    def _show(self) -> None:
        sight = self.sight
        suspects = sight.suspects
        rejected = int(among(sight, suspects.rows, self._rejected).sum())
        count = len(suspects) - int(among(sight, suspects.rows, self._rejected | self._taken).sum())
        if self._blind:
            self.table.empty_text = _NO_BLIND_SPOT
            self.table.set_source(BlindSpotRows(sight, suspects.blind_spot))
        else:
            self.table.empty_text = self._empty(len(suspects), rejected)
            rows = suspect_rows(sight, self._rejected, self._taken, all_of_them=self._all)
            self.table.set_source(rows)
        self._summary.update(themed(self._figures(count, rejected)))

    def _figures(self, count: int, rejected: int) -> Text:
        """Return both lists with their sizes, a description of the shown one, and the scanners."""
        sight, text = self.sight, Text()
        blind = len(sight.suspects.blind_spot)
        doubt = f"{count_text(count, 'label')} in doubt"
        blind_spot = f"engine's blind spot {blind}"
        for title, chosen in ((doubt, not self._blind), (blind_spot, self._blind)):
            text.append(f"[{title}]" if chosen else f" {title} ", "bold reverse" if chosen else "")
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
        names = ", ".join(display_text(scanner.name) for scanner in sight.independent) or "none"
        return text.append(f"\nindependent scanners: {names}", "$text-muted")

    def _empty(self, count: int, rejected: int) -> str:
        """Return why no label is listed, and what helps."""
        if count and count == rejected:
            return _ALL_REJECTED
        scanners = self.sight.independent
        if len(scanners) >= LEAST_AGAINST:
            return _NONE
        only = f"only {display_text(scanners[0].name)} has" if scanners else "no scanner has"
        if any(
            iteration.evaluation.settings.guardrail.sandbox for iteration in self.sight.iterations
        ):
            only = only.replace(THE_ENGINE, f"{THE_ENGINE}, with which the sandbox judges too,")
        return (
            f"No label is in doubt: {only} answered, and one scanner cannot tell a wrong label "
            "from a weakness of its own. Scan with AIRS or a judge "
            f"({self.access.scan_keys}), then look here again."
        )

    # --- keys -----------------------------------------------------------------------------

    def action_next_list(self) -> None:
        """Switch between the labels in doubt and the engine's blind spot."""
        self._blind = not self._blind
        self.table.drop_marks(self.table.marked_ids.tolist())
        self.table.set_columns(BLIND_SPOT_COLUMNS if self._blind else SUSPECT_COLUMNS)
        self.query_one(".page").border_subtitle = _BLIND_SPOT_KEYS if self._blind else _KEYS
        self._show()

    def action_accept(self) -> None:
        """Change the label of this prompt, or after a question those of all marked ones."""
        if self._blind:
            self.notify(_NOT_IN_DOUBT)
            return
        rows = self.chosen_rows()
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
            question = f"Flip the labels of {count_text(len(rows), 'prompt')}?\n{self.listed(rows)}"
            self.app.push_screen(ConfirmDialog(question, "Flip", "Cancel"), answered)

    def action_reject(self) -> None:
        """Mark these labels as right; a second time, put them in doubt again."""
        if self._blind:
            self.notify(_NOT_IN_DOUBT)
            return
        keys = frozenset(self.sight.prompts.keys[self.chosen_rows()].tolist())
        if not keys:
            self.notify("Select a prompt first.")
            return
        right = not keys <= self._rejected
        self._rejected = self._rejected | keys if right else self._rejected - keys
        self.table.drop_marks(keys)
        self._confirm(keys, right)
        self._show()

    def action_show_rejected(self) -> None:
        """Show or hide the rejected labels."""
        self._all = not self._all
        self._show()


class SuspectsFeature:
    """Lists the labels in doubt."""

    def __init__(self, services: Services, window: Window, panel: ScannerComparisonFeature) -> None:
        self._services, self._window, self._panel = services, window, panel
        self.actions: Mapping[str, ActionMethod] = {SUSPECTS: window.action(self.show_suspects)}

    async def show_suspects(self) -> None:
        """Show the labels that two independent scanners contradict."""
        sight = await self._panel.compare()
        confirmed = read_confirmed(self._services.workspace.store)
        self._panel.open(SuspectsDialog(sight, self._panel.access, confirmed, self._confirm))

    def _confirm(self, keys: Collection[int], right: bool) -> None:
        with problems_shown(self._window):
            confirm_labels(self._services.workspace.store, keys, right=right)
