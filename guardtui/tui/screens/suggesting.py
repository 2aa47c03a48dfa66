"""Definitions that a model proposes on request: measured, shown as a difference, applied or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from guardtui.advice.splits import SplitError
from guardtui.advice.suggest import Suggestion, SuggestionError
from guardtui.app.problems import READING_TIME
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.app.suggestions import suggest
from guardtui.domain.figures import capitalized
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic
from guardtui.http.errors import ServiceError
from guardtui.scanners.base import ScannerError
from guardtui.tui.definition_text import difference_text
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.screens.edit_list import EditList
from guardtui.tui.widgets.metrics_panel import delta, number


class SuggestionList(EditList[Topic]):
    """Proposals of a model, measured."""

    TITLE_TEXT = "Proposals of the model"
    KEYS_TEXT = "Enter takes one into the editor, Esc closes"

    help_pane = "suggestions"

    def __init__(
        self, here: Topic, suggestions: Sequence[Suggestion], notes: Sequence[str]
    ) -> None:
        super().__init__([(one.topic, suggestion_line(one)) for one in suggestions], notes)
        self._here, self._suggestions = here, suggestions

    def described(self, place: int) -> Text:
        one = self._suggestions[place]
        text = Text(f"{display_start(one.why, 400)}\n\n", "italic") if one.why else Text()
        sentence = one.worth.describe(among=f"on {one.worth.compared} held-out prompts")
        text.append(f"{capitalized(sentence)}.\n\n")
        return text.append_text(difference_text(self._here, one.topic))


def suggestion_line(one: Suggestion) -> Text:
    """One proposal: what it gains on the held-out prompts, and whether that may be chance."""
    line = Text()
    sign, style = delta(one.gain)
    line.append(f"coverage {number(one.before.coverage)} → {number(one.after.coverage)} ", "bold")
    line.append(f"{sign:<10}", style)
    worth = one.worth
    line.append(f"fixes {worth.fixes}  regressions {worth.regressions}  ")
    line.append(f"on {worth.compared} held out ({worth.difference})  ", "$text-muted")
    return line.append(", ".join(one.changes), "$text-muted")


class Suggestions:
    """Requests proposals of a model, and applies the one that the author takes."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {"suggest": window.action(self.suggest)}

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Nothing of it is in sight."""

    async def suggest(self) -> None:
        """Show the proposals of the model that the command line names, measured."""
        services, window = self._services, self._window
        model = services.connections.options.judge
        if model is None:
            window.notify(
                "No model is named: start with --model URL#NAME, as for a judge.",
                severity="warning",
            )
            return
        await services.editing.finish_typing()
        state = services.state
        if state.evaluation is None or state.evaluated is None:
            return
        try:
            proposed = await suggest(
                services.store, services.engine, model, state.evaluation, state.evaluated
            )
        except (SuggestionError, SplitError, ServiceError, ScannerError) as error:
            window.notify(str(error), title="Model", severity="error", seconds=READING_TIME)
            return
        dialog = SuggestionList(proposed.topic, proposed.suggestions, proposed.notes)
        chosen = await window.show(dialog)
        if chosen is not None:
            services.editing.replace(chosen)
            window.notify("The proposal is in the editor; Undo brings yours back.")
