"""Ideas: the line below the definition, the page with all of them, and taking one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

import numpy as np
from rich.text import Text
from textual.binding import Binding

from guardtui.advice.objective import CONFIDENCE
from guardtui.advice.search import SearchProgress, SearchResult
from guardtui.app.advice.idea_advice import IdeaAdvice
from guardtui.app.advice.ideas import Idea, IdeaKind, Ideas
from guardtui.app.advice.refinement import Measure, RefinementError
from guardtui.app.advice.wording_trials import WordingDraft
from guardtui.app.editing.preview import LET_IT_END
from guardtui.app.problems import READING_TIME
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.figures import capitalized, count_text, rate_text
from guardtui.domain.text import display_start, display_text
from guardtui.domain.topic import Topic
from guardtui.tui.advice.edit_list import EditList
from guardtui.tui.advice.edit_preview import preview_edit
from guardtui.tui.advice.running import RunningDialog, search_text
from guardtui.tui.editor.definition_diff import difference_text
from guardtui.tui.kit.inert import Static
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.main.availability import NO_PREVIEW, no_preview
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.registry.actions import action_named, first_key, menu_name
from guardtui.tui.results.model import PromptSelection

Result = TypeVar("Result")

MEASURING = "measuring edits …"
SCANNING = "scanning: the verdicts decide what comes next"
LABEL_HERE = "where labels teach"
LATER = "edits are measured once the prompts are embedded"

BUDGET = 60.0
"""Maximum seconds of a search."""


_ENDED = {
    "stopped": ", until it was stopped",
    "budget": ", until the time was used up",
    "exhausted": "",
}

_ACTIONS = {
    IdeaKind.CHECK: "check_flips",
    IdeaKind.EXPERIMENT: "experiment",
    IdeaKind.BETTER_EDIT: "experiment",
    IdeaKind.KEEP: "keep",
    IdeaKind.DISCARD: "discard",
    IdeaKind.SCAN: "scan",
    IdeaKind.SCAN_MISSING: "scan_missing",
    IdeaKind.PUT_BACK: "apply_remote",
}
"""The action that takes a step which is no edit."""

_EXPLAINED = {
    IdeaKind.KEEP: (
        "Keep records the definition as an iteration, makes it the one that later edits are "
        "compared with, and saves it to the topic file.\n"
    ),
    IdeaKind.DISCARD: "Discard records the edit, and goes back to the best definition.\n",
    IdeaKind.PUT_BACK: (
        "A check or a scan put the definition in effect that was discarded since. The kept one is "
        "applied to the profile again; its changes are shown first.\n"
    ),
    IdeaKind.BETTER_EDIT: (
        "The experiment's page lists what each edit did on the guardrail; keep there makes the "
        "best one the definition.\n"
    ),
    IdeaKind.CHECK: (
        "The forecast is unsure: these prompts are the likeliest to change their verdict. Scanning "
        "them gives the most evidence for the fewest calls; the cost is shown before anything is "
        "sent.\n"
    ),
    IdeaKind.ADD_PROMPTS: (
        "With so few prompts, every figure and gain may be chance. Write prompts as your users "
        "do, of both kinds, and some that nearly belong.\n"
    ),
    IdeaKind.EXPERIMENT: (
        "The edits are measured on the guardrail itself, against the current definition, prompt by "
        "prompt, and only as long as their effect is open. The number of calls is asked first, and "
        "an edit is offered for keeping if the guardrail's own verdicts show that it helps.\n"
    ),
    IdeaKind.MISTAKES: (
        "In the results, w on a mistake says why the prompt is judged so, and which edits of the "
        "examples would correct it; e makes a missed prompt an example.\n"
    ),
    IdeaKind.WORDINGS: (
        "The model is shown the definition and at most half of the mistakes, in one call. Its "
        "wordings are measured like other edits, without the prompts that it saw, and added to "
        "this list if they are likely to help.\n"
    ),
}


class Wish(StrEnum):
    """What the author wants of the page."""

    TAKE = "take"
    DISCARD = "discard"
    SEARCH = "search"
    WORDINGS = "wordings"


Choice: TypeAlias = tuple[Wish, Idea | None]
"""The answer of the page, with the highlighted idea; None if there are none."""


class IdeasPage(EditList[Choice]):
    """All ideas, best first."""

    BINDINGS = [
        Binding("p,right", "preview", "Preview it"),
        Binding("d,delete", f"answer({Wish.DISCARD.value!r})", "Discard it"),
        Binding("s", f"answer({Wish.SEARCH.value!r})", "Search for more"),
        Binding("w", f"answer({Wish.WORDINGS.value!r})", "Own descriptions or a model's"),
    ]

    TITLE_TEXT = "Ideas"
    KEYS_TEXT = "Enter previews · d discards · s searches · w writes"
    KEYS_OF_A_STEP = "Enter takes it · s searches · w writes · Esc"
    KEYS_WITHOUT_EDITS = "s searches · w writes · Esc"

    help_pane = "ideas"

    def __init__(self, ideas: Ideas) -> None:
        super().__init__(
            [((Wish.TAKE, idea), idea_line(idea)) for idea in ideas.ranked], notes_of(ideas)
        )
        self._ideas = ideas

    def on_mount(self) -> None:
        super().on_mount()
        if not self._ideas.ranked:
            note = Text(f"{self._ideas.note}.")
            self.query_one("#difference", Static).update(themed(note))

    @property
    def _idea(self) -> Idea | None:
        return self._ideas.ranked[self.index] if self._ideas.ranked else None

    def described(self, index: int) -> Text:
        return idea_text(self._ideas.topic, self._ideas.ranked[index])

    def keys_for(self, index: int) -> str:
        is_edit = self._ideas.ranked[index].proposal is not None
        return self.KEYS_TEXT if is_edit else self.KEYS_OF_A_STEP

    def action_answer(self, wish: str) -> None:
        self.dismiss((Wish(wish), self._idea))

    def action_preview(self) -> None:
        """Preview an edit; other steps are taken by Enter only."""
        if self._idea is not None and self._idea.proposal is None:
            self.notify(f"{NO_PREVIEW} takes it.")
        else:
            self.action_answer(Wish.TAKE)


def notes_of(ideas: Ideas) -> list[str]:
    """Return how the ideas were measured."""
    result = ideas.result
    if result is None or not result.single_edits:
        return list(ideas.notes)
    gain = (
        " A gain is what prompts show that had no part in choosing the edit, with an interval of "
        f"{CONFIDENCE:.0%}; where they do not confirm it, it is called a guess."
    )
    return [
        f"The engine tried {result.tried} on {result.rows.source} "
        f"({result.before.total}){_ENDED[result.ended]}."
        f"{gain if any(idea.proposal for idea in ideas.ranked) else ''}",
        *result.rows.notes,
        *ideas.notes,
    ]


def idea_line(idea: Idea) -> Text:
    """Return an idea in one line: its gains, fixes and regressions if measured, and its text."""
    line = Text()
    if idea.proposal is not None:
        line.append(f"{idea.proposal.short_figures}  ", _style(idea))
        fixes, regressions = len(idea.proposal.fixes), len(idea.proposal.regressions)
        line.append(f"✓{fixes:<3} ✗{regressions:<3} ", "$text-muted")
    return line.append(idea.text)


def _style(idea: Idea) -> str:
    """Return the style of the figures: a guess has no color of success."""
    return "bold $text-success" if idea.gain is not None and idea.gain.likely else "bold"


def idea_text(current: Topic, idea: Idea) -> Text:
    """Return an idea in full, an edit with its changes word by word."""
    proposal = idea.proposal
    if proposal is None:
        parts = filter(None, (idea.detail, _EXPLAINED.get(idea.kind, "")))
        return Text("\n".join(parts))
    expected = " on new prompts" if proposal.gain.likely else ""
    text = Text(f"Coverage {proposal.gain_text}{expected}.\n")
    if proposal.forecast is not None:
        text.append(f"{capitalized(proposal.forecast.text)}.\n")
    elif not proposal.gain.likely:
        text.append("A scan of your guardrail decides.\n")
    text.append(
        f"On the prompts it was chosen on {rate_text(proposal.before.coverage)} → "
        f"{rate_text(proposal.after.coverage)}, "
        f"{count_text(len(proposal.fixes), 'fix', 'fixes')}, "
        f"{count_text(len(proposal.regressions), 'regression')}.\n",
        "$text-muted",
    )
    if proposal.held_out is not None:
        before, after = proposal.held_out.before, proposal.held_out.after
        text.append(
            f"On the held-out prompts {rate_text(before.coverage)} → "
            f"{rate_text(after.coverage)}.\n",
            "$text-muted",
        )
    if proposal.transfer_text:
        text.append(f"{capitalized(proposal.transfer_text)}.\n", "$text-muted")
    if proposal.origin:
        text.append(f"From {display_start(proposal.origin, 300)}.\n", "$text-muted")
    text.append("\n").append_text(difference_text(current, proposal.topic))
    if proposal.why:
        text.append(f"\nThe model: {display_start(proposal.why, 400)}\n", "italic")
    return text


class IdeaFeature:
    """Shows the best idea in a line and all on a page, and takes one."""

    follows = ("ideas", "topic", "evaluation", "scan")

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self._line = window.panes.next_line
        self._known_keys: tuple[Mapping[str, str], tuple[str, ...]] | None = None
        self.actions: Mapping[str, ActionMethod] = {
            "take_idea": window.action(self.take_best),
            "ideas": window.action(self.choose),
        }
        self._line.use_actions(self.actions["ideas"], window.action(self.preview_best))

    @property
    def _advice(self) -> IdeaAdvice:
        return self._services.ideas

    # --- the line -------------------------------------------------------------------------

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Show the best idea for the current definition."""
        ideas = self._current(new)
        pending = ""
        if ideas is None:
            scanned = new.evaluation is None or not new.evaluation.metrics.open
            pending = MEASURING if scanned and self._services.refinement.is_ready else LATER
        if _is_scanned(new):
            pending = SCANNING
        self._line.show(ideas, self._keys, pending)

    @property
    def _keys(self) -> tuple[str, ...]:
        """The keys through the menu, which work everywhere: all, and those that take the idea."""
        keymap = self._window.keymap
        if self._known_keys is not None and self._known_keys[0] == keymap:
            return self._known_keys[1]
        take, ideas = first_key("take_idea", keymap), menu_name(action_named("ideas"), keymap)
        keys = f"{take} take · {ideas} ideas", f"{take} take", take
        self._known_keys = dict(keymap), keys
        return keys

    @staticmethod
    def _current(state: AppState) -> Ideas | None:
        ideas = state.ideas
        known = ideas is not None and ideas.topic == state.topic
        return ideas if known and not _is_scanned(state) else None

    # --- the page -------------------------------------------------------------------------

    async def take_best(self) -> None:
        """Take the idea of the line."""
        await self._services.editing.finish_typing()
        ideas = self._current(self._services.state)
        if _is_scanned(self._services.state):
            self._window.notify(LET_IT_END)
        elif ideas is None:
            self._window.notify("Edits of this definition are still being measured.")
        elif ideas.best is None:
            self._window.notify(f"{ideas.note}.")
        else:
            await self._take(ideas.best)

    async def preview_best(self) -> None:
        """Preview the edit of the line; another step is not taken by that."""
        if refusal := no_preview(self._services.state):
            self._window.notify(refusal)
        else:
            await self.take_best()

    async def choose(self) -> None:
        """Show the page until an idea is taken or it is closed."""
        while True:
            try:
                ideas = await self._advice.current()
            except RefinementError as error:
                self._say(error)
                return
            choice = await self._window.show(IdeasPage(ideas))
            if choice is None:
                return
            wish, idea = choice
            if wish is Wish.TAKE and idea is not None:
                if await self._take(idea):
                    return
                continue
            try:
                await self._more(wish, idea)
            except GuardtuiError as error:
                self._say(error)

    async def _more(self, wish: Wish, idea: Idea | None) -> None:
        """Change the list of ideas. Raises GuardtuiError."""
        if wish is Wish.SEARCH:
            await self._search()
        elif wish is Wish.WORDINGS:
            await self._try_wordings()
        elif idea is not None:
            await self._advice.discard(idea)

    def _say(self, problem: GuardtuiError | str) -> None:
        self._window.notify(str(problem), severity="error", seconds=READING_TIME)

    async def _run(self, dialog: RunningDialog[Result, Any]) -> Result | None:
        """Show a running dialog; a problem is a message."""
        result = await self._window.show(dialog)
        if dialog.problem:
            self._say(dialog.problem)
        return result

    async def _take(self, idea: Idea) -> bool:
        """Take an idea, an edit after its preview; return False if the author goes back."""
        if idea.proposal is not None:
            return await preview_edit(self._services, self._window, idea.proposal.topic)
        if idea.kind in _ACTIONS:
            self._window.perform(_ACTIONS[idea.kind])
        elif idea.kind is IdeaKind.LIMITS:
            self._window.panes.show("editor")
            self._window.panes.editor.focus_first_gap()
        elif idea.kind is IdeaKind.MISTAKES:
            self._window.panes.show("results")
            self._window.perform("explain_mistake(True)")
        elif idea.kind is IdeaKind.LABEL and self._services.state.prompts.waiting:
            self._window.perform("label(True)")
        elif idea.kind is IdeaKind.LABEL:
            self._window.panes.show("results")
            self._window.panes.results.pick(
                PromptSelection(LABEL_HERE, np.array(idea.keys, np.uint64))
            )
            self._window.notify(
                "Label more prompts like these: File in the menu adds a log, and I one like the "
                "selected one."
            )
        elif idea.kind is IdeaKind.WORDINGS:
            await self._try_wordings()
            await self.choose()
        else:
            self._window.panes.show("results")
            self._window.notify("i in the results adds a prompt.")
        return True

    # --- the search -----------------------------------------------------------------------

    async def _search(self) -> None:
        """Search for combinations of edits; what is found joins the ideas."""
        measure = await self._services.refinement.measure()
        topic, stop = self._services.session.topic, threading.Event()

        async def run(report: Callable[[SearchProgress], None]) -> SearchResult | None:
            try:
                return await asyncio.to_thread(searched, measure, topic, stop, report)
            finally:
                stop.set()

        dialog = RunningDialog(
            "Searching for a better definition",
            "Esc ends it with the best result",
            run,
            search_text,
            stop=stop.set,
        )
        result = await self._run(dialog)
        if result is not None:
            await self._advice.use(measure, result)
            if result.best is None:
                offered = self._advice.without_discarded(result)
                fewer = len(offered.proposals) < len(result.proposals)
                left_out = " Edits that you left out do not count." if fewer else ""
                self._window.notify(
                    f"The search found nothing to propose: {display_text(offered.no_proposal)}."
                    f"{left_out} The gain shown while it ran was on the prompts that chose the "
                    "edits.",
                    seconds=READING_TIME,
                )

    # --- wordings -------------------------------------------------------------------------

    async def _try_wordings(self) -> None:
        """Measure the author's wordings and a writer's; those that help join the ideas."""
        wordings = self._services.wordings
        draft = await wordings.begin()
        if draft is None:
            return
        await self._write(draft)
        await self._advice.add(await wordings.measured(draft))

    async def _write(self, draft: WordingDraft) -> None:
        """Make the call to the writer; Escape continues without it."""
        call = draft.call
        if call is None or call.is_cached:
            await draft.write()
            return

        async def write(report: Callable[[str], None]) -> None:
            report(f"{call.writer.title} writes …\n{call.cost_text}")
            await draft.write()

        dialog = RunningDialog("Asking for wordings", "Esc continues without them", write, Text)
        await self._run(dialog)


def _is_scanned(state: AppState) -> bool:
    """Return whether a scan is under way, whose verdicts decide what comes next."""
    return state.scan is not None and state.scan.progress is not None


def searched(
    measure: Measure,
    topic: Topic,
    stop: threading.Event,
    report: Callable[[SearchProgress], None],
) -> SearchResult | None:
    """Search for better definitions until it ends, or `stop` is set. Blocks."""
    with measure.one_at_a_time:
        return measure.searched(topic, BUDGET, stop.is_set, report)
