"""Wordings tried on the decision model of a session: found, agreed to, asked about, chosen."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace

from guardtui.advice.splits import Split, SplitError, split_prompts
from guardtui.advice.wordings import CHOSEN_ON, Wording, WordingSweep, sweep_wordings
from guardtui.app.connections import Connections
from guardtui.app.editing import Editing
from guardtui.app.engine import Engine
from guardtui.app.ports import Author, Confirm
from guardtui.app.state import Store
from guardtui.app.stoppable import run_stoppable
from guardtui.app.wording_sweep import WORDINGS, gather_wordings, questions_about, shortlist
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


@dataclass(frozen=True, eq=False)
class WordingRun:
    """Wordings of a definition that the author agreed to have asked, and what that takes."""

    options: DecisionOptions
    fresh: bool
    topic: Topic
    prompts: PromptSet
    split: Split
    wordings: tuple[Wording, ...]
    plan: ManyPlan

    async def run(self, report: Report) -> WordingSweep:
        """Ask, and choose. Cancelled it keeps what was answered. Raises ScannerError."""
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
    """Prepares runs of the definition as it is."""

    def __init__(
        self,
        store: Store,
        workspace: Workspace,
        engine: Engine,
        editing: Editing,
        connections: Connections,
        author: Author,
    ) -> None:
        self._store, self._workspace, self._engine = store, workspace, engine
        self._editing, self._connections, self._author = editing, connections, author

    @property
    def refusal(self) -> str:
        """Why nothing can be tried; "" where it can."""
        return NO_DECISION_MODEL if self._connections.options.decision is None else ""

    async def prepare(self) -> WordingRun | None:
        """Find wordings, and ask the author whether to try them; None where they do not agree.

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
        with self._store.step("wordings are looked for …"):
            found = await run_stoppable(
                lambda stopped: shortlist(
                    engine, topic, prompts, split, WORDINGS - 1, stopped=stopped
                )
            )
            wordings = gather_wordings(topic, (), (), found, WORDINGS)
            if len(wordings) < 2:
                raise WordingRunError(
                    "There is no other wording to try: see the ⚠ below the fields."
                )

            def planned() -> ManyPlan:
                # A connection of SQLite belongs to one thread.
                with contextlib.closing(SqliteVerdicts(cache_folder())) as cache:
                    scanner = options.scanner(cache, fresh=fresh)
                    at_once = options.questions_at_once
                    return questions_about(scanner, wordings, prompts, at_once).plan()

            plan = await asyncio.to_thread(planned)
        run = WordingRun(options, fresh, topic, prompts, split, tuple(wordings), plan)
        if plan.requests and not await self._author.ask(_question(run)):
            return None
        return run


def _question(run: WordingRun) -> Confirm:
    """What asking takes, as a question."""
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
