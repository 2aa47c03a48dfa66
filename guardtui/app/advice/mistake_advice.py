"""One mistake: why the prompt is judged wrong, and which edits would correct that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from guardtui.advice.corrections import Correction, Corrections, correctable, corrections
from guardtui.advice.effects import DefinitionVerdicts
from guardtui.advice.engine_scores import open_scores
from guardtui.advice.forecast_verdicts import ForecastVerdicts
from guardtui.advice.objective import Stopped
from guardtui.advice.word_effects import strongest_words
from guardtui.app.advice.edit_preview import EDITED_MEANWHILE, EditPreview, EditPreviews
from guardtui.app.context import Context
from guardtui.app.scan.forecasting import Forecasting
from guardtui.app.stoppable import run_stoppable
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import (
    ENGINE,
    FORECAST,
    ScannerSettings,
    forecast_settings,
    guardrail_label,
)
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.domain.verdicts import is_wrong
from guardtui.scanners.local.explanation import Explanation

MOST_EDITS = 480
"""Maximum number of edits that the engine tries."""

MOST_FORECASTS = 60
"""Maximum number of edits that are tried by a forecast, which takes longer."""

_MEASURED = 12
"""Maximum number of corrections that are measured as their previews are."""

_SHOWN = 300


@dataclass(frozen=True, eq=False)
class MeasuredCorrection:
    """An edit that corrects a mistake: its text, and what its preview shows."""

    change: str
    preview: EditPreview


@dataclass(frozen=True, eq=False)
class MistakeAdvice:
    """Why a prompt is judged wrong, in sentences, and edits that correct it.

    `settings` are those of the engine, or of the forecast, that tried the edits. The best of the
    `corrections` are `measured`, those that raise coverage most first.
    """

    prompt: str
    why: str
    corrections: Corrections
    settings: ScannerSettings
    measured: tuple[MeasuredCorrection, ...] = ()

    @property
    def outcome(self) -> str:
        """Sentences on the effect of the edits that were tried."""
        known, tried = self.corrections, self.corrections.tried
        by = "the engine"
        if self.settings.kind != ENGINE:
            by = f"the {guardrail_label(self.settings)}"
        if known.is_right:
            return (
                f"By {by} it is judged rightly, so no edit can be tried there: an experiment asks "
                "the guardrail itself."
            )
        if not tried:
            return "No edit was tried: write a description within the limits first."
        if not self.measured:
            return (
                f"None of {tried} edits of the examples corrects it, by {by}. Change the words of "
                "the part that is nearest, check the label, or look at another mistake."
            )
        useless = min(len(known.found), _MEASURED) - len(self.measured)
        count = f"{len(known.found) - useless} of {tried} edits correct it, by {by}"
        if self.measured[0].preview.gain > 0:
            return (
                f"{count}. A gain may be chance, as the edits were chosen on these prompts: on new "
                "ones expect less."
            )
        shown = [measured.preview.comparison for measured in self.measured]
        none = "None" if len(known.found) <= _MEASURED else f"None of the best {_MEASURED}"
        if any(comparison.fixes > comparison.regressions for comparison in shown):
            return f"{count}. {none} raises coverage, but some fix more than they break."
        return (
            f"{count}. {none} raises coverage: each breaks as much as it fixes, or more. Leaving "
            "this mistake may be better."
        )


@dataclass(frozen=True, eq=False)
class _Judge:
    """Judge of edits with its limit.

    `judge` gives verdicts on definitions, `settings` says whose they are, `order` has the rows in
    the order in which they are tried as examples, and `most` limits the number of edits.
    """

    judge: DefinitionVerdicts
    settings: ScannerSettings
    order: list[int]
    most: int


class MistakeExplanations:
    """Explains mistakes, and looks for edits that correct them."""

    def __init__(self, context: Context, forecasting: Forecasting, previews: EditPreviews) -> None:
        self._store, self._engine = context.store, context.engine
        self._editing, self._forecasting = context.editing, forecasting
        self._previews = previews

    async def explain(self, key: int) -> MistakeAdvice | str:
        """Return the advice on the prompt of this key, or why there is none.

        Raises ScannerError.
        """
        topic = await self._editing.finish_typing()
        state = self._store.state
        evaluation, prompts = state.evaluation, state.evaluated
        if evaluation is None or prompts is None or evaluation.topic != topic:
            return "This definition is still being evaluated."
        row = prompts.row_of(key)
        if row is None:
            return "This prompt is not in the set."
        if not is_wrong(evaluation.codes[row : row + 1])[0]:
            return "This prompt is not a mistake: choose one that is FP or FN."
        scanner = self._engine.scanner
        text = str(prompts.prompts[row])

        def work(stopped: Stopped) -> MistakeAdvice | None:
            explanation = scanner.explain(topic, text)
            tool = self._judge(evaluation, prompts, stopped)
            if tool is None:
                return None
            found = corrections(tool.judge, topic, row, tool.order, tool.most, stopped)
            if found is None:
                return None
            why = why_wrong(evaluation, prompts, row, explanation)
            return MistakeAdvice(text, why, found, tool.settings)

        with self._store.step("looks for edits that correct it …"):
            advice = await run_stoppable(work)
            if advice is not None:
                measured = await self._measured(advice.corrections.found[:_MEASURED], key)
                advice = replace(advice, measured=measured)
        if await self._editing.finish_typing() != topic:
            return EDITED_MEANWHILE
        return advice or "This was stopped."

    async def _measured(
        self, found: Sequence[Correction], key: int
    ) -> tuple[MeasuredCorrection, ...]:
        """Return edits as their previews measure them, without those that then correct nothing."""
        measured = [
            MeasuredCorrection(
                correction.edit.change, await self._previews.measure(correction.edit.topic)
            )
            for correction in found
        ]
        right = [correction for correction in measured if correction.preview.corrects(key)]

        def order(correction: MeasuredCorrection) -> tuple[float, int]:
            comparison = correction.preview.comparison
            return -correction.preview.gain, comparison.regressions - comparison.fixes

        return tuple(sorted(right, key=order))

    async def first(self, selected: int | None) -> int | None:
        """Return the key of the mistake to look at first, or None without any.

        It is the selected one if edits correct it, else one that the best edit corrects. Raises
        ScannerError.
        """
        topic = await self._editing.finish_typing()
        state = self._store.state
        evaluation, prompts = state.evaluation, state.evaluated
        if evaluation is None or prompts is None or evaluation.topic != topic:
            return selected
        mistakes = is_wrong(evaluation.codes)
        row = None if selected is None else prompts.row_of(selected)

        def work(stopped: Stopped) -> list[int]:
            tool = self._judge(evaluation, prompts, stopped)
            if tool is None:
                return []
            first = [] if row is None else [row]
            order = [*first, *tool.order]
            found = correctable(tool.judge, topic, order, tool.most, stopped) or []
            return [row for row in found if mistakes[row]]

        with self._store.step("looks for a mistake that edits correct …"):
            found = await run_stoppable(work) or np.flatnonzero(mistakes).tolist()
        if not found or (row is not None and row in found):
            return selected if found else None
        return int(prompts.keys[found[0]])

    def _judge(self, evaluation: Evaluation, prompts: PromptSet, stopped: Stopped) -> _Judge | None:
        """Return what tries edits: the engine, or a forecast of the guardrail; None if stopped."""
        scores = open_scores(self._engine.scanner, prompts, lambda progress: None, stopped)
        if scores is None:
            return None
        order = scores.example_rows(np.arange(len(prompts))).tolist()
        if evaluation.settings.kind != ENGINE:
            known = self._forecasting.forecaster(prompts, stopped)
            if known is not None:
                settings = forecast_settings(known.grounds.settings)
                return _Judge(ForecastVerdicts(known, prompts), settings, order, MOST_FORECASTS)
        return _Judge(scores, scores.settings, order, MOST_EDITS)


def why_wrong(
    evaluation: Evaluation, prompts: PromptSet, row: int, explanation: Explanation
) -> str:
    """Return in sentences why the verdict on a row is wrong.

    `explanation` is the engine's, which is a guess where another guardrail judged.
    """
    belongs = bool(prompts.expected[row])
    happened = "It belongs to the topic, and is not recognised"
    if not belongs:
        happened = "It does not belong to the topic, and is taken for it"
    kind, verdicts = evaluation.settings.kind, evaluation.verdicts
    if kind == FORECAST:
        happened += f", in the {guardrail_label(evaluation.settings)}"
    elif kind != ENGINE:
        happened += f" by {guardrail_label(evaluation.settings)}"
    if reason := verdicts.reasons.get(row, ""):
        return f"{happened}. The reason given: {display_start(reason, _SHOWN)}"
    nearest = _part(evaluation, explanation.matched)
    if kind == ENGINE:
        score, threshold = float(verdicts.score[row]), evaluation.settings.threshold
        at, least = f"{score:.2f}", ""
        if threshold is not None:
            digits = next(
                (few for few in (2, 3) if f"{score:.{few}f}" != f"{threshold:.{few}f}"), 4
            )
            at, enough = f"{score:.{digits}f}", f"{threshold:.{digits}f}"
            least = f" of {enough} needed" if belongs else f", where {enough} is enough"
        text = f"{happened}: nearest is {nearest}, at {at}{least}."
    else:
        text = f"{happened}. To the engine, the nearest part is {nearest}."
    sign = -1 if belongs else 1
    words = [word.word for word in strongest_words(explanation.words) if sign * word.z > 0]
    strong = [*{word.lower(): word for word in words}.values()]  # a prompt may repeat a word
    if not strong:
        return text
    named = " and ".join(f"“{display_start(word, 40)}”" for word in strong)
    verb = ("raise" if sign > 0 else "lower") + ("s" if len(strong) == 1 else "")
    return f"{text} {named} {verb} it most."


def _part(evaluation: Evaluation, matched: int) -> str:
    examples = evaluation.topic.examples
    if not 0 < matched <= len(examples):
        return f"the {evaluation.topic.main_field}"
    return f"example {matched}, “{display_start(examples[matched - 1], 60)}”"
