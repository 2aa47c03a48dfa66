"""Edits measured headless: of the definition as it is at the end, or with a reason why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from guardtui.app.advice.refinement import RefinementError, Refinements, open_measure
from guardtui.app.guardrails.connections import Connections
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.app.scan.forecasting import Forecasting
from guardtui.app.scan.subject import FigureSubject
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.operating_point import FITTED, Threshold
from guardtui.scanners.base import ScannerError
from guardtui.session.session import Decision
from tests.app.bench import Bench, like_labels


def subject_of(bench: Bench) -> FigureSubject:
    context, path = bench.context, bench.workspace.topic_file.path
    store = bench.workspace.store
    connections = Connections(context.store, store, context.author, RemoteOptions(), path)
    return FigureSubject(context, connections)


def refining(bench: Bench, subject: FigureSubject | None = None) -> Refinements:
    subject = subject or subject_of(bench)
    return Refinements(bench.context, Forecasting(bench.context, subject), subject)


def recorded(bench: Bench) -> ScannerSettings:
    """Record a scan of the definition by a guardrail; which guardrail that is."""
    scan = bench.evaluated(lambda row, label: like_labels(row, label) ^ (row % 10 == 0))
    bench.workspace.session.record(bench.workspace.write(scan, Decision.KEEP))
    return scan.settings


async def test_too_few_prompts_are_a_reason(tmp_path: Path) -> None:
    bench = Bench(tmp_path, each=1, things=2)
    with pytest.raises(RefinementError, match="2 prompts belong to the topic: add some"):
        await refining(bench).measure()


async def test_a_measure_is_opened_once_for_prompts_and_threshold(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    refinement = refining(bench)
    first = await refinement.measure()
    assert await refinement.measure() is first
    assert refinement.is_ready
    bench.engine.scanner.use_threshold(0.9)
    second = await refinement.measure()
    assert second is not first
    assert second.objective.settings.threshold == 0.9


@pytest.mark.parametrize("threshold", [FITTED, 0.999])
async def test_the_threshold_is_fitted_to_each_definition_where_it_is_fitted(
    tmp_path: Path, threshold: Threshold
) -> None:
    bench = Bench(tmp_path)
    bench.engine.scanner.use_threshold(threshold)  # 0.999: nothing matches
    measure = await refining(bench).measure()
    topic = bench.topic
    found = await refining(bench).advised(measure, topic)
    assert found is not None
    assert ((found.before.coverage or 0) > 0.5) == (threshold == FITTED)


async def test_the_forecast_stands_beside_the_gain_while_it_is_shown(tmp_path: Path) -> None:
    bench = Bench(tmp_path, each=4)
    guardrail = recorded(bench)
    subject = subject_of(bench)
    refinement = refining(bench, subject)
    measure = await refinement.measure()
    assert measure.objective.settings == bench.engine.scanner.settings
    found = await refinement.advised(measure, bench.topic)
    assert found is not None
    assert found.proposals
    assert all(proposal.forecast is not None for proposal in found.proposals)
    effects = await refinement.effects()
    assert effects.settings.is_forecast
    assert effects.settings.guardrail == guardrail.guardrail
    subject.engine_only = True
    alone = await refinement.advised(await refinement.measure(), bench.topic)
    assert alone is not None
    assert [each.gain for each in alone.proposals] == [each.gain for each in found.proposals]
    assert all(proposal.forecast is None for proposal in alone.proposals)
    effects = await refinement.effects()
    assert effects.settings == bench.engine.scanner.settings


async def test_effects_are_of_each_part_and_empty_without_parts(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    effects = await refining(bench).effects()
    assert [effect.part for effect in effects.parts] == [
        "the description",
        "example 1",
        "example 2",
    ]
    bench.editing.replace(bench.topic.model_copy(update={"description": "", "examples": ()}))
    assert (await refining(bench).effects()).parts == ()
    assert bench.steps == [("Engine", "measures each part …"), None] * 2


async def test_an_encoder_that_fails_is_an_error_and_ends_the_step(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    def damaged(*_: object) -> Any:
        raise ScannerError("the encoder is damaged")

    measure = await refining(bench).measure()
    bench.engine.scanner.embed = damaged  # type: ignore[method-assign]
    with pytest.raises(RefinementError, match="damaged"):
        await refining(bench).advised(measure, bench.topic)
    bench.engine.scanner.prompt_vectors = damaged  # type: ignore[method-assign]
    with pytest.raises(ScannerError, match="damaged"):
        await refining(bench).effects()
    with pytest.raises(RefinementError, match="damaged"):
        await refining(bench).measure()
    assert bench.steps[-1] is None


def test_opening_is_stopped_at_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    scanner = bench.engine.scanner
    assert open_measure(scanner, bench.prompts, stopped=lambda: True) is None
    found = open_measure(scanner, bench.prompts)
    assert found is not None
    np.testing.assert_array_equal(found.rows.chosen_on, np.arange(len(bench.prompts)))
