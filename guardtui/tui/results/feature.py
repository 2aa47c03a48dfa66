"""The results and the detail on the main screen."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from guardtui.app.problems import problems_shown
from guardtui.app.scan.other_guardrails import OtherGuardrails
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ENGINE, FORECAST, badge
from guardtui.domain.prompts import PromptSet
from guardtui.domain.verdicts import Outcome
from guardtui.scanners.base import ScannerError
from guardtui.session.other_verdicts import OtherVerdicts
from guardtui.tui.detail.pane import OtherVerdict, PromptDetail
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.results.model import Results, ResultsView, build_results

EXPLAIN_AFTER = 0.03
"""Seconds for which a prompt is selected before its score is explained."""

HISTORY_SHOWN = 20
"""Iterations in the history of a prompt."""

AT_ONCE = 1000
"""Largest set whose rows are built at once; it takes a few milliseconds."""


class ResultsFeature:
    """Updates the table and the detail after changes of the evaluation or the view."""

    follows = ("evaluation", "comparison", "iterations", "evaluated")

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self._table, self._detail = window.panes.results, window.panes.detail
        self._others = OtherGuardrails(services.workspace, services.engine)
        self.results: Results | None = None
        self._of: tuple[Evaluation, PromptSet] | None = None
        """The source of the results; the state may already be newer."""
        self._shown: PromptDetail | None = None
        self.actions: Mapping[str, ActionMethod] = {"to_regression": self.to_regression}

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Build the rows of another evaluation or prompt set."""
        self.build(self._table.view)

    def build(self, view: ResultsView) -> None:
        """Build the rows of a view; a newer one cancels this."""
        self._window.start(self._build(view), group="view", exclusive=True)

    async def _build(self, view: ResultsView) -> None:
        state = self._services.state
        evaluation, comparison, prompts = state.evaluation, state.comparison, state.evaluated
        if evaluation is None or prompts is None:
            return
        others, doubts = self._others.verdicts(state), None
        if view.search:
            with problems_shown(self._window):
                doubts = self._others.doubts(state)
        build = partial(build_results, prompts, evaluation, comparison, view, others, doubts)
        # Few rows are built before the next frame, so that no pane is behind the others.
        quick = len(prompts) <= AT_ONCE and not view.search
        results = build() if quick else await asyncio.to_thread(build)
        # A newer evaluation may have arrived meanwhile.
        if evaluation is self._services.state.evaluation and view == self._table.view:
            self.results, self._of = results, (evaluation, prompts)
            self._table.show(results)
            self.show_detail(self._table.table.cursor_row_id)

    def confirm(self, keys: frozenset[int]) -> None:
        """Confirm these labels as right or, if all are, undo that."""
        with problems_shown(self._window):
            which = "The label is" if len(keys) == 1 else f"{len(keys)} labels are"
            said = "confirmed" if self._others.confirm(keys) else "open again"
            self._window.notify(f"{which} {said}.")
            if self._table.view.search:
                self.build(self._table.view)

    def to_regression(self, step: int) -> None:
        """Go to the next regression (1) or the previous one (-1), from any pane."""
        self._window.panes.show("results")
        self._table.to_regression(step)

    # --- the selected prompt --------------------------------------------------------------

    def show_detail(self, row_id: int | None) -> None:
        """Show a prompt in full, and a moment later the words behind its score."""
        self._shown = detail = self.detail_of(row_id)
        self._detail.show(detail, evaluated=self._of is not None)
        if detail is not None:
            self._window.start(self._explain(detail), group="explain", exclusive=True)

    def detail_of(self, row_id: int | None) -> PromptDetail | None:
        """Return the detail of a prompt, or None if it is not in the results."""
        if row_id is None or self.results is None or self._of is None:
            return None
        evaluation, prompts = self._of
        row = self.results.row_of(row_id)
        if row is None:
            return None
        verdicts, score = evaluation.verdicts, float(evaluation.verdicts.score[row])
        return PromptDetail(
            prompt=prompts.frame["prompt"][row],
            line=int(prompts.frame["line"][row]),
            expected=bool(evaluation.expected[row]),
            outcome=Outcome(int(evaluation.codes[row])),
            score=None if np.isnan(score) else score,
            threshold=evaluation.settings.threshold,
            matched=int(verdicts.matched[row]),
            error=verdicts.errors.get(row, ""),
            note=verdicts.notes.get(row, ""),
            stopped_by=verdicts.stopped_by.get(row, ()),
            by_engine=evaluation.settings.kind == ENGINE,
            forecast=evaluation.settings.kind == FORECAST,
            with_others=self._with_others(),
            reason=verdicts.reasons.get(row, ""),
            topic=evaluation.topic,
            others=tuple(self._other_verdicts(self.results.others, row_id, row)),
            history=[
                (
                    badge(replace(iteration.evaluation.settings, revision="")),
                    iteration.number,
                    _outcome_of(iteration.evaluation, row_id),
                )
                for iteration in self._services.state.iterations[-HISTORY_SHOWN:]
            ],
        )

    def _other_verdicts(
        self, others: OtherVerdicts | None, key: int, row: int
    ) -> Iterator[OtherVerdict]:
        for guardrail in () if others is None else others.guardrails:
            source = guardrail.source(key)
            if source is None:
                continue
            iteration, there = source
            verdicts = iteration.evaluation.verdicts
            score = float(verdicts.score[there])
            yield OtherVerdict(
                guardrail.title,
                iteration.number,
                Outcome(int(guardrail.codes[row])),
                current=bool(guardrail.current[row]),
                score=None if np.isnan(score) else score,
                stopped_by=verdicts.stopped_by.get(there, ()),
                reason=verdicts.reasons.get(there, "") or verdicts.notes.get(there, ""),
            )

    def _with_others(self) -> bool:
        """Return whether other topics of the profile stop prompts too."""
        state = self._services.state
        by_others = state.forecast is not None and state.forecast.grounds.by_others > 0
        return by_others or bool(state.companions is not None and state.companions.topics)

    async def _explain(self, detail: PromptDetail) -> None:
        await asyncio.sleep(EXPLAIN_AFTER)
        try:
            explanation = await asyncio.to_thread(
                self._services.engine.scanner.explain, detail.topic, detail.prompt
            )
        except ScannerError:
            return
        if detail is self._shown:  # another row may be selected by now
            self._detail.show(replace(detail, explanation=explanation))


def _outcome_of(evaluation: Evaluation, row_id: int) -> Outcome | None:
    rows = np.flatnonzero(evaluation.keys == np.uint64(row_id))
    return Outcome(int(evaluation.codes[rows[0]])) if len(rows) else None
