"""How it is said that the prompts at hand are a sample of a large set."""

from __future__ import annotations

from guardtui.domain.figures import count_text
from guardtui.session.workspace import Workspace

_ROOM = 80
"""Cells of a screen from which on there is room for the whole of it."""


def prompts_told(workspace: Workspace, width: int = _ROOM) -> str:
    """How many prompts there are, and of how many they are a sample; shorter on small screens."""
    if workspace.large is None:
        return count_text(len(workspace.prompts), "prompt")
    sample = workspace.large[1]
    if width < _ROOM and sample_told(workspace):
        return f"sample {len(sample.prompts)}/{sample.of}"
    return sample.text


def sample_told(workspace: Workspace) -> str:
    """What the prompts are a sample of; "" when they are all there are."""
    if workspace.large is None:
        return ""
    sample = workspace.large[1]
    return "" if len(sample.prompts) == sample.of else sample.text
