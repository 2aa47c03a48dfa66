"""`guardtui score --screen`: show scored outputs in the app, to try other scorers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from guardtui.cli.diagnostics import InputError
from guardtui.tui.system.garbage_collector import make_full_collections_rare

if TYPE_CHECKING:
    from guardtui.files.output_files import OutputSet
    from guardtui.scorer.decorators import MetricSet
    from guardtui.scorer.models import GraderModel


def require_terminal() -> None:
    """Raise InputError unless the terminal can show the app."""
    dumb = os.environ.get("TERM", "") in ("dumb", "unknown")
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if dumb or not all(stream is not None and stream.isatty() for stream in streams):
        raise InputError(
            "--screen needs a terminal\n  leave it out: the report has the same scores and metrics"
        )


def open_screen(
    outputs: OutputSet,
    scorers: Sequence[str],
    metrics: MetricSet | None,
    reducers: list[Any] | None,
    cluster: str | None,
    group: str | None,
    *,
    make: Callable[[str], tuple[str, GraderModel]],
    models: tuple[str, ...],
    roles: Mapping[str, tuple[str, ...]],
    concurrency: int,
    fresh: bool,
) -> int:
    """Show the scores until the author quits; return the exit code. The last scorer is preset."""
    if os.environ.get("NO_COLOR") == "":
        # Empty counts as unset (no-color.org); Textual checks only whether it exists.
        del os.environ["NO_COLOR"]
    make_full_collections_rare()
    from guardtui.config import load_config

    config = load_config()
    from guardtui.tui.scores.app import run_score_app
    from guardtui.tui.scoring.runs import ScoreOptions
    from guardtui.tui.scoring.scorer_run import Grading

    options = ScoreOptions(
        expressions=tuple(scorers) or ("match()",),
        metrics=metrics,
        reducers=reducers,
        cluster=cluster,
        group=group,
        grading=Grading(make, models, concurrency, fresh, roles),
        asked=True,
    )
    return run_score_app(outputs, options, config)
