"""A list of categories with their rates and mistakes; Enter chooses one."""

from __future__ import annotations

from collections.abc import Mapping

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets.option_list import Option

from guardtui.domain.metrics import Metrics
from guardtui.tui.kit.inert import OptionList, Static
from guardtui.tui.kit.styled_text import themed
from guardtui.tui.prompts.check_text import category_table


class CategoryList(Vertical):
    """A line for each category below titles; an update keeps the highlighted one."""

    class Chosen(Message):
        """The author chose a category."""

        def __init__(self, name: str) -> None:
            self.name = name
            super().__init__()

    def __init__(self) -> None:
        super().__init__(classes="categories")
        self._names: list[str] = []
        self._head = Static("", classes="categories-head")
        self._list = OptionList(compact=True)

    def compose(self) -> ComposeResult:
        yield self._head
        yield self._list

    def show(self, categories: Mapping[str, Metrics]) -> None:
        """Show these categories in this order."""
        head, lines = category_table(categories)
        self._head.update(themed(head))
        names, highlighted = list(categories), self._list.highlighted
        if names == self._names:
            for row, line in enumerate(lines):
                self._list.replace_option_prompt_at_index(row, themed(line))
            return
        self._names = names
        self._list.clear_options()
        self._list.add_options(Option(themed(line)) for line in lines)
        self._list.highlighted = min(highlighted or 0, len(lines) - 1) if lines else None

    def focus_list(self) -> None:
        """Focus the list."""
        self._list.focus()

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Chosen(self._names[event.option_index]))

    @on(OptionList.OptionHighlighted)
    def _stay(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()  # a page may have another list
