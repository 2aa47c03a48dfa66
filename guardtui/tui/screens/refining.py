"""What to change next: edits already measured, a search for better, what each part does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence

import polars as pl
from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from guardtui.advice.effects import Effect, no_effect
from guardtui.advice.measuring import TopicScorer
from guardtui.advice.proposals import Proposal
from guardtui.advice.search import CurvePoint, Search, SearchResult, Snapshot
from guardtui.advice.splits import Split
from guardtui.advice.whatif import Shortlist
from guardtui.app.refinement import Refinement, RefinementError
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.figures import capitalized, change_text
from guardtui.domain.text import display_start, display_text
from guardtui.domain.topic import Topic
from guardtui.scanners.base import ScannerError
from guardtui.tui.content import themed
from guardtui.tui.definition_text import difference_text
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.modal import Modal
from guardtui.tui.screens.dialogs import TextPage
from guardtui.tui.screens.edit_list import EditList
from guardtui.tui.widgets.metrics_panel import delta, number

BUDGET = 60.0
"""Seconds that a search takes at most."""
ERROR_TIME = 10.0
"""Seconds that the reason why nothing can be measured stays in sight."""

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
    KEYS_TEXT = "Enter takes it into the editor · r its rows · Esc closes"

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
        self.here, self.proposals, self._prompts = here, proposals, prompts
        self._curve = curve

    def described(self, place: int) -> Text:
        text = proposal_text(self.here, self.proposals[place])
        if self._curve and not place:
            text.append("\nCoverage by the number of edits\n", "bold")
            text.append_text(curve_text(self._curve))
        return text

    def action_rows(self) -> None:
        """Show what the edit at hand fixes and breaks."""
        one = self.proposals[self.place]
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
        self.is_over = False
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
        self.is_over = True
        self.dismiss(self._found)

    @on(events.ScreenResume)
    def resumed(self) -> None:
        """Help was above it when the search ended."""
        if self.is_over:
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


class Refining:
    """Offers edits of the definition that are measured, and applies the one the author takes."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self._refinement = Refinement(
            services.store, services.workspace, services.engine, services.editing
        )
        self.actions: Mapping[str, ActionMethod] = {
            "what_if": window.action(self.what_if),
            "refine": window.action(self.refine),
            "show_effects": window.action(self.show_effects),
        }

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Nothing of it is in sight."""

    async def what_if(self) -> None:
        """Offer the best single edits."""
        try:
            edits = await self._refinement.single_edits()
        except RefinementError as error:
            self._window.notify(str(error), severity="error", seconds=ERROR_TIME)
            return
        if edits is None:
            return
        better = [proposal for proposal in edits.proposals if proposal.better_held_out]
        if better:
            await self._offer(edits.topic, better, notes_of(edits, len(better)))
        else:
            self._window.notify(no_single_edit(edits))

    async def refine(self) -> None:
        """Search for several edits together, and offer the best."""
        try:
            scorer = await self._refinement.scorer()
        except RefinementError as error:
            self._window.notify(str(error), severity="error", seconds=ERROR_TIME)
            return
        topic = self._services.session.topic
        result = await self._window.show(SearchDialog(scorer, topic))
        if result is None:
            return
        if result.proposal is None:
            self._window.notify(nothing_found(result))
            return
        if not result.proposal.better_held_out:
            text = await asyncio.to_thread(nothing_helps_text, result, scorer.split.source)
            await self._window.show(TextPage("Nothing found helps", text))
            return
        proposals, notes = search_proposals(result.proposal, result, scorer.split)
        await self._offer(topic, proposals, notes, result.curve)

    async def _offer(
        self,
        topic: Topic,
        proposals: Sequence[Proposal],
        notes: Sequence[str],
        curve: Sequence[CurvePoint] = (),
    ) -> None:
        prompts = self._services.workspace.prompts.prompts
        # Computed here and not while the screen is drawn.
        await asyncio.to_thread(
            lambda: [(proposal.interval, proposal.sentence) for proposal in proposals]
        )
        chosen = await self._window.show(ProposalList(topic, proposals, notes, prompts, curve))
        if chosen is not None:
            message = "The edit is in the editor; Undo takes it back."
            if self._services.session.topic != topic:  # another program changed its file
                message = f"The definition had changed meanwhile. {message}"
            self._services.editing.replace(chosen)
            self._window.notify(message)

    async def show_effects(self) -> None:
        """Show what each part of the definition does."""
        count = len(self._services.workspace.prompts)
        try:
            effects = await self._refinement.effects()
        except ScannerError as error:
            self._window.notify(str(error), severity="error", seconds=ERROR_TIME)
            return
        if not effects:
            self._window.notify("The definition has no parts to leave out.")
            return
        text = effects_text(effects, count)
        await self._window.show(TextPage("What each part of the definition does", text))


def effects_text(effects: Sequence[Effect], count: int) -> Text:
    """Return what each part of a definition does on `count` prompts, a line or two each."""
    text = Text()
    if sign := no_effect(effects[0].before):
        text.append(f"{sign}\n\n", "bold $text-warning")
    for effect in effects:
        sign, style = delta(effect.coverage_change)
        text.append(f"{sign:<9}", style)
        text.append(f" {display_text(effect.sentence)}")
        worth = effect.worth
        if (worth.fixes or worth.regressions) and worth.could_be_chance:
            text.append(" chance?", "$text-warning")
        text.append("\n")
        if effect.part.startswith("example"):
            text.append(f"          {display_start(effect.text, _SHOWN)}\n", "$text-muted")
    return text.append(
        f"\nThe figure is the change of coverage by the embedded engine on all {count} "
        "prompts; ▲ means that the definition is better without that part. Where the 95 % "
        "interval of the change contains 0 it may be chance: chance?\n",
        "$text-muted",
    )


def no_single_edit(edits: Shortlist) -> str:
    """Return why no single edit is offered."""
    if not edits.found:
        return NO_EDITS
    if not edits.proposals:
        return f"None of {edits.found} single edits is worth it, measured on the search half."
    return (
        f"Nothing found helps: of {edits.found} single edits {len(edits.proposals)} are "
        "better where they were chosen, and none of these on the other half of the prompts."
    )


def nothing_found(result: SearchResult) -> str:
    """Return why a search has no proposal."""
    message = f"No edit is worth its cost ({result.measured} definitions measured)."
    if result.ended != "exhausted":
        return f"Ended before an edit worth its cost was found. {message}"
    return NO_EDITS if result.measured < 2 else message


def search_proposals(
    best: Proposal, result: SearchResult, split: Split
) -> tuple[list[Proposal], list[str]]:
    """Return what to offer of a search (its best, the best single edit), and notes on it."""
    notes = [
        f"{result.measured} definitions in {result.seconds:.0f} s ({_ENDED[result.ended]}); "
        f"chosen on one half of the prompts, reported on the other ({split.source}).",
        *split.notes,
    ]
    single = result.single
    if single is None or single.topic == best.topic or not single.better_held_out:
        return [best], notes
    more = best.held_out_gain - single.held_out_gain
    notes.append(
        f"Second stands the best single edit: the search gains {abs(more):.3f} "
        f"{'less' if more < 0 else 'more'} held out."
    )
    return [best, single], notes


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
