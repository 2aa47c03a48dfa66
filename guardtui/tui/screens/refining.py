"""What to change next: edits already measured, a search for better, what each part does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from guardtui.advice.effects import Effect, effects, no_effect
from guardtui.advice.lint import open_lint_engine
from guardtui.advice.measuring import TopicScorer, open_scorer
from guardtui.advice.proposals import Proposal
from guardtui.advice.search import CurvePoint, Search, SearchResult, Snapshot
from guardtui.advice.splits import SplitError, split_prompts
from guardtui.advice.whatif import Shortlist, shortlist
from guardtui.domain.figures import capitalized, change_text
from guardtui.domain.text import display_start, display_text
from guardtui.domain.topic import Topic
from guardtui.scanners.base import ScannerError
from guardtui.tui.content import themed
from guardtui.tui.definition_text import difference_text
from guardtui.tui.modal import Modal
from guardtui.tui.screens.dialogs import TextPage
from guardtui.tui.screens.edit_list import EditList
from guardtui.tui.screens.scanning import ScanningScreen
from guardtui.tui.widgets.metrics_panel import delta, number

if TYPE_CHECKING:
    import polars as pl

BUDGET = 60.0
"""Seconds that a search takes at most."""
_POLL = 0.1
_ROWS = 100
"""Prompts of each kind that are listed of a proposal."""
_SHOWN = 100

_ENDED = {
    "stopped": "ended by hand",
    "budget": "the time is used up",
    "exhausted": "nothing is left to try that pays",
}

NO_EDITS = (
    "There is no edit to try: of a definition that breaks a limit only edits that mend it are, and "
    "no single one does. See the ⚠ below the fields."
)


class ProposalList(EditList):
    """Measured edits, best first; `prompts` are the texts of the prompt set, String [N]."""

    BINDINGS = [("r", "rows", "Its rows")]

    TITLE_TEXT = "What to change next"
    KEYS_TEXT = "Enter takes it into the editor · r its rows · Esc leaves"

    help_pane = "proposals"

    def __init__(
        self,
        here: Topic,
        proposals: Sequence[Proposal],
        notes: Sequence[str],
        prompts: pl.Series,
        curve: Sequence[CurvePoint] = (),
    ) -> None:
        """`curve` is that of the search which the first one comes from."""
        super().__init__([(one.topic, proposal_line(one)) for one in proposals], notes)
        self._here, self._proposals, self._prompts = here, proposals, prompts
        self._curve = curve

    def described(self, place: int) -> Text:
        text = proposal_text(self._here, self._proposals[place])
        if self._curve and not place:
            text.append("\nCoverage by the number of edits\n", "bold")
            text.append_text(curve_text(self._curve))
        return text

    def action_rows(self) -> None:
        """Show what the edit at hand fixes and breaks."""
        one = self._proposals[self.place]
        text = Text()
        for title, rows in (("Regressions", one.regressions), ("Fixes", one.fixes)):
            text.append(f"{title} {len(rows)}\n", "bold")
            for row in rows[:_ROWS].tolist():
                text.append(f"  {display_start(self._prompts[row], _SHOWN)}\n")
            if len(rows) > _ROWS:
                text.append(f"  and {len(rows) - _ROWS} more\n", "$text-muted")
        self.app.push_screen(TextPage("Prompts that would change, of both halves", text))


def proposal_line(one: Proposal) -> Text:
    """One edit: its held-out coverage, what it fixes and breaks there, and what it is.

    `chance?` stands where the interval of the change of coverage holds 0.
    """
    before, after = one.before.report, one.after.report
    sign, style = delta(one.held_out_gain)
    line = Text()
    line.append(f"{number(before.coverage)} → {number(after.coverage)} ", "bold")
    line.append(f"{sign:<9}", style)
    line.append(f"✓{one.report_fixes:<3} ✗{one.report_regressions:<3} ")
    line.append("chance? " if one.worth.could_be_chance else "", "$text-warning")
    return line.append(display_start("; ".join(one.changes), 300), "$text-muted")


def proposal_text(here: Topic, one: Proposal) -> Text:
    """All that is known of one edit, and what it changes word by word."""
    sentence = one.sentence
    text = Text(f"{capitalized(sentence)}.\n")
    text.append(
        f"Change of coverage where it was chosen {change_text(one.search_gain)}; overfit gap "
        f"{change_text(one.overfit_gap)}.\n\n",
        "$text-muted",
    )
    return text.append_text(difference_text(here, one.topic))


class SearchDialog(Modal[SearchResult | None]):
    """A search while it runs; Escape ends it with the best found by then."""

    BINDINGS = [("escape,q", "stop", "End the search")]

    help_pane = "search"

    def __init__(self, scorer: TopicScorer, topic: Topic, budget: float = BUDGET) -> None:
        super().__init__()
        self._stop = threading.Event()
        self._snapshot: Snapshot | None = None
        self._found: SearchResult | None = None
        self._over = False
        self._search = Search(
            scorer, topic, budget=budget, stopped=self._stop.is_set, progress=self._take
        )

    def _take(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Searching for a better definition"
            dialog.border_subtitle = "Esc ends it with the best found"
            yield Static("begins …", markup=False, id="search-told")

    def on_mount(self) -> None:
        self.set_interval(_POLL, self._poll)
        self._run()

    def _poll(self) -> None:
        if self._snapshot is not None:
            self.query_one("#search-told", Static).update(themed(search_text(self._snapshot)))

    @work(exclusive=True)
    async def _run(self) -> None:
        job = asyncio.ensure_future(asyncio.to_thread(self._search.run))
        try:
            self._found = await asyncio.shield(job)
        except asyncio.CancelledError:
            self._stop.set()
            raise
        self._over = True
        self.dismiss(self._found)

    @on(events.ScreenResume)
    def resumed(self) -> None:
        """Help was above it when the search ended."""
        if self._over:
            self.dismiss(self._found)

    def action_stop(self) -> None:
        """End it; what was found by then is shown."""
        self._stop.set()


def search_text(now: Snapshot) -> Text:
    """How a search stands."""
    cells = 30
    filled = min(cells, int(cells * now.seconds / now.budget))
    text = Text(f"{'█' * filled}{'░' * (cells - filled)} {now.seconds:.0f} of {now.budget:.0f} s\n")
    text.append(f"{now.measured} definitions measured, {now.edits} edits deep, ")
    text.append(f"{now.width} pursued at once\n")
    text.append(f"coverage on the search half {number(now.coverage)}\n", "bold")
    if now.curve:
        text.append("\n").append_text(curve_text(now.curve))
    return text


def curve_text(curve: Sequence[CurvePoint]) -> Text:
    """Coverage by number of edits, on both halves."""
    text = Text("edits  search  held out\n", "$text-muted")
    for point in curve:
        line = f"{point.edits:>5}  {number(point.search):>6}  {number(point.report):>8}\n"
        text.append(line, "$foreground")
    return text


class RefiningScreen(ScanningScreen):
    """The actions that measure edits of the definition."""

    async def _scorer(self) -> TopicScorer | None:
        """What measures edits on the prompts of now; None where it cannot, which is told."""
        await self._take_typed()
        stop = threading.Event()
        try:
            prompts = self.workspace.prompts
            split = await asyncio.to_thread(split_prompts, prompts)
            scanner = self.scanner
            return await asyncio.to_thread(
                open_scorer, scanner, prompts, split, lambda progress: None, stop.is_set
            )
        except (SplitError, ScannerError, ValueError) as error:
            self.notify(str(error), severity="error", timeout=10)
            return None
        finally:
            stop.set()  # who leaves waits for no embedding

    @work(exclusive=True, group="dialog")
    async def action_what_if(self) -> None:
        self._tell_scan("edits are measured …", who="Engine")
        stop = threading.Event()
        try:
            scorer = await self._scorer()
            if scorer is None:
                return
            found = None
            # Who goes on typing meanwhile is offered edits of what stands there then.
            while found is None or found.topic != self.session.topic:
                topic = self.session.topic
                found = await asyncio.to_thread(shortlist, scorer, topic, stopped=stop.is_set)
                if found is None:
                    return
                await self._take_typed()
        finally:
            stop.set()
            self._tell_scan("")
        if not found.found:
            self.notify(NO_EDITS)
            return
        if not found.proposals:
            self.notify(
                f"None of {found.found} single edits is worth it, measured on the search half."
            )
            return
        better = [one for one in found.proposals if one.better_held_out]
        if not better:
            self.notify(
                f"Nothing found helps: of {found.found} single edits {len(found.proposals)} are "
                "better where they were chosen, and none of these on the other half of the prompts."
            )
            return
        await self._offer(topic, better, notes_of(found, len(better)))

    @work(exclusive=True, group="dialog")
    async def action_refine(self) -> None:
        scorer = await self._scorer()
        if scorer is None:
            return
        topic = self.session.topic
        result = await self.app.push_screen_wait(SearchDialog(scorer, topic))
        if result is None:
            return
        if result.proposal is None:
            told = f"No edit is worth its cost ({result.measured} definitions measured)."
            if result.ended != "exhausted":
                told = f"Ended before an edit worth its cost was found. {told}"
            elif result.measured < 2:
                told = NO_EDITS
            self.notify(told)
            return
        if not result.proposal.better_held_out:
            text = await asyncio.to_thread(nothing_helps_text, result, scorer.split.source)
            await self.app.push_screen_wait(TextPage("Nothing found helps", text))
            return
        single = result.single
        notes = [
            f"{result.measured} definitions in {result.seconds:.0f} s ({_ENDED[result.ended]}); "
            f"chosen on one half of the prompts, reported on the other ({scorer.split.source}).",
            *scorer.split.notes,
        ]
        both = [result.proposal]
        if single is not None and single.topic != result.proposal.topic and single.better_held_out:
            both.append(single)
            more = result.proposal.held_out_gain - single.held_out_gain
            notes.append(
                f"Second stands the best single edit: the search gains {abs(more):.3f} "
                f"{'less' if more < 0 else 'more'} held out."
            )
        await self._offer(topic, both, notes, result.curve)

    async def _offer(
        self,
        topic: Topic,
        found: Sequence[Proposal],
        notes: Sequence[str],
        curve: Sequence[CurvePoint] = (),
    ) -> None:
        prompts = self.workspace.prompts.prompts
        # Worked out here, not while the screen is drawn.
        await asyncio.to_thread(lambda: [(one.interval, one.sentence) for one in found])
        chosen = await self.app.push_screen_wait(ProposalList(topic, found, notes, prompts, curve))
        if chosen is not None:
            told = "The edit is in the editor; Undo takes it back."
            if self.session.topic != topic:  # its file was changed by another program
                told = f"The definition had changed meanwhile. {told}"
            self._edit(chosen)
            self.notify(told)

    @work(exclusive=True, group="dialog")
    async def action_show_effects(self) -> None:
        await self._take_typed()
        topic, prompts, scanner = self.session.topic, self.workspace.prompts, self.scanner
        self._tell_scan("each part is left out and measured …", who="Engine")
        stop = threading.Event()

        def work_out() -> tuple[Effect, ...] | None:
            engine = open_lint_engine(scanner, prompts, lambda progress: None, stop.is_set)
            found = None if engine is None else effects(engine, topic, stop.is_set)
            for one in found or ():
                _ = one.worth.intervals  # not while the screen is drawn
            return found

        try:
            found = await asyncio.to_thread(work_out)
        except ScannerError as error:
            self.notify(str(error), severity="error", markup=False, timeout=10)
            return
        finally:
            stop.set()
            self._tell_scan("")
        if not found:
            self.notify("The definition has no parts to leave out.")
            return
        text = Text()
        if sign := no_effect(found[0].before):
            text.append(f"{sign}\n\n", "bold $text-warning")
        for one in found:
            sign, style = delta(one.coverage_change)
            text.append(f"{sign:<9}", style)
            text.append(f" {display_text(one.sentence)}")
            if (one.worth.fixes or one.worth.regressions) and one.worth.could_be_chance:
                text.append(" chance?", "$text-warning")
            text.append("\n")
            if one.part.startswith("example"):
                text.append(f"          {display_start(one.text, _SHOWN)}\n", "$text-muted")
        text.append(
            f"\nThe figure is the change of coverage by the embedded engine on all {len(prompts)} "
            "prompts; ▲ means that the definition is better without that part. Where the 95 % "
            "interval of the change contains 0 it may be chance: chance?\n",
            "$text-muted",
        )
        await self.app.push_screen_wait(TextPage("What each part of the definition does", text))


def nothing_helps_text(result: SearchResult, source: str) -> Text:
    """What a search found that is not better on the held-out half, and why it is not offered.

    `source` says where the halves come from.
    """
    best = result.proposal
    text = Text()
    if best is not None:
        text.append(
            f"The best of {result.measured} definitions has greater coverage only on the half of "
            f"the prompts that it was chosen on ({source}):\n\n"
        )
        text.append("            before   after\n", "$text-muted")
        halves = (
            ("chosen on", best.before.search, best.after.search, best.search_gain),
            ("held out", best.before.report, best.after.report, best.held_out_gain),
        )
        for title, before, after, gain in halves:
            text.append(f"{title:<10}  {number(before.coverage):>6}  {number(after.coverage):>6}  ")
            sign, style = delta(gain)
            text.append(f"{sign}\n", style)
        text.append(
            f"\nOf {best.worth.compared} held-out prompts it fixes {best.report_fixes} and breaks "
            f"{best.report_regressions}. It is not offered: its edits fit the prompts at hand, and "
            "not the topic.\n"
        )
    text.append("\nCoverage by the number of edits\n", "bold")
    return text.append_text(curve_text(result.curve))


def notes_of(found: Shortlist, better: int) -> list[str]:
    """Where the figures of a shortlist come from; `better` are better on the held-out half."""
    worse = len(found.proposals) - better
    left_out = (
        f"{worse} {'edits' if worse > 1 else 'edit'} that did well only where chosen "
        f"{'are' if worse > 1 else 'is'} left out."
    )
    return [
        f"{found.measured} of {found.found} edits measured by the embedded engine; chosen and "
        f"ordered on one half of the prompts, the figures are of the other ({found.source}).",
        *([left_out] if worse else []),
        *found.notes,
    ]
