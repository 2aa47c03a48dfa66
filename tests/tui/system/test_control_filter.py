"""No text of others reaches the terminal as anything but plain text, on any screen.

Hostile text stands wherever text can come from; every line of every widget in sight is looked at.
"""

from __future__ import annotations

import asyncio
import csv
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rich.text import Text
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from guardtui.domain.topic import Intent, Topic
from guardtui.files.topic_files import TopicFile, save_topic
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.main.screen import MainScreen
from tests.tui.frames_app import Changed, at_rest, make_app, with_errors
from tests.tui.stage import folders
from tests.tui.tax_app import main_screen, until

ATTACKS = (
    "\x1b]52;c;aGk=\x07",
    "\x1b]0;owned\x1b\\",
    "\x1b[31mred\x1b[0m\x1b[2J\x1b[H",
    "\x9b31m\x9d0;x\x9c",
    "\x00\x08\x0b\x0c\x0e\x7f\x85",
    "\u202eabc\u202c \u2066x\u2069 \u200f\u061c",
    "a\u200bb\u200dc\ufeffd\u2028e\u2029f",
    "".join(chr(0xE0000 + ord(one)) for one in "ignore"),
    "[/INST] [bold red] [/] [link=x]y[/link] [@click=app.quit]z[/]",
    "w" * 10_000,
    "e" + "\u0301\u0489" * 200,
    "👩\u200d💻👨\u200d👩\u200d👧🏳\ufe0f\u200d🌈",
    "$(reboot) `x` %s {0} \\x1b",
    "タイ" * 40,
)

FORBIDDEN = {
    *range(0x20),
    *range(0x7F, 0xA0),
    0x061C,
    0x200E,
    0x200F,
    *range(0x2028, 0x202F),
    *range(0x2066, 0x206A),
    *range(0xD800, 0xE000),
}
"""Control characters, bidi controls, separators of lines, and surrogates."""

hostile = st.lists(
    st.one_of(
        st.sampled_from(ATTACKS),
        st.text(max_size=12),
        st.sampled_from(sorted(map(chr, FORBIDDEN - {*range(0xD800, 0xE000)}))),
    ),
    min_size=4,
    max_size=9,
).map("".join)
surrogates = st.text(st.characters(categories=["Cs"]), min_size=1, max_size=3)
"""A str can hold them: names of files and what other programs answer do."""

