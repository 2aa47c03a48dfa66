"""Completion of the filter line over prompts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from guardtui.domain.row_filter import FIELDS, OUTCOMES, WORDS
from guardtui.tui.inputs.filter_completion import Vocabulary

if TYPE_CHECKING:
    from guardtui.domain.prompts import PromptSet

HINT = '→ completes: words, "exact words", fn, -regression, category:…, score>0.4, was:fp, line<50'
_SIGNS = {"score": ">", "line": "<"}
_VALUES = {"was": tuple(OUTCOMES), "expected": ("true", "false"), "match": ("desc",)}


def prompt_vocabulary(prompts: PromptSet) -> Vocabulary:
    """Return words, fields and the values of the columns of a prompt set."""
    return Vocabulary(
        [*WORDS, *(f"{name}{_SIGNS.get(name, ':')}" for name in FIELDS)],
        _VALUES,
        {name: partial(_values, prompts, name) for name in prompts.extra_columns},
    )


def _values(prompts: PromptSet, column: str) -> Sequence[str]:
    return prompts.groups(column)[1]
