"""The number of prompts in a header, where they may be a sample."""

from __future__ import annotations

from guardtui.domain.figures import count_text
from guardtui.session.workspace import Workspace

_ROOM = 80
"""Least cells of a screen for the full text."""


def prompt_count_text(workspace: Workspace, width: int = _ROOM) -> str:
    """Return the number of prompts, and of a sample that of all; shorter on small screens."""
    sample = workspace.sample
    if sample is None:
        return count_text(len(workspace.prompts), "prompt")
    return sample.text if width >= _ROOM else f"sample {len(sample.prompts)}/{sample.of}"
