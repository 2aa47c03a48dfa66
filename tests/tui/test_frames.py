"""Every pane, state and dialog as a frame of text, compared with the stored one.

States and dialogs have one size, the panes all at which they lie otherwise.

Accept a wanted change with `pytest tests/tui/test_frames.py --update-frames`, and look at it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, TextArea

from guardtui.app.labels.inbox import Inbox
from guardtui.domain.inbox import Production
from guardtui.files.prompt_logs import LoggedPrompt
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.labels.screen import LabelScreen
from guardtui.tui.main.screen import MainScreen
from tests.tui.frames_app import (
    FRAMES,
    Album,
    Changed,
    Waiting,
    all_right,
    at_rest,
    file_of,
    freeze,
    make_app,
    with_errors,
    write_topic,
)
from tests.tui.tax_app import main_screen, until

SIZE = (120, 40)
TOO_SMALL = ((20, 5), (39, 11))


@pytest.fixture
def topic_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    freeze(monkeypatch)
    return write_topic(tmp_path)


class Scene:
    """An app under way and what the scenes do to it."""

    def __init__(self, pilot: Pilot[int], app: GuardtuiApp, album: Album) -> None:
        self.pilot, self.app, self.album = pilot, app, album
        self.main: MainScreen = main_screen(app)

    async def rest(self) -> None:
        await at_rest(self.pilot, self.main)

    async def pane(self, name: str) -> None:
        """Have a pane in front, with the focus in it."""
        self.main.panes.show("results" if name == "detail" else name)
        await self.pilot.pause()
        if name == "detail":
            self.main.query_one("#detail").focus()
        await self.pilot.pause()

    async def take(self, name: str) -> None:
        await self.rest()
        self.album.take(name)

    async def each_pane(self, name: str, *panes: str) -> None:
        for pane in panes:
            await self.pane(pane)
            await self.take(f"{name}-{pane}")

    async def dialog(self, name: str, *keys: str) -> Screen[object]:
        """Open a dialog by keys, take its frame, and leave it open."""
        before = self.app.screen
        await self.pilot.press(*keys)
        await until(self.pilot, lambda: self.app.screen is not before)
        await self.take(name)
        return self.app.screen

    async def close(self) -> None:
        while self.app.screen is not self.main:
            before = self.app.screen
            await self.pilot.press("escape")
            await until(self.pilot, lambda b=before: self.app.screen is not b)  # type: ignore[misc]
        await self.pilot.pause()

    async def in_dialog(self, name: str, *keys: str) -> None:
        await self.dialog(name, *keys)
        await self.close()

    async def line(self, text: str) -> None:
        """Put a line into the filter."""
        await self.pane("results")
        await self.pilot.press("slash")
        field = self.main.query_one("#search", Input)
        await until(self.pilot, lambda: field.has_focus)
        field.value = text
        field.cursor_position = len(text)
        await self.rest()

    async def description(self, text: str) -> None:
        """Have another description, with the focus in it."""
        await self.pane("editor")
        field = self.main.query_one("#field-description", TextArea)
        field.focus()
        field.load_text(text)
        await until(self.pilot, lambda: self.main.services.session.topic.description == text)
        await self.rest()


Play = Callable[[Scene], Awaitable[None]]


async def panes(scene: Scene) -> None:
    """The panes and one of them alone; on a broad screen those that stand beside the results."""
    if scene.main.panes.broad:
        await scene.each_pane("pane", "history", "categories")
        return
    await scene.each_pane("pane", "editor", "metrics", "results", "detail")
    if not scene.main.panes.stacked:
        await scene.pilot.press("z")
        await scene.take("pane-zoomed")
        await scene.pilot.press("escape")
    await queue(scene)


async def queue(scene: Scene) -> None:
    """The queue after a label, with a prompt that is an attack."""
    texts = ["Is a gift of my gran taxed?", "[/red]\x1b]0;owned\x07 tax\u202e\n" + "a line\n" * 60]
    logged = [LoggedPrompt(text, "app.log:1", (Production(False, "corp"),)) for text in texts]
    Inbox.of_workspace(scene.main.services.workspace).add(logged)
    await scene.pane("results")
    await scene.pilot.press("l")
    await until(scene.pilot, lambda: isinstance(scene.app.screen, LabelScreen))
    shown = scene.app.screen
    assert isinstance(shown, LabelScreen)
    await until(scene.pilot, lambda: shown.prompt is not None)
    await scene.pilot.press("t")
    await until(scene.pilot, lambda: shown.prompt is not None)
    await scene.take("queue")
    await scene.close()
    await scene.rest()


async def filters(scene: Scene) -> None:
    await scene.line("category:plain colour:red tax")
    await scene.take("filter-error")
    await scene.line("nobody asks this")
    await scene.take("filter-without-hits")
    await scene.line("tax")
    await scene.take("filter-hits")
    await scene.pilot.press("escape")
    await scene.pilot.press("6")
    await scene.take("results-no-errors")
    await scene.pilot.press("7")
    await scene.rest()
    await scene.pilot.press("home", "space", "down", "space")
    await scene.take("marks")
    await scene.in_dialog("dialog-confirm", "x")
    await scene.pilot.press("escape", "c")
    await scene.take("category")


async def dialogs(scene: Scene) -> None:
    await scene.pane("results")
    await scene.pilot.press("7", "home")
    await scene.rest()
    await scene.in_dialog("dialog-add-prompt", "I")
    await scene.in_dialog("dialog-edit-prompt", "E")
    await scene.in_dialog("dialog-scanner", "f9")
    await scene.in_dialog("dialog-export", "f8")
    await scene.in_dialog("dialog-check", "f6")
    await scene.in_dialog("dialog-settings", "ctrl+@", "v", "s")
    await scene.app.run_action("change_theme")
    await scene.take("dialog-theme")
    await scene.close()


async def helps(scene: Scene) -> None:
    await scene.pane("results")
    await scene.dialog("help-results", "f1")
    await scene.pilot.press("a")
    await scene.take("help-all")
    await scene.close()
    await scene.pane("editor")
    await scene.in_dialog("help-topic", "f1")


async def tours(scene: Scene) -> None:
    await scene.pane("editor")
    await scene.pilot.press("ctrl+@", "v", "i")
    await until(scene.pilot, lambda: scene.main.tour.box is not None)
    await scene.pilot.pause()
    await scene.take("tour-1")
    await scene.pilot.press("alt+right", "alt+right", "alt+right")
    await scene.pilot.pause()
    await scene.take("tour-4")


async def edits(scene: Scene) -> None:
    await scene.description("The weather in Paris, recipes of soup, dogs in the office")
    assert scene.main.state.comparison is not None
    assert scene.main.state.comparison.regressions > 0
    assert scene.main.state.comparison.fixes > 0
    await scene.each_pane("regressions", "results", "metrics", "detail")
    await scene.pane("editor")
    await scene.pilot.press("f12")
    await scene.take("difference")
    await scene.pilot.press("f12", "f3")
    await until(scene.pilot, lambda: len(scene.main.services.session.iterations) == 2)
    await scene.rest()
    await scene.in_dialog("dialog-history", "f4")
    await scene.description("and everything near it, " * 12)
    await scene.take("limits")


async def waiting(scene: Scene) -> None:
    scanner = scene.main.services.engine.scanner
    assert isinstance(scanner, Waiting)
    for pane in ("editor", "metrics", "results"):
        await scene.pane(pane)
        scene.album.take(f"before-{pane}")
    scanner.let.set()
    await scene.rest()


async def no_mistakes(scene: Scene) -> None:
    await scene.each_pane("right", "results", "metrics")


async def errors(scene: Scene) -> None:
    await scene.each_pane("errors", "results", "metrics")
    await scene.pilot.press("f5", "f5")
    await scene.pane("results")
    await scene.pilot.press("6")
    await scene.rest()  # the rows of the filter, of which the last is chosen
    await scene.pilot.press("end")
    await scene.take("errors-detail")


PLAYS: dict[Play, tuple[Callable[[], LocalScanner], str]] = {
    filters: (
        lambda: LocalScanner("static"),
        "filter-error filter-without-hits filter-hits results-no-errors marks dialog-confirm "
        "category",
    ),
    dialogs: (
        lambda: LocalScanner("static"),
        "dialog-add-prompt dialog-edit-prompt dialog-scanner dialog-export dialog-check "
        "dialog-settings dialog-theme",
    ),
    helps: (lambda: LocalScanner("static"), "help-results help-all help-topic"),
    tours: (lambda: LocalScanner("static"), "tour-1 tour-4"),
    edits: (
        lambda: LocalScanner("static"),
        "regressions-results regressions-metrics regressions-detail difference dialog-history "
        "limits",
    ),
    waiting: (Waiting, "before-editor before-metrics before-results"),
    no_mistakes: (lambda: Changed(all_right), "right-results right-metrics"),
    errors: (
        lambda: Changed(with_errors),
        "errors-results errors-metrics errors-detail",
    ),
}
"""What is played, on which scanner, and the frames it takes."""


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.__name__)
async def test_frames(topic_path: Path, play: Play, request: pytest.FixtureRequest) -> None:
    scanner, names = PLAYS[play]
    app = make_app(topic_path, scanner())
    album = Album(app, SIZE, request.config.getoption("--update-frames", default=False))
    async with app.run_test(size=SIZE) as pilot:
        scene = Scene(pilot, app, album)
        if play is not waiting:
            await scene.rest()
        await play(scene)
    assert album.taken == names.split()
    assert not album.differences, "\n\n".join(album.differences)


@pytest.mark.parametrize("size", TOO_SMALL, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_frames_of_a_window_that_is_too_small(
    topic_path: Path, size: tuple[int, int], request: pytest.FixtureRequest
) -> None:
    app = make_app(topic_path)
    album = Album(app, size, request.config.getoption("--update-frames", default=False))
    async with app.run_test(size=size) as pilot:
        await Scene(pilot, app, album).take("too-small")
    assert not album.differences, "\n\n".join(album.differences)


_ONE_BY_ONE = "pane-editor pane-metrics pane-results pane-detail"
PANES = {
    (60, 20): f"{_ONE_BY_ONE} queue",
    (80, 24): f"{_ONE_BY_ONE} queue",
    (120, 40): f"{_ONE_BY_ONE} pane-zoomed queue",
    (200, 60): "pane-history pane-categories",
}
"""Sizes at which the panes lie otherwise, and the frames of them."""


@pytest.mark.parametrize("size", PANES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_frames_of_the_panes_at_every_size(
    topic_path: Path, size: tuple[int, int], request: pytest.FixtureRequest
) -> None:
    app = make_app(topic_path)
    album = Album(app, size, request.config.getoption("--update-frames", default=False))
    async with app.run_test(size=size) as pilot:
        scene = Scene(pilot, app, album)
        await scene.rest()
        await panes(scene)
    assert album.taken == PANES[size].split()
    assert not album.differences, "\n\n".join(album.differences)


def test_no_frame_is_left_over() -> None:
    wanted = {file_of(name, size) for size, names in PANES.items() for name in names.split()}
    wanted |= {file_of(name, SIZE) for _, names in PLAYS.values() for name in names.split()}
    wanted |= {file_of("too-small", size) for size in TOO_SMALL}
    assert set(FRAMES.iterdir()) == wanted


def test_no_frame_holds_what_differs_from_run_to_run() -> None:
    for path in FRAMES.iterdir():
        text = path.read_text("utf-8")
        assert not any(word in text for word in ("/tmp", "pytest-of", "Traceback"))
        codes = {ord(character) for character in text} - {10}
        assert not codes & {*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F)}
