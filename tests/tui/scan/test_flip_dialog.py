"""The question before a check of likely changes: answers, fields, texts, and inert names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from guardtui.app.scan.plan import EndReason, FlipGoal, FlipPlan, ScanChoice
from guardtui.app.state import ScanStatus
from guardtui.domain.estimates import RateEstimate
from guardtui.domain.forecast_record import CheckedCoverage
from guardtui.scanners.base import Progress, Traffic
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.budget import Prices
from guardtui.scanners.models.expense import CallExpense
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.tui.scan.dialogs import FlipDialog
from guardtui.tui.scan.pane import scan_text
from tests.app.scan.test_flip_check import TOPIC
from tests.http.server import Received, Server, Step
from tests.scanners.models.judges import asked as asked_of
from tests.scanners.models.judges import said
from tests.sessions import Scanned, answers
from tests.tui.scan.test_dialogs import NOTHING, asked, plan
from tests.tui.scan.test_judging import playing
from tests.tui.tax_app import frame, until

COVERAGE = RateEstimate(0.872, 0.812, 0.921)
GOAL = FlipGoal(0.02, 50)
CHECK = ScanChoice(apply=True, likely=False, agreed=False, goal=GOAL)
FLIPS = FlipPlan(plan(unknown=3), COVERAGE, 3, 90, 10, GOAL)


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (("g",), CHECK),
        (("enter",), CHECK),
        (("s",), replace(CHECK, apply=False)),
        (("escape",), None),
        (("o",), NOTHING),
        (("shift+tab", "end", "0", "enter"), replace(CHECK, goal=FlipGoal(0.02, 500))),
        (
            ("shift+tab", *["backspace"] * 2, "7", "tab", "enter"),
            replace(CHECK, goal=FlipGoal(0.02, 7)),
        ),
        (("shift+tab", "shift+tab", "end", "5", "enter"), replace(CHECK, goal=FlipGoal(0.025, 50))),
        # What is no goal is not taken, and the field is left to be corrected.
        (("shift+tab", *["backspace"] * 2, "enter"), NOTHING),
        (("shift+tab", *["backspace"] * 2, "0", "tab", "enter"), NOTHING),
        (("shift+tab", "shift+tab", *["backspace"] * 4, "2", "enter"), NOTHING),
        (("shift+tab", "shift+tab", *["backspace"] * 4, "0", "tab", "tab", "enter"), NOTHING),
    ],
)
async def test_each_key_and_field(keys: tuple[str, ...], answer: object) -> None:
    assert (await asked(FlipDialog(FLIPS), *keys))[0] == answer


async def test_it_shows_the_goal_the_cost_and_the_forecast() -> None:
    cost = replace(FLIPS.scan.cost, expense=CallExpense(400, 50, Prices(2, 4), measured=True))
    paid = replace(FLIPS, scan=replace(FLIPS.scan, cost=cost))
    _, shown = await asked(FlipDialog(paid), size=(120, 40))
    words = " ".join(shown.replace("│", " ").split())
    assert "+ topic Tax advice is created" in words
    expected = "Coverage is expected at ≈0.872 (0.812 to 0.921 if scanned), from 3 scans"
    assert expected in words
    assert "known: at most 50 calls, about 10 s; about 22,500 tokens, cost about 0.05." in words
    assert "80 calls" not in words
    assert "estimated from earlier calls" in words
    _, shown = await asked(FlipDialog(FLIPS))
    assert "cost about" not in shown


async def test_a_judge_has_nothing_to_apply() -> None:
    judge = plan(title="judge", changes=(), judge=True, other="Ask AIRS")
    answer, shown = await asked(FlipDialog(replace(FLIPS, scan=judge)), "o")
    assert "Check the likely changes with a judge" in shown
    assert "Apply" not in shown
    assert answer == ScanChoice(apply=False, likely=False, agreed=False, other=True)


def test_the_line_shows_calls_and_interval_of_a_check() -> None:
    status = CheckedCoverage(COVERAGE, 0.02, 15, 50, "")
    progress = Progress("scanning", 13, 15)
    shown = scan_text(ScanStatus("", progress, Traffic(in_flight=2, rate=3.0), check=status), 120)
    assert "13/50 calls  coverage ±0.054, wanted ±0.02" in shown.plain
    assert "left" not in shown.plain


def test_an_ended_check_shows_its_reason() -> None:
    status = CheckedCoverage(COVERAGE, 0.02, 1, 50, EndReason.NO_DOUBT)
    assert status.text == (
        "coverage expected at ≈0.872 (0.812 to 0.921 if scanned) after 1 call "
        "(wanted ±0.02); no other prompt is in doubt"
    )


async def test_a_check_by_key_shows_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "topic.yaml").write_text(TOPIC, "utf-8")
    scanned = Scanned(tmp_path)
    (tmp_path / "topic.csv").write_bytes((tmp_path / "tax.csv").read_bytes())
    given = dict(
        zip(
            scanned.prompts.prompts.to_list(),
            answers(scanned.prompts, "Tax, briefly").tolist(),
            strict=True,
        )
    )

    def model(request: Received) -> Step:
        return said(f"ANSWER: {'yes' if given[asked_of(request)] else 'no'}")

    async with Server(model) as server:
        settings = JudgeOptions((ModelAddress(f"{server.url}/v1", "mock"),)).scanner().settings
        scanned.scan("Advice on income tax", settings)
        async with playing(scanned.topic_path, server, monkeypatch) as play:
            topic = play.main.services.session.topic
            play.main.services.editing.replace(
                topic.model_copy(update={"description": "Tax, briefly"})
            )
            await play.pilot.press("ctrl+@", "s", "f")
            await until(play.pilot, lambda: isinstance(play.app.screen, FlipDialog))
            await play.pilot.pause()
            drawn = frame(play.app)
            assert "Coverage is expected at" in drawn
            assert not server.received
            await play.pilot.press("shift+tab", *["backspace"] * 2, "9", "enter")
            await until(play.pilot, lambda: len(play.main.services.session.iterations) > 1)
            await until(play.pilot, lambda: not play.main.services.scans.under_way)
            assert len(server.received) == 9
            part = play.main.services.session.iterations[-1]
            assert part.evaluation.metrics.open == 51
            assert part.forecast is not None
            await until(play.pilot, lambda: "9 calls" in frame(play.app))
            # What it found is shown as estimates; to keep it, the others are asked for first.
            await until(play.pilot, lambda: "51 open" in frame(play.app))
            await play.pilot.press("f2")
            await until(play.pilot, lambda: "51 of 60 prompts have no verdict" in frame(play.app))
