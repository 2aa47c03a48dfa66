"""Definitions measured while editing: recorded at pauses and not at keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from guardtui.app.scan import record
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.verdicts import Triggered
from guardtui.session.history import MeasuredDefinition, add_measured
from guardtui.session.session import Decision
from guardtui.session.store import StoreError
from tests.app.bench import written
from tests.app.headless import Loop, resting_jobs
from tests.guardrails import airs_settings


def opened(path: Path) -> Loop:
    app = Loop(path, threshold="built-in", jobs=resting_jobs("ideas"))
    app.services.measured.pause = 0
    return app


def listed(app: Loop) -> list[MeasuredDefinition]:
    return app.services.measured.listed()


def described(app: Loop) -> list[str]:
    return [measured.topic.description for measured in listed(app)]


async def test_each_pause_records_the_definition_the_newest_first(tmp_path: Path) -> None:
    async with opened(written(tmp_path)) as app:
        first = app.services.state.topic.description
        await app.describe("Soup")
        await app.describe("Soup and bread")
        assert described(app) == ["Soup and bread", "Soup", first]
        newest = listed(app)[0]
        evaluation = app.services.state.evaluation
        assert evaluation is not None
        assert newest.figures.coverage == evaluation.metrics.coverage
        assert newest.figures.prompts == 30
        assert newest.settings == app.scanner.settings


async def test_continued_typing_records_nothing_between(tmp_path: Path) -> None:
    async with opened(written(tmp_path)) as app:
        first = app.services.state.topic
        for text in ("S", "So", "Sou", "Soup"):
            app.services.editing.type(first.model_copy(update={"description": text}))
        await app.jobs.finished()
        assert described(app) == ["Soup", first.description]


async def test_a_definition_is_listed_once_at_its_newest_place(tmp_path: Path) -> None:
    async with opened(written(tmp_path)) as app:
        first = app.services.state.topic.description
        await app.describe("Soup")
        await app.describe("Bread")
        await app.describe("Soup")
        assert described(app) == ["Soup", "Bread", first]
        app.services.preview.request()  # measured again: nothing new
        await app.jobs.finished()
        assert described(app) == ["Soup", "Bread", first]


async def test_they_survive_a_restart_also_the_last_moment(tmp_path: Path) -> None:
    path = written(tmp_path)
    async with opened(path) as app:
        first = app.services.state.topic
        await app.describe("Soup")
        # The pause is not over when the app is left.
        app.services.measured.pause = 1e6
        app.services.editing.type(first.model_copy(update={"description": "Bread"}))
        evaluation = await app.services.preview.current()
        assert evaluation is not None
        await app.services.preview.show(evaluation)
    app.jobs.cancel("measured")
    async with opened(path) as app:
        # The definition of the file is the newest again, as it was opened and measured.
        assert sorted(described(app)) == sorted(["Bread", "Soup", first.description])
        assert described(app)[0] == first.description


def scanned(app: Loop, settings: ScannerSettings) -> Evaluation:
    shown = app.services.state.evaluation
    assert shown is not None
    verdicts = replace(shown.verdicts, score=np.full(len(shown.keys), np.nan, np.float32))
    return replace(shown, settings=settings, verdicts=verdicts)


async def test_of_a_forecast_the_expected_rates_are_kept(tmp_path: Path) -> None:
    async with opened(written(tmp_path)) as app:
        scan = scanned(app, airs_settings("prod", "3"))
        wrong = (scan.verdicts.triggered ^ (np.arange(len(scan.keys)) % 4 == 0)).astype(np.int8)
        scan = replace(scan, verdicts=replace(scan.verdicts, triggered=wrong))
        workspace = app.services.workspace
        workspace.session.record(workspace.write(scan, Decision.KEEP))
        await app.describe("Personal advice on tax")
        forecast = app.services.state.forecast
        assert forecast is not None
        rates = forecast.rates
        assert rates.coverage is not None
        newest = listed(app)[0]
        assert newest.settings.kind == "forecast"
        assert newest.figures.coverage == rates.coverage.value
        assert app.services.state.evaluation is not None
        assert rates.coverage.value != app.services.state.evaluation.metrics.coverage


async def test_an_incomplete_scan_is_not_recorded(tmp_path: Path) -> None:
    async with opened(written(tmp_path)) as app:
        count = len(listed(app))
        scan = scanned(app, airs_settings("prod"))
        triggered = scan.verdicts.triggered.copy()
        triggered[3] = Triggered.NOT_ASKED
        part = replace(scan, verdicts=replace(scan.verdicts, triggered=triggered))
        await app.services.evaluations.show(part)
        await app.jobs.finished()
        assert len(listed(app)) == count
        assert listed(app)[0].settings.kind == "engine"


async def test_a_full_disk_is_reported_once_and_they_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(written(tmp_path)) as app:

        def full(*_: object) -> None:
            raise StoreError("the disk is full")

        monkeypatch.setattr(record, "add_measured", full)
        await app.describe("Soup")
        await app.describe("Bread")
        messages = [
            message for message in app.author.messages if "Measured edits are not kept" in message
        ]
        assert messages == ["Measured edits are not kept on disk: the disk is full"]
        assert described(app)[:2] == ["Bread", "Soup"]
        kept: list[MeasuredDefinition] = []

        def keep(store: object, measured: MeasuredDefinition) -> None:
            kept.append(measured)
            add_measured(store, measured)  # type: ignore[arg-type]

        monkeypatch.setattr(record, "add_measured", keep)
        await app.describe("Rice")
        assert [measured.topic.description for measured in kept] == ["Soup", "Bread", "Rice"]
