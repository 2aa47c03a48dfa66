"""Scorers with a grading model: by a criterion, or against the facts of an expert's answer."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

from guardtui.scorer.decorators import scorer
from guardtui.scorer.grading import (
    FACT_TEMPLATE,
    QA_TEMPLATE,
    default_instructions,
    grading_prompt,
    read_by_pattern,
    read_grade,
    template_fields,
    text_or_file,
)
from guardtui.scorer.history import conversation_text
from guardtui.scorer.metrics import accuracy, stderr
from guardtui.scorer.models import GraderModel, ModelOrName, ModelRole, graders_for
from guardtui.scorer.multi import together
from guardtui.scorer.reducers import reducer_by_name
from guardtui.scorer.state import Message
from guardtui.scorer.types import (
    CORRECT,
    INCORRECT,
    PARTIAL,
    Score,
    Scorer,
    ScoreReducer,
    Target,
)

MAJORITY = "majority"
"""Default reducer of a panel's grades: more than half of all graders agree."""

_SHOWN = 60
"""Characters of a template in a warning."""

_logger = logging.getLogger(__name__)


@scorer(metrics=[accuracy(), stderr()])
def model_graded_qa(
    template: str | None = None,
    instructions: str | None = None,
    grade_pattern: str | None = None,
    include_history: bool | Callable[[Any], str] = False,
    partial_credit: bool = False,
    model: ModelOrName | Sequence[ModelOrName] | None = None,
    model_role: str | ModelRole | None = "grader",
    reducer: str | ScoreReducer = MAJORITY,
) -> Scorer:
    """Return a model grades whether the answer meets the criterion, which is the target.

    `template` is formatted with `str.format` from question, answer, criterion, instructions and the
    sample's metadata. It and `instructions` are texts, or files that exist, which are read here.
    `grade_pattern` captures the grade in its first group. `model` may be several, each of which
    grades once. Without a grade the score is NaN. Raises ValueError for a file that is not UTF-8
    text. While scoring, raises LookupError without a grading model, KeyError for an unknown
    variable of the template, re.error or IndexError for an unsuitable pattern, and any exception of
    a model.
    """
    return _graded(
        template or QA_TEMPLATE, instructions, grade_pattern, include_history, partial_credit,
        model, model_role, reducer,
    )  # fmt: skip


@scorer(metrics=[accuracy(), stderr()])
def model_graded_fact(
    template: str | None = None,
    instructions: str | None = None,
    grade_pattern: str | None = None,
    include_history: bool | Callable[[Any], str] = False,
    partial_credit: bool = False,
    model: ModelOrName | Sequence[ModelOrName] | None = None,
    model_role: str | ModelRole | None = "grader",
    reducer: str | ScoreReducer = MAJORITY,
) -> Scorer:
    """A model grades whether the answer contains the facts of the expert's, which is the target.

    Otherwise as `model_graded_qa`.
    """
    return _graded(
        template or FACT_TEMPLATE, instructions, grade_pattern, include_history, partial_credit,
        model, model_role, reducer,
    )  # fmt: skip


def _graded(
    template: str,
    instructions: str | None,
    grade_pattern: str | None,
    include_history: bool | Callable[[Any], str],
    partial_credit: bool,
    model: ModelOrName | Sequence[ModelOrName] | None,
    model_role: str | ModelRole | None,
    reducer: str | ScoreReducer,
) -> Scorer:
    template, instructions = text_or_file(template), text_or_file(instructions or "")
    if not include_history and "answer" not in template_fields(template):
        start = template if len(template) <= _SHOWN else f"{template[:_SHOWN]}…"
        _logger.warning("the template %r has no {answer}: the model will not see it", start)
    offered = None if instructions else [CORRECT, INCORRECT, *([PARTIAL] if partial_credit else [])]
    instruction_text = instructions or default_instructions(partial_credit=partial_credit)
    combine = reducer_by_name(reducer) if isinstance(reducer, str) else reducer

    def grade_of(completion: str) -> str | None:
        if grade_pattern is not None:
            return read_by_pattern(completion, grade_pattern)
        return read_grade(completion, offered=offered)

    async def grade(grader: GraderModel, prompt: Message, answer: str) -> Score:
        reply = await grader.generate([prompt] if prompt.attachments else prompt.text)
        completion = reply.completion
        value = grade_of(completion)
        grader_reply = Message("assistant", completion)
        score = Score(
            value=math.nan if value is None else value,
            answer=answer,
            explanation=completion
            if value is not None
            else f"No grade was found in what the grader said: {completion}",
            metadata={"grading": [prompt, grader_reply]},
        )
        if value is None:
            score.reason = "grader_failed"
        return score

    async def score(state: Any, target: Target) -> Score:
        graders = graders_for(model, model_role)
        answer = state.output.completion
        media = _media(state)
        prompt = Message(
            "user",
            grading_prompt(
                template,
                question=_question(state, include_history),
                answer=_with_media(answer) if media else answer,
                criterion=target.text,
                instructions=instruction_text,
                metadata=state.metadata or {},
            ),
            attachments=media,
        )
        if not isinstance(graders, list):
            return await grade(graders, prompt, answer)
        grades = await together([grade(grader, prompt, answer) for grader in graders])
        return combine(grades) if grades else Score.unscored(reason="scoring_failed")

    return score


def _question(state: Any, include_history: bool | Callable[[Any], str]) -> str:
    if callable(include_history):
        return include_history(state)
    text: str = conversation_text(state.messages) if include_history else state.input_text
    return text


def _media(state: Any) -> list[Any]:
    """Return images, audio and video of the answer, as in its message."""
    output = state.output
    # Other state classes may have no answer, and then accessing its message fails.
    message = getattr(output, "message", None) if getattr(output, "choices", True) else None
    content = getattr(message, "content", None)
    if not isinstance(content, list):
        return []
    return [part for part in content if getattr(part, "type", "") in ("image", "audio", "video")]


def _with_media(answer: str) -> str:
    note = "media of the answer are attached"
    return f"{answer} ({note})" if answer else f"The {note}."
