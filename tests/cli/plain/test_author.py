"""Questions as lines: what is asked, which answers count, and what each of them means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from guardtui.app.airs.profile_changes import ShowChanges
from guardtui.app.ports import Choose, ChooseAnswer, Confirm
from guardtui.app.scan.plan import FlipGoal, FlipPlan, ScanChoice, ScanCost, ScanPlan
from guardtui.cli.plain import author as module
from guardtui.cli.plain.author import PlainAuthor
from guardtui.domain.estimates import RateEstimate

CONFIRM = Confirm("Keep anyway?", "Keep", "Cancel")
ANSWERS = ChooseAnswer("Not scanned.", (("s", "scan", "Scan first"), ("k", "keep", "Keep anyway")))
PROFILES = Choose("Security profile", ("prod", "y\x1b[2J"))
COST = ScanCost(20, 5, 8, 2, None)
PLAN = ScanPlan("Profile p\x1b", ("topic T is created",), ("it is shared",), COST, agreed=False)
FLIPS = FlipPlan(PLAN, RateEstimate(0.5, 0.4, 0.6), 2, 9, 1, FlipGoal(0.02, 50))
SCAN = ScanChoice(apply=True, likely=False, agreed=False)

Ask = Callable[..., Any]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Ask an author a question; the lines are what comes, an exception is raised."""

    async def ask_(question: Any, *lines: str | BaseException, typing: bool = False) -> Any:
        coming: Iterator[str | BaseException] = iter(lines)

        def read_line(sign: str) -> str:
            line = next(coming, EOFError())
            if isinstance(line, BaseException):
                raise line
            return line

        monkeypatch.setattr(module, "read_line", read_line)
        author = PlainAuthor()
        author.is_typing = typing
        answer = await author.ask(question)
        rest = []
        while True:
            try:
                rest.append(author.read())
            except EOFError:
                return (answer, *rest)

    return ask_


@pytest.mark.parametrize(
    ("question", "line", "answer"),
    [
        (CONFIRM, "y", True),
        (CONFIRM, "YES", True),
        (CONFIRM, "no", False),
        (ANSWERS, "S", "scan"),
        (ANSWERS, "k", "keep"),
        (ANSWERS, "n", None),
        (PROFILES, "2", PROFILES.names[1]),
        (PROFILES, "n", None),
        (PLAN, "y", SCAN),
        (PLAN, "n", None),
        (FLIPS, "y", ScanChoice(True, likely=False, agreed=False, goal=FLIPS.goal)),
        (FLIPS, "n", None),
    ],
)
async def test_a_line_is_the_answer(ask: Ask, question: Any, line: str, answer: Any) -> None:
    assert await ask(question, line, "next") == (answer, "next")


@pytest.mark.parametrize("question", [CONFIRM, ANSWERS, PROFILES, PLAN, FLIPS])
@pytest.mark.parametrize("typing", [False, True])
async def test_another_line_declines_and_is_the_next_command(
    ask: Ask, question: Any, typing: bool
) -> None:
    assert await ask(question, "quit", "next", typing=typing) == (None, "quit", "next")


@pytest.mark.parametrize("end", [EOFError(), KeyboardInterrupt()], ids=["end", "interrupt"])
async def test_an_end_declines(ask: Ask, end: BaseException) -> None:
    assert await ask(CONFIRM, end, "next", typing=True) == (None, "next")


async def test_a_plan_of_a_scan_is_told_before_anything_is_sent(
    ask: Ask, capfd: pytest.CaptureFixture[str]
) -> None:
    await ask(PLAN)
    assert capfd.readouterr().out == (
        "Scan with AIRS\nProfile p␛\nTo have this definition in effect:\n"
        "  + topic T is created\n⚠ it is shared\n20 prompts: 5 known, 15 calls.\n"
        "y: Apply and scan\nn: Cancel, nothing is sent\nNot answered: nothing is changed.\n"
    )
    await ask(FLIPS)
    told = capfd.readouterr().out
    assert "until the interval is as narrow as ±0.02, with at most 50 calls.\n9 prompts in" in told


async def test_a_question_of_the_screen_alone_is_dismissed(ask: Ask) -> None:
    assert await ask(ShowChanges("p", 1, (), ()), "y") == (None, "y")


@pytest.mark.parametrize(
    ("severity", "out", "err", "code"),
    [
        ("information", "AIRS: a␛b\nc\n", "", 0),
        ("warning", "", "warning: AIRS: a␛b\nc\n", 0),
        ("error", "", "error: AIRS: a␛b\nc\n", 2),
    ],
)
def test_messages_are_inert_lines(
    capfd: pytest.CaptureFixture[str], severity: Any, out: str, err: str, code: int
) -> None:
    author = PlainAuthor()
    author.is_typing = False
    author.notify("a\x1bb\nc", title="AIRS", severity=severity)
    assert capfd.readouterr() == (out, err)
    assert author.exit_code == code
