"""Comparison of all scanners of a session with the embedded engine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from guardtui.app.engine import Engine
from guardtui.app.ports import Author
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.base import ScannerError
from guardtui.session.scanner_comparison import ScannerVerdicts, collect_verdicts
from guardtui.session.session import Iteration
from guardtui.session.workspace import Workspace


class ScannerComparison:
    """Compares all scanners on the current definition and prompts."""

    def __init__(self, workspace: Workspace, engine: Engine, author: Author) -> None:
        self._workspace, self._engine, self._author = workspace, engine, author

    async def compare(self) -> ScannerVerdicts:
        """Return the verdicts of all scanners; notify the author if the engine fails."""
        session = self._workspace.session
        sight, problem = await asyncio.to_thread(
            compare_scanners,
            self._engine,
            session.topic,
            self._workspace.prompts,
            tuple(session.iterations),
        )
        if problem:
            self._author.notify(problem, title="Scan failed", severity="error")
        return sight


def compare_scanners(
    engine: Engine, topic: Topic, prompts: PromptSet, iterations: Sequence[Iteration]
) -> tuple[ScannerVerdicts, str]:
    """Return the verdicts of all scanners on a definition, and the engine's problem, or "". Blocks.

    Slow values are computed in advance, so that drawing is quick.
    """
    evaluation, problem = None, ""
    try:
        evaluation = engine.evaluate_now(topic, prompts)
    except ScannerError as error:
        problem = str(error)
    sight = collect_verdicts(topic, prompts, iterations, evaluation)
    _ = sight.panel.alpha, sight.panel.against, sight.panel.pairs, sight.suspects
    _ = prompts.row_of(0)  # sorts the keys
    return sight, problem
