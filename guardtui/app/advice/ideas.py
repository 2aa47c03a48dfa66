"""Ideas for the author: measured edits and other steps, the best first, or why there are none."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from guardtui.advice.candidates import CandidateKind, same
from guardtui.advice.judgement import missing_prompts
from guardtui.advice.objective import Gain
from guardtui.advice.proposals import Proposal
from guardtui.advice.search import Key, SearchResult
from guardtui.app.scan.plan import usual_goal
from guardtui.domain.figures import capitalized, count_text
from guardtui.domain.guardrail import remote_name
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic, named_examples
from guardtui.forecast.forecaster import Forecast
from guardtui.session.scan_order import in_doubt

UNSURE = 0.03
"""Half width of a forecast's interval from which a check of likely changes is offered."""

_SHOWN = 60  # characters of a foreign text


class IdeaKind(StrEnum):
    """Kinds of ideas."""

    EDIT = "edit"
    CHECK = "check the likely changes"
    ADD_PROMPTS = "add prompts"
    LABEL = "label prompts"
    MISTAKES = "look at the mistakes"
    EXPERIMENT = "test edits on the guardrail"
    WORDINGS = "ask a model for wordings"
    LIMITS = "bring the definition within the limits"
    BETTER_EDIT = "keep the better edit"
    KEEP = "keep"
    DISCARD = "discard"
    SCAN = "scan"
    SCAN_MISSING = "scan what is missing"
    PUT_BACK = "put the kept definition back"


@dataclass(frozen=True, eq=False)
class Idea:
    """One idea in display-safe text.

    A measured edit has a `proposal`, and `short` says it in fewer words. `detail` explains it, and
    `keys` are the prompts concerned. `labels` is about how many more would make the effect of
    edits known well enough.
    """

    kind: IdeaKind
    text: str
    proposal: Proposal | None = None
    detail: str = ""
    keys: tuple[int, ...] = ()
    labels: int = 0
    short: str = ""

    @property
    def line(self) -> str:
        """The idea with its figures."""
        return f"{self.text}  {self.figures}" if self.figures else self.text

    @property
    def gain(self) -> Gain | None:
        """The gain of an edit."""
        return None if self.proposal is None else self.proposal.gain

    @property
    def figures(self) -> str:
        """The gain of an edit, and what is expected on a guardrail that has answered; or ""."""
        return "" if self.proposal is None else self.proposal.figures


@dataclass(frozen=True, eq=False)
class Ideas:
    """Ideas for one definition, the best first; `note` says why there are none.

    `result` is the whole measurement, or None. `notes` say how wordings of a model were measured,
    and which were invalid.
    """

    topic: Topic
    ranked: tuple[Idea, ...]
    note: str = ""
    result: SearchResult | None = None
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> Idea | None:
        """The first idea."""
        return self.ranked[0] if self.ranked else None

    @property
    def next_step(self) -> str:
        """The author's next step: the first idea with its figures, or why no idea is offered."""
        return self.note if self.best is None else self.best.line

    @property
    def has_check(self) -> bool:
        """Return whether a check of the likely changes, which tells more than labels, is listed."""
        return any(idea.kind is IdeaKind.CHECK for idea in self.ranked)


def ranked_ideas(
    topic: Topic,
    prompts: PromptSet,
    search: SearchResult | None,
    forecast: Forecast | None,
    wordings: Sequence[Proposal] = (),
    model: str = "",
    discarded: Container[Key] = frozenset(),
    experiment: str = "",
) -> Ideas:
    """Return the ideas from the measured edits `search`, without `discarded` ones.

    `forecast` is the shown one. `wordings` are measured wordings; `model` is the name of a model
    that can be asked for some, or "". `experiment` says what can be tested on a guardrail that is
    configured or has answered, with the cost; it follows the edits that are likely to help.
    """
    lacking = missing_prompts(prompts)
    if lacking:
        return Ideas(topic, (Idea(IdeaKind.ADD_PROMPTS, lacking),), lacking)
    measured = [*(() if search is None else search.proposals), *wordings]
    advised = sorted(
        (
            proposal
            for proposal in measured
            if proposal.is_advised
            and proposal.raises_coverage
            and same(proposal.topic) not in discarded
        ),
        # What is expected to do harm on the guardrail comes last.
        key=lambda proposal: (_is_harmful(proposal), -proposal.gain.value),
    )
    ideas = [
        Idea(
            IdeaKind.EDIT, summary(topic, proposal), proposal, short=in_short(topic, proposal.topic)
        )
        for proposal in advised or _guess(measured, discarded)
    ]
    if experiment:
        ideas.insert(len(advised), Idea(IdeaKind.EXPERIMENT, experiment))
    check = _check(forecast)
    if check is not None:
        # Before the edits, if the forecast is too uncertain to show their effect.
        ideas.insert(0 if not advised else 1, check)
    hidden = any(proposal.is_advised for proposal in measured) and not advised
    nothing = "You discarded every measured edit" if hidden else _nothing(topic, search)
    note = "" if ideas else nothing
    if note and search is not None and forecast is not None:
        guardrail = remote_name(forecast.grounds.settings.kind)
        note = f"{note}. Edit the definition and scan it with {guardrail}"
    if model:
        text = f"Ask {display_start(model, _SHOWN)} for wordings: 1 call"
        text += f". {note}" if note else ""
        ideas.append(Idea(IdeaKind.WORDINGS, text))
    return Ideas(topic, tuple(ideas), note, search)


