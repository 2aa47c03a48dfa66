"""An experiment on AIRS in a process of its own, which a test kills: prints what arrives."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import numpy as np

from guardtui.app.airs.profile_changes import ProfileChanges
from guardtui.app.experiments.airs import AirsAnswering
from guardtui.app.experiments.answering import DefinitionRows
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.domain.verdicts import Verdict
from guardtui.session.workspace import Workspace


async def work(path: Path, *descriptions: str) -> None:
    workspace = Workspace.open(path)
    store, topic, options = workspace.store, workspace.session.topic, RemoteOptions()
    changes = ProfileChanges(path)
    connection = options.connect(options.configured(), "sandbox")
    rows = np.arange(len(workspace.prompts), dtype=np.intp)
    candidates = [topic.model_copy(update={"description": text}) for text in descriptions]
    wanted = [DefinitionRows(number, one, rows) for number, one in enumerate(candidates, 1)]

    def arrived(number: int, row: int, verdict: Verdict) -> None:
        print(number, row, int(verdict.triggered), flush=True)  # noqa: T201 - read by the test

    async with AirsAnswering(connection, "", topic, path, store, changes, tell=print) as answering:
        await answering.ask(wanted, workspace.prompts, arrived, lambda progress: None)


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), *sys.argv[2:]))
