"""Wordings of a definition that a model proposes from mistakes, measured as all edits are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from guardtui.advice.proposals import Proposal
from guardtui.advice.suggest import (
    SuggestionError,
    measure_wordings,
    read_proposals,
    request,
    shown_mistakes,
)
from guardtui.app.refinement import Measure, Refinement
from guardtui.app.state import Store
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic

ANSWER_TOKENS = 3_000
"""Tokens of an answer with proposals."""


class Completes(Protocol):
    """A model that answers in words."""

    async def complete(self, messages: Sequence[Mapping[str, Any]], answer_tokens: int) -> str:
        """Return the answer to chat messages. Raises ServiceError."""


@dataclass(frozen=True, eq=False)
class Wordings:
    """What a model proposed for `topic`, measured by `measure`, the greatest lower bound first.

    `notes` say how it was measured, and which proposals were invalid.
    """

    topic: Topic
    measure: Measure
    proposals: tuple[Proposal, ...]
    notes: tuple[str, ...]

    @property
    def advised(self) -> tuple[Proposal, ...]:
        """Those that are good enough to be proposed."""
        return tuple(proposal for proposal in self.proposals if proposal.is_advised)


async def ask_for_wordings(
    store: Store,
    refinement: Refinement,
    model: Completes,
    evaluation: Evaluation,
    prompts: PromptSet,
) -> Wordings:
    """Ask a model for definitions in place of the evaluated one, and measure them.

    One call. `evaluation` is of these prompts. Raises SuggestionError, also without any valid
    proposal; RefinementError and ServiceError.
    """
    topic = evaluation.topic
    measure = await refinement.measure()
    shown = shown_mistakes(evaluation, prompts, measure.rows.chosen_on)
    with store.step("is asked for wordings …", who="Model"):
        answer = await model.complete(request(topic, shown), ANSWER_TOKENS)
    wordings, refused = read_proposals(answer, topic)
    if not wordings:
        raise SuggestionError("; ".join(refused) or "the model proposed nothing")
    with store.step("the wordings are measured …"):
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
    return Wordings(topic, measure, proposals or (), (note, *refused))
