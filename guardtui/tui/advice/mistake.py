"""One mistake: why it is wrong, and the edits that would correct it."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text

from guardtui.app.advice.ideas import in_short
from guardtui.app.advice.mistake_advice import MeasuredCorrection, MistakeAdvice
from guardtui.app.problems import READING_TIME
from guardtui.app.services import Services
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.figures import change_text
from guardtui.domain.text import display_start, display_text
from guardtui.tui.advice.edit_list import EditList
from guardtui.tui.advice.edit_preview import preview_edit
from guardtui.tui.editor.definition_diff import difference_text
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window

_LISTED = 6
_SHOWN = 200


class MistakePage(EditList[MeasuredCorrection]):
    """Returns the edit to preview, or None."""

    TITLE_TEXT = "Why, and what would fix it"
    KEYS_TEXT = "Enter previews · Esc closes"

    help_pane = "mistake"

    def __init__(self, advice: MistakeAdvice) -> None:
        listed = advice.measured[:_LISTED]
        notes = [f"“{display_start(advice.prompt, _SHOWN)}”", advice.why, advice.outcome]
        super().__init__([(edit, correction_line(edit)) for edit in listed], notes)

    def described(self, index: int) -> Text:
        preview = self._edits[index][0].preview
        text = Text("\n".join([*map(display_text, preview.lines[:2]), "", ""]))
        return text.append_text(difference_text(preview.current, preview.topic))


def correction_line(found: MeasuredCorrection) -> Text:
    """Return an edit in one line: its change of coverage, its fixes and regressions, what it does.

    The page shows the texts that it replaces or drops below the list.
    """
    gain, comparison = found.preview.gain, found.preview.comparison
    style = "bold $text-success" if gain > 0 else "bold"
    line = Text().append(f"{change_text(gain)}  ", style)
    line.append(f"✓{comparison.fixes:<3} ✗{comparison.regressions:<3} ", "$text-muted")
    return line.append(in_short(found.preview.current, found.preview.topic) or found.change)


class MistakeFeature:
    """Explains a mistake, and previews the edits that correct it."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {"explain_mistake": window.action(self.explain)}
        window.panes.results.use_actions(self.actions)

    async def explain(self, first: bool = False) -> None:
        """Show why the selected prompt is wrong, and what would fix it.

        With `first`, select the mistake to look at first.
        """
        results, mistakes = self._window.panes.results, self._services.mistakes
        key = results.table.cursor_row_id
        try:
            if first:
                key = await mistakes.first(key)
            if key is None:
                self._window.notify("Select a mistake in the results first.")
                return
            if first:
                results.select_when_shown(key, self._services.state.prompts)
            advice = await mistakes.explain(key)
        except GuardtuiError as error:
            self._window.notify(str(error), severity="error", seconds=READING_TIME)
            return
        if isinstance(advice, str):
            self._window.notify(advice)
            return
        while True:
            found = await self._window.show(MistakePage(advice))
            if found is None or await preview_edit(
                self._services, self._window, found.preview.topic
            ):
                return
