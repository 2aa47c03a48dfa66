"""Refinement of the definition: measured edits, a search, the effect of each part."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence

import polars as pl
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from guardtui.advice.effects import Effect, no_effect
from guardtui.advice.objective import CONFIDENCE
from guardtui.advice.proposals import Proposal
from guardtui.advice.search import Search, SearchProgress, SearchResult
from guardtui.app.next_steps import gain_text
from guardtui.app.refinement import Effects, Measure, RefinementError
from guardtui.app.services import Services
from guardtui.domain.figures import capitalized, rate_text
from guardtui.domain.guardrail import guardrail_text
from guardtui.domain.text import display_start, display_text
from guardtui.domain.topic import Topic
from guardtui.scanners.base import ScannerError
from guardtui.tui.advice.edit_list import EditList
from guardtui.tui.editor.definition_diff import difference_text
from guardtui.tui.kit.dialogs import TextPage
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.progress_bar import progress_bar
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.metrics.pane import delta

BUDGET = 60.0
"""Maximum seconds of a search."""
ERROR_TIME = 10.0
"""Seconds for which an error stays visible."""

_POLL = 0.1
_BAR_CELLS = 30
_ROWS = 100
"""Maximum number of listed prompts of each kind for a proposal."""
_SHOWN = 100

_ENDED = {
    "stopped": "stopped",
    "budget": "the time is used up",
    "exhausted": "no other edit is worth its cost",
}

NO_EDITS = (
    "No edits to try: the definition exceeds a limit, and no single edit brings it within the "
    "limit. See the ⚠ below the fields."
)


class ProposalList(EditList[Proposal]):
    """Measured edits, best first; `prompts` are the texts of the prompt set, String [N]."""

    BINDINGS = [("r", "rows", "Its prompts")]

    TITLE_TEXT = "What to change next"
    KEYS_TEXT = "Enter takes it into the editor · r shows its prompts · Esc closes"

    help_pane = "proposals"

    def __init__(
        self,
        current: Topic,
        proposals: Sequence[Proposal],
        notes: Sequence[str],
        prompts: pl.Series,
    ) -> None:
        super().__init__([(proposal, proposal_line(proposal)) for proposal in proposals], notes)
        self.current, self.proposals, self._prompts = current, proposals, prompts

    def described(self, index: int) -> Text:
        return proposal_text(self.current, self.proposals[index])

    def action_rows(self) -> None:
        """Show the prompts that the highlighted edit fixes and breaks."""
        proposal = self.proposals[self.index]
        text = Text()
        groups = (
            ("Regressions", proposal.regressions),
            ("Fixes", proposal.fixes),
            ("Left out of the figures: used by the definition or the edit", proposal.left_out),
        )
        for title, rows in groups:
            text.append(f"{title} {len(rows)}\n", "bold")
            for row in rows[:_ROWS].tolist():
                text.append(f"  {display_start(self._prompts[row], _SHOWN)}\n")
            if len(rows) > _ROWS:
                text.append(f"  and {len(rows) - _ROWS} more\n", "$text-muted")
        self.app.push_screen(TextPage("Prompts that would change", text, "changed_prompts"))


def proposal_line(proposal: Proposal) -> Text:
    """Return an edit in one line: its gain, fixes, regressions and changes."""
    line = Text()
    line.append(f"{gain_text(proposal.gain)}  ", delta(proposal.gain.value)[1])
    line.append(f"✓{len(proposal.fixes):<3} ✗{len(proposal.regressions):<3} ")
    return line.append(display_start("; ".join(proposal.changes), 300), "$text-muted")


def proposal_text(current: Topic, proposal: Proposal) -> Text:
    """Return an edit in full, with its changes word by word."""
    text = Text(f"Coverage {gain_text(proposal.gain)} expected on other prompts.\n")
    text.append(
        f"On the prompts it was chosen on {rate_text(proposal.before.coverage)} → "
        f"{rate_text(proposal.after.coverage)}, {len(proposal.fixes)} fixes, "
        f"{len(proposal.regressions)} regressions.\n",
        "$text-muted",
    )
    if proposal.held_out is not None:
        before, after = proposal.held_out.before, proposal.held_out.after
        text.append(
            f"On the held-out prompts {rate_text(before.coverage)} → "
            f"{rate_text(after.coverage)}.\n",
            "$text-muted",
        )
    return text.append("\n").append_text(difference_text(current, proposal.topic))


class SearchDialog(Modal[SearchResult | None]):
    """A running search; Escape ends it with the best result so far."""

    BINDINGS = [("escape,q", "stop", "End the search")]

    help_pane = "search"

    def __init__(self, measure: Measure, topic: Topic, budget: float = BUDGET) -> None:
        super().__init__()
        self._stop = threading.Event()
        self._snapshot: SearchProgress | None = None
        self._measure = measure
        self._search = Search(
            measure.objective,
            topic,
            measure.rows,
            budget=budget,
            stopped=self._stop.is_set,
            progress=self._take,
        )

    def _take(self, snapshot: SearchProgress) -> None:
        self._snapshot = snapshot

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Searching for a better definition"
            dialog.border_subtitle = "Esc ends it with the best result"
            yield Static("begins …", markup=False, id="search-status")

    def on_mount(self) -> None:
        self.set_interval(_POLL, self._poll)
        self._run()

    def _poll(self) -> None:
        if self._snapshot is not None:
            self.query_one("#search-status", Static).update(themed(search_text(self._snapshot)))

    @work(exclusive=True)
    async def _run(self) -> None:
        job = asyncio.ensure_future(asyncio.to_thread(self._searched))
        try:
            result = await asyncio.shield(job)
        except asyncio.CancelledError:
            self._stop.set()
            raise
        self.dismiss_when_active(result)

    def _searched(self) -> SearchResult | None:
        with self._measure.one_at_a_time:
            return self._search.run()

    def action_stop(self) -> None:
        """End the search; its result so far is shown."""
        self._stop.set()


def search_text(now: SearchProgress) -> Text:
    """Return the progress of a search."""
    bar = progress_bar(now.seconds, now.budget, _BAR_CELLS)
    text = Text(f"{bar} {now.seconds:.0f} of {now.budget:.0f} s\n")
    text.append(f"{now.measured} definitions measured, {now.edits} edits deep, ")
    text.append(f"{now.width} pursued at once\n")
    sign, style = delta(now.gain)
    text.append("best gain so far, before the correction for chance: ").append(f"{sign}\n", style)
    return text


class RefinementFeature:
    """Offers measured edits of the definition, and applies the one that the author chooses."""

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self._refinement = services.refinement
        self.actions: Mapping[str, ActionMethod] = {
            "what_if": window.action(self.what_if),
            "refine": window.action(self.refine),
            "show_effects": window.action(self.show_effects),
        }

    async def what_if(self) -> None:
        """Offer the advised edits."""
        try:
            result = await self._refinement.advice()
        except RefinementError as error:
            self._window.notify(str(error), severity="error", seconds=ERROR_TIME)
            return
        if result is None:
            return
        if result.advised:
            await self.offer(result)
        else:
            self._window.notify(no_proposal_text(result))

    async def refine(self) -> None:
        """Search for combinations of edits, and offer the best."""
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
            self._window.notify(no_proposal_text(result))
            return
        await self.offer(result)

    async def offer(self, result: SearchResult) -> None:
        """Offer proposals, and take the one that the author chooses."""
        prompts = self._services.workspace.prompts.prompts
        notes = notes_of(result)
        chosen = await self._window.show(ProposalList(result.topic, result.advised, notes, prompts))
        if chosen is not None:
            await self._services.next_steps.take(result.topic, chosen)

    async def show_effects(self) -> None:
        """Show the effect of each part of the definition."""
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
    """The effect of each part of a definition on `count` prompts; a part can be left out."""

    TITLE_TEXT = "What each part of the definition does"
    KEYS_TEXT = "Enter omits it · Esc closes"

    help_pane = "effects"

    def __init__(self, current: Topic, effects: Effects, count: int) -> None:
        sign = no_effect(effects.parts[0].before)
        note = (
            f"The change of coverage by {guardrail_text(effects.settings)}, on all {count} "
            "prompts: ▲ means that the definition is better without that part. Where the 95 % "
            "interval of the change contains 0 it may be chance: chance?"
        )
        notes = [sign, note] if sign else [note]
        super().__init__([(part, effect_line(part)) for part in effects.parts], notes)
        self.current, self.parts = current, effects.parts

    def described(self, index: int) -> Text:
        part = self.parts[index]
        text = Text(f"{capitalized(part.worth.sentence)}.\n\n")
        return text.append_text(difference_text(self.current, part.topic))


def effect_line(effect: Effect) -> Text:
    """Return the effect of a part in one line, measured by leaving it out."""
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


def no_proposal_text(result: SearchResult) -> str:
    """Return why no edit is offered."""
    if not result.single_edits:
        return NO_EDITS
    best = next(iter(result.proposals), None)
    tried = f"{result.measured} definitions measured"
    if best is None:
        return f"No edit is worth its cost ({tried})."
    if best.gain.is_certain:
        return f"The best edits are not better on the held-out prompts ({tried})."
    return f"Nothing measured helps for certain ({tried}): the best gains {gain_text(best.gain)}."


def notes_of(result: SearchResult) -> list[str]:
    """Return how the figures of proposals were measured."""
    return [
        f"{result.measured} definitions measured by {guardrail_text(result.settings)} "
        f"({_ENDED[result.ended]}), on {result.before.total} prompts: {result.rows.source}.",
        f"Gains of coverage are those expected on other prompts, with {CONFIDENCE:.0%} intervals; "
        "only edits whose lower bound is positive are listed.",
        *result.rows.notes,
    ]
