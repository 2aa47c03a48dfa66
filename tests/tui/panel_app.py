"""A session with verdicts of several scanners on one definition, recorded by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.session.session import Decision, Iteration
from guardtui.session.workspace import Workspace
from tests.guardrails import settings_of


def opened(folder: Path, topic: str, rows: list[tuple[str, bool]]) -> Path:
    """The topic file and its prompts."""
    path = folder / "tax.yaml"
    path.write_text(topic, "utf-8")
    lines = "".join(
        '"{}",{},block\n'.format(prompt.replace('"', '""'), str(label).lower())
        for prompt, label in rows
    )
    (folder / "tax.csv").write_text("prompt,expected,intent\n" + lines, "utf-8")
    return path


def judged(
    workspace: Workspace,
    name: str,
    answers: str,
    *,
    topic: Topic | None = None,
    settings: ScannerSettings | None = None,
    errors: dict[int, str] | None = None,
    notes: dict[int, str] | None = None,
    reasons: dict[int, str] | None = None,
) -> Evaluation:
    """Verdicts of a scanner: a letter for each prompt, y, n, or anything else for none."""
    prompts = workspace.prompts
    count = len(prompts)
    assert len(answers) == count
    codes = np.array([{"y": 1, "n": 0}.get(letter, -1) for letter in answers], np.int8)
    return Evaluation(
        topic or workspace.session.topic,
        settings or settings_of(name),
        prompts.fingerprint,
        prompts.keys,
        prompts.expected,
        Verdicts(
            codes,
            np.full(count, np.nan, np.float32),
            np.full(count, -1, np.int16),
            errors=errors or {},
            notes=notes or {},
            reasons=reasons or {},
        ),
    )


def record(workspace: Workspace, evaluation: Evaluation) -> Iteration:
    """Write it to the session as if its scanner had been asked."""
    iteration = workspace.write(evaluation, Decision.UNDECIDED)
    workspace.session.record(iteration)
    return iteration
