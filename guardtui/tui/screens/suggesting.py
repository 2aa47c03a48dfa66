"""Definitions that a model proposes on request: measured, shown as a difference, applied or not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.text import Text
from textual import work

from guardtui.advice.splits import SplitError, split_prompts
from guardtui.advice.suggest import (
    Suggestion,
    SuggestionError,
    measured,
    read_proposals,
    request,
)
from guardtui.domain.evaluation import Evaluation, should_trigger
from guardtui.domain.figures import capitalized
from guardtui.domain.late import late
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import outcomes
from guardtui.http.errors import ServiceError
from guardtui.scanners.base import ScannerError
from guardtui.tui.definition_text import difference_text
from guardtui.tui.screens.edit_list import EditList
from guardtui.tui.screens.scanning import ScanningScreen
from guardtui.tui.widgets.metrics_panel import delta, number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late("numpy")

ANSWER_TOKENS = 3_000
"""Tokens of an answer with proposals."""


class SuggestionList(EditList):
    """Proposals of a model, measured."""

    TITLE_TEXT = "Proposals of the model"
    KEYS_TEXT = "Enter takes one into the editor, Esc leaves"

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


class SuggestingScreen(ScanningScreen):
    """The action that asks a model for proposals."""

    @work(exclusive=True, group="dialog")
    async def action_suggest(self) -> None:
        judge, evaluation = self.remote_options.judge, self.evaluation
        if judge is None:
            self.notify(
                "No model is named: start with --model URL#NAME, as for a judge.",
                severity="warning",
            )
            return
        if evaluation is None:
            return
        await self._take_typed()
        prompts = self.prompts
        topic = evaluation.topic
        self._tell_scan("is asked for proposals …", who="Model")
        try:
            split = await asyncio.to_thread(split_prompts, prompts)
            messages = request(topic, evaluation, prompts, split.search)
            answer = await judge.complete(messages, ANSWER_TOKENS)
            proposals, refused = read_proposals(answer, topic)
            self._tell_scan("the proposals are measured …", who="Engine")
            suggestions = await asyncio.to_thread(
                measured, topic, proposals, self._engine(evaluation, prompts), split.report
            )
        except (SuggestionError, SplitError, ServiceError, ScannerError) as error:
            self.notify(str(error), title="Model", severity="error", timeout=15)
            return
        finally:
            self._tell_scan("")
        notes = [
            f"Asked from the mistakes on {int(split.search.sum())} prompts ({split.source}); "
            f"measured by the embedded engine on the other {int(split.report.sum())}.",
            *refused,
        ]
        if not suggestions:
            told = "; ".join(refused) or "the model proposed nothing"
            self.notify(told, title="Model", severity="error", timeout=15)
            return
        chosen = await self.app.push_screen_wait(SuggestionList(topic, suggestions, notes))
        if chosen is not None:
            self._edit(chosen)
            self.notify("The proposal is in the editor; Undo brings yours back.")

    def _engine(
        self, evaluation: Evaluation, prompts: PromptSet
    ) -> Callable[[Topic], NDArray[np.int8]]:
        """What tells the outcomes of a definition by the embedded engine."""
        duty = should_trigger(prompts.expected, evaluation.topic.intent)

        def engine(topic: Topic) -> NDArray[np.int8]:
            verdicts = self.scanner.scan_now(topic, prompts, lambda progress: None)
            assert verdicts is not None  # noqa: S101 - nothing stops it
            return outcomes(duty, verdicts.triggered)

        return engine