def summary(topic: Topic, proposal: Proposal) -> str:
    """Return the edits of a proposal in a line: one in full, several in short."""
    worded = " (worded by the model)" if CandidateKind.REWORD in proposal.kinds else ""
    one = proposal.changes[0] if len(proposal.changes) == 1 else in_short(topic, proposal.topic)
    return f"{one}{worded}"


def in_short(before: Topic, after: Topic) -> str:
    """Return the edits of a definition without the texts that they replace or drop, or ""."""
    parts = []
    if after.description != before.description:
        parts.append("reword the description")
    removed = [
        number for number, text in enumerate(before.examples, 1) if text not in after.examples
    ]
    new = [text for text in after.examples if text not in before.examples]
    replaced, dropped = removed[: len(new)], removed[len(new) :]
    quoted = f"“{display_start(new[-1], _SHOWN)}”" if new else ""
    added = len(new) - len(replaced)
    if replaced:
        of_them = ", one of them" if len(replaced) > 1 else ""
        parts.append(
            f"replace {named_examples(replaced)}{'' if added else f'{of_them} by {quoted}'}"
        )
    if added:
        parts.append(f"add {'the example' if added == 1 else f'{added} examples, one is'} {quoted}")
    if dropped:
        parts.append(f"drop {named_examples(dropped)}")
    if not parts:
        return ""
    start = ", ".join(parts[:-1])
    text = f"{start} and {parts[-1]}" if start else parts[-1]
    return capitalized(text)


def _guess(measured: Sequence[Proposal], discarded: Container[Key]) -> list[Proposal]:
    """Return the best edit that may help; held-out prompts and a forecast can deny it."""
    guesses = [
        proposal
        for proposal in measured
        if not proposal.gain.likely
        and proposal.gain.is_positive
        and proposal.raises_coverage
        and (proposal.held_out is None or proposal.held_out.gain > 0)
        and (proposal.forecast is None or proposal.forecast.coverage.value > 0)
        and same(proposal.topic) not in discarded
    ]
    return sorted(guesses, key=lambda proposal: -proposal.gain.value)[:1]


def _is_harmful(proposal: Proposal) -> bool:
    """Return whether a forecast expects less coverage of the edit for certain."""
    return proposal.forecast is not None and proposal.forecast.coverage.high < 0


def _check(forecast: Forecast | None) -> Idea | None:
    if forecast is None or forecast.rates.coverage is None:
        return None
    expected = forecast.rates.coverage
    if not len(forecast.flips()) or expected.half_width <= UNSURE:
        return None
    changes = forecast.changes
    doubtful = int(np.count_nonzero(in_doubt(changes)))
    calls = count_text(min(doubtful, usual_goal(len(changes)).calls), "call")
    name = remote_name(forecast.grounds.settings.kind)
    return Idea(IdeaKind.CHECK, f"Check the likely changes with {name}. At most {calls}")


def _nothing(topic: Topic, search: SearchResult | None) -> str:
    if search is None:
        return "Nothing was measured"
    if not topic.description.strip():
        return "Write a description: then edits of the examples are measured with it"
    best = next(iter(search.proposals), None)
    if best is None or not (best.gain.is_positive or best.gain.likely):
        if not search.single_edits:
            return "No edits to try: bring the definition within the limits first"
        return capitalized(search.none_gains)
    tried = f"{search.tried} tried"
    if best.gain.likely:
        return f"Nothing measured is better on the held-out prompts: {tried}"
    return f"No edit is likely to help: {tried}. {capitalized(best.gain.text)}"
