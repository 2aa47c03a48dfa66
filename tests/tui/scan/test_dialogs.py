"""The question before a scan, by keys and buttons: answers, texts, and inert names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from guardtui.app.scan.plan import ScanChoice, ScanCost, ScanPlan
from guardtui.app.state import ScanStatus
from guardtui.domain.figures import duration_text
from guardtui.scanners.base import Progress, Traffic
from guardtui.scanners.models.budget import Prices
from guardtui.scanners.models.expense import CallExpense
from guardtui.tui.base_app import BaseApp
from guardtui.tui.kit.dialogs import AnswersDialog
from guardtui.tui.scan.dialogs import ScanDialog
from guardtui.tui.scan.pane import scan_text
from tests.tui.tax_app import until

ATTACK = "[/b]\x1b]52;c;aGk=\x07 \u202ename [link='x'"
COST = ScanCost(200, 20, 30, 10, 5.0)
NOTHING = object()


class Asked:
    """Shows a dialog in an empty app and stores its answer."""

    def __init__(self, dialog: Screen[Any]) -> None:
        self.app, self._dialog = BaseApp(), dialog
        self.answer: object = NOTHING

    async def show(self, pilot: Pilot[int]) -> None:
        self.app.push_screen(self._dialog, self._answered)
        await until(pilot, lambda: self.app.screen is self._dialog and self._dialog.is_mounted)
        await until(pilot, lambda: text_of(self.app).strip() != "")
        await pilot.pause()

    def _answered(self, answer: object) -> None:
        self.answer = answer


def text_of(app: App[int]) -> str:
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


async def asked(
    dialog: Screen[Any], *keys: str, size: tuple[int, int] = (80, 24)
) -> tuple[object, str]:
    """Return the answer of a dialog to these keys, and the text that it showed at first."""
    host = Asked(dialog)
    async with host.app.run_test(size=size) as pilot:
        await host.show(pilot)
        shown = text_of(host.app)
        await pilot.press(*keys)
        await pilot.pause()
        return host.answer, shown


def plan(**more: Any) -> ScanPlan:
    given = {
        "title": "Profile sandbox at 127.0.0.1, revision 3",
        "changes": ("topic Tax advice is created",),
        "warnings": (),
        "cost": COST,
        "agreed": False,
    }
    return ScanPlan(**{**given, **more})


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (("g",), ScanChoice(apply=True, likely=False, agreed=False)),
        (("enter",), ScanChoice(apply=True, likely=False, agreed=False)),
        (("l",), ScanChoice(apply=True, likely=True, agreed=False)),
        (("s",), ScanChoice(apply=False, likely=False, agreed=False)),
        (("t", "g"), ScanChoice(apply=True, likely=False, agreed=True)),
        (("t", "t", "l"), ScanChoice(apply=True, likely=True, agreed=False)),
        (("tab", "enter"), ScanChoice(apply=True, likely=True, agreed=False)),
        (("tab", "tab", "enter"), ScanChoice(apply=False, likely=False, agreed=False)),
        (("tab", "tab", "tab", "enter"), None),
        (("shift+tab", "enter", "g"), ScanChoice(apply=True, likely=False, agreed=True)),
        (("escape",), None),
        (("g", "escape", "l"), ScanChoice(apply=True, likely=False, agreed=False)),
        (("x", "1", "ctrl+r"), NOTHING),
    ],
)
async def test_each_key_of_a_scan(keys: tuple[str, ...], answer: object) -> None:
    assert (await asked(ScanDialog(plan(unknown=3)), *keys))[0] == answer


async def test_a_profile_that_has_another_definition_is_not_scanned_without_applying() -> None:
    answer, shown = await asked(ScanDialog(plan()), "s")
    assert answer is NOTHING
    assert "Without applying" not in shown
    _, shown = await asked(ScanDialog(plan(unknown=3)))
    assert "The profile has revision 3 of the topic, whose text AIRS does not show" in " ".join(
        shown.replace("│", " ").split()
    )


async def test_the_costs_are_shown() -> None:
    _, shown = await asked(ScanDialog(plan()))
    assert "+ topic Tax advice is created" in shown
    assert "200 prompts: 20 known, 180 calls, about 36 s" in shown
    assert "Likely changes only: 30 prompts: 10 known, 20 calls, about 4 s" in shown


async def test_a_judge_shows_tokens_and_cost_before_anything_is_sent() -> None:
    cost = replace(COST, expense=CallExpense(300, 50, Prices(2, 10), models=2, budget="the budget"))
    _, shown = await asked(ScanDialog(plan(judge=True, changes=(), cost=cost)), size=(120, 40))
    words = " ".join(shown.replace("│", " ").split())
    assert "180 calls to each of 2 models, about 36 s; about 126,000 tokens, cost about" in words
    assert "Likely changes only: 30 prompts: 10 known, 20 calls to each of 2 models" in words
    assert "The scan stops before it exceeds the budget." in words
    cost = replace(COST, expense=CallExpense(300, 50))
    _, shown = await asked(ScanDialog(plan(judge=True, changes=(), cost=cost)))
    words = " ".join(shown.replace("│", " ").split())
    assert "about 63,000 tokens" in words
    assert "No price is given (price-in, price-out)." in words


async def test_where_everything_is_likely_there_is_no_such_choice() -> None:
    cost = ScanCost(200, 0, 200, 0, None)
    answer, shown = await asked(ScanDialog(plan(cost=cost)), "l", "g")
    assert "Likely" not in shown
    assert "200 prompts: 0 known, 200 calls " in shown
    assert answer == ScanChoice(apply=True, likely=False, agreed=False)


async def test_nothing_to_apply() -> None:
    answer, shown = await asked(ScanDialog(plan(changes=(), agreed=True)), "g")
    assert "has this definition in effect" in shown
    assert "Apply" not in shown
    assert "Without applying" not in shown
    assert "[x] From now on" in shown
    assert answer == ScanChoice(apply=False, likely=False, agreed=True)


async def test_a_judge_has_nothing_to_apply() -> None:
    judged = plan(title="judge", changes=(), judge=True, other="Ask AIRS")
    answer, shown = await asked(ScanDialog(judged), "t", "g")
    assert "From now on without asking (t)" in shown
    assert answer == ScanChoice(apply=False, likely=False, agreed=True)
    answer, shown = await asked(ScanDialog(judged), "o", size=(60, 20))
    assert "Ask AIRS (o)" in shown
    assert "Cancel (Esc)" in shown
    assert answer == ScanChoice(apply=False, likely=False, agreed=False, other=True)
    assert (await asked(ScanDialog(plan()), "o"))[0] is NOTHING


async def test_no_service_account() -> None:
    answer, shown = await asked(ScanDialog(plan(changes=None)), "t", "g")
    assert "No service account is set" in shown
    assert "Discard then restores" not in shown
    assert answer == ScanChoice(apply=False, likely=False, agreed=True)


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20)])
async def test_everything_is_visible_and_names_are_inert(size: tuple[int, int]) -> None:
    changes = tuple(f"change {number} of {ATTACK}" for number in range(12))
    shown_plan = plan(title=f"Profile {ATTACK}", changes=changes, warnings=(ATTACK,), unknown=3)
    _, shown = await asked(ScanDialog(shown_plan), size=size)
    for words in (
        "Apply and scan (g)",
        "Likely changes (l)",
        "Without applying (s)",
        "Cancel (Esc)",
    ):
        assert words in shown
    for words in ("From now on without asking", "(t)", "200 prompts: ", "Likely changes only: "):
        assert words in shown
    assert "[/b]" in shown
    assert not {ord(character) for character in shown} - {10} & {
        *range(0x20),
        *range(0x7F, 0xA0),
        0x202E,
    }


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (("m",), "missing"),
        (("k",), "keep"),
        (("enter",), "missing"),
        (("tab", "enter"), "keep"),
        (("tab", "tab", "enter"), None),
        (("escape",), None),
        (("x",), NOTHING),
    ],
)
async def test_each_key_of_answers(keys: tuple[str, ...], answer: object) -> None:
    answers = [("m", "missing", "Scan those first"), ("k", "keep", "Keep anyway")]
    assert (await asked(AnswersDialog("What now?", answers), *keys))[0] == answer


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_answers_are_visible_and_inert(size: tuple[int, int]) -> None:
    answers = [("m", "missing", "Scan those first"), ("k", "keep", "Keep anyway")]
    dialog = AnswersDialog(f"{ATTACK}\nsecond line", answers)
    _, shown = await asked(dialog, size=size)
    for words in ("Scan those first (m)", "Keep anyway (k)", "Cancel (Esc)", "second line"):
        assert words in shown
    assert not {ord(character) for character in shown} - {10} & {
        *range(0x20),
        *range(0x7F, 0xA0),
        0x202E,
    }


async def test_a_button_is_pressed() -> None:
    async def clicked(name: str, run: Callable[[Pilot[int]], Awaitable[None]]) -> object:
        host = Asked(ScanDialog(plan()))
        async with host.app.run_test(size=(80, 24)) as pilot:
            await host.show(pilot)
            await pilot.click(f"#{name}")
            await run(pilot)
            return host.answer

    async def rest(pilot: Pilot[int]) -> None:
        await pilot.pause()

    assert await clicked("likely", rest) == ScanChoice(apply=True, likely=True, agreed=False)
    assert await clicked("no", rest) is None

    async def then_scan(pilot: Pilot[int]) -> None:
        await pilot.pause()
        await pilot.press("g")
        await pilot.pause()

    assert await clicked("agreed", then_scan) == ScanChoice(apply=True, likely=False, agreed=True)


# --- the line of a scan ---------------------------------------------------------------------


def line(width: int = 120, *, done: int = 40, total: int = 100, **traffic: Any) -> str:
    progress = Progress("scanning", done, total, traffic.pop("errors", 0), traffic.pop("known", 0))
    return scan_text(ScanStatus("scanning", progress, Traffic(**traffic)), width).plain


def test_the_line_shows_progress_and_rate() -> None:
    shown = line(rate=5.0, in_flight=4, retries=2, refused=3, known=7, errors=1)
    for words in ("40/100", "5/s", "12 s left", "in flight 4", "known 7", "retries 2", "refused 3"):
        assert words in shown
    assert shown.endswith("errors 1")
    assert shown.count("█") / shown.count("░") == pytest.approx(0.4 / 0.6, rel=0.2)


def test_the_line_shows_why_a_scan_waits() -> None:
    assert "⏸ paused" in line(held=True, paused=30.0, rate=5.0)
    assert "waits 30 s, as asked" in line(paused=30.0, rate=5.0)
    assert "left" not in line(rate=0.0)
    assert line(done=0, total=0).count("█") == 0


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_narrow_line_has_the_essentials(width: int) -> None:
    shown = line(width, rate=5.0, in_flight=4, retries=2, refused=3, known=7, errors=1)
    assert "in flight" not in shown
    assert "40/100" in shown
    assert "errors 1" in shown
    if width >= 80:
        assert len(shown) <= width - 2


def test_a_problem_has_a_sign_and_is_inert() -> None:
    shown = scan_text(ScanStatus(f"not scanned: {ATTACK}\nmore", problem=True), 80).plain
    assert shown.startswith("AIRS ✗ ")
    assert not {ord(character) for character in shown} & {*range(0x20), *range(0x7F, 0xA0), 0x202E}


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.0, "1 s"), (12.4, "12 s"), (89.9, "90 s"), (90.0, "2 min"), (5000.0, "83 min"),
     (5400.0, "1.5 h")],
)  # fmt: skip
def test_a_time_to_come(seconds: float, told: str) -> None:
    assert duration_text(seconds) == told
