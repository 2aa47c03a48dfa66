"""Vim's keys: motions as functions, commands against Vim itself, and the fields under them."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from guardtui.domain.topic import Topic
from guardtui.tui.editor.vim import (
    Mode,
    Register,
    Vim,
    first_of_line,
    line_end,
    line_start,
    next_word,
    on_character,
    word_before,
    word_end,
)
from tests.tui.editor.test_pane import BenchApp

TEXTS = st.text(st.sampled_from("ab_é1 -.\"'\\\t\n"), max_size=30)


@st.composite
def placed(draw: st.DrawFn) -> tuple[str, int]:
    """A text and an offset that the cursor can stand on."""
    text = draw(TEXTS)
    return text, on_character(text, draw(st.integers(0, len(text))))


@given(placed())
def test_motions_stay_within_the_text_and_go_their_way(at: tuple[str, int]) -> None:
    text, offset = at
    assert offset <= next_word(text, offset) <= len(text)
    assert 0 <= word_before(text, offset) <= offset
    assert offset <= word_end(text, offset) <= len(text)
    start, end = line_start(text, offset), line_end(text, offset)
    assert start <= first_of_line(text, offset) <= end
    assert "\n" not in text[start:end]
    assert on_character(text, offset) == offset


@given(placed())
def test_back_from_the_next_word_is_where_this_one_began_or_later(at: tuple[str, int]) -> None:
    text, offset = at
    there = next_word(text, offset)
    back = word_before(text, there)
    assert back <= there
    if there < len(text) and not text[offset].isspace():
        assert back == max(word_before(text, min(offset + 1, there)), 0)


def typed(text: str, offset: int, keys: list[str], vim: Vim | None = None) -> tuple[str, int, Vim]:
    """Return text, cursor and Vim after some keys."""
    vim = vim or Vim(Register())
    for key in keys:
        outcome = vim.press(key, text, offset)
        if outcome is None:
            if vim.mode is Mode.INSERT and len(key) == 1:
                text, offset = text[:offset] + key + text[offset:], offset + 1
            continue
        assert 0 <= outcome.start <= outcome.stop <= len(text)
        text = text[: outcome.start] + outcome.insert + text[outcome.stop :]
        offset = outcome.offset
        assert 0 <= offset <= len(text)
        if vim.mode is Mode.NORMAL:
            assert offset == on_character(text, offset)
    return text, offset, vim


KEYS = st.lists(
    st.one_of(st.sampled_from("hjklwbe0^$xDCdciIaAup123Z "),
              st.sampled_from(["escape", "enter", "left", "ctrl+r", "delete", "home"])),
    max_size=25,
)  # fmt: skip


@given(placed(), KEYS)
def test_cursor_stays_on_the_text_whatever_is_pressed(at: tuple[str, int], keys: list[str]) -> None:
    _, _, vim = typed(*at, [*keys, "escape", "escape"])
    assert (vim.mode, vim.pending) == (Mode.NORMAL, "")


@pytest.mark.parametrize(
    ("keys", "expected", "at"),
    [
        ("wwCnew<", "all the new", 10),
        ("wwD", "all the ", 7),
        ("ddp", "all the text here", 16),
        ("wcc.<", ".", 0),
        ("wxxxp", "all  etext here", 5),
        ("dwx", "ll the text here", 0),  # an operator takes no motion: d is forgotten
        ("2wx", "all he text here", 4),  # nor is there a count
    ],
)
def test_commands_change_the_text(keys: str, expected: str, at: int) -> None:
    pressed = ["escape" if key == "<" else key for key in keys]
    assert typed("all the text here", 0, pressed)[:2] == (expected, at)


def test_register_of_one_field_is_put_into_another() -> None:
    text, offset, vim = typed("one two", 3, list("dd"))
    assert (text, offset) == ("", 0)
    assert typed("", 0, ["p"], Vim(vim.register))[0] == "one two"


# --- against Vim ------------------------------------------------------------------------------

ORACLE = r"""
set nojoinspaces
let out = []
for case in json_decode(join(readfile($CASES), ""))
  %d _
  call setline(1, split(case[0], "\n", 1))
  call setreg('"', '', 'c')
  let rows = split(strcharpart(case[0], 0, case[1]), "\n", 1)
  call setcursorcharpos(len(rows), strchars(rows[-1]) + 1)
  for keys in case[2]
    exe "normal! " . keys
  endfor
  let at = getcursorcharpos()
  let above = at[1] > 1 ? join(getline(1, at[1] - 1), "\n") . "\n" : ""
  call add(out, [join(getline(1, "$"), "\n"), strchars(above) + at[2] - 1, getreg('"')])
