"""Wordings of the definition that a model proposes from mistakes, measured like other edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from guardtui.advice.model_wordings import (
    SuggestionError,
    measure_wordings,
    read_proposals,
    request,
    shown_mistakes,
)
from guardtui.advice.proposals import Proposal
from guardtui.app.refinement import Measure, Refinements
from guardtui.app.state import Store
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic

ANSWER_TOKENS = 3_000
"""Maximum tokens of an answer with proposals."""


class Completes(Protocol):
    """A model that completes chat messages."""

    async def complete(self, messages: Sequence[Mapping[str, Any]], answer_tokens: int) -> str:
        """Return the answer to chat messages. Raises ServiceError."""


@dataclass(frozen=True, eq=False)
class MeasuredSuggestions:
    """Proposals of a model for `topic`, measured by `measure`, by descending lower bound.

    `notes` say how it was measured, and which proposals were invalid.
    """

    topic: Topic
    measure: Measure
    proposals: tuple[Proposal, ...]
    notes: tuple[str, ...]

    @property
    def advised(self) -> tuple[Proposal, ...]:
        """Proposals that are good enough to show."""
        return tuple(proposal for proposal in self.proposals if proposal.is_advised)


async def ask_for_wordings(
    store: Store,
    refinement: Refinements,
    model: Completes,
    evaluation: Evaluation,
    prompts: PromptSet,
) -> MeasuredSuggestions:
    """Ask a model for alternatives to the evaluated definition, with one call, and measure them.

    `evaluation` is of these prompts. Raises SuggestionError (also without a valid proposal),
    RefinementError and ServiceError.
    """
    topic = evaluation.topic
    measure = await refinement.measure()
    shown = shown_mistakes(evaluation, prompts, measure.rows.chosen_on)
    with store.step("writes wordings …", who="Model"):
        answer = await model.complete(request(topic, shown), ANSWER_TOKENS)
    wordings, refused = read_proposals(answer, topic)
    if not wordings:
        raise SuggestionError("; ".join(refused) or "the model proposed nothing")
    with store.step("measures the wordings …"):
        proposals = await refinement.run(
            measure,
            lambda stopped: measure_wordings(
                measure.objective, measure.rows, topic, wordings, shown.left_out, stopped
            ),
        )
    note = (
        f"The model was shown {shown.count} of {count_text(shown.mistakes, 'mistake')}; these, and "
        "as large a share of the right verdicts, count in no figure of its "
        f"{count_text(len(wordings), 'wording')}."
    )
    return MeasuredSuggestions(topic, measure, proposals or (), (note, *refused))
