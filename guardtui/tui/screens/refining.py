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
from guardtui.advice.objective import CONFIDENCE
from guardtui.advice.proposals import Proposal
from guardtui.advice.search import Search, SearchResult, Snapshot
from guardtui.app.next_steps import gain_text
from guardtui.app.refinement import Effects, Measure, RefinementError
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.figures import capitalized, rate_text
from guardtui.domain.guardrail import guardrail_text
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
from guardtui.tui.widgets.metrics_panel import delta

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
    "There is no edit to try: of a definition that breaks a limit only edits that fix it are, and "
    "no single one does. See the ⚠ below the fields."
)


class ProposalList(EditList[Proposal]):
    """Measured edits, the best first; `prompts` are the texts of the prompt set, String [N]."""

    BINDINGS = [("r", "rows", "Its prompts")]

    TITLE_TEXT = "What to change next"
    KEYS_TEXT = "Enter takes it into the editor · r shows its prompts · Esc closes"

    help_pane = "proposals"

    def __init__(
        self,
        here: Topic,
        proposals: Sequence[Proposal],
        notes: Sequence[str],
        prompts: pl.Series,
    ) -> None:
        super().__init__([(one, proposal_line(one)) for one in proposals], notes)
        self.here, self.proposals, self._prompts = here, proposals, prompts

    def described(self, place: int) -> Text:
        return proposal_text(self.here, self.proposals[place])

    def action_rows(self) -> None:
        """Show what the edit at hand fixes and breaks."""
        one = self.proposals[self.place]
        text = Text()
        groups = (
            ("Regressions", one.regressions),
            ("Fixes", one.fixes),
            ("Left out of the figures: they become examples, or gave words", one.left_out),
        )
        for title, rows in groups:
            text.append(f"{title} {len(rows)}\n", "bold")
            for row in rows[:_ROWS].tolist():
                text.append(f"  {display_start(self._prompts[row], _SHOWN)}\n")
            if len(rows) > _ROWS:
                text.append(f"  and {len(rows) - _ROWS} more\n", "$text-muted")
        self.app.push_screen(TextPage("Prompts that would change", text, "changed_prompts"))


def proposal_line(one: Proposal) -> Text:
    """One edit: what it adds to coverage, what it fixes and breaks, and what it is."""
    line = Text()
    line.append(f"{gain_text(one.gain)}  ", delta(one.gain.value)[1])
    line.append(f"✓{len(one.fixes):<3} ✗{len(one.regressions):<3} ")
    return line.append(display_start("; ".join(one.changes), 300), "$text-muted")


def proposal_text(here: Topic, one: Proposal) -> Text:
    """All that is known of one edit, and what it changes word by word."""
    text = Text(f"Coverage {gain_text(one.gain)} expected on other prompts.\n")
    text.append(
        f"On the prompts it was chosen on {rate_text(one.before.coverage)} → "
        f"{rate_text(one.after.coverage)}, {len(one.fixes)} fixes, {len(one.regressions)} "
        "regressions.\n",
        "$text-muted",
    )
    if one.held_out is not None:
        before, after = one.held_out.before, one.held_out.after
        text.append(
            f"On the held-out prompts {rate_text(before.coverage)} → "
            f"{rate_text(after.coverage)}.\n",
            "$text-muted",
        )
    return text.append("\n").append_text(difference_text(here, one.topic))


