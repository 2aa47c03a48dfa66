"""Trials of many wordings on the decision model of a session."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace

from guardtui.advice.splits import Split, SplitError, split_prompts
from guardtui.advice.wording_sweep import (
    CHOSEN_ON,
    MeasuredWording,
    Wording,
    WordingSweep,
    sweep_wordings,
)
from guardtui.app.connections import Connections
from guardtui.app.editing import Editing
from guardtui.app.engine import Engine
from guardtui.app.ports import Author, Confirm, Question
from guardtui.app.scan import Scans
from guardtui.app.state import Store
from guardtui.app.stoppable import run_stoppable
from guardtui.app.wording_sources import (
    WORDINGS,
    gather_wordings,
    questions_about,
    shortlist,
    typed_wordings,
)
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.base import Report
from guardtui.scanners.decision.many import ManyPlan
from guardtui.scanners.decision.options import DecisionOptions
from guardtui.scanners.local.vectors import cache_folder
from guardtui.session.verdict_cache import SqliteVerdicts
from guardtui.session.workspace import Workspace

NO_DECISION_MODEL = "No decision model is named: start with --scanner decision --model URL#NAME."


class WordingRunError(GuardtuiError):
    """Wordings cannot be tried; the message is for the author."""


@dataclass(frozen=True, slots=True)
class TypeWordings(Question[str]):
    """The author's own descriptions to try, one a line; the answer may be empty.

    `others` is how many further wordings are searched for at most.
    """

    others: int


@dataclass(frozen=True, eq=False)
class WordingRun:
    """An agreed trial of wordings, with its plan."""

    options: DecisionOptions
    fresh: bool
    topic: Topic
    prompts: PromptSet
    split: Split
    wordings: tuple[Wording, ...]
    plan: ManyPlan

    async def run(self, report: Report) -> WordingSweep:
        """Make the requests, and choose; a cancelled run keeps its answers. Raises ScannerError."""
        with contextlib.closing(SqliteVerdicts(cache_folder())) as cache:
            scanner = self.options.scanner(cache, fresh=self.fresh)
            asking = questions_about(
                scanner, self.wordings, self.prompts, self.options.questions_at_once
            )
            answers = await asking.run(report)
            settings = replace(scanner.settings, threshold=None, threshold_source="")
        return await asyncio.to_thread(
            sweep_wordings,
            self.wordings,
            answers.probabilities,
            self.prompts,
            self.split,
            settings,
        )


class WordingRuns:
    """Prepares runs for the current definition, and applies their results."""

    def __init__(
        self,
        store: Store,
        workspace: Workspace,
        engine: Engine,
        editing: Editing,
        connections: Connections,
        scans: Scans,
        author: Author,
    ) -> None:
        self._store, self._workspace, self._engine = store, workspace, engine
        self._editing, self._connections, self._author = editing, connections, author
        self._scans = scans

    @property
    def refusal(self) -> str:
        """Why no wordings can be tried, or ""."""
        return NO_DECISION_MODEL if self._connections.options.decision is None else ""

    async def prepare(self) -> WordingRun | None:
        """Ask the author for own wordings, search others, and ask whether to try them; None if not.

        Raises WordingRunError and ScannerError.
        """
        options = self._connections.options.decision
        if options is None:
            raise WordingRunError(NO_DECISION_MODEL)
        topic = await self._editing.finish_typing()
        prompts, engine = self._workspace.prompts, self._engine.scanner
        fresh = self._connections.options.fresh
        try:
            split = split_prompts(prompts, CHOSEN_ON)
        except SplitError as error:
            raise WordingRunError(str(error)) from error
        text = await self._author.ask(TypeWordings(WORDINGS - 1))
        if text is None:
            return None
        typed = typed_wordings(text, topic, "as typed")
        with self._store.step("searches for wordings …"):
            edits = await run_stoppable(
                lambda stopped: shortlist(
                    engine, topic, prompts, split, WORDINGS - 1 - len(typed), stopped=stopped
                )
            )
            wordings = gather_wordings(topic, typed, (), edits, WORDINGS)
            if len(wordings) < 2:
                raise WordingRunError("No other wordings to try: see the ⚠ below the fields.")

            def planned() -> ManyPlan:
                # An SQLite connection belongs to one thread.
                with contextlib.closing(SqliteVerdicts(cache_folder())) as cache:
                    scanner = options.scanner(cache, fresh=fresh)
                    at_once = options.questions_at_once
                    return questions_about(scanner, wordings, prompts, at_once).plan()

            plan = await asyncio.to_thread(planned)
        run = WordingRun(options, fresh, topic, prompts, split, tuple(wordings), plan)
        if plan.requests and not await self._author.ask(_question(run)):
            return None
        return run

    def apply(self, chosen: MeasuredWording, sweep: WordingSweep) -> None:
        """Make a wording the definition, and set the threshold that it was chosen at.

        The threshold is that of the session for the decision model that answered.
        """
        self._editing.replace(chosen.wording.topic)
        self._scans.use_threshold_of(sweep.settings.identity, chosen.threshold)


def _question(run: WordingRun) -> Confirm:
    """Return the question with requests, tokens and cost."""
    plan, options = run.plan, run.options
    text = (
        f"Try {len(run.wordings)} wordings on {options.place}?\n"
        f"{plan.requests:,} request{'s' * (plan.requests != 1)} for {len(run.prompts)} prompts, "
        f"about {plan.tokens:,} tokens"
    )
    if options.prices is not None and (cost := options.prices.of(plan.tokens, 0)):
        text += f" for {cost:.4g}"
    if plan.known:
        text += f"; {plan.known:,} answers are known"
    return Confirm(f"{text}.", "Try them", "Cancel")
