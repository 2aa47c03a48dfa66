"""Definitions that a model proposes from the mistakes, measured on prompts it was not shown."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.splits import split_prompts
from guardtui.advice.suggest import Suggestion, SuggestionError, measured, read_proposals, request
from guardtui.app.engine import Engine
from guardtui.app.state import Store
from guardtui.domain.evaluation import Evaluation, should_trigger
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import outcomes

ANSWER_TOKENS = 3_000
"""Tokens of an answer with proposals."""


class Completes(Protocol):
    """A model that answers in words."""

    async def complete(self, messages: Sequence[Mapping[str, Any]], answer_tokens: int) -> str:
        """Return the answer to chat messages. Raises ServiceError."""


@dataclass(frozen=True, eq=False)
class Suggestions:
    """Proposed definitions, the best first; `notes` say how they were measured and which failed."""

    topic: Topic
    suggestions: tuple[Suggestion, ...]
    notes: tuple[str, ...]


async def suggest(
    store: Store, engine: Engine, model: Completes, evaluation: Evaluation, prompts: PromptSet
) -> Suggestions:
    """Request proposals for the definition of an evaluation of these prompts, and measure them.

    Raises SuggestionError, also without any valid proposal; SplitError, ServiceError and
    ScannerError.
    """
    topic = evaluation.topic
    with store.step("is asked for proposals …", who="Model"):
        split = await asyncio.to_thread(split_prompts, prompts)
        answer = await model.complete(
            request(topic, evaluation, prompts, split.search), ANSWER_TOKENS
        )
    proposals, refused = read_proposals(answer, topic)
    duty = should_trigger(prompts.expected, topic.intent)

    def outcome_codes(definition: Topic) -> NDArray[np.int8]:
        return outcomes(duty, engine.verdicts(definition, prompts).triggered)

    with store.step("the proposals are measured …"):
        suggestions = await asyncio.to_thread(
            measured, topic, proposals, outcome_codes, split.report
        )
    if not suggestions:
        raise SuggestionError("; ".join(refused) or "the model proposed nothing")
    note = (
        f"Asked from the mistakes on {int(split.search.sum())} prompts ({split.source}); "
        f"measured by the embedded engine on the other {int(split.report.sum())}."
    )
    return Suggestions(topic, tuple(suggestions), (note, *refused))
