"""The list of recent topics and of those in this folder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from guardtui.app.editing.topic_opening import KnownTopic
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.text import display_text
from guardtui.session.workspace import Workspace
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.problem_line import ProblemLine
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.topics.open_topic import Opens

OPEN, NEW = "open_topic", "new_topic"
_KEYS = "Enter opens · Del drops from the list · o by path · n new · Esc closes"
_NONE = "No other topic was opened yet, and this folder has none: o opens one by path, n makes one."


class RecentTopicsDialog(Modal[Workspace | str | None]):
    """Returns the opened topic, or the name of another action."""

    BINDINGS = [
        ("delete,d,x", "drop", "Drop from the list"),
        ("o", f"choose('{OPEN}')", "Open by path"),
        ("n", f"choose('{NEW}')", "New topic"),
    ]
    help_pane = "recent_topics"

    def __init__(
        self, topics: Sequence[KnownTopic], opens: Opens, dropped: Callable[[Path], None]
    ) -> None:
        """`opens` opens a topic, in a thread; `dropped` is called with each removed path."""
        super().__init__()
        self._topics, self._opens, self._dropped = list(topics), opens, dropped
        self._list = OptionList(*map(_option, self._topics), markup=False, compact=True)
        self._problem = ProblemLine()

    def compose(self) -> ComposeResult:
        with Vertical(classes="page short-page") as page:
            page.border_title = "Recent topics"
            page.border_subtitle = _KEYS
            yield self._list
            yield self._problem

    def on_mount(self) -> None:
        self._show()
        self._list.highlighted = 0 if self._topics else None
        self._list.focus()

    def _show(self) -> None:
        self._list.display = bool(self._topics)
        self._problem.show_note("" if self._topics else _NONE)

    @on(OptionList.OptionHighlighted)
    def highlighted(self) -> None:
        if self._topics:
            self._problem.clear()

    @on(OptionList.OptionSelected)
    def chosen(self, event: OptionList.OptionSelected) -> None:
        topic = self._topics[event.option_index]
        if topic.problem:
            self._problem.show(f"{topic.path}: {topic.problem}\n  Del drops it from the list")
        else:
            self._open(topic)

    @work(exclusive=True)
    async def _open(self, topic: KnownTopic) -> None:
        self._problem.show_note("reading…")
        prompts = topic.prompts

        def opened() -> Workspace:
            has_prompts = prompts is not None and prompts.exists()
            return self._opens(topic.path, prompts if has_prompts else None)

        try:
            workspace = await asyncio.to_thread(opened)
        except GuardtuiError as error:
            self._problem.show(str(error))
        else:
            self.dismiss(workspace)

    def action_drop(self) -> None:
        """Remove the topic from the list; topics that are only in this folder stay."""
        index = self._list.highlighted
        if index is None:
            return
        topic = self._topics[index]
        if not topic.opened:
            self._problem.show(f"{topic.path.name} is listed because it is in this folder")
            return
        self._dropped(topic.path)
        self._topics.pop(index)
        self._list.remove_option_at_index(index)
        self._show()

    def action_choose(self, name: str) -> None:
        """Choose another action instead."""
        self.dismiss(name)


def _option(topic: KnownTopic) -> Option:
    line = Text(display_text(topic.path.name), "bold")
    if topic.problem:
        line.append(f"  {topic.problem}", "bold $text-error")
    elif topic.coverage is not None:
        line.append(f"  coverage {topic.coverage:.3f}", "not bold")
        line.append(f" {topic.guardrail}", "not bold $text-muted")
    details = [display_text(str(topic.path.parent))]
    if topic.prompts is not None and topic.prompts != topic.path.with_suffix(".csv"):
        details.append(f"prompts {display_text(topic.prompts.name)}")
    details.append(f"opened {topic.opened[:10]}" if topic.opened else "in this folder")
    line.append(f"\n  {' · '.join(details)}", "not bold $text-muted")
    return Option(themed(line))
