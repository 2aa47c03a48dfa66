"""The preview of an edit: the figures and the rows that the screen shows once it is taken."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from guardtui.app.context import Context
from guardtui.app.editing.workspace_sync import WorkspaceSync, ends_the_fit, taken_prompts
from guardtui.app.scan.forecasting import Forecasting, as_evaluation
from guardtui.app.scan.subject import FigureSubject
from guardtui.app.stoppable import run_stoppable
from guardtui.domain.comparison import Comparison, compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text, rate_text
from guardtui.domain.metrics import RATE_TITLES
from guardtui.domain.operating_point import LABELS_AT_LEAST, is_fitted
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import is_wrong
from guardtui.forecast.forecaster import Forecast
from guardtui.scanners.local.embedding import PromptVectors
from guardtui.session.profile_scans import WithCompanions

EDITED_MEANWHILE = "The definition was edited meanwhile: ask again."
"""Message in place of figures and edits of a definition that is no longer in the editor."""

RATES = ("coverage", "true_positive_rate", "true_negative_rate")


@dataclass(frozen=True, eq=False)
class EditPreview:
    """The definition in the editor and an edited one, both measured on the same `prompts`.

    These are the prompts of the set without those `taken_out` because they become examples.
    `comparison` is that of the two. `forecasts` are those of the guardrail for both, or None where
    the engine's verdicts are shown. `shown` is the coverage that the screen shows of the definition
    in the editor, on all prompts. `note` says what the author should know besides, or is "".
    """

    current: Topic
    topic: Topic
    prompts: PromptSet
    comparison: Comparison
    taken_out: frozenset[int]
    forecasts: tuple[Forecast, Forecast] | None = None
    shown: float | None = None
    note: str = ""

    @property
    def after(self) -> Evaluation:
        """The evaluation of the edited definition."""
        return self.comparison.evaluations[1]

    @property
    def rates(self) -> tuple[Mapping[str, float | None], Mapping[str, float | None]]:
        """The rates of both definitions by their names in `Metrics`, as the screen shows them."""
        if self.forecasts is None:
            before, after = (
                {name: getattr(side.metrics, name) for name in RATES}
                for side in self.comparison.evaluations
            )
            return before, after
        expected = [
            {
                name: None if rate is None else rate.value
                for name, rate in forecast.rates.by_name.items()
            }
            for forecast in self.forecasts
        ]
        return expected[0], expected[1]

    @property
    def gain(self) -> float:
        """Change of coverage, 0 where it is undefined."""
        old, new = (side["coverage"] for side in self.rates)
        return 0.0 if old is None or new is None else new - old

    def corrects(self, key: int) -> bool:
        """Return whether the edit makes the prompt of this key right, or an example.

        If the definition in the editor is right too without the prompts that were taken out, it is
        not the edit that corrects it.
        """
        row = self.prompts.row_of(key)
        if row is None:
            return True
        before, after = (
            is_wrong(each.codes[row : row + 1])[0] for each in self.comparison.evaluations
        )
        return bool(before and not after)

    @property
    def lines(self) -> tuple[str, ...]:
        """Sentences on what the screen will show: rates, fixes, regressions, removed prompts."""
        sides, about = self.rates, "" if self.forecasts is None else "≈"
        rates = "   ".join(
            f"{RATE_TITLES[name]} " + " → ".join(about + rate_text(side[name]) for side in sides)
            for name in RATES
        )
        comparison = self.comparison
        counts = f"{comparison.fixes} fixed · {comparison.regressions} broke"
        prompts = count_text(len(self.prompts), "prompt")
        lines = [rates, f"{counts}, against the definition in the editor, on {prompts}"]
        if out := len(self.taken_out):
            several = out > 1
            become = f"{out} prompts become examples" if several else "1 prompt becomes an example"
            they, them = ("they", "them") if several else ("it", "it")
            fitted = ""
            if is_fitted(self.after.settings):
                fitted = f", each threshold {self.after.settings.threshold_source}"
            first, shown = rate_text(self.rates[0]["coverage"]), rate_text(self.shown)
            if self.shown is not None and first != shown:
                fitted += f": so the first coverage is {first}, and {shown} with {them}"
            lines.append(
                f"{become}: {they} would always match, so {they} leave{'' if several else 's'} the "
                f"prompt file. These figures are without {them}{fitted}."
            )
        return (*lines, f"⚠ {self.note}") if self.note else tuple(lines)


class EditPreviews:
    """Measures an edit as the preview does after it is taken, and takes it."""

    def __init__(
        self,
        context: Context,
        sync: WorkspaceSync,
        forecasting: Forecasting,
        subject: FigureSubject,
    ) -> None:
        self._store = context.store
        self._workspace, self._engine = context.workspace, context.engine
        self._editing, self._author = context.editing, context.author
        self._sync, self._forecasting, self._subject = sync, forecasting, subject

    async def measure(self, topic: Topic) -> EditPreview:
        """Return the preview of an edited definition. Raises ScannerError."""
        current = await self._editing.finish_typing()
        prompts = self._workspace.prompts
        taken = taken_prompts(current, topic, prompts)
        refusal = self._workspace.prompts_refusal or _needed(taken, prompts) if taken else ""
        note = _stays_in(len(taken), refusal) if refusal else ""
        taken = frozenset() if refusal else taken
        rows = np.flatnonzero(~np.isin(prompts.keys, np.array([*taken], np.uint64)))
        left = replace(prompts, frame=prompts.frame[rows]) if taken else prompts
        # A scanner of its own: the one of the screen keeps its prompts.
        screen = self._engine.scanner
        scanner = await asyncio.to_thread(screen.beside)
        if screen.has(prompts):
            known = await asyncio.to_thread(screen.prompt_vectors, prompts, lambda progress: None)
            if known is not None:
                vectors = PromptVectors(known.matrix.taken(rows), known.terms[rows])
                scanner.adopt(left.keys, vectors)
        whole = self._engine.measuring
        measuring = WithCompanions(scanner, whole.companions, whole.closed)
        before = await measuring.evaluate(current, left, lambda progress: None)
        after = await measuring.evaluate(topic, left, lambda progress: None)
        if is_fitted(scanner.settings) and ends_the_fit(prompts, taken):
            note = (
                f"Fewer than {LABELS_AT_LEAST} prompts of a label are left then: the threshold is "
                "no longer fitted to them."
            )
        forecasts = None
        if not self._subject.engine_only:
            forecasts = await run_stoppable(
                lambda stopped: self._forecasting.beside((current, topic), left, scanner, stopped)
            )
        if forecasts is not None:
            before = as_evaluation(forecasts[0], before)
            after = as_evaluation(forecasts[1], after)
        comparison = await asyncio.to_thread(compare, before, after)
        state, coverage = self._store.state, None
        shown = state.evaluation
        if shown is not None and (shown.topic, shown.settings.kind) == (
            current,
            before.settings.kind,
        ):
            coverage = shown.metrics.coverage
            if state.forecast is not None and state.forecast.rates.coverage is not None:
                coverage = state.forecast.rates.coverage.value
        return EditPreview(current, topic, left, comparison, taken, forecasts, coverage, note)

    async def take(self, preview: EditPreview) -> None:
        """Put the edit into the editor, and take its prompts out of their file, in one step."""
        changed = self._workspace.session.topic != preview.current  # by another program
        if not await self._sync.replace(preview.topic, preview.taken_out):
            return
        message = "The edit is in the editor; Undo takes it back."
        if changed:
            message = f"The definition had changed meanwhile. {message}"
        if preview.taken_out:
            count = count_text(len(preview.taken_out), "prompt")
            message += f" {count} left the prompt file (backed up in .guardtui/backups)."
        self._author.notify(message)


def _needed(taken: frozenset[int], prompts: PromptSet) -> str:
    """Return why prompts must stay in their set, or ""."""
    labels = prompts.expected[~np.isin(prompts.keys, np.array([*taken], np.uint64))]
    if labels.any() and not labels.all():
        return ""
    it = "it" if len(taken) == 1 else "them"
    return f"Without {it} the set would have prompts of one label only."


def _stays_in(count: int, refusal: str) -> str:
    """Return that prompts cannot be taken out, and why."""
    stay = "1 prompt becomes an example and stays"
    if count > 1:
        stay = f"{count} prompts become examples and stay"
    return f"{stay} in the set, where an example always matches itself. {refusal}"
