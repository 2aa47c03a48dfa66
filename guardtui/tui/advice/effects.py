"""The effect of each part of the definition, measured without it."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text

from guardtui.advice.effects import Effect, no_effect
from guardtui.app.advice.refinement import Effects
from guardtui.app.problems import READING_TIME
from guardtui.app.services import Services
from guardtui.domain.figures import capitalized
from guardtui.domain.guardrail import guardrail_text
from guardtui.domain.text import display_start, display_text
from guardtui.domain.topic import Topic
from guardtui.scanners.base import ScannerError
from guardtui.tui.advice.edit_list import EditList
from guardtui.tui.editor.definition_diff import difference_text
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.metrics.pane import delta

_SHOWN = 100


class EffectFeature:
    """Shows the effects, and leaves out the part that the author chooses."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self.actions: Mapping[str, ActionMethod] = {
            "show_effects": window.action(self.show_effects)
        }

    async def show_effects(self) -> None:
        """Show the effect of each part of the definition."""
        count = len(self._services.workspace.prompts)
        try:
            effects = await self._services.refinement.effects()
        except ScannerError as error:
            self._window.notify(str(error), severity="error", seconds=READING_TIME)
            return
        if not effects.parts:
            self._window.notify("The definition has no parts to leave out.")
            return
        topic = self._services.session.topic
        left_out = await self._window.show(EffectList(topic, effects, count))
        if left_out is not None:
            self._services.editing.replace(left_out.topic)
            self._window.notify(f"Left out: {left_out.part}; Undo restores it.")


class EffectList(EditList[Effect]):
    """The effect of each part of a definition on `count` prompts; a part can be left out."""

    TITLE_TEXT = "What each part of the definition does"
    KEYS_TEXT = "Enter omits it · Esc closes"

    help_pane = "effects"

    def __init__(self, current: Topic, effects: Effects, count: int) -> None:
        sign = no_effect(effects.parts[0].before)
        note = (
            f"The change of coverage by {guardrail_text(effects.settings)}, on all {count} "
            "prompts: ▲ means that the definition is better without that part."
        )
        notes = [sign, note] if sign else [note]
        super().__init__([(part, effect_line(part)) for part in effects.parts], notes)
        self.current, self.parts = current, effects.parts

    def described(self, index: int) -> Text:
        part = self.parts[index]
        text = Text(f"{capitalized(part.worth.sentence)}.\n\n")
        return text.append_text(difference_text(self.current, part.topic))


def effect_line(effect: Effect) -> Text:
    """Return the effect of a part in one line, measured by leaving it out."""
    sign, style = delta(effect.coverage_change, "no change")
    line = Text()
    line.append(f"{sign:<9}", style)
    line.append(f" {display_text(effect.sentence)}")
    worth = effect.worth
    if (worth.fixes or worth.regressions) and worth.could_be_chance:
        line.append(" (may be chance)", "$text-warning")
    if effect.part.startswith("example"):
        line.append(f"  {display_start(effect.text, _SHOWN)}", "$text-muted")
    return line
