"""Choices of the dialogs of the scores screen, and its report files."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.text import Text

from guardtui.domain.text import display_text
from guardtui.files.atomic import refuse_overwriting, write_atomically
from guardtui.files.free_name import free_name, names_in
from guardtui.files.output_files import OutputSet
from guardtui.reports.score_base import ScoreReport
from guardtui.reports.score_document import write_scores
from guardtui.scorer.aggregate import Reducers
from guardtui.scorer.expression import parse_reducer
from guardtui.session.score_run import ScorerResult
from guardtui.tui.scoring.metrics_text import group_text, scorer_list
from guardtui.tui.scoring.rows import ScoreColumn
from guardtui.tui.scoring.scorer_run import ScorerRun

Options = list[tuple[str, Text]]
"""Names and texts of choices."""

ALL_ROWS = "\0all"
"""The choice not to group."""

_ENDINGS = {"csv": "csv", "json": "json", "table": "txt"}
_MOST_COUNTS = 10
_MOST_GROUPS = 500


def scorer_options() -> Options:
    """Return all scorers with their signatures; blocks while they are loaded."""
    options = []
    for name, shown, description in scorer_list():
        text = Text()
        text.append(display_text(shown), "bold")
        text.append(f"\n    {display_text(description)}", "$text-muted")
        options.append((name, text))
    return options


def pinned_options(columns: Sequence[ScoreColumn]) -> Options:
    """Return scorers by their index, with their expressions."""
    return [
        (str(index), Text(f"{column.name:<14} {display_text(column.run.judge.expression)}"))
        for index, column in enumerate(columns)
    ]


def reducer_options(most_epochs: int) -> Options:
    """Return the reducers for so many epochs."""
    most = min(_MOST_COUNTS, most_epochs)
    names = ["mean", "median", "mode", "majority", "max"]
    counting = ("at_least", "pass_at", "pass_k")
    names += [f"{name}({k})" for k in range(2, most + 1) for name in counting]
    options = [(name, Text(name + "  (as usual)" * (name == "mean"))) for name in names]
    return [*options, ("", Text("every epoch by itself"))]


def reducers_of(chosen: str) -> Reducers:
    """Return the reducers of one of `reducer_options`."""
    if chosen == "mean":
        return None
    return [parse_reducer(chosen)] if chosen else []


def group_options(names: Iterable[str]) -> Options:
    """Return columns by their index, and `ALL_ROWS`."""
    options = [(str(index), Text(display_text(name))) for index, name in enumerate(names)]
    return [*options, (ALL_ROWS, Text("no groups: all rows at once"))]


def groups_text(
    group: str | None, columns: Sequence[ScoreColumn], results: Sequence[ScorerResult]
) -> Text:
    """Return the metrics of scorers by the values of a column, up to a limit of groups."""
    blocks = [
        (display_text(column.name), result.summaries, result.groups[:_MOST_GROUPS])
        for column, result in zip(columns, results, strict=True)
    ]
    body = group_text(group or "nothing", blocks)
    more = max(len(scorer.groups) for scorer in results) - _MOST_GROUPS
    if more > 0:
        body.append(f"… and {more:,} groups more: an export has them all\n\n")
    return body


async def export_targets(source: Path) -> dict[str, Path]:
    """Return a free path beside the file for each report format."""
    taken = await asyncio.to_thread(names_in, source.parent)
    return {
        name: source.with_name(free_name(f"{source.stem}-scores", ending, taken))
        for name, ending in _ENDINGS.items()
    }


def export_options(targets: Mapping[str, Path]) -> Options:
    """Return the report formats with their paths."""
    return [(name, Text(f"{name:<5} {display_text(path.name)}")) for name, path in targets.items()]


def report_of(
    outputs: OutputSet,
    runs: Sequence[ScorerRun],
    results: Sequence[ScorerResult],
    group: str | None,
    cluster: str | None,
) -> ScoreReport:
    """Return the report on some runs."""
    return ScoreReport(
        outputs, results, group, cluster,
        models=list(dict.fromkeys(name for run in runs for name in run.models)),
        roles={role: names for run in runs for role, names in run.roles.items()},
        asked=sum(run.asked for run in runs), found=sum(run.found for run in runs),
    )  # fmt: skip


def write_report(report: ScoreReport, form: str, target: Path) -> None:
    """Write a report as `guardtui score` does. Raises FileError; blocks."""
    refuse_overwriting(target, Path(report.outputs.source))
    write_atomically(target, write_scores(report, form).encode("utf-8", "replace"))
