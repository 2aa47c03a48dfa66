"""The dialog for the columns of the results; the table behind it follows at once."""

from __future__ import annotations

from collections.abc import Callable

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from guardtui.domain.prompts import PromptSet
from guardtui.tui.kit.modal import Modal
from guardtui.tui.results.column_layout import ColumnChoice, ColumnLayout, column_title, own_width

_STEP = 2


class ColumnsDialog(Modal[None]):
    """All columns with check marks; every change is passed to `changed` at once."""

    BINDINGS = [
        Binding("escape,q,C", "close", "Close"),
        # The list itself uses Enter for a choice; here it closes.
        Binding("enter", "close", "Close", priority=True),
        Binding("space", "turn", "Show or hide"),
        Binding("alt+down,J", "move(1)", "Further to the right"),
        Binding("alt+up,K", "move(-1)", "Further to the left"),
        Binding("plus,equals_sign,greater_than_sign", f"widen({_STEP})", "Wider"),
        Binding("minus,less_than_sign", f"widen(-{_STEP})", "Narrower"),
        Binding("0", "own_width", "Its own width"),
        Binding("r", "reset", "As at first"),
    ]

    def __init__(
        self,
        layout: ColumnLayout,
        prompts: PromptSet,
        changed: Callable[[ColumnLayout, str], None],
        fitting: Callable[[ColumnLayout], frozenset[str]],
    ) -> None:
        """`changed` is called with the new layout and the key of the changed column.

        `fitting` returns the keys of the columns that fit on the screen.
        """
        super().__init__()
        self._wanted, self._prompts = layout, prompts
        self._changed, self._fitting = changed, fitting

    def compose(self) -> ComposeResult:
        with Vertical(classes="page") as page:
            page.border_title = "Columns"
            page.border_subtitle = "Esc closes"
            yield OptionList(*self._options(), markup=False, compact=True)
            yield Static(
                "Space shows or hides · J K move · + - width · 0 its own · r as at first",
                markup=False,
            )

    def on_mount(self) -> None:
        self._list.highlighted = 0
        self._list.focus()

    @property
    def _list(self) -> OptionList:
        return self.query_one(OptionList)

    @property
    def _choices(self) -> tuple[ColumnChoice, ...]:
        return self._wanted.choices(self._prompts)

    def _options(self) -> list[Option]:
        shown, fitting = self._wanted.shown(self._prompts), self._fitting(self._wanted)
        options = []
        for choice in self._choices:
            width = own_width(choice.key) if choice.width is None else choice.width
            size = f"{width:>4}" if width else "rest"
            sign = "x" if choice.key in shown else " "
            note = " (no room)" if choice.key in shown and choice.key not in fitting else ""
            options.append(Option(Content(f"[{sign}] {size}  {column_title(choice.key)}{note}")))
        return options

    @property
    def _key(self) -> str:
        return self._choices[self._list.highlighted or 0].key

    def _use(self, layout: ColumnLayout, key: str) -> None:
        if layout == self._wanted:
            return
        self._wanted = layout
        options = self._list
        with options.prevent(OptionList.OptionHighlighted):
            options.set_options(self._options())
            keys = [choice.key for choice in self._choices]
            options.highlighted = keys.index(key) if key in keys else 0
        self._changed(layout, key)

    def action_turn(self) -> None:
        changed = self._wanted.toggled(self._key, self._prompts)
        if changed == self._wanted:
            self.notify("One column stays: show another one first.", timeout=3)
        self._use(changed, self._key)

    def action_move(self, step: int) -> None:
        self._use(self._wanted.moved(self._key, step, self._prompts), self._key)

    def action_widen(self, by: int) -> None:
        key = self._key
        width = self._choices[self._list.highlighted or 0].width or own_width(key)
        if not width:
            self.notify(
                "This column fills the remaining width; narrow another column instead.", timeout=3
            )
            return
        self._use(self._wanted.sized(key, width + by, self._prompts), key)

    def action_own_width(self) -> None:
        self._use(self._wanted.sized(self._key, None, self._prompts), self._key)

    def action_reset(self) -> None:
        self._use(ColumnLayout(), self._key)

    @on(OptionList.OptionSelected)
    def clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_turn()
