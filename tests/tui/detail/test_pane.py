"""The detail pane: verdicts in words, shaded words, and its empty states."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Static

from guardtui.advice.word_effects import strongest_words
from guardtui.domain.profile import NO_ALLOW
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import Outcome
from guardtui.scanners.local.explanation import Contribution, Explanation
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.detail.pane import (
    LOWERS,
    RAISES,
    DetailPane,
    OtherVerdict,
    PromptDetail,
    detail_text,
    history_text,
    outcome_text,
)
from guardtui.tui.main.screen import MainScreen
from tests.tui.tax_app import drive, topic_path, until

__all__ = ["topic_path"]

TP, TN, FP, FN, ERROR = Outcome.TP, Outcome.TN, Outcome.FP, Outcome.FN, Outcome.ERROR


def word(text: str, at: int, z: float) -> Contribution:
    return Contribution(at, at + len(text), text, z)


def detail(prompt: str, *words: Contribution) -> PromptDetail:
    explanation = Explanation(0.0, 0.5, 0.0, 0.0, (), 0, words, True)
    return PromptDetail(
        prompt,
        2,
        True,
        FN,
        0.4,
        0.5,
        0,
        "",
        Topic(),
        [("engine", 0, FN)],
        explanation if words else None,
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
    text = detail_text(one)
    assert all(part in text.plain for part in told)
    assert not any(part in text.plain for part in missing)


def test_a_language_that_the_engine_has_not_learnt_is_marked_beside_the_score() -> None:
    known = detail("A prompt", word("A", 0, 1.0))
    assert known.explanation is not None
    strange = replace(known, explanation=replace(known.explanation, unknown_language="Hindi"))
    first = detail_text(strange).plain.splitlines()[0]
    assert "score 0.400 < threshold 0.500  ? Hindi, which the engine has not learnt" in first
    assert "learnt" not in detail_text(known).plain


@pytest.mark.parametrize("reason", ["", "not sent: \x1b[31m"])
def test_an_open_prompt_is_no_error(reason: str) -> None:
    one = replace(detail("A prompt"), outcome=Outcome.OPEN, error=reason)
    first = detail_text(one).plain.splitlines()[0]
    assert first.startswith(f"… not scanned{reason and ': not sent: ␛[31m'}  label: ")
    assert "no verdict" not in first


# --- verdicts of the iterations -------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "told"),
    [
        ([FN], "history  engine: #0 ✗ missed"),
        ([FN, TP], "history  engine: #0 ✗ missed, #1 ✓ rightly stopped"),
        ([Outcome.OPEN, TP], "history  engine: #0 … not scanned, #1 ✓ rightly stopped"),
        ([TP, TP, TP], "history  engine: #0 to #2 ✓ rightly stopped"),
        (
            [None, ERROR, FP, TN, TN],
            "history  engine: … #1 ? no verdict, #2 ✗ wrongly stopped, #3 to #4 "
            "✓ rightly let through",
        ),
    ],
)
def test_the_history_reads_as_words(outcomes: list[Outcome | None], told: str) -> None:
    history = [("engine", number, outcome) for number, outcome in enumerate(outcomes)]
    assert history_text(history).plain == told


def test_the_history_names_the_guardrail_of_each_verdict() -> None:
    history = [("engine", 0, FN), ("AIRS prod", 1, FN), ("engine", 2, FN), ("AIRS prod", 3, TP)]
    assert history_text(history).plain == (
        "history  engine: #0 to #2 ✗ missed · AIRS prod: #1 ✗ missed, #3 ✓ rightly stopped"
    )


@given(st.lists(st.sampled_from([*Outcome, None]), min_size=1, max_size=300))
def test_the_history_ends_with_the_last_iteration(outcomes: list[Outcome | None]) -> None:
    history = [("engine", number, outcome) for number, outcome in enumerate(outcomes)]
    told = history_text(history).plain.rpartition(", ")[2]
    assert f"#{len(outcomes) - 1} {outcome_text(outcomes[-1]).plain}" in told


def test_the_verdict_of_another_guardrail_reads_as_words() -> None:
    verdict = OtherVerdict("prod", 3, FP, False, stopped_by=("Tax",))
    text = detail_text(replace(detail("A prompt"), others=[verdict])).plain
    assert "prod ✗ wrongly stopped  in #3, another definition  stopped by: Tax" in text


# --- words ----------------------------------------------------------------------------------


def shaded(text: Text) -> dict[str, str]:
    """The shaded words with their styles."""
    return {
        text.plain[span.start : span.end]: str(span.style)
        for span in text.spans
        if span.style in (RAISES, LOWERS)
    }


def test_words_that_raise_and_lower_differ_without_colour() -> None:
    words = word("pay", 0, 0.5), word("not", 4, -0.9), word("tax", 8, 1.0)
    text = detail_text(detail("pay not tax at all", *words))
    assert shaded(text) == {
        "pay": RAISES,
        "not": LOWERS,
        "tax": RAISES,
        "raises": RAISES,
        "lowers": LOWERS,
    }
    assert "pay not tax at all" in text.plain.splitlines()
    assert {"bold", "underline"} <= set(RAISES.split())
    assert not {"bold", "underline"} & set(LOWERS.split())


def test_words_and_nearest_part_are_the_engines_view_of_the_verdict_of_another() -> None:
    shown = detail("pay no tax", word("tax", 7, 1.234))
    own = detail_text(shown).plain
    other = detail_text(replace(shown, by_engine=False)).plain
    assert "the engine" not in own
    assert "the engine's view: nearest: the name  raises the score" in other
    assert "1.23" not in own + other


def test_only_three_words_of_meaning_with_an_effect_are_shaded() -> None:
    words = [
        word(name, at, z)
        for at, (name, z) in enumerate(
            [
                ("you", 3.0),
                ("tax", 1.0),
                ("dog", 0.05),
                ("a bill", -0.2),
                ("fee", 0.4),
                ("sum", 0.3),
            ]
        )
    ]
    assert [one.word for one in strongest_words(words)] == ["tax", "fee", "sum"]
    assert [one.word for one in strongest_words(words[:4])] == ["tax", "a bill"]
    assert strongest_words([word("tax", 0, 0.0)]) == []
    assert strongest_words([]) == []


@pytest.mark.parametrize("prompt", ["tax day", "tax day\nthree", "tax day" + " and more" * 40])
def test_the_shaded_words_are_right_wherever_the_prompt_stands(prompt: str) -> None:
    text = detail_text(detail(prompt, word("tax", 0, 1.0), word("day", 4, -1.0)))
    assert {"tax": RAISES, "day": LOWERS}.items() <= shaded(text).items()


def test_a_hostile_prompt_with_shaded_words_is_inert() -> None:
    prompt = "a\x1b]52;c;aGk=\x07 tax \u202e[red]"
    text = detail_text(detail(prompt, word("tax", prompt.index("tax"), 1.0)))
    codes = {ord(character) for character in text.plain} - {10}
    assert not codes & {*range(0x20), *range(0x7F, 0xA0), 0x202E}
    assert "hidden characters" in text.plain


async def test_text_is_selected_with_the_mouse_and_copied(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        shown = main.query_one(DetailPane).query_one(Static)
        await until(pilot, lambda: "lowers" in str(shown.render()))
        await pilot.pause()
        await pilot.mouse_down(shown, offset=(0, 1))
        await pilot.hover(shown, offset=(60, 1))
        await pilot.mouse_up(shown, offset=(60, 1))
        assert main.get_selected_text() == "keep more of my bonus from the state"
        await pilot.press("ctrl+c")
        await until(pilot, lambda: app.clipboard == "keep more of my bonus from the state")
        main.query_one("#detail").focus()
        app.copy_to_clipboard("")
        await pilot.press("y")
        assert app.clipboard == "keep more of my bonus from the state"

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
        text = pane.query_one(Static)
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
