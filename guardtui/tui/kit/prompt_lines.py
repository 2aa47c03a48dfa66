"""The first of some prompts, a line each, for a question about them."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.text import display_start

CHARACTERS = 60
"""Characters of a prompt that are shown."""
_LISTED = 3


def prompt_lines(prompts: pl.Series, rows: NDArray[np.intp]) -> list[str]:
    """Return a line for each of the first prompts of these rows, inert, and how many are left."""
    lines = [
        f"  {display_start(prompt, CHARACTERS)}" for prompt in prompts[rows[:_LISTED]].to_list()
    ]
    if len(rows) > _LISTED:
        lines.append(f"  … and {len(rows) - _LISTED} more")
    return lines