EXAMPLES = settings(
    max_examples=2,
    phases=[Phase.generate],  # an attack is read as it is; a smaller one takes a minute to find
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
"""Each opens an app and walks through a dozen screens, so that a few go a long way."""


def lines_of(app: GuardtuiApp) -> list[str]:
    """Every line as it goes to the terminal, and as the widgets draw it before the last gate.

    Fields that Textual draws hold what was typed, and are made inert at the gate only.
    """
    screen = app.screen
    lines = [strip.text for strip in screen._compositor.render_strips()]
    gates, app._filters = app._filters, []
    for widget in screen.walk_children(Widget):
        if widget.size.area and not isinstance(widget, (Input, TextArea)):
            region = widget.size.region
            lines += [widget.render_line(y).text for y in range(region.height)]
    app._filters = gates
    return lines


def assert_inert(app: GuardtuiApp, where: str) -> None:
    for line in lines_of(app):
        results = {hex(ord(one)) for one in line if ord(one) in FORBIDDEN}
        assert not results, f"{where}: {results} in {line!r}"


async def shown(pilot: Pilot[int], app: GuardtuiApp, where: str) -> None:
    await pilot.pause()
    await pilot.pause()
    assert_inert(app, where)


async def closed(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
    while app.screen is not main:
        before = app.screen
        await pilot.press("escape")
        await until(pilot, lambda b=before: app.screen is not b)  # type: ignore[misc]


async def opened(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen, key: str) -> None:
    """Open a dialog by a key, look at it, and close it."""
    await pilot.press(key)
    await until(pilot, lambda: app.screen is not main)
    await shown(pilot, app, f"{key}: {app.screen}")
    await closed(pilot, app, main)


def write(folder: Path, prompt: str, category: str, column: str, topic: Topic, stem: str) -> Path:
    """A topic and prompts as hostile as the files can hold, under a name that is one too."""
    path = folder / f"{stem}.yaml"
    save_topic(TopicFile(path, Topic(), ""), topic)
    with (folder / f"{stem}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt", "expected", "intent", "category", column])
        writer.writerow([f"{prompt}.", "true", "block", category, prompt[:50]])
        writer.writerow(["How do I pay less tax?", "true", "block", category, "x"])
        writer.writerow([f"soup {prompt}", "false", "block", "plain", category])
        writer.writerow(["a b c", "false", "block", "", ""])
    return path


def cell(text: str) -> str:
    """What a CSV file gives back as it was: neither NUL nor a lone return."""
    return text.replace("\0", "\x01").replace("\r", "\x02")


def file_name(text: str) -> str:
    """As much of a text as a name of a file can be."""
    return "a" + text.replace("/", "_").replace("\0", "_").encode()[:80].decode("utf-8", "ignore")


@pytest.fixture(autouse=True)
def quick(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock and the waits of the frames."""
    with folders(tmp_path_factory.mktemp("inert")):
        yield  # type: ignore[misc]


@pytest.mark.exhaustive
@given(text=hostile, other=hostile)
@EXAMPLES
def test_files_full_of_attacks(
    tmp_path_factory: pytest.TempPathFactory, text: str, other: str
) -> None:
    folder = tmp_path_factory.mktemp("files")
    topic = Topic(
        name=other[:60],
        description=text[:200],
        examples=(text[:100] or "x", other[:100] + "!"),
        intent=Intent.BLOCK,
    )
    column = f"col{cell(other)[:40]}"
    path = write(folder, cell(text), cell(other)[:300] or "c", column, topic, file_name(other))

    async def play() -> None:
        app = make_app(path, Changed(with_errors))
        async with app.run_test(size=(100, 40), notifications=True) as pilot:
            main = main_screen(app)
            await at_rest(pilot, main)
            await shown(pilot, app, "main")
            pane = main.panes.results
            pane.table.focus()
            for key in ("7", "home", "end", "c"):
                await pilot.press(key)
                await at_rest(pilot, main)
                await shown(pilot, app, key)
            pane._request_view(category=None)
            for key in ("f4", "f6", "f8", "f9"):
                await opened(pilot, app, main, key)
            await at_rest(pilot, main)
            await pilot.press("home", "I")
            await until(pilot, lambda: app.screen is not main)
            await shown(pilot, app, "one like this")
            await closed(pilot, app, main)
            await opened(pilot, app, main, "E")
            await pilot.press("m", "x")
            await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
            await shown(pilot, app, "a question")
            await closed(pilot, app, main)
            await pilot.press("escape", "home", "y", "Y", "t")
            await shown(pilot, app, "toasts")
            main.panes.editor.show_baseline(
                Topic(name=text[:50], description=other[:90], examples=())
            )
            await shown(pilot, app, "difference")

    asyncio.run(play())


def test_a_file_of_which_the_name_is_no_text(tmp_path: Path) -> None:
    topic = Topic(name="Tax", description="Tax", examples=("Pay less tax?", "Home office?"))
    usual = write(tmp_path, "pay", "c", "d", topic, "tax")
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\x1b]0;x\x07\xfe.yaml"))
    try:
        usual.rename(path)
    except OSError:
        pytest.skip("this file system takes text only")
    usual.with_suffix(".csv").rename(path.with_suffix(".csv"))

    async def play() -> None:
        app = make_app(path)
        async with app.run_test(size=(100, 40), notifications=True) as pilot:
            main = main_screen(app)
            await at_rest(pilot, main)
            await shown(pilot, app, "main")
            await opened(pilot, app, main, "f8")
            main.services.session.edit(topic.model_copy(update={"name": "Other"}))
            await pilot.press("ctrl+s")
            await until(pilot, lambda: bool(app.said.messages))
            await shown(pilot, app, "saved")

    asyncio.run(play())


async def test_the_test_of_lines_detects_drawn_text(tmp_path: Path) -> None:
    """That these tests can fail."""
    topic = Topic(name="Tax", description="Tax", examples=("Pay less tax?", "Home office?"))
    app = make_app(write(tmp_path, "pay", "c", "d", topic, "tax"))
    async with app.run_test(size=(100, 40)) as pilot:
        await at_rest(pilot, main_screen(app))
        app._filters.clear()
        header = main_screen(app).query_one("#header", Static)
        header.update(Text("a\u202eb"))
        await pilot.pause()
        with pytest.raises(AssertionError, match="0x202e"):
            assert_inert(app, "header")
