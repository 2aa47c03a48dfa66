"""Wordings of a model, headless: requested, measured on other prompts, best first, or refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from guardtui.advice.model_wordings import SuggestionError
from guardtui.app.forecasting import Forecasting
from guardtui.app.refinement import Refinements
from guardtui.app.suggestions import MeasuredSuggestions, ask_for_wordings
from guardtui.app.wording_writer import WriterError
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.scanners.budget import CallBudget
from tests.app.bench import Bench


class Model:
    """A model with a fixed answer."""

    name = title = identity = "mock"

    def __init__(self, answer: str | Exception) -> None:
        self.answer = answer
        self.asked: list[Sequence[Mapping[str, Any]]] = []

    def budget(self, answer_tokens: int) -> CallBudget:
        return CallBudget(answer_tokens=answer_tokens)

    async def complete(self, messages: Sequence[Mapping[str, Any]], budget: CallBudget) -> str:
        self.asked.append(messages)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def proposing(*descriptions: str) -> Model:
    rows = [{"description": text, "examples": ["a tax", "taxes"]} for text in descriptions]
    return Model(json.dumps({"proposals": rows}))


async def asked(bench: Bench, model: Model, wrong: int = 4) -> MeasuredSuggestions:
    """Ask about a definition whose first prompts of each kind are judged wrongly."""
    seen = {True: 0, False: 0}

    def answer(row: int, label: bool) -> int:
        seen[label] += 1
        return int(label != (seen[label] <= wrong))

    mistaken = bench.evaluated(answer, name="engine")
    refinement = Refinements(
        bench.store,
        bench.workspace,
        bench.engine,
        bench.editing,
        Forecasting(bench.workspace.session, bench.engine),
    )
    return await ask_for_wordings(bench.store, refinement, model, mistaken, bench.prompts)


async def test_wordings_are_measured_without_the_prompts_that_were_shown(tmp_path: Path) -> None:
    bench = Bench(tmp_path, each=6)
    model = proposing("Bread and soup", "Tax advice of all kinds", "x" * 300)
    result = await asked(bench, model)
    assert result.topic == bench.topic
    lows = [proposal.gain.low for proposal in result.proposals]
    assert len(lows) == 2
    assert lows == sorted(lows, reverse=True)
    assert len((await asked(bench, model)).proposals) == 2
    assert len(model.asked) == 1  # its answer is cached
    assert result.notes[0].startswith("The model was shown 4 of 8 mistakes; these, and as large")
    assert result.notes[1].startswith("proposal 3: description has 300 bytes")
    # Half of the mistakes, and half of the others.
    assert [len(proposal.left_out) for proposal in result.proposals] == [30, 30]
    assert all(proposal.is_advised for proposal in result.advised)
    assert [step for step in bench.steps if step is not None][:2] == [
        ("Model", "writes wordings …"),
        ("Engine", "measures the wordings …"),
    ]
    assert bench.steps[-1] is None


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (proposing("x" * 300), "mock: proposal 1: .* 300 bytes"),
        (Model("I would rather not."), "mock: .* no proposals"),
        (Model(ServiceError(ErrorKind.UNREACHABLE, "no connection")), "mock: no connection"),
    ],
    ids=["beyond the limits", "words", "no service"],
)
async def test_without_a_valid_proposal_the_reason_is_raised_and_the_step_ends(
    tmp_path: Path, model: Model, message: str
) -> None:
    bench = Bench(tmp_path, each=6)
    for _ in range(2):  # it is not cached
        with pytest.raises(WriterError, match=message):
            await asked(bench, model)
    assert len(model.asked) == 2
    assert bench.steps[-1] is None


async def test_without_mistakes_no_call_is_made(tmp_path: Path) -> None:
    model = proposing("Tax")
    with pytest.raises(SuggestionError, match="too few to show a model some"):
        await asked(Bench(tmp_path, each=6), model, wrong=0)
    assert model.asked == []