class SearchDialog(Modal[SearchResult | None]):
    """A search while it runs; Escape ends it with the best found by then."""

    BINDINGS = [("escape,q", "stop", "End the search")]

    help_pane = "search"

    def __init__(self, measure: Measure, topic: Topic, budget: float = BUDGET) -> None:
        super().__init__()
        self._stop = threading.Event()
        self._snapshot: Snapshot | None = None
        self._found: SearchResult | None = None
        self.is_over = False
        self._measure = measure
        self._search = Search(
            measure.objective,
            topic,
            measure.rows,
            budget=budget,
            stopped=self._stop.is_set,
            progress=self._take,
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
        job = asyncio.ensure_future(asyncio.to_thread(self._searched))
        try:
            self._found = await asyncio.shield(job)
        except asyncio.CancelledError:
            self._stop.set()
            raise
        self.is_over = True
        self.dismiss(self._found)

    def _searched(self) -> SearchResult | None:
        with self._measure.one_at_a_time:
            return self._search.run()

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
    sign, style = delta(now.gain)
    text.append("the best so far, before what it owes to chance: ").append(f"{sign}\n", style)
    return text


class Refining:
    """Offers edits of the definition that are measured, and applies the one the author takes."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self._refinement = services.refinement
        self.actions: Mapping[str, ActionMethod] = {
            "what_if": window.action(self.what_if),
            "refine": window.action(self.refine),
            "show_effects": window.action(self.show_effects),
        }

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Nothing of it is in sight."""

    async def what_if(self) -> None:
        """Offer the edits that are advised."""
        try:
            found = await self._refinement.advice()
        except RefinementError as error:
            self._window.notify(str(error), severity="error", seconds=ERROR_TIME)
            return
        if found is None:
            return
        if found.advised:
            await self.offer(found)
        else:
            self._window.notify(nothing_found(found))

    async def refine(self) -> None:
        """Search for several edits together, and offer the best."""
        try:
            measure = await self._refinement.measure()
        except RefinementError as error:
            self._window.notify(str(error), severity="error", seconds=ERROR_TIME)
            return
        topic = self._services.session.topic
        result = await self._window.show(SearchDialog(measure, topic))
        if result is None:
            return
        if result.best is None:
            self._window.notify(nothing_found(result))
            return
        await self.offer(result)

    async def offer(self, found: SearchResult) -> None:
        """Offer proposals of a definition, and take the one that the author chooses."""
        prompts = self._services.workspace.prompts.prompts
        notes = notes_of(found)
        chosen = await self._window.show(ProposalList(found.topic, found.advised, notes, prompts))
        if chosen is not None:
            await self._services.next_steps.take(found.topic, chosen)

    async def show_effects(self) -> None:
        """Show what each part of the definition does."""
        count = len(self._services.workspace.prompts)
        try:
            effects = await self._refinement.effects()
        except ScannerError as error:
            self._window.notify(str(error), severity="error", seconds=ERROR_TIME)
            return
        if not effects.parts:
            self._window.notify("The definition has no parts to leave out.")
            return
        topic = self._services.session.topic
        left_out = await self._window.show(EffectList(topic, effects, count))
        if left_out is not None:
            self._services.editing.replace(left_out.topic)
            self._window.notify(f"Left out: {left_out.part}; Undo restores it.")


class EffectList(EditList[Effect]):
    """What each part of a definition does on `count` prompts; one can be left out."""

    TITLE_TEXT = "What each part of the definition does"
    KEYS_TEXT = "Enter leaves it out · Esc closes"

    help_pane = "effects"

    def __init__(self, here: Topic, effects: Effects, count: int) -> None:
        sign = no_effect(effects.parts[0].before)
        note = (
            f"The change of coverage by {guardrail_text(effects.settings)}, on all {count} "
            "prompts: ▲ means that the definition is better without that part. Where the 95 % "
            "interval of the change contains 0 it may be chance: chance?"
        )
        notes = [sign, note] if sign else [note]
        super().__init__([(part, effect_line(part)) for part in effects.parts], notes)
        self.here, self.parts = here, effects.parts

    def described(self, place: int) -> Text:
        part = self.parts[place]
        text = Text(f"{capitalized(part.worth.sentence)}.\n\n")
        return text.append_text(difference_text(self.here, part.topic))


def effect_line(effect: Effect) -> Text:
    """What one part does, by what would be without it."""
    sign, style = delta(effect.coverage_change)
    line = Text()
    line.append(f"{sign:<9}", style)
    line.append(f" {display_text(effect.sentence)}")
    worth = effect.worth
    if (worth.fixes or worth.regressions) and worth.could_be_chance:
        line.append(" chance?", "$text-warning")
    if effect.part.startswith("example"):
        line.append(f"  {display_start(effect.text, _SHOWN)}", "$text-muted")
    return line


def nothing_found(result: SearchResult) -> str:
    """Return why nothing is offered."""
    if not result.found:
        return NO_EDITS
    best = next(iter(result.proposals), None)
    tried = f"{result.measured} definitions measured"
    if best is None:
        return f"No edit is worth its cost ({tried})."
    if best.gain.is_certain:
        return f"The best edits are not better on the held-out prompts ({tried})."
    return f"Nothing measured helps for certain ({tried}): the best gains {gain_text(best.gain)}."


def notes_of(found: SearchResult) -> list[str]:
    """Where the figures of proposals come from."""
    return [
        f"{found.measured} definitions measured by {guardrail_text(found.settings)} "
        f"({_ENDED[found.ended]}), on {found.before.total} prompts: {found.rows.source}.",
        f"Gains of coverage are those expected on other prompts, with {CONFIDENCE:.0%} intervals; "
        "only edits whose lower bound is positive are listed.",
        *found.rows.notes,
    ]
