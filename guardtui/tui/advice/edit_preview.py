"""The preview of an edit: its difference, its figures, and the rows it would fix and break."""

from __future__ import annotations

import numpy as np
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content

from guardtui.app.advice.edit_preview import EDITED_MEANWHILE, EditPreview
from guardtui.app.problems import READING_TIME
from guardtui.app.services import Services
from guardtui.domain.comparison import Change
from guardtui.domain.guardrail import badge
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic
from guardtui.scanners.base import ScannerError
from guardtui.tui.editor.definition_diff import difference_text
from guardtui.tui.kit.inert import Static
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.main.window import Window
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
            page.border_title = Content(f"Preview · {badge(self._preview.after.settings)}")
            page.border_subtitle = "Enter takes · Esc goes back"
            rates, *lines = map(display_text, self._preview.lines)
            yield Static(themed(Text(rates, "bold").append("\n".join(["", *lines]), "not bold")))
            with VerticalScroll(id="difference", can_focus=False):
                difference = difference_text(self._preview.current, self._preview.topic)
                difference.rstrip()
                yield Static(themed(difference))
            yield self._table

    def on_mount(self) -> None:
        self._table.focus()

    def action_take(self) -> None:
        self.dismiss(True)

    def action_close(self) -> None:
        self.dismiss(False)


async def preview_edit(services: Services, window: Window, topic: Topic) -> bool:
    """Preview an edited definition; return whether the author takes it."""
    try:
        with services.store.step("measures the edit …"):
            preview = await services.previews.measure(topic)
    except ScannerError as error:
        window.notify(str(error), severity="error", seconds=READING_TIME)
        return False
    if await services.editing.finish_typing() != preview.current:
        window.notify(EDITED_MEANWHILE)
        return False
    taken = await window.show(EditPreviewPage(preview))
    if taken:
        await services.previews.take(preview)
    return bool(taken)
