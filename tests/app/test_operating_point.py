"""The threshold of a session: fitted once, kept, left alone where set by hand, fitted again."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardtui.app.operating_point import OperatingPointError, settle_threshold
from guardtui.app.remote import RemoteOptions
from guardtui.app.services import Services
from guardtui.domain.operating_point import FITTED, SHIPPED, ThresholdFit, Wanted
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.session import Decision
from guardtui.session.threshold_fits import (
    read_fit,
    settings_of_session,
    wanted_threshold,
    write_fit,
)
from guardtui.session.workspace import Workspace
from tests.app.bench import OTHERS, TAX, TOPIC
from tests.app.headless import ScriptedAuthor, TaskJobs


def written(folder: Path, each: int = 3) -> Path:
    """Write a topic with `each` · 5 labels of each class."""
    path = folder / "tax.yaml"
    path.write_text(TOPIC.format(intent="block"), "utf-8")
    rows = [
        f"tell me more of {thing} in {number} words,{str(label).lower()},block"
        for names, label in ((TAX, True), (OTHERS, False))
        for thing in names
        for number in range(each)
    ]
    (folder / "tax.csv").write_text("\n".join(["prompt,expected,intent", *rows, ""]), "utf-8")
    return path


class Opened:
    """Services on a topic file, opened and at rest."""

    def __init__(
        self,
        path: Path,
        threshold: Wanted = None,
        scanner: LocalScanner | None = None,
        prompts: Path | None = None,
        jobs: TaskJobs | None = None,
    ) -> None:
        self.author, self.jobs = ScriptedAuthor(), jobs or TaskJobs()
        self.scanner = scanner or LocalScanner("static")
        self.services = Services(
            Workspace.open(path, prompts),
            self.scanner,
            RemoteOptions(environment={}, config=Path("/nonexistent/config.json")),
            (),
            self.author,
            self.jobs,
            threshold=threshold,
        )
        self.services.preview.pause = 0
        self.services.next_steps.pause = 0

    async def __aenter__(self) -> Opened:
        await self.services.open()
        await self.jobs.finished()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.services.close()

    @property
    def source(self) -> str:
        return self.scanner.settings.threshold_source

    async def describe(self, text: str) -> None:
        topic = self.services.state.topic.model_copy(update={"description": text})
        self.services.editing.type(topic)
        await self.jobs.finished()


async def test_a_set_with_labels_enough_is_fitted_and_the_first_iteration_has_that_threshold(
    tmp_path: Path,
) -> None:
    path = written(tmp_path)
    async with Opened(path) as app:
        state = app.services.state
        fit = state.fit
        assert fit is not None
        assert (fit.labels, app.source) == (30, "fitted to 30 labels")
        assert state.evaluation is not None
        assert state.evaluation.settings.threshold == fit.threshold
        assert state.evaluation.metrics.coverage == fit.coverage
        assert state.held_out == fit.held_out
        (iteration,) = state.iterations
        assert iteration.evaluation.settings == state.evaluation.settings
        assert iteration.decision is Decision.KEEP
    assert read_fit(settings_of_session(path)) == fit


async def test_a_second_run_has_the_same_threshold_whatever_the_definition_is_then(
    tmp_path: Path,
) -> None:
    path = written(tmp_path)
    async with Opened(path) as app:
        first = app.services.state.fit
    path.write_text(path.read_text("utf-8").replace("Personal tax advice", "Soup"), "utf-8")
    async with Opened(path) as app:
        assert app.services.state.fit == first
        assert first is not None
        assert app.scanner.settings.threshold == first.threshold
        evaluation = app.services.state.evaluation
        assert evaluation is not None
        assert evaluation.topic.description == "Soup"


async def test_other_prompts_are_fitted_anew(tmp_path: Path) -> None:
    path = written(tmp_path)
    async with Opened(path):
        pass
    rows = (tmp_path / "tax.csv").read_text("utf-8").splitlines()
    (tmp_path / "other.csv").write_text("\n".join(rows[:-3]) + "\n", "utf-8")
    async with Opened(path, prompts=tmp_path / "other.csv") as app:
        fit = app.services.state.fit
        assert fit is not None
        assert (fit.labels, fit.prompts) == (27, "other.csv")


@pytest.mark.parametrize("wanted", [SHIPPED, 0.7])
async def test_a_threshold_that_is_asked_for_is_not_fitted(tmp_path: Path, wanted: Wanted) -> None:
    path = written(tmp_path)
    scanner = LocalScanner("static", wanted if isinstance(wanted, float) else None)
    async with Opened(path, wanted, scanner) as app:
        assert app.services.state.fit is None
        assert app.source == ("by hand" if isinstance(wanted, float) else SHIPPED)
    assert read_fit(settings_of_session(path)) is None


@pytest.mark.parametrize("wanted", [None, FITTED])
async def test_too_few_labels_keep_the_shipped_threshold_and_say_so_where_a_fit_is_asked_for(
    tmp_path: Path, wanted: Wanted
) -> None:
    async with Opened(written(tmp_path, each=1), wanted) as app:
        assert (app.services.state.fit, app.source) == (None, SHIPPED)
        messages = [
            message for message in app.author.messages if "at least 10 are needed" in message
        ]
        assert len(messages) == (wanted == FITTED)


async def test_an_edit_that_moves_the_scores_far_is_told_and_fitting_again_ends_it(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, each=6)
    async with Opened(path) as app:
        first = app.services.state.fit
        assert first is not None
        assert app.services.state.better is None
        # As if the definition had been another one when the threshold was fitted.
        app.scanner.use_threshold(0.999, first.source)
        await app.describe("Taxes")
        better = app.services.state.better
        assert better is not None
        assert better.threshold < 0.999
        await app.services.operating_point.fit_again()
        await app.jobs.finished()
        state = app.services.state
        assert state.better is None
        assert state.fit is not None
        assert app.scanner.settings.threshold == state.fit.threshold == better.threshold
        assert state.evaluation is not None
        assert state.evaluation.metrics.coverage == state.fit.coverage
        assert any(message.startswith("Threshold 0.") for message in app.author.messages)
    assert read_fit(settings_of_session(path)) == state.fit


def fit(engine: str = "static-1") -> ThresholdFit:
    return ThresholdFit(0.3, 0.5, 40, 0.9, 0.8, (0.3, 0.31), engine, "prompts", "tax.csv")


def test_a_kept_fit_is_read_as_it_was_written_and_a_damaged_one_is_none() -> None:
    kept = write_fit(fit())
    assert read_fit(kept) == fit()
    assert wanted_threshold(kept) is None
    for name, value in (("threshold", 7), ("folds", 3), ("labels", "many"), ("engine", None)):
        damaged = {**kept["threshold_fit"], name: value}
        del damaged["engine" if value is None else "shipped"]
        assert read_fit({"threshold_fit": damaged}) is None
    assert read_fit({}) is read_fit({"threshold_fit": "x"}) is None


def test_a_threshold_by_hand_and_the_shipped_one_are_wanted_again() -> None:
    assert wanted_threshold({"threshold": 0.6, "threshold_source": "by hand"}) == 0.6
    assert wanted_threshold({"threshold": None, "threshold_source": "shipped"}) == SHIPPED
    assert wanted_threshold({"threshold": 3.0}) is None


def test_a_kept_fit_of_another_engine_is_not_used() -> None:
    scanner = LocalScanner("static")
    mine = fit(scanner.settings.identity)
    assert settle_threshold(scanner, None, mine, fit) == mine
    assert scanner.settings.threshold_source == "fitted to 40 labels"
    assert settle_threshold(scanner, None, fit("other"), lambda: mine) == mine

    def too_few() -> ThresholdFit:
        raise ValueError("3 labels")

    assert settle_threshold(scanner, None, fit("other"), too_few) is None
    assert scanner.settings.threshold_source == SHIPPED
    with pytest.raises(OperatingPointError, match="3 labels"):
        settle_threshold(scanner, FITTED, None, too_few)
