"""What the keys of the scores do: pin, compare, filter, sort, group, reduce, export."""

from __future__ import annotations

import asyncio
from functools import partial
from importlib import import_module
from pathlib import Path

from rich.text import Text
from textual import work

from guardtui.domain.text import display_text
from guardtui.files.atomic import refuse_overwriting, write_atomically
from guardtui.files.free_name import free_name, names_in
from guardtui.files.output_files import OutputSet
from guardtui.files.problems import FileProblem
from guardtui.reports.score_base import ScoreReport
from guardtui.scorer.expression import parse_reducer
from guardtui.session.graders import ScoreError
from guardtui.session.score_run import JudgeResult
from guardtui.tui.score_metrics import group_text, scorer_list, warnings_text
from guardtui.tui.score_results import table_columns
from guardtui.tui.screens.dialogs import Choice, TextPage
from guardtui.tui.screens.open_outputs import OpenOutputs
from guardtui.tui.screens.scores import ScoreOptions, ScoringScreen, labels

_ENDINGS = {"csv": "csv", "json": "json", "table": "txt"}
_DIFFER = "differ"
_ALL = "\0all"
_MOST_COUNTS = 10
_MOST_GROUPS = 500


class ScoreChoice(Choice):
    """A list to choose from, over the scores."""

    help_pane = "score_choice"


class ScorePage(TextPage):
    """Metrics by group, and what scorers warned of."""

    help_pane = "score_page"


