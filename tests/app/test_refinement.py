"""Edits measured headless: of the definition as it is at the end, or with a reason why not."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from guardtui.advice.measuring import TopicScorer
from guardtui.advice.whatif import Shortlist, shortlist
from guardtui.app import refinement
from guardtui.app.refinement import Refinement, RefinementError
from guardtui.domain.topic import Topic
from guardtui.scanners.base import ScannerError
from tests.app.bench import Bench


def refining(bench: Bench) -> Refinement:
    return Refinement(bench.store, bench.workspace, bench.engine, bench.editing)


async def test_single_edits_are_of_the_definition_and_shown_as_a_step(tmp_path: Path) -> None:
    bench = Bench(tmp_path, each=6)
    edits = await refining(bench).single_edits()
    assert edits is not None
    assert edits.topic == bench.topic
    assert edits.measured > 0
    assert bench.steps == [("Engine", "edits are measured …"), None]


async def test_an_edit_meanwhile_is_measured_too_and_its_edits_are_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path, each=6)
    measured: list[Topic] = []
    begun, goes_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slow(scorer: TopicScorer, topic: Topic, **options: Any) -> Shortlist | None:
        measured.append(topic)
        loop.call_soon_threadsafe(begun.set)
        assert goes_on.wait(120)
        return shortlist(scorer, topic, **options)

    monkeypatch.setattr(refinement, "shortlist", slow)
    first = bench.topic
    task = asyncio.ensure_future(refining(bench).single_edits())
    await begun.wait()
    typed = first.model_copy(update={"description": f"{first.description} for people"})
    bench.author.typing = typed, "description"  # on its way to the field still
    goes_on.set()
    edits = await task
    assert measured == [first, typed]
    assert edits is not None
    assert edits.topic == bench.topic == typed


async def test_too_few_prompts_for_halves_are_a_reason(tmp_path: Path) -> None:
    bench = Bench(tmp_path, each=1, things=1)
    with pytest.raises(RefinementError):
        await refining(bench).single_edits()
    assert bench.steps[-1] is None


async def test_effects_are_of_each_part_and_empty_without_parts(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    effects = await refining(bench).effects()
    assert [effect.part for effect in effects] == ["the description", "example 1", "example 2"]
    bench.editing.replace(bench.topic.model_copy(update={"description": "", "examples": ()}))
    assert await refining(bench).effects() == ()
    assert bench.steps == [("Engine", "each part is left out and measured …"), None] * 2


async def test_an_encoder_that_fails_is_an_error_and_ends_the_step(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    def damaged(*_: object) -> None:
        raise ScannerError("the encoder is damaged")

    bench.engine.scanner.prompt_vectors = damaged  # type: ignore[method-assign, assignment]
    with pytest.raises(ScannerError, match="damaged"):
        await refining(bench).effects()
    with pytest.raises(RefinementError, match="damaged"):
        await refining(bench).scorer()
    assert bench.steps[-1] is None
