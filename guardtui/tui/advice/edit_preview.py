"""The preview of an edit: its difference, its figures, and the rows it would fix and break."""

from __future__ import annotations

import numpy as np
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll

from guardtui.app.advice.edit_preview import RATES, EditPreview
from guardtui.domain.comparison import Change
from guardtui.domain.figures import count_text, rate_text
from guardtui.domain.guardrail import badge
from guardtui.domain.metrics import RATE_TITLES
from guardtui.domain.text import display_text
from guardtui.tui.editor.definition_diff import difference_text
from guardtui.tui.kit.inert import Static
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.metrics.pane import delta
from guardtui.tui.results.columns import table_columns
from guardtui.tui.results.model import PromptSelection, ResultsView, build_results
from guardtui.tui.table.frame_table import FrameTable

_CHANGED = (Change.REGRESSION, Change.FIX)


class EditPreviewPage(Modal[bool]):
    """Returns True if the author takes the edit, False to go back."""

    BINDINGS = [Binding("enter", "take", "Take it", priority=True)]

    help_pane = "edit_preview"

    def __init__(self, preview: EditPreview) -> None:
        super().__init__()
        self._preview = preview
        comparison = preview.comparison
        changed = np.isin(comparison.changes, [int(change) for change in _CHANGED])
        keys = preview.prompts.keys[changed]
        view = ResultsView("all", picked=PromptSelection("changed", keys))
        rows = build_results(preview.prompts, preview.after, comparison, view)
        columns = table_columns(rows.filled_columns)
        rows = rows.with_columns(tuple(column.key for column in columns))
        self._table = FrameTable(columns, source=rows, empty_text="No verdict changes.")

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = f"Preview · {badge(self._preview.after.settings)}"
            page.border_subtitle = "Enter takes · Esc goes back"
            yield Static(themed(figures_text(self._preview)), id="promised")
            with VerticalScroll(id="difference", can_focus=False):
                difference = difference_text(self._preview.current, self._preview.topic)
                yield Static(themed(difference))
            yield self._table

    def on_mount(self) -> None:
        self._table.focus()

    def action_take(self) -> None:
        self.dismiss(True)

    def action_close(self) -> None:
        self.dismiss(False)


def figures_text(preview: EditPreview) -> Text:
    """Return what the screen shows once the edit is taken: rates, fixes and regressions."""
    before, after = preview.rates
    about = "" if preview.forecasts is None else "≈"
    text = Text()
    for name in RATES:
        old, new = before[name], after[name]
        if text:
            text.append("   ")
        text.append(f"{RATE_TITLES[name]} {about}{rate_text(old)} → ")
        text.append(f"{about}{rate_text(new)}", "bold")
        if name == RATES[0] and old is not None and new is not None:
            sign, style = delta(new - old)
            text.append(f" {sign}", style)
    comparison = preview.comparison
    text.append("\n")
    text.append(f"{comparison.fixes} fixed", "$text-success" if comparison.fixes else "")
    text.append(" · ")
    text.append(f"{comparison.regressions} broke", "$text-error" if comparison.regressions else "")
    count = count_text(len(preview.prompts), "prompt")
    text.append(f", against the definition in the editor, on {count}", "$text-muted")
    if out := len(preview.taken_out):
        several = out > 1
        become = f"{out} prompts become examples" if several else "1 prompt becomes an example"
        they, them = ("they", "them") if several else ("it", "it")
        text.append(
            f"\n{become}: {they} would always match, so {they} leave{'' if several else 's'} the "
            f"prompt file. These figures are without {them}."
        )
    if preview.note:
        text.append(f"\n⚠ {display_text(preview.note)}", "$text-warning")
    return text
