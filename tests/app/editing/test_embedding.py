"""A large prompt set at its first opening: figures of the first prompts, then those of all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.app.services import Services
from guardtui.app.state import AppState
from guardtui.app.task_jobs import TaskJobs
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.operating_point import BUILT_IN, BY_HAND, FITTED
from guardtui.domain.prompt_edit import Relabel, Remove
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from tests.app.headless import ScriptedAuthor, resting_jobs
from tests.app.held import COUNT, FIRST, Held, write_many

PATIENCE = 30.0
"""Seconds after which a test that waits in vain fails."""


@dataclass
class Opening:
    """Services that are being opened, and all evaluations that they published."""

    services: Services
    author: ScriptedAuthor
    jobs: TaskJobs
    opening: asyncio.Task[None]
    shown: list[Evaluation]

    @property
    def state(self) -> AppState:
        return self.services.state

    async def until(self, condition: Callable[[AppState], bool]) -> AppState:
        """Wait until a state fulfils this."""
        arrived = asyncio.Event()

        def look(old: AppState, new: AppState) -> None:
            if condition(new):
                arrived.set()

        look(self.state, self.state)
        self.services.store.subscribe(look)
        async with asyncio.timeout(PATIENCE):
            await arrived.wait()
        return self.state

    async def part(self) -> Evaluation:
        """Wait for an evaluation of the definition as it is, on the first prompts."""

        def shown(state: AppState) -> bool:
            now = state.evaluation
            return (
                now is not None
                and now.is_of_a_part
                and now.topic == state.topic
                and now.prompt_set == state.prompts.fingerprint
            )

        state = await self.until(shown)
        assert state.evaluation is not None
        return state.evaluation

    async def whole(self) -> Evaluation:
        """Wait until it is opened and at rest."""
        async with asyncio.timeout(PATIENCE):
            await self.opening
            await self.jobs.finished()
        assert self.state.evaluation is not None
        return self.state.evaluation

    def describe(self, text: str) -> None:
        topic = self.state.topic.model_copy(update={"description": text})
        self.services.editing.type(topic)


@asynccontextmanager
async def opening(
    path: Path, held: Held, scanner: LocalScanner | None = None
) -> AsyncIterator[Opening]:
    author, jobs = ScriptedAuthor(), resting_jobs()
    options = RemoteOptions(environment={}, config=Path("/nonexistent/config.json"))
    workspace = Workspace.open(path)
    services = Services(workspace, scanner or LocalScanner("static"), options, (), author, jobs)
    services.preview.pause = 0
    shown: list[Evaluation] = []

    def note(old: AppState, new: AppState) -> None:
        if new.evaluation is not None and new.evaluation is not old.evaluation:
            shown.append(new.evaluation)

    services.store.subscribe(note)
    task = asyncio.ensure_future(services.open())
    try:
        yield Opening(services, author, jobs, task, shown)
    finally:
        services.engine.scanner.load()
        services.engine._embedding.stop()
        held.let.set()  # what has begun goes on to its end
        task.cancel()
        await asyncio.wait([task])
        await services.close()
        await jobs.finished()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_many(tmp_path)


@pytest.fixture
def held(path: Path, monkeypatch: pytest.MonkeyPatch) -> Held:
    return Held(path, monkeypatch)


async def test_the_first_figures_are_of_a_fair_sample_and_nothing_is_recorded_or_fitted(
    path: Path, held: Held
) -> None:
    async with opening(path, held) as app:
        part = await app.part()
        metrics = part.metrics
        assert (metrics.total, metrics.open, metrics.errors) == (FIRST, COUNT - FIRST, 0)
        # A third belongs, and all of these are at the head of the file.
        assert metrics.tp + metrics.fn in (FIRST // 3, FIRST // 3 + 1)
        state = app.state
        assert state.partial is not None
        assert state.partial.sampled
        assert state.iterations == ()
        assert state.fit is None
        assert part.settings.threshold_source == BUILT_IN


async def test_the_part_has_the_scores_of_the_whole_which_follows_and_is_recorded(
    path: Path, held: Held
) -> None:
    async with opening(path, held) as app:
        part = await app.part()
        held.let.set()
        whole = await app.whole()
        known = ~np.isnan(part.verdicts.score)
        assert np.count_nonzero(known) == FIRST
        np.testing.assert_array_equal(part.verdicts.score[known], whole.verdicts.score[known])
        assert not whole.is_of_a_part
        assert app.state.partial is None
        (iteration,) = app.state.iterations
        assert iteration.evaluation.metrics.open == 0
        assert app.state.fit is not None
        assert app.state.fit.labels == COUNT
        assert whole.settings.threshold == app.state.fit.threshold


async def test_edits_are_evaluated_on_the_part_and_do_not_stop_the_embedding(
    path: Path, held: Held
) -> None:
    async with opening(path, held) as app:
        before = await app.part()
        for text in ("Soup", "Soup and bread"):
            app.describe(text)
            part = await app.part()
            assert part.topic.description == text
            assert not np.array_equal(part.verdicts.score, before.verdicts.score, equal_nan=True)
        held.let.set()
        whole = await app.whole()
        assert whole.topic.description == "Soup and bread"
        assert not whole.is_of_a_part
        # The file's own definition is recorded, whatever is being edited.
        (iteration,) = app.state.iterations
        assert iteration.evaluation.topic.description == "Personal tax advice"
        assert sorted(held.embedded) == sorted(held.first | held.rest)
        assert len(app.author.messages) == 0


@pytest.mark.parametrize("decide", ["keep", "discard"])
async def test_what_needs_all_prompts_says_how_many_are_missing(
    path: Path, held: Held, decide: str
) -> None:
    async with opening(path, held) as app:
        await app.part()
        services = app.services
        act = {
            "keep": services.decisions.keep,
            "discard": services.decisions.discard,
        }
        await act[decide]()
        assert app.author.messages == [
            "Not yet: 40 of 60 prompts are still being embedded, and this needs all of them."
        ]
        assert app.state.iterations == ()
        assert app.state.fit is None


async def test_no_evaluation_of_a_part_is_given_to_a_report(path: Path, held: Held) -> None:
    async with opening(path, held) as app:
        await app.part()
        assert await app.services.preview.current() is None
        topic, prompts = app.state.topic, app.state.prompts
        assert app.services.engine.fitted(topic, prompts) == (
            "40 of 60 prompts are still being embedded"
        )
        held.let.set()
        whole = await app.whole()
        assert await app.services.preview.current() is whole


async def test_labels_edited_meanwhile_count_at_once(path: Path, held: Held) -> None:
    async with opening(path, held) as app:
        part = await app.part()
        row = int(np.flatnonzero(part.codes < 4)[0])
        await app.services.sync.edit_prompts(Relabel(frozenset({int(part.keys[row])})))
        other = await app.part()
        assert other.expected[row] != part.expected[row]
        assert other.metrics.total == FIRST
        held.let.set()
        whole = await app.whole()
        assert whole.prompt_set == app.state.prompts.fingerprint
        (iteration,) = app.state.iterations
        assert iteration.evaluation.prompt_set == whole.prompt_set


async def test_prompts_removed_meanwhile_are_in_no_evaluation_after_that(
    path: Path, held: Held
) -> None:
    async with opening(path, held) as app:
        part = await app.part()
        gone = int(part.keys[-1])
        await app.services.sync.edit_prompts(Remove(frozenset({gone})))
        held.let.set()
        whole = await app.whole()
        assert len(whole.keys) == COUNT - 1
        assert gone not in whole.keys.tolist()
        assert len(app.state.iterations) == 1


async def test_an_end_in_the_middle_loses_nothing_that_was_embedded(path: Path, held: Held) -> None:
    async with opening(path, held) as app:
        await app.part()
    held.let.clear()
    held.embedded.clear()
    async with opening(path, held) as app:
        part = await app.part()
        assert part.metrics.total == FIRST
        assert held.embedded == []
        held.let.set()
        await app.whole()
    assert held.first.isdisjoint(held.embedded)


async def test_a_part_is_judged_by_its_own_labels_and_the_whole_by_all(
    path: Path, held: Held, tmp_path: Path
) -> None:
    held.let.set()
    async with opening(path, held) as app:
        await app.whole()
        fit = app.state.fit
        assert fit is not None
    held.let.clear()
    other = LocalScanner("static", cache=tmp_path / "other")
    async with opening(path, held, other) as app:
        part = await app.part()
        assert part.settings.threshold_source == BUILT_IN  # too few of them so far
        held.let.set()
        await app.whole()
        assert app.state.fit == fit


async def test_prompts_that_are_cached_are_shown_whole_at_once(path: Path, held: Held) -> None:
    held.let.set()
    async with opening(path, held) as app:
        await app.whole()
    async with opening(path, held) as app:
        await app.whole()
        assert [item.is_of_a_part for item in app.shown] == [False]


async def test_the_definition_is_linted_by_text_alone_while_prompts_are_embedded(
    path: Path, held: Held
) -> None:
    async with opening(path, held) as app:
        app.describe("not about soup")
        await app.part()
        state = await app.until(lambda state: app.services.lint.measured_on is not None)
        assert [advice.code for advice in state.advice] == ["exclusion"]
        assert state.advice[0].removal is None


async def test_an_engine_that_fails_says_so_once_and_ends_the_opening(
    path: Path, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    scanner = LocalScanner("static")

    def broken(*arguments: object, **others: object) -> None:
        raise ScannerError("the weights are damaged")

    monkeypatch.setattr(scanner, "prompt_vectors", broken)
    monkeypatch.setattr(scanner, "evaluate_now", broken)
    async with opening(path, held, scanner) as app:
        async with asyncio.timeout(PATIENCE):
            await app.opening
            await app.jobs.finished()
        assert app.author.messages == ["the weights are damaged"]
        assert app.state.evaluation is None


async def test_a_threshold_set_by_hand_meanwhile_is_not_fitted_over(path: Path, held: Held) -> None:
    async with opening(path, held) as app:
        await app.part()
        app.services.engine.scanner.use_threshold(0.7, BY_HAND)
        held.let.set()
        whole = await app.whole()
        assert (whole.settings.threshold, whole.settings.threshold_source) == (0.7, BY_HAND)
        assert app.state.fit is None


async def test_the_built_in_threshold_chosen_meanwhile_is_not_fitted_over(
    path: Path, held: Held
) -> None:
    async with opening(path, held) as app:
        await app.part()
        app.services.engine.scanner.use_threshold(None, BUILT_IN)
        held.let.set()
        whole = await app.whole()
        assert whole.settings.threshold_source == BUILT_IN
        assert app.state.fit is None


async def test_another_engine_chosen_meanwhile_opens_the_prompts_from_there(
    path: Path, held: Held, tmp_path: Path
) -> None:
    async with opening(path, held) as app:
        await app.part()
        other = LocalScanner("static", FITTED, cache=tmp_path / "other")
        app.services.engine.use(other)
        held.let.set()
        whole = await app.whole()
        assert app.services.engine.scanner is other
        assert app.state.fit is not None
        assert whole.settings.threshold == app.state.fit.threshold
        assert len(app.state.iterations) == 1


async def test_a_preview_that_is_still_being_shown_does_not_take_the_place_of_the_record(
    path: Path, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opening(path, held) as app:
        services = app.services
        show, waits = services.evaluations.show, asyncio.Event()

        async def slow(evaluation: Evaluation, *others: object, **more: object) -> None:
            await show(evaluation)
            if evaluation.topic.description == "Soup":
                await waits.wait()

        monkeypatch.setattr(services.evaluations, "show", slow)
        await app.part()
        app.describe("Soup")
        await app.part()
        evaluate = services.engine.evaluator.evaluate

        async def evaluated(topic: Topic, prompts: PromptSet) -> Evaluation:
            waits.set()  # the preview goes on meanwhile, and must not cancel the record
            await app.jobs.finished()
            return await evaluate(topic, prompts)

        monkeypatch.setattr(services.engine.evaluator, "evaluate", evaluated)
        held.let.set()
        async with asyncio.timeout(PATIENCE):
            await app.opening
        monkeypatch.setattr(services.engine.evaluator, "evaluate", evaluate)
        services.preview.request()
        whole = await app.whole()
        assert whole.topic.description == "Soup"
        assert not whole.is_of_a_part
        assert len(app.state.iterations) == 1
