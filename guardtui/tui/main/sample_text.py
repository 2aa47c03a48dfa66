"""Texts about the sample of a large set on the main screen."""

from __future__ import annotations

from guardtui.domain.figures import count_text
from guardtui.session.workspace import Workspace

_ROOM = 80
"""Least cells of a screen for the full text."""


def prompt_count_text(workspace: Workspace, width: int = _ROOM) -> str:
    """Return the number of prompts, and of a sample that of all; shorter on small screens."""
    if workspace.large is None:
        return count_text(len(workspace.prompts), "prompt")
    sample = workspace.large[1]
    if width < _ROOM and sample_text(workspace):
        return f"sample {len(sample.prompts)}/{sample.of}"
    return sample.text


def sample_text(workspace: Workspace) -> str:
    """Return a text about the sample; "" for a complete prompt set."""
    if workspace.large is None:
        return ""
    sample = workspace.large[1]
    return "" if len(sample.prompts) == sample.of else sample.text
