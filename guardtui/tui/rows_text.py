"""Rows of the results as text for a clipboard: inert in a terminal and in a spreadsheet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from guardtui.domain.late import late
from guardtui.domain.text import display_text, spreadsheet_text
from guardtui.domain.verdicts import Outcome
from guardtui.tui.results import Results, part_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    np = late("numpy")

HEADER = ("prompt", "expected", "outcome", "score", "matched")


def prompts_as_lines(results: Results, rows: NDArray[np.intp]) -> str:
    """The prompts of these rows, inert; one keeps its line feeds, several have one line each."""
    texts = results.prompts.prompts[rows].to_list()
    return "\n".join(display_text(text, newlines=len(texts) == 1) for text in texts)


def rows_as_tsv(results: Results, rows: NDArray[np.intp]) -> str:
    """Tab-separated values with a header: prompt, label, verdict, the prompt set's own columns.

    Control and invisible characters stand as signs, and what could start a formula has a "'"
    before it.
    """
    prompts, evaluation = results.prompts, results.evaluation
    extra = prompts.extra_columns
    columns: list[list[str]] = [
        prompts.prompts[rows].to_list(),
        ["true" if label else "false" for label in evaluation.expected[rows].tolist()],
        [Outcome(code).name for code in evaluation.codes[rows].tolist()],
        ["" if score != score else f"{score:.4f}" for score in evaluation.verdicts.score[rows]],
        [part_name(part) for part in evaluation.verdicts.matched[rows].tolist()],
        *(prompts.frame[name][rows].to_list() for name in extra),
    ]
    lines = [(*HEADER, *extra), *zip(*columns, strict=True)]
    return "\n".join(
        "\t".join(spreadsheet_text(display_text(cell)) for cell in line) for line in lines
    )
