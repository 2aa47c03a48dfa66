"""The window: questions as dialogs, messages, and jobs as workers of the main screen."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from textual.app import App
from textual.geometry import Size
from textual.screen import Screen
from textual.timer import Timer
from textual.worker import Worker

from guardtui.tui.base_app import BaseApp
from guardtui.tui.editor.pane import TopicEditor, TopicField
from guardtui.tui.main.panes import Panes
from guardtui.tui.registry.actions import action_named, call_of, first_key, key_names
from guardtui.tui.textual_compat import keymap_of

if TYPE_CHECKING:
    from guardtui.app.ports import Answer, Question, Severity
    from guardtui.domain.topic import Topic
    from guardtui.tui.main.feature import ActionMethod

Result = TypeVar("Result")

TYPING_PATIENCE = 2.0
"""Seconds to wait for keys that are still on their way to a field."""


class Window:
    """The access of services and features to the main screen: their `Author` and their `Jobs`."""

    def __init__(self, screen: Screen[None], panes: Panes) -> None:
        self._screen, self.panes = screen, panes

    # --- the author -----------------------------------------------------------------------

    async def ask(self, question: Question[Answer]) -> Answer | None:
        """Show a question as a dialog; return None if it was dismissed. Only within a worker."""
        # Imported when needed: the dialogs are many.
        from guardtui.tui.main.questions import DIALOGS, answer_of

        result = await self.show(DIALOGS[type(question)](question))
        return cast("Answer | None", answer_of(question, result))

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: Severity = "information",
        seconds: float | None = None,
    ) -> None:
        """Show a message, made inert."""
        self._screen.notify(message, title=title, severity=severity, timeout=seconds)

    def withdraw(self, message: str) -> None:
        """Remove an error that is still shown."""
        app = self._screen.app
        assert isinstance(app, BaseApp)  # noqa: S101 - no other shows the screen
        app.withdraw(message)

    async def finish_typing(self) -> tuple[Topic, str] | None:
        """Wait until pending keys have reached the focused field of the definition."""
        field = self._screen.focused
        if not isinstance(field, TopicField):
            return None
        arrived = asyncio.Event()
        field.call_later(arrived.set)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TYPING_PATIENCE):
                await arrived.wait()
        return self._screen.query_one(TopicEditor).typed, field.field

    # --- work -----------------------------------------------------------------------------

    def start(
        self, work: Coroutine[Any, Any, None], *, group: str, exclusive: bool = False
    ) -> Worker[None]:
        """Run a coroutine as a worker of the screen."""
        return self._screen.run_worker(work, group=group, exclusive=exclusive)

    def cancel(self, group: str) -> None:
        """Cancel the workers of a group."""
        self._screen.workers.cancel_group(self._screen, group)

    def action(
        self, method: Callable[..., Coroutine[Any, Any, None]], *, group: str = "dialog"
    ) -> ActionMethod:
        """Return an action that runs `method` as the only worker of its group."""

        def run(*arguments: Any) -> None:
            self.start(method(*arguments), group=group, exclusive=True)

        return run

    def perform(self, name: str | None) -> None:
        """Run an action of the registry on the main screen; None does nothing."""
        if name is not None:
            self._screen.call_later(self._screen.run_action, call_of(name))

    def every(self, seconds: float, call: Callable[[], Awaitable[None] | None]) -> Timer:
        """Call a function repeatedly; one that returns an awaitable is awaited first."""
        return self._screen.set_interval(seconds, call)

    def later(self, call: Callable[[], None]) -> None:
        """Call a function after the next refresh."""
        self._screen.call_after_refresh(call)

    # --- other screens --------------------------------------------------------------------

    async def show(self, dialog: Screen[Result]) -> Result | None:
        """Show a dialog and wait for its result. Only within a worker."""
        return await self.app.push_screen_wait(dialog)

    def open(
        self, screen: Screen[Result], callback: Callable[[Result | None], None] | None = None
    ) -> None:
        """Show a screen; `callback` gets its result."""
        self.app.push_screen(screen, callback)

    @property
    def app(self) -> App[object]:
        """The running app."""
        return self._screen.app

    @property
    def in_front(self) -> bool:
        """Return whether no other screen covers the main screen."""
        return self.app.screen is self._screen

    @property
    def is_running(self) -> bool:
        """Return whether the screen is mounted and not closing."""
        return self._screen.is_running and self._screen.is_attached

    @property
    def size(self) -> Size:
        """Columns and lines of the screen."""
        return self._screen.size

    @property
    def keymap(self) -> Mapping[str, str]:
        """Keys that differ from the built-in ones, by the id of the binding."""
        return keymap_of(self.app)

    def keys_of(self, name: str) -> str:
        """Return the keys of an action of the registry, for display."""
        return key_names(action_named(name), self.keymap)

    def first_key(self, name: str) -> str:
        """Return the first key of an action of the registry, for display."""
        return first_key(name, self.keymap)

    def refresh_keys(self) -> None:
        """Update the keys of the footer."""
        self._screen.refresh_bindings()