class ScoresScreen(ScoringScreen):
    """The actions of the registry whose scope is the scores."""

    # --- scorers --------------------------------------------------------------------------

    def action_run_scorer(self) -> None:
        """Score by the line as it stands, also when that asks a model."""
        self.line.remember()
        self._try(self.line.value, asked=True)

    def action_pin_scorer(self) -> None:
        """Keep the scorer of the line beside those to come, or let go of it when it is kept."""
        run = self.live
        if run is None or run.judge.expression != self.line.value.strip():
            self.notify("Write a scorer that can be used first.", severity="warning")
            return
        self.line.remember()
        if run in self.pinned:
            self._unpin(run)
        else:
            self.pinned.append(run)
            self.notify("Pinned: write another scorer, and d shows where they differ.", timeout=4)
        self.redraw()

    def _unpin(self, run: object) -> None:
        self.pinned = [one for one in self.pinned if one is not run]
        if run is not self.live and run is not self.shown:
            run.stop()  # type: ignore[attr-defined]
        self.notify("Not pinned any more.", timeout=3)

    @work(exclusive=True, group="dialog")
    async def action_pinned_scorers(self) -> None:
        """A list of the pinned ones; the chosen one goes back to the line."""
        columns = [one for one in self.table_of_scores.columns if one.pinned]
        if not columns:
            self.notify("Nothing is pinned: F3 keeps the scorer of the line beside others.")
            return
        chosen = await self.app.push_screen_wait(
            ScoreChoice(
                "Pinned scorers",
                [(str(place), Text(text)) for place, text in enumerate(labels(columns))],
                "Enter takes it out and into the line, Esc leaves",
            )
        )
        if chosen is not None:
            run = columns[int(chosen)].run
            self._unpin(run)
            self._write(run.judge.expression)
            self.redraw()

    @work(exclusive=True, group="dialog")
    async def action_list_scorers(self) -> None:
        """All scorers with their signatures; the chosen one is written into the line."""
        found = await asyncio.to_thread(scorer_list)
        options = []
        for name, shown, about in found:
            text = Text()
            text.append(display_text(shown), "bold")
            text.append(f"\n    {display_text(about)}", "$text-muted")
            options.append((name, text))
        chosen = await self.app.push_screen_wait(
            ScoreChoice("Scorers", options, "Enter writes it into the line, Esc leaves")
        )
        if chosen is not None:
            self._write('pattern(r"")' if chosen == "pattern" else f"{chosen}()")
            if chosen == "pattern":
                self.line.cursor_position = len('pattern(r"')

    def _write(self, expression: str) -> None:
        self.line.remember()
        self.line.value = expression
        self.line.cursor_position = max(0, len(expression) - expression.endswith("()"))
        self.line.focus()

    @work(exclusive=True, group="dialog")
    async def action_choose_reducer(self) -> None:
        """How the epochs of a sample become one score."""
        outputs = self.outputs
        if outputs.samples == len(outputs):
            self.notify("Every sample is there once: there are no epochs to make one of.")
            return
        most = min(_MOST_COUNTS, outputs.most_epochs)
        names = ["mean", "median", "mode", "majority", "max"]
        counting = ("at_least", "pass_at", "pass_k")
        names += [f"{name}({k})" for k in range(2, most + 1) for name in counting]
        options = [(name, Text(name + "  (as usual)" * (name == "mean"))) for name in names]
        options.append(("", Text("every epoch by itself")))
        chosen = await self.app.push_screen_wait(
            ScoreChoice("How epochs become one score", options)
        )
        if chosen is None:
            return
        self.reducers = None if chosen == "mean" else [parse_reducer(chosen)] if chosen else []
        self.measure_again()

    # --- rows -----------------------------------------------------------------------------

    def action_filter_scores(self) -> None:
        """Go to the filter line."""
        self.filter.display = True
        self.filter.focus()

    def action_next_value(self) -> None:
        """Show the rows of one value of the scorer tried, then of the next one, then all."""
        tried = self.tried
        if tried is None:
            self.notify("There are no values yet.")
            return
        several = len(self.table_of_scores.columns) > 1
        before = f"scorer:{tried.name} " if several else ""
        lines = [before + _value_term(value) for value, _ in tried.counts if '"' not in value]
        place = lines.index(self.view.search) + 1 if self.view.search in lines else 0
        self.set_filter(lines[place] if place < len(lines) else "")

    def action_show_differing(self) -> None:
        """Show only rows on which the scorers do not agree, or all again."""
        if len(self.table_of_scores.columns) < 2:
            self.notify("Pin a scorer (F3) and write another one: then they can differ.")
        else:
            self.set_filter("" if self.view.search == _DIFFER else _DIFFER)

    def action_sort_scores(self) -> None:
        """Sort by the next column; after the last as in the file."""
        keys = ["", *(one.key for one in table_columns(self.table_of_scores))]
        place = keys.index(self.view.sort) + 1 if self.view.sort in keys else 0
        self.ask(sort=keys[place % len(keys)], descending=False)

    def action_reverse_scores(self) -> None:
        """Sort the other way round."""
        self.ask(descending=not self.view.descending)

    def action_copy_output(self) -> None:
        """The output of the chosen row, inert: a terminal acts on what is pasted into it."""
        row = self.table.cursor_row_id
        if row is None:
            self.notify("Select a row first.")
            return
        self.app.copy_to_clipboard(display_text(self.outputs.outputs[row], newlines=True))
        self.notify("Copied the output.", timeout=3)

    def action_next_score_pane(self) -> None:
        """The line, the rows, the detail, the metrics, and round again."""
        panes = (self.line, self.table, self.detail, self.metrics_pane)
        place = next((at for at, one in enumerate(panes) if one.has_focus), -1)
        panes[(place + 1) % len(panes)].focus()

    def action_leave_scores(self) -> None:
        """One step back: out of the filter line, a run that asks models, the filter, the line."""
        live = self.live
        if self.filter.has_focus or (self.view.search and not self.line.has_focus):
            self.table.focus()
            self.set_filter("")
        elif live is not None and live.asks and not live.finished:
            live.stop()
            self.notify("Stopped: what was graded is kept, and Enter goes on from there.")
        elif self.line.has_focus:
            self.table.focus()
        elif len(self.app.screen_stack) > 1:
            self.dismiss(None)
        else:
            self.notify("^q leaves.", timeout=2)

    # --- metrics, files -------------------------------------------------------------------

    async def _results(self, group: str | None) -> list[JudgeResult] | None:
        """The metrics of all scorers shown; None, and told, when one has none."""
        runs = [one.run for one in self.table_of_scores.columns]
        if not runs or not all(run.finished for run in runs):
            self.notify("The rows are not all scored yet.", severity="warning")
            return None
        try:
            return [
                replace_name(await asyncio.to_thread(run.measure, self.reducers, group), one.name)
                for run, one in zip(runs, self.table_of_scores.columns, strict=True)
            ]
        except ScoreError as error:
            self.notify(display_text(str(error)), severity="error", markup=False, timeout=10)
            return None

    @work(exclusive=True, group="dialog")
    async def action_score_groups(self) -> None:
        """Metrics for each value of a column that is asked for; and what was warned of."""
        outputs = self.outputs
        names = list(outputs.metadata)
        if not names and not self.warnings.heard:
            self.notify("The file has no columns besides input, target and output to group by.")
            return
        group = self.group
        if names:
            options = [(str(place), Text(display_text(name))) for place, name in enumerate(names)]
            options.append((_ALL, Text("no groups: all rows at once")))
            chosen = await self.app.push_screen_wait(ScoreChoice("Metrics by", options))
            if chosen is None:
                return
            group = None if chosen == _ALL else names[int(chosen)]
        self.group = group
        results = await self._results(group)
        if results is None:
            return
        columns = self.table_of_scores.columns
        blocks = [
            (display_text(one.name), result.summaries, result.groups[:_MOST_GROUPS])
            for one, result in zip(columns, results, strict=True)
        ]
        body = group_text(group or "nothing", blocks)
        more = max(len(one.groups) for one in results) - _MOST_GROUPS
        if more > 0:
            body.append(f"… and {more:,} groups more: an export has them all\n\n")
        body.append_text(warnings_text(self.warnings.heard))
        await self.app.push_screen_wait(ScorePage("Metrics by group", body))

    @work(exclusive=True, group="dialog")
    async def action_export_scores(self) -> None:
        """A report of all scorers shown, as `guardtui score` writes it, beside the file."""
        source = Path(self.outputs.source)
        taken = await asyncio.to_thread(names_in, source.parent)
        targets = {
            name: source.with_name(free_name(f"{source.stem}-scores", ending, taken))
            for name, ending in _ENDINGS.items()
        }
        chosen = await self.app.push_screen_wait(
            ScoreChoice(
                "Export to the folder of the file",
                [
                    (name, Text(f"{name:<5} {display_text(path.name)}"))
                    for name, path in targets.items()
                ],
            )
        )
        if chosen is None:
            return
        results = await self._results(self.group)
        if results is None:
            return
        runs = [one.run for one in self.table_of_scores.columns]
        report = ScoreReport(
            self.outputs, results, self.group, self.options.cluster,
            models=list(dict.fromkeys(name for run in runs for name in run.models)),
            roles={role: names for run in runs for role, names in run.roles.items()},
            asked=sum(run.asked for run in runs), found=sum(run.found for run in runs),
        )  # fmt: skip
        writer = import_module(f"guardtui.reports.score_{chosen}").write

        def written() -> None:
            refuse_overwriting(targets[chosen], source)
            write_atomically(targets[chosen], writer(report).encode("utf-8", "replace"))

        try:
            await asyncio.to_thread(written)
        except FileProblem as problem:
            self.notify(display_text(str(problem)), severity="error", markup=False, timeout=15)
            return
        self.notify(f"Written: {display_text(str(targets[chosen]))}", markup=False, timeout=10)

    def action_open_outputs(self) -> None:
        """Another file in the place of this one, with the same scorer."""
        options = ScoreOptions(
            tuple(one.run.judge.expression for one in self.table_of_scores.columns)
            or self.options.expressions,
            self.options.metrics, self.reducers, None, None, self.options.grading,
        )  # fmt: skip
        self.app.push_screen(OpenOutputs(self.outputs.source), partial(self._opened, options))

    def _opened(self, options: ScoreOptions, outputs: OutputSet | None) -> None:
        if outputs is not None:
            self.app.switch_screen(ScoresScreen(outputs, options))


def _value_term(value: str) -> str:
    return f'value:"{value}"' if " " in value or "," in value else f"value:{value}"


def replace_name(result: JudgeResult, name: str) -> JudgeResult:
    """A result under the name that its scorer has on the screen."""
    from dataclasses import replace

    scores = result.scores
    return replace(result, scores=replace(scores, judge=replace(scores.judge, name=name)))
