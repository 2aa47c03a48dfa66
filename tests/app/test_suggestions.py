"""Proposals of a model, headless: requested, measured on other prompts, best first, or refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from guardtui.advice.suggest import SuggestionError
from guardtui.app.suggestions import Suggestions, suggest
from guardtui.http.errors import Kind, ServiceError
from tests.app.bench import Bench


class Model:
    """A model whose answer is known beforehand."""

    def __init__(self, answer: str | Exception) -> None:
        self.answer = answer
        self.asked: list[Sequence[Mapping[str, Any]]] = []

    async def complete(self, messages: Sequence[Mapping[str, Any]], answer_tokens: int) -> str:
        self.asked.append(messages)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def proposing(*descriptions: str) -> Model:
    rows = [{"description": text, "examples": ["a tax", "taxes"]} for text in descriptions]
    return Model(json.dumps({"proposals": rows}))


async def suggested(bench: Bench, model: Model) -> Suggestions:
    mistaken = bench.evaluated(lambda row, label: int(not label), name="local")
    return await suggest(bench.store, bench.engine, model, mistaken, bench.prompts)


async def test_proposals_are_measured_on_the_half_that_was_not_shown(tmp_path: Path) -> None:
    bench = Bench(tmp_path, each=6)
    model = proposing("Bread and soup", "Tax advice of all kinds", "x" * 300)
    result = await suggested(bench, model)
    assert result.topic == bench.topic
    gains = [suggestion.gain or 0.0 for suggestion in result.suggestions]
    assert len(gains) == 2
    assert gains == sorted(gains, reverse=True)
    assert len(model.asked) == 1
    assert "measured by the embedded engine on the other" in result.notes[0]
    assert result.notes[1].startswith("proposal 3: description has 300 bytes")
    assert [step for step in bench.steps if step is not None] == [
        ("Model", "is asked for proposals …"),
        ("Engine", "the proposals are measured …"),
    ]
    assert bench.steps[-1] is None


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (proposing("x" * 300), SuggestionError, "300 bytes"),
        (Model("I would rather not."), SuggestionError, "no proposals"),
        (Model(ServiceError(Kind.UNREACHABLE, "no connection")), ServiceError, "no connection"),
    ],
    ids=["beyond the limits", "words", "no service"],
)
async def test_without_a_valid_proposal_the_reason_is_raised_and_the_step_ends(
    tmp_path: Path, model: Model, error: type[Exception], message: str
) -> None:
    bench = Bench(tmp_path, each=6)
    with pytest.raises(error, match=message):
        await suggested(bench, model)
    assert bench.steps[-1] is None
