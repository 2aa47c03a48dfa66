"""Trials: left by pauses and not by keys, listed beside the definition of now, brought back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from guardtui.app import trials as trials_module
from guardtui.app.trials import TrialEntry
from guardtui.domain.evaluation import Evaluation, ScannerSettings
from guardtui.domain.prompt_edit import Relabel
from guardtui.domain.verdicts import Triggered
from guardtui.session.session import Decision
from guardtui.session.store import StoreError
from guardtui.session.trials import Trial
from tests.app.headless import TaskJobs
from tests.app.test_operating_point import Opened, written


def opened(path: Path) -> Opened:
    app = Opened(path, "shipped", jobs=TaskJobs(idle=("ideas",)))
    app.services.trials.pause = 0
    return app


def listed(app: Opened) -> list[TrialEntry]:
    return app.services.trials.listed()


def described(app: Opened) -> list[str]:
    return [entry.trial.topic.description for entry in listed(app)]


async def test_each_pause_leaves_a_trial_the_newest_first(tmp_path: Path) -> None:
    async with opened(written(tmp_path)) as app:
        first = app.services.state.topic.description
        await app.describe("Soup")
        await app.describe("Soup and bread")
        assert described(app) == ["Soup and bread", "Soup", first]
        newest, soup, oldest = listed(app)
        assert (newest.is_current, newest.change, newest.apart) == (True, 0.0, "")
        assert newest.changes == ("description +“and bread”",)
        assert oldest.changes == ()
        evaluation = app.services.state.evaluation
        assert evaluation is not None
        assert newest.trial.figures.coverage == evaluation.metrics.coverage
        assert newest.trial.figures.prompts == 30
        assert newest.trial.settings == app.scanner.settings
        now, then = newest.trial.figures.coverage, soup.trial.figures.coverage
        assert soup.change == then - now


async def test_continued_typing_records_no_trial(tmp_path: Path) -> None:
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


async def test_a_trial_comes_back_as_one_step(tmp_path: Path) -> None:
    async with opened(written(tmp_path)) as app:
        await app.describe("Soup")
        await app.describe("Bread")
        here, soup, _ = listed(app)
        app.services.trials.bring_back(soup.trial)
        await app.jobs.finished()
        assert app.services.state.topic.description == "Soup"
        assert described(app)[:2] == ["Soup", "Bread"]
        app.services.editing.undo()
        assert app.services.state.topic.description == "Bread"
        app.services.trials.bring_back(here.trial)
        assert "in the editor already" in app.author.messages[-1]
        await app.jobs.finished()


async def test_trials_survive_a_restart_also_the_last_moment(tmp_path: Path) -> None:
    path = written(tmp_path)
    async with opened(path) as app:
        first = app.services.state.topic
        await app.describe("Soup")
        # The pause is not over when the app is left.
        app.services.trials.pause = 1e6
        app.services.editing.type(first.model_copy(update={"description": "Bread"}))
        evaluation = await app.services.preview.evaluate()
        assert evaluation is not None
    app.jobs.cancel("trial")
    async with opened(path) as app:
        # The definition of the file is the newest again, as it was opened and measured.
        assert sorted(described(app)) == sorted(["Bread", "Soup", first.description])
        assert listed(app)[0].is_current


def scanned(app: Opened, settings: ScannerSettings) -> Evaluation:
    shown = app.services.state.evaluation
    assert shown is not None
    verdicts = replace(shown.verdicts, score=np.full(len(shown.keys), np.nan, np.float32))
    return replace(shown, settings=settings, verdicts=verdicts)


async def test_trials_measured_differently_are_not_compared(tmp_path: Path) -> None:
    async with opened(written(tmp_path)) as app:
        await app.describe("Soup")
        airs = ScannerSettings("airs", "airs, profile prod", revision="3")
        scan = scanned(app, airs)
        await app.services.evaluations.show(scan)
        await app.jobs.finished()
        newest, before = listed(app)
        assert (newest.trial.topic.description, newest.trial.settings) == ("Soup", airs)
        assert (before.change, before.apart) == (None, "other guardrail")
        # Of another revision of the same profile figures do compare.
        await app.services.evaluations.show(scanned(app, replace(airs, revision="4")))
        await app.jobs.finished()
        assert listed(app)[0].apart == ""
        await app.describe("Bread")
        app.scanner.use_threshold(0.123, "by hand")
        app.services.preview.request()
        await app.jobs.finished()
        assert [trial.apart for trial in listed(app)] == ["", "other guardrail", "other threshold"]
        # One label more, and no figure of before is about these labels.
        key = int(app.services.state.prompts.keys[0])
        await app.services.sync.edit_prompts(Relabel(frozenset((key,))))
        await app.jobs.finished()
        assert [trial.apart for trial in listed(app)] == ["", *["prompts changed"] * 2]
        assert [trial.change for trial in listed(app)] == [0.0, None, None]


async def test_of_a_forecast_the_expected_rates_are_kept(tmp_path: Path) -> None:
    async with opened(written(tmp_path)) as app:
        scan = scanned(app, ScannerSettings("airs", "airs, profile prod", revision="3"))
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
        assert newest.trial.settings.name == "forecast"
        assert newest.trial.figures.coverage == rates.coverage.value
        assert app.services.state.evaluation is not None
        assert rates.coverage.value != app.services.state.evaluation.metrics.coverage


async def test_an_incomplete_scan_is_not_a_trial(tmp_path: Path) -> None:
    async with opened(written(tmp_path)) as app:
        count = len(listed(app))
        scan = scanned(app, ScannerSettings("airs", "airs, profile prod"))
        triggered = scan.verdicts.triggered.copy()
        triggered[3] = Triggered.NOT_ASKED
        part = replace(scan, verdicts=replace(scan.verdicts, triggered=triggered))
        await app.services.evaluations.show(part)
        await app.jobs.finished()
        assert len(listed(app)) == count
        assert listed(app)[0].trial.settings.name == "local"


async def test_a_full_disk_is_reported_once_and_trials_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(written(tmp_path)) as app:
        add_trial = trials_module.add_trial

        def full(*_: object) -> None:
            raise StoreError("the disk is full")

        monkeypatch.setattr(trials_module, "add_trial", full)
        await app.describe("Soup")
        await app.describe("Bread")
        messages = [message for message in app.author.messages if "Trials are not kept" in message]
        assert messages == ["Trials are not kept on disk: the disk is full"]
        assert described(app)[:2] == ["Bread", "Soup"]
        kept: list[Trial] = []

        def keep(store: object, trial: Trial) -> None:
            kept.append(trial)
            add_trial(store, trial)  # type: ignore[arg-type]

        monkeypatch.setattr(trials_module, "add_trial", keep)
        await app.describe("Rice")
        assert [trial.topic.description for trial in kept] == ["Soup", "Bread", "Rice"]
