"""A log of inspect_ai is scored as inspect_ai scores it: conversations, and samples that failed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from guardtui.files.output_files import load_outputs
from guardtui.scorer import includes, match, model_graded_qa, use_models
from guardtui.scorer.state import Output
from guardtui.session.score_run import make_judges, score_rows

pytest.importorskip("inspect_ai")

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai import score as rescore
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentImage,
    ContentText,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import includes as their_includes
from inspect_ai.scorer import match as their_match
from inspect_ai.scorer import model_graded_qa as their_model_graded_qa
from inspect_ai.solver import Generate, TaskState, solver

pytestmark = [pytest.mark.exhaustive, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

TEMPLATE = "Q=[{question}] A=[{answer}]"

SAMPLES = [
    Sample(id="text", input="What is 2+2?", target="4"),
    Sample(
        id="chat",
        input=[
            ChatMessageSystem(content="be brief"),
            ChatMessageUser(content="What is 2+2?"),
            ChatMessageAssistant(content="4"),
            ChatMessageUser(content=[ContentText(text="And"), ContentText(text="3+3?")]),
        ],
        target="6",
    ),
    Sample(
        id="picture",
        input=[ChatMessageUser(content=[ContentImage(image="data:image/png;base64,AAAA")])],
        target="cat",
    ),
    Sample(id="long", input="why? " * 2000, target="so"),
]


def model(answer: Any) -> Model:
    def answered(*given: Any) -> ModelOutput:
        response = ModelOutput.from_content("mockllm/model", answer(*given))
        # Without a usage the mock counts tokens, for which it asks the network.
        response.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return response

    return get_model("mockllm/model", custom_outputs=answered, memoize=False)


@solver
def asking_twice() -> Any:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state = await generate(state)
        state.messages.append(ChatMessageUser(content="are you sure?"))
        return await generate(state)

    return solve


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> EvalLog:
    folder = tmp_path_factory.mktemp("logs")
    task = Task(dataset=SAMPLES, solver=asking_twice(), name="talk")
    (found,) = evaluate(
        task, model=model(lambda *_: "six"), log_dir=str(folder), display="none", score=False
    )
    return found


def whole(log: EvalLog) -> EvalLog:
    """Return a log with its samples.

    Samples that inspect_ai reads late, inside a loop, make it patch asyncio for the whole process.
    """
    return read_eval_log(log.location)


def their_prompts(log: EvalLog, history: bool) -> list[str]:
    prompts: dict[str, str] = {}

    def grade(messages: list[Any], *_: Any) -> str:
        return "GRADE: C"

    scorer = their_model_graded_qa(template=TEMPLATE, include_history=history, model=model(grade))
    scored = rescore(whole(log), scorer, display="none")
    for sample in scored.samples or []:
        (score,) = (sample.scores or {}).values()
        prompts[str(sample.id)] = (score.metadata or {})["grading"][0].text
    return [prompts[name] for name in sorted(prompts)]


class Listener:
    def __init__(self) -> None:
        self.prompts: list[str] = []

    async def generate(self, input: Any) -> Any:  # noqa: A002
        self.prompts.append(input)
        return Output("GRADE: C")


def our_prompts(path: Path, history: bool) -> list[str]:
    grader = Listener()
    judges = make_judges(
        [("graded", model_graded_qa(template=TEMPLATE, include_history=history))], None
    )

    async def scored() -> None:
        with use_models(roles={"grader": grader}):
            await score_rows(load_outputs(path), judges, concurrency=1)

    asyncio.run(scored())
    return grader.prompts


def test_samples_without_an_output_are_scored_as_empty(tmp_path: Path) -> None:
    @solver
    def failing() -> Any:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            if state.sample_id == 2:
                raise RuntimeError("no line")
            return await generate(state)

        return solve

    task = Task(dataset=[Sample(input="a", target="six"), Sample(input="b", target="six")])
    task.solver = failing()
    (lazy,) = evaluate(
        task, model=model(lambda *_: "six"), log_dir=str(tmp_path), display="none",
        score=False, fail_on_error=False,
    )  # fmt: skip
    log = whole(lazy)
    theirs = rescore(log, [their_match(), their_includes()], display="none")
    expected = [
        [(one.value, one.answer, one.explanation, one.reason) for one in sample.scores.values()]
        for sample in theirs.samples or []
        if sample.scores
    ]
    assert len(expected) == 2
    path = tmp_path / "log.eval"
    write_eval_log(log, str(path))
    outputs = load_outputs(path)
    assert "1 sample has no output and is scored as an empty one" in outputs.findings[0].message
    judges = make_judges([("match()", match()), ("includes()", includes())], None)
    scored = asyncio.run(score_rows(outputs, judges))
    results = [
        [
            (score.value, score.answer, score.explanation, score.reason)
            for score in (one.scores[row] for one in scored)
            if score is not None
        ]
        for row in range(2)
    ]
    assert results == expected


@pytest.mark.parametrize("history", [True, False])
@pytest.mark.parametrize("ending", ["eval", "json"])
def test_graders_receive_the_same_prompts(
    log: EvalLog, tmp_path: Path, ending: str, history: bool
) -> None:
    path = tmp_path / f"log.{ending}"
    write_eval_log(read_eval_log(log.location), str(path))
    assert our_prompts(path, history) == their_prompts(log, history)
