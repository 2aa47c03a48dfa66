"""Report input for a large prompt set whose shards are merged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from guardtui.domain.comparison import compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.topic import describe_changes
from guardtui.reports.base import ReportInput
from guardtui.shards.large_set import OF_A_ROW

if TYPE_CHECKING:
    from guardtui.shards.merge import Merged

LISTED = 200_000
"""Maximum number of prompts listed in full; of larger sets only wrong ones are listed."""


def report_of(
    merged: Merged, baseline: Evaluation | None, number: int | None = None, prompt_path: str = ""
) -> ReportInput:
    """Return the report input of a merged run; only listed prompts have texts.

    Raises FileError.
    """
    evaluation, large = merged.evaluation, merged.run.large
    listed = positions = None
    if large.rows <= LISTED:
        rows = pl.concat([large.read_rows(shard) for shard in large.all_shards()]).sort("row")
        prompts = large.prompts(rows)
    else:
        wrong = merged.wrong_rows()
        prompts = large.prompts(wrong.drop(*OF_A_ROW))
        listed = wrong["row"].to_numpy().astype(np.intp)
        # Known here; a search by keys takes seconds for ten million prompts.
        positions = np.full(large.rows, -1, np.intp)
        positions[listed] = np.arange(len(listed))
        listed = listed[:LISTED]
    topic = merged.run.topic
    return ReportInput(
        topic=topic,
        evaluation=evaluation,
        prompts=prompts,
        baseline=baseline,
        comparison=compare(baseline, evaluation) if baseline is not None else None,
        changes=describe_changes(baseline.topic, topic) if baseline is not None else (),
        baseline_number=number,
        prompt_path=prompt_path,
        category_metrics=merged.by_category,
        listed=listed,
        places=positions,
    )
