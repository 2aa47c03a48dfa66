"""The operating point: every definition that is shown or compared is judged at its own best one."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardtui.domain.operating_point import (
    BUILT_IN,
    FITTED,
    Wanted,
    as_rule,
    at_threshold,
    fit_threshold,
)
from guardtui.domain.prompt_edit import Relabel
from guardtui.domain.topic import Topic
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.chosen_thresholds import (
    read_decision_threshold,
    wanted_threshold,
    write_decision_threshold,
)
from guardtui.session.session import Decision
from guardtui.session.workspace import Workspace
from tests.app.bench import written
from tests.app.headless import Loop
from tests.guardrails import decision_settings


def source(app: Loop) -> str:
    assert app.state.evaluation is not None
    return app.state.evaluation.settings.threshold_source


def is_at_its_own_point(app: Loop) -> bool:
    """Whether the shown definition is judged at the best threshold of its own scores."""
    state = app.state
    evaluation = state.evaluation
    assert evaluation is not None
    assert evaluation.topic == state.topic
    best = fit_threshold(evaluation, app.scanner.built_in_threshold)
    assert state.comparison is None or not any(
        "threshold" in caveat for caveat in state.comparison.caveats
    )
    return evaluation.settings.threshold == best.threshold and state.fit == best


async def test_a_set_with_labels_enough_is_fitted_and_the_first_iteration_has_that_threshold(
    tmp_path: Path,
) -> None:
    path = written(tmp_path)
    async with Loop(path) as app:
        state = app.services.state
        fit = state.fit
        assert fit is not None
        assert (fit.labels, source(app)) == (30, "fitted to 30 labels")
        assert state.evaluation is not None
        assert state.evaluation.settings.threshold == fit.threshold
        assert state.evaluation.metrics.coverage == fit.coverage
        assert state.evaluation.intervals["coverage"] == fit.interval
        (iteration,) = state.iterations
        assert iteration.evaluation.settings == state.evaluation.settings
        assert iteration.decision is Decision.KEEP


async def test_every_way_to_another_definition_ends_at_its_own_threshold(tmp_path: Path) -> None:
    path = written(tmp_path, each=6)
    first = path.read_text("utf-8")
    async with Loop(path) as app:
        services, seen = app.services, set()

        async def settled(way: str) -> None:
            await app.jobs.finished()
            assert is_at_its_own_point(app), way
            evaluation = services.state.evaluation
            assert evaluation is not None
            seen.add(evaluation.settings.threshold)

        await settled("open")
        file = services.state.topic
        await app.describe("Taxes")
        await settled("typed")
        services.editing.undo()
        await settled("undo")
        services.editing.redo()
        await settled("redo")
        await services.decisions.discard()
        await settled("discard")
        assert services.state.topic == file
        comparison = services.state.comparison
        assert comparison is not None
        assert (comparison.regressions, comparison.fixes) == (0, 0)
        services.editing.replace(Topic(name="Soup", description="Soup", examples=("bread", "soup")))
        await settled("replaced")
        path.write_text(first.replace("Personal tax advice", "A tax return"), "utf-8")
        await services.sync.look()
        await settled("changed by another program")
        evaluation = services.state.evaluation
        assert evaluation is not None
        await services.sync.edit_prompts(Relabel(frozenset({int(evaluation.keys[0])})))
        await settled("relabelled")
        assert len(seen) > 2  # the definitions do have different thresholds


async def test_an_iteration_at_the_threshold_of_another_definition_is_compared_at_its_own(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, each=6)
    async with Loop(path) as app:
        state = app.services.state
        assert state.evaluation is not None
        assert state.fit is not None
        # As an older guardtui recorded a definition edited after the threshold was fitted.
        stale = at_threshold(state.evaluation, 0.999, state.fit.source)
        assert stale.metrics.coverage == 0
        workspace = app.services.workspace
        app.services.session.record(workspace.write(stale, Decision.KEEP))
        app.services.preview.request()
        await app.jobs.finished()
        session, comparison = app.services.session, app.services.state.comparison
        assert session.baseline is not None
        assert session.baseline.number == 1
        assert comparison is not None
        assert (comparison.regressions, comparison.fixes) == (0, 0)
        assert comparison.deltas["coverage"] == 0
        assert session.best_coverage == state.fit.coverage
        assert not session.is_better(state.evaluation)


@pytest.mark.parametrize("wanted", [BUILT_IN, 0.7])
async def test_a_threshold_that_is_asked_for_stays_whatever_is_edited(
    tmp_path: Path, wanted: Wanted
) -> None:
    path = written(tmp_path)
    scanner = LocalScanner("static", wanted if isinstance(wanted, float) else None)
    async with Loop(path, threshold=wanted, scanner=scanner) as app:
        for text in ("Taxes", "Soup"):
            await app.describe(text)
            assert app.services.state.fit is None
            assert source(app) == ("by hand" if isinstance(wanted, float) else BUILT_IN)


@pytest.mark.parametrize("wanted", [None, FITTED])
async def test_too_few_labels_keep_the_built_in_threshold_and_say_so_where_a_fit_is_asked_for(
    tmp_path: Path, wanted: Wanted
) -> None:
    async with Loop(written(tmp_path, each=1), threshold=wanted) as app:
        assert (app.services.state.fit, source(app)) == (None, BUILT_IN)
        messages = [
            message for message in app.author.messages if "at least 10 are needed" in message
        ]
        assert len(messages) == (wanted == FITTED)


async def test_a_companion_topic_is_judged_at_the_threshold_of_the_edited_one(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, each=6)
    other = tmp_path / "other.yaml"
    other.write_text(path.read_text("utf-8").replace("Tax", "Income"), "utf-8")
    async with Loop(path) as app:
        await app.services.companions.use(("other.yaml",))
        await app.jobs.finished()
        evaluation, fit = app.services.state.evaluation, app.services.state.fit
        assert evaluation is not None
        assert fit is not None
        assert evaluation.settings.guardrail.companions
        assert evaluation.settings.threshold == fit.threshold


def test_the_threshold_of_a_decision_model_is_read_as_written_and_a_damaged_one_is_none() -> None:
    model, another = decision_settings("m").guardrail, decision_settings("n").guardrail
    kept = write_decision_threshold(0.3, model)
    assert read_decision_threshold(kept, model) == 0.3
    assert read_decision_threshold(kept, another) is None
    assert read_decision_threshold(write_decision_threshold(None, model), model) is None
    for value in (7.0, "many", None):
        damaged = {"decision_threshold": {**kept["decision_threshold"], "threshold": value}}
        assert read_decision_threshold(damaged, model) is None
    assert read_decision_threshold({}, model) is None
    for damaged in ("x", {"threshold": 0.3}, {"threshold": 0.3, "guardrail": 3}):
        assert read_decision_threshold({"decision_threshold": damaged}, model) is None


def test_a_fitted_threshold_of_an_older_session_stays_as_a_number() -> None:
    model = decision_settings("m").guardrail
    fit = {
        "threshold": 0.3,
        "shipped": 0.5,
        "labels": 40,
        "guardrail": model.to_json(),
        "folds": [0.3],
    }
    assert read_decision_threshold({"decision_threshold": fit}, model) == 0.3


def test_a_threshold_by_hand_and_the_shipped_one_are_wanted_again() -> None:
    assert wanted_threshold({"threshold": 0.6, "threshold_source": "by hand"}) == 0.6
    assert wanted_threshold({"threshold": None, "threshold_source": "built-in"}) == BUILT_IN
    assert wanted_threshold({"threshold": 3.0}) is None


def test_two_definitions_at_their_own_thresholds_have_one_rule(tmp_path: Path) -> None:
    engine = LocalScanner("static", FITTED)
    prompts = Workspace.open(written(tmp_path)).prompts
    first, second = (
        engine.evaluate_now(Topic(name=name, examples=("a tax return", "soup")), prompts)
        for name in ("Tax", "Soup")
    )
    assert first is not None
    assert second is not None
    assert first.settings.threshold != second.settings.threshold
    assert as_rule(first.settings) == as_rule(second.settings) == engine.settings
