"""A running search or call, with its progress; Escape ends it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content

from guardtui.advice.search import SearchProgress
from guardtui.domain.errors import GuardtuiError
from guardtui.tui.kit.block_chart import progress_bar
from guardtui.tui.kit.inert import Static
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.metrics.pane import delta

Result = TypeVar("Result")
Now = TypeVar("Now")

_POLL = 0.1
_BAR_CELLS = 30


class RunningDialog(Modal[Result | None], Generic[Result, Now]):
    """Returns the result of `run`, which reports its progress; None if it failed or was cancelled.

    Escape calls `stop`, after which `run` ends with what it has, or else cancels `run`.
    """

    BINDINGS = [("escape,q", "stop", "End it")]

    help_pane = "running"

    def __init__(
        self,
        title: str,
        keys: str,
        run: Callable[[Callable[[Now], None]], Awaitable[Result]],
        show: Callable[[Now], Text],
        *,
        stop: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self._title, self._keys, self._run, self._show, self._stop = title, keys, run, show, stop
        self._progress: Now | None = None
        self.problem = ""
        """Why the run failed, or ""."""

    def _take(self, progress: Now) -> None:
        self._progress = progress

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = Content(self._title)
            dialog.border_subtitle = self._keys
            yield Static("begins …", id="run-status")

    def on_mount(self) -> None:
        self.set_interval(_POLL, self._poll)
        self._work()

    def _poll(self) -> None:
        if self._progress is not None:
            self.query_one("#run-status", Static).update(themed(self._show(self._progress)))

    @work(exclusive=True)
    async def _work(self) -> None:
        result = None
        try:
            result = await self._run(self._take)
        except GuardtuiError as error:
            self.problem = str(error)
        self.dismiss_when_active(result)

    def action_stop(self) -> None:
        """End the run."""
        if self._stop is not None:
            self._stop()
        else:
            self.workers.cancel_node(self)
            self.dismiss(None)


def search_text(now: SearchProgress) -> Text:
    """Return the progress of a search."""
    bar = progress_bar(now.seconds, now.budget, _BAR_CELLS)
    text = Text(f"{bar} {now.seconds:.0f} of {now.budget:.0f} s\n")
    text.append(f"{now.measured} definitions measured, {now.edits} edits deep, ")
    text.append(f"{now.width} pursued at once\n")
    sign, style = delta(now.gain, "none")
    text.append("best gain so far, before the correction for chance: ").append(f"{sign}\n", style)
    return text
