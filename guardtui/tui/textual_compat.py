"""Every private member of Textual that guardtui uses, each with the reason.

A test keeps the rest of the package to Textual's public API, so an update that breaks one of these
is fixed here.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.binding import Keymap
from textual.css.model import RuleSet
from textual.document._wrapped_document import WrappedDocument
from textual.driver import Driver
from textual.drivers._writer_thread import WriterThread
from textual.events import Resize
from textual.filter import LineFilter
from textual.geometry import Region
from textual.keys import _character_to_key
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets._footer import FooterKey as FooterKey  # one key; no public module has it
from textual.widgets._toast import Toast

if TYPE_CHECKING:
    from textual.drivers.web_driver import WebDriver


def accept_stray_bytes() -> None:
    """Read a byte that is not UTF-8, typed or pasted, as "�".

    The driver's decoder is strict and cannot be chosen: such a byte would end the app.
    """
    try:
        from textual.drivers import linux_driver
    except ImportError:  # Windows reads characters, not bytes
        return

    def tolerant(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
        return lambda: codecs.getincrementaldecoder(encoding)(errors="replace")

    if hasattr(linux_driver, "getincrementaldecoder"):
        linux_driver.getincrementaldecoder = tolerant


_resize = Screen._on_resize


async def _resize_to_the_app(screen: Screen[Any], event: Resize) -> None:
    event.stop()
    if event.size == screen.app.size:
        await _resize(screen, event)


def ignore_outdated_sizes() -> None:
    """Let every screen, those of Textual included, ignore a resize to a size the app no longer has.

    Each resize that changes a screen's size posts itself to the screen again. Two different ones
    that wait in its queue, as while the app starts, would do so in turn for ever.
    """
    Screen._on_resize = _resize_to_the_app  # type: ignore[method-assign, assignment]


def hash_rules_in_c() -> None:
    """Hash a rule of the style sheets by its identity as Textual does, but not in Python.

    Each widget that is styled looks all of them up, a hundred thousand times while the app starts.
    """
    RuleSet.__hash__ = object.__hash__  # type: ignore[method-assign]


def is_stopped(message: Message) -> bool:
    """Return whether something has handled a message, which then went no further up."""
    return message._stop_propagation


def add_line_filter(app: App[Any], line_filter: LineFilter) -> None:
    """Pass every line that the app draws through a filter; Textual adds only its own filters."""
    app._filters.append(line_filter)


def start_with_theme(app: App[Any], name: str) -> None:
    """Choose a theme before the app runs.

    Assigning `App.theme` later would parse all style sheets a second time before the first paint.
    """
    app.set_reactive(App.theme, name)
    app.stylesheet.set_variables(app.get_css_variables())
    dark = app.current_theme.dark
    app.set_class(True, f"-theme-{name}", update=False)
    app.set_class(dark, "-dark-mode", update=False)
    app.set_class(not dark, "-light-mode", update=False)
    app._refresh_truecolor_filter(app.ansi_theme)


def keymap_of(app: App[Any]) -> Keymap:
    """Return the keys set with `App.set_keymap`, by the id of the binding; they have no getter."""
    return dict(app._keymap)


def key_of_character(character: str) -> str:
    """Return the name of the key that types a character, as bindings need it: "slash" for "/"."""
    return _character_to_key(character)


def end_crashes_silently(app: App[Any]) -> None:
    """Print no traceback when the app crashes: Textual's shows local variables, prompts included.

    The error is kept for `crash_of`.
    """
    app._fatal_error = app._close_messages_no_wait  # type: ignore[method-assign]


def crash_of(app: App[Any]) -> Exception | None:
    """Return the error that ended an app, which `App.run` does not raise; None without one."""
    return app._exception


def forget_notifications(app: App[Any], *, keep_errors: bool) -> None:
    """Remove earlier notifications; Textual itself can only clear all of them.

    It redraws those of the active screen only: behind a dialog they would stay in view.
    """
    for notification in list(app._notifications):
        if not (keep_errors and notification.severity == "error"):
            app._unnotify(notification, refresh=False)
    for screen in app._background_screens:
        for toast in screen.query(Toast):
            if toast._notification not in app._notifications:
                toast.remove()


def drawn_strips(app: App[Any]) -> tuple[Any, list[Strip]]:
    """Return what the terminal shows, screens behind dialogs included: a renderable, and its lines.

    `App.export_screenshot` gives only a finished picture, in which no text can be searched.
    """
    drawn = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    lines = getattr(drawn, "strips", ())
    return drawn, [line if isinstance(line, Strip) else Strip.join(line) for line in lines]


def visible_regions(app: App[Any]) -> list[Region]:
    """Return the visible part of every widget on the terminal, screens behind dialogs included."""
    return [
        region.intersection(clip)
        for screen in (*app._background_screens, app.screen)
        for region, clip in screen._compositor.visible_widgets.values()
    ]


def rewrap(area: TextArea) -> None:
    """Wrap the text for the current width, and drop rows drawn for another width.

    The area does so itself only when it hears of its new size, which may be after it was drawn.
    """
    area._rewrap_and_refresh_virtual_size()


def wrapped_height(area: TextArea, width: int) -> int:
    """Return how many rows the text of an area takes in a content width of so many cells.

    A `ScrollView` answers with the rows of the width it had before. One cell is the cursor's.
    """
    room = max(1, width - area.gutter_width - 1)
    return WrappedDocument(area.document, room, area.indent_width).height


def stop_reading_keys(app: App[Any]) -> None:
    """End the thread that reads the terminal, if the app ended without doing so.

    A terminal that was closed is always readable: the thread would keep the process, at full speed.
    """
    ended = getattr(app._driver, "exit_event", None)
    if ended is not None:
        ended.set()


def app_of(driver: Driver) -> App[Any]:
    """Return the app that a driver is for."""
    return driver._app


def write_with(driver: WebDriver, write: partial[int]) -> None:
    """Make a driver for browsers write its output by another function."""
    driver._write = write


def survive_a_lost_terminal() -> None:
    """Let the thread that draws discard what a closed terminal no longer takes.

    Otherwise it ends, its queue fills up, and the app waits for ever to draw its last frame.
    """
    draw = WriterThread.run

    def run(thread: WriterThread) -> None:
        try:
            draw(thread)
        except OSError:
            while thread._queue.get() is not None:
                pass

    WriterThread.run = run  # type: ignore[method-assign, assignment]