endfor
call writefile([json_encode(out)], $ANSWERS)
qa!
"""

WORDS = ["foo", "bar-baz", "a", "(x", "é1", '"say', 'hi"', "'", "_b,c", "...", '"', " "]
MOTIONS = [*"hlwbe0^$"]
COMMANDS = ["dd", "ccnew", "D", "Cz", "x", "ix", "az", "Iq", "Ar"]


def commands(choose: random.Random) -> list[str]:
    """Return a few commands, each complete."""
    moves = choose.choices(MOTIONS, k=choose.randint(0, 3))
    last = choose.choice([[choose.choice(COMMANDS)], [choose.choice("xD"), "p"], []])
    return [*moves, *last]


@pytest.mark.process
@pytest.mark.skipif(shutil.which("vim") is None, reason="Vim is not installed")
@pytest.mark.parametrize("lines", [False, True])
def test_vim_makes_the_same_of_it(tmp_path: Path, lines: bool) -> None:
    seed = 8
    choose = random.Random(seed)
    cases: list[tuple[str, int, list[str]]] = []
    for _ in range(1500):
        breaks = [" ", "", "\n", "\n\n"] if lines else [" ", "", "  "]
        text = "".join(
            choose.choice(WORDS) + choose.choice(breaks) for _ in range(choose.randint(1, 6))
        ).strip()
        offset = on_character(text, choose.randint(0, len(text)))
        cases.append((text, offset, commands(choose)))
    (tmp_path / "cases").write_text(json.dumps(cases), "utf-8")
    (tmp_path / "oracle.vim").write_text(ORACLE, "utf-8")
    subprocess.run(
        ["vim", "-u", "NONE", "-i", "NONE", "-nN", "-es", "-S", "oracle.vim",
         "--cmd", "set encoding=utf-8"],
        cwd=tmp_path,
        env={**os.environ, "CASES": "cases", "ANSWERS": "answers"},
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )  # fmt: skip
    answers = json.loads((tmp_path / "answers").read_text("utf-8"))
    assert len(answers) == len(cases)
    wrong = []
    for (text, offset, keys), (expected, at, register) in zip(cases, answers, strict=True):
        now, at_now, vim = text, offset, Vim(Register())
        for command in keys:
            now, at_now, _ = typed(now, at_now, [*command, "escape"], vim)
        if (now, at_now, vim.register.text) != (expected, at, register.removesuffix("\n")):
            wrong.append((text, offset, keys, "Vim:", expected, at, register, "here:", now, at_now))
    assert wrong == []


# --- in the fields ----------------------------------------------------------------------------


async def reads(pilot: Pilot[None], app: BenchApp, mode: str) -> None:
    """Wait until the editor's border says this."""
    async with asyncio.timeout(120):
        while app.editor.border_subtitle != mode:
            await pilot.pause()
            await asyncio.sleep(0)


async def test_keys_edit_the_field_and_undo_takes_a_whole_command_back() -> None:
    app = BenchApp()
    async with app.run_test(size=(60, 20)) as pilot:
        app.editor.vim = True
        field = app.field("description")
        field.focus()
        await reads(pilot, app, "NORMAL")
        await pilot.press("0", "w", "c")
        await reads(pilot, app, "NORMAL c")
        await pilot.press("escape", "C", *"law and order", "escape")
        assert app.topic.description == "Personal law and order"
        await pilot.press("A")
        await reads(pilot, app, "INSERT")
        await pilot.press(*", here", "escape", "x")
        assert app.topic.description == "Personal law and order, her"
        for expected in (
            "Personal law and order, here",
            "Personal law and order",
            "Personal tax advice",
        ):
            await pilot.press("u")
            await pilot.pause()
            assert app.topic.description == expected
        assert field.text == app.topic.description


async def test_j_and_k_go_from_field_to_field_and_the_register_goes_along() -> None:
    app = BenchApp()
    async with app.run_test(size=(60, 20)) as pilot:
        app.editor.vim = True
        app.field("name").focus()
        await pilot.press("D", "j")
        assert app.focused is app.field("description")
        await pilot.press("$", "p")
        assert app.topic.description == "Personal tax adviceTax"
        await pilot.press("k")
        assert app.focused is app.field("name")
        await pilot.press(*"jjjjjjj")
        assert app.focused is app.editor.query_one("#intent")
        await pilot.press("h", "k")
        assert app.topic.intent.value == "allow"
        assert app.focused is app.field("example-5")


async def test_j_goes_by_wrapped_lines_first() -> None:
    app = BenchApp(Topic(name="Tax", description="word " * 20, examples=()))
    async with app.run_test(size=(60, 20)) as pilot:
        app.editor.vim = True
        field = app.field("description")
        field.focus()
        await pilot.press("0", "j")
        assert app.focused is field
        assert field.cursor_location[1] > 20
        await pilot.press("k")
        assert field.cursor_location == (0, 0)
        await pilot.press("k")
        assert app.focused is app.field("name")


async def test_keys_that_delete_text_do_nothing_in_normal_mode() -> None:
    app = BenchApp()
    async with app.run_test(size=(60, 20)) as pilot:
        app.editor.vim = True
        app.field("description").focus()
        await pilot.press("ctrl+w", "ctrl+k", "ctrl+u", "ctrl+d")
        assert app.topic.description == "Personal tax advice"


async def test_without_vim_letters_are_letters() -> None:
    app = BenchApp()
    async with app.run_test(size=(60, 20)) as pilot:
        app.field("name").focus()
        await pilot.press("end", "d", "d")
        assert app.topic.name == "Taxdd"
        app.editor.vim = True
        await pilot.press("x")
        assert app.topic.name == "Taxd"
        app.editor.vim = False
        await pilot.press("x")
        assert app.topic.name in ("Taxxd", "Taxdx")
        assert not app.editor.border_subtitle
