"""Wordings of the definition by a model, from mistakes, measured like other edits."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from guardtui.advice.model_wordings import shown_mistakes
from guardtui.advice.proposals import Proposal, propose_wordings
from guardtui.app.refinement import Measure, Refinements
from guardtui.app.state import Store
from guardtui.app.wording_writer import Writer, WritingCall
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic


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
    writer: Writer,
    evaluation: Evaluation,
    prompts: PromptSet,
    *,
    fresh: bool = False,
) -> MeasuredSuggestions:
    """Ask a model for alternatives to the evaluated definition, with one call, and measure them.

    A cached answer is used, unless `fresh`. `evaluation` is of these prompts. Raises
    SuggestionError, RefinementError and WriterError.
    """
    topic = evaluation.topic
    measure = await refinement.measure()
    shown = shown_mistakes(evaluation, prompts, measure.rows.chosen_on)
    with store.step("writes wordings …", who="Model"):
        call = await asyncio.to_thread(WritingCall, writer, topic, shown, fresh=fresh)
        written = await call.wordings()
    wordings, invalid = written.wordings, written.invalid
    with store.step("measures the wordings …"):
        proposals = await refinement.run(
            measure,
            lambda stopped: propose_wordings(
                measure.objective, topic, wordings, measure.rows.held_out, shown.left_out, stopped
            ),
        )
    note = (
        f"The model was shown {shown.count} of {count_text(shown.mistakes, 'mistake')}; these, and "
        "as large a share of the right verdicts, count in no figure of its "
        f"{count_text(len(wordings), 'wording')}."
    )
    return MeasuredSuggestions(topic, measure, proposals or (), (note, *invalid))
