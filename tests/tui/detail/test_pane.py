"""The detail pane: verdicts as a strip, signs after words, and its empty states."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import Selection

from guardtui.domain.profile import NO_ALLOW
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Outcome
from guardtui.scanners.local.explanation import Contribution, Explanation
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.detail.pane import (
    LOWERS,
    RAISES,
    DetailPane,
    MarkedText,
    PromptDetail,
    detail_text,
    history_strip,
    strengths,
)
from guardtui.tui.main.screen import MainScreen
from tests.tui.tax_app import drive, frame, topic_path, until

__all__ = ["topic_path"]

TP, TN, FP, FN, ERROR = Outcome.TP, Outcome.TN, Outcome.FP, Outcome.FN, Outcome.ERROR


def word(text: str, at: int, z: float) -> Contribution:
    return Contribution(at, at + len(text), text, z)


def detail(prompt: str, *words: Contribution) -> PromptDetail:
    explanation = Explanation(0.0, 0.5, 0.0, 0.0, (), 0, words, True)
    return PromptDetail(
        prompt, 2, True, FN, 0.4, 0.5, 0, "", Topic(), [(0, FN)], explanation if words else None
    )


@pytest.mark.parametrize(
    ("stopped_by", "note", "told", "missing"),
    [
        ((), "", [], ["stopped by", "!"]),
        (("mine", "other"), "", ["stopped by: mine, other"], ["not by this topic"]),
        (("other \x1b[31m",), "", ["stopped by: other ␛[31m  (not by this topic)"], ["\x1b"]),
        ((NO_ALLOW,), "", ["stopped by: (no allow topic matched)"], ["not by this topic"]),
        (tuple("abcdefg"), "", ["a, b, c, d, e and 2 more"], [", f"]),
        ((), "odd\x07 [b]", ["! odd␇ [b]"], ["stopped by", "\x07"]),
    ],
)
def test_the_topic_that_stopped_it_and_doubts_are_shown(
    stopped_by: tuple[str, ...], note: str, told: list[str], missing: list[str]
) -> None:
    one = replace(detail("A prompt"), topic=Topic(name="mine"), note=note, stopped_by=stopped_by)
    text, _ = detail_text(one, 80, marked=True)
    assert all(part in text.plain for part in told)
    assert not any(part in text.plain for part in missing)


def test_a_language_that_the_engine_has_not_learnt_is_marked_beside_the_score() -> None:
    known = detail("A prompt", word("A", 0, 1.0))
    assert known.explanation is not None
    strange = replace(known, explanation=replace(known.explanation, unknown_language="Hindi"))
    first = detail_text(strange, 120, marked=True)[0].plain.splitlines()[0]
    assert first.endswith("score 0.400 < threshold 0.500  ? Hindi, which the engine has not learnt")
    assert "learnt" not in detail_text(known, 120, marked=True)[0].plain


@pytest.mark.parametrize("reason", ["", "not sent: \x1b[31m"])
def test_an_open_prompt_is_no_error(reason: str) -> None:
    one = replace(detail("A prompt"), outcome=Outcome.OPEN, error=reason)
    first = detail_text(one, 80, marked=True)[0].plain.splitlines()[0]
    assert first.startswith("line 2  … OPEN")
    assert f"not asked{reason and ': not sent: ␛[31m'}" in first
    assert "no verdict" not in first


# --- the strip ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "told"),
    [
        ([FN], "verdicts #0 ✗ FN"),
        ([FN, TP], "verdicts #0 ✗┃✓ #1 TP  (before #1: FN)"),
        ([Outcome.OPEN, TP], "verdicts #0 …┃✓ #1 TP  (before #1: OPEN)"),
        ([TP, TP, TP], "verdicts #0 ✓✓✓ #2 TP  (always)"),
        ([None, ERROR, FP, TN, TN], "verdicts #0 ·┃?┃✗┃✓✓ #4 TN  (before #3: FP)"),
    ],
)
def test_the_strip_has_a_sign_for_each_iteration(outcomes: list[Outcome | None], told: str) -> None:
    assert history_strip(list(enumerate(outcomes)), 80).plain == told


def test_a_long_strip_keeps_the_newest() -> None:
    outcomes: list[Outcome | None] = [*[TP, FN] * 40, TP, TP, TP]
    strip = history_strip(list(enumerate(outcomes, start=7)), 40).plain
    assert len(strip) <= 40
    assert "…" in strip
    assert strip.endswith("┃✓✓✓ #89 TP")


@given(
    st.lists(st.sampled_from([*Outcome, None]), min_size=1, max_size=300),
    st.integers(40, 200),
)
def test_the_strip_fits_and_ends_with_the_last(outcomes: list[Outcome | None], width: int) -> None:
    strip = history_strip(list(enumerate(outcomes)), width).plain
    assert len(strip) <= width
    last = outcomes[-1]
    assert (last.name if last is not None else "not in the set") in strip


# --- words ----------------------------------------------------------------------------------


def test_words_that_raise_and_lower_differ_without_colour() -> None:
    text, signs = detail_text(
        detail("pay no tax at all", word("pay", 0, 0.5), word("no", 4, -0.9), word("tax", 7, 1.0)),
        80,
        marked=True,
    )
    assert f"pay{RAISES * 2} no{LOWERS * 3} tax{RAISES * 3} at all" in text.plain
    assert [text.plain[start:end] for start, end in signs] == [
        RAISES * 2,
        LOWERS * 3,
        RAISES * 3,
    ]
    assert "raises" in text.plain


def test_words_and_nearest_part_are_the_engines_view_of_the_verdict_of_another() -> None:
    shown = detail("pay no tax", word("tax", 7, 1.234))
    own = detail_text(shown, 80, marked=True)[0].plain
    other = detail_text(replace(shown, by_engine=False), 80, marked=True)[0].plain
    assert "engine" not in own
    assert f"the engine's view: nearest: the description  {RAISES} raises" in other
    assert "1.23" not in own + other
    without = detail_text(replace(shown, by_engine=False), 80, marked=False)[0].plain
    assert "raises" not in without


def test_without_signs_the_prompt_is_unchanged() -> None:
    shown = detail("pay no tax", word("pay", 0, 0.5), word("tax", 7, 1.0))
    text, signs = detail_text(shown, 80, marked=False)
    assert "pay no tax" in text.plain.splitlines()
    assert not signs


def test_weak_words_and_words_of_no_effect_get_no_sign() -> None:
    marked = strengths([word("a", 0, 1.0), word("b", 2, 0.05), word("c", 4, -0.2)])
    assert [(one.word, sign) for one, sign in marked] == [("a", RAISES * 3), ("c", LOWERS)]
    assert strengths([word("a", 0, 0.0)]) == []
    assert strengths([]) == []


@pytest.mark.parametrize("prompt", ["one two", "one two\nthree", "one two" + " and more" * 40])
def test_the_places_of_signs_are_right_wherever_the_prompt_stands(prompt: str) -> None:
    text, signs = detail_text(
        detail(prompt, word("one", 0, 1.0), word("two", 4, -1.0)), 80, marked=True
    )
    assert [text.plain[start:end] for start, end in signs] == [RAISES * 3, LOWERS * 3]


def test_a_hostile_prompt_with_marks_is_inert() -> None:
    prompt = "a\x1b]52;c;aGk=\x07 tax \u202e[red]"
    text, _ = detail_text(detail(prompt, word("tax", prompt.index("tax"), 1.0)), 80, marked=True)
    codes = {ord(character) for character in text.plain} - {10}
    assert not codes & {*range(0x20), *range(0x7F, 0xA0), 0x202E}
    assert "hidden characters" in text.plain


async def test_text_is_selected_with_the_mouse_and_copied(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        shown = main.query_one(DetailPane).query_one(MarkedText)
        await until(pilot, lambda: "raises" in str(shown.render()))
        await pilot.pause()  # the pane grows by the line of the words
        await pilot.mouse_down(shown, offset=(0, 1))
        await pilot.hover(shown, offset=(60, 1))
        await pilot.mouse_up(shown, offset=(60, 1))
        assert main.get_selected_text() == "keep more of my bonus from the state"
        await pilot.press("ctrl+c")
        await until(pilot, lambda: app.clipboard == "keep more of my bonus from the state")

    await drive(topic_path, run)


async def test_the_signs_are_switched_off_by_a_key_and_the_prompt_copied(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await until(pilot, lambda: LOWERS in frame(app))
        main.query_one("#detail").focus()
        await pilot.press("m")
        await until(pilot, lambda: "keep more of my bonus" in frame(app).split("Detail")[1])
        assert LOWERS not in frame(app)
        await pilot.press("y")
        assert app.clipboard == "keep more of my bonus from the state"
        await pilot.press("m")
        await until(pilot, lambda: LOWERS in frame(app))

    await drive(topic_path, run)


# --- nothing to show ------------------------------------------------------------------------


class OnePane(App[None]):
    """The pane by itself."""

    def compose(self) -> ComposeResult:
        yield DetailPane()


async def test_an_empty_pane_shows_a_hint() -> None:
    app = OnePane()
    async with app.run_test() as pilot:
        pane = app.query_one(DetailPane)
        text = pane.query_one(MarkedText)
        pane.show(None)
        await pilot.pause()
        assert "Nothing is evaluated yet" in str(text.render())
        pane.show(None, evaluated=True)
        assert "No prompt is selected" in str(text.render())
        pane.show(detail("a prompt"))
        assert "a prompt" in str(text.render())
        pane.show(None)
        assert "No prompt is selected" in str(text.render())
        pane.action_copy_shown()
        assert app.clipboard == ""


async def test_a_selection_leaves_the_signs_out() -> None:
    app = OnePane()
    async with app.run_test(size=(80, 20)) as pilot:
        pane = app.query_one(DetailPane)
        # Signs of the prompt's own stay.
        pane.show(detail(f"pay {RAISES} tax", word("pay", 0, 0.9), word("tax", 6, -1.0)))
        await pilot.pause()
        shown = pane.query_one(MarkedText)
        assert f"pay{RAISES * 3} {RAISES} tax{LOWERS * 3}" in str(shown.render())
        chosen = shown.get_selection(Selection(Offset(0, 1), Offset(40, 1)))
        assert chosen is not None
        assert chosen[0] == f"pay {RAISES} tax"


async def test_the_strip_is_redrawn_for_another_width() -> None:
    app = OnePane()
    async with app.run_test(size=(120, 20)) as pilot:
        pane = app.query_one(DetailPane)
        history: list[tuple[int, Outcome | None]] = [(at, (TP, FN)[at % 2]) for at in range(30)]
        pane.show(replace(detail("a prompt"), history=history))
        text = pane.query_one(MarkedText)
        assert "verdicts #0 ✓┃✗" in str(text.render())
        await pilot.resize_terminal(50, 20)
        await until(pilot, lambda: "verdicts … " in str(text.render()))
        await pilot.resize_terminal(120, 20)
        await until(pilot, lambda: "verdicts #0 ✓┃✗" in str(text.render()))
