"""Words on the input of a command: its topic file and its prompt set."""

from __future__ import annotations

from pathlib import Path

from guardtui.cli.diagnostics import note, warn
from guardtui.domain.findings import located
from guardtui.domain.prompts import UNLABELLED, PromptSet, waiting_text
from guardtui.domain.topic import Topic


def say_blank_texts(path: Path, topic: Topic) -> None:
    """Warn if the topic has no name or no description, which count as empty texts."""
    texts = (("name", topic.name), ("description", topic.description))
    blank = [f"no {kind}" for kind, text in texts if not text.strip()]
    if blank:
        warn(f"{path}: the topic has {' and '.join(blank)}: only the rest of it is measured")


def say_findings(prompts: PromptSet, limit: int = 5) -> None:
    """Warn of doubtful prompts: the first findings, and the number of others.

    All prompts that wait for a label are counted together, rows of the file too.
    """
    waiting = waiting_text(prompts)
    findings = [
        finding for finding in prompts.findings if not (waiting and finding.code == UNLABELLED)
    ]
    for finding in findings[:limit]:
        warn(located(prompts.source, finding.message, finding.lines))
    if len(findings) > limit:
        warn(f"{len(findings) - limit} more findings: 'guardtui check' lists them")
    if waiting:
        note(f"{prompts.source}: {waiting}")
