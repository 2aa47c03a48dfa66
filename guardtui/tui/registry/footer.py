"""The footer: keys of the focused pane, the most useful first, as many as fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.widgets import Footer

from guardtui.tui.kit.inert import Static
from guardtui.tui.registry.actions import ACTIONS, NO_KEY, Action, binding_ids
from guardtui.tui.textual_compat import FooterKey

MOST = 7
"""Most keys of the footer."""

AT_THE_END = ("open_menu", "show_help")
"""Actions that are always shown, at the right end: they lead to all others."""

_ACTIONS = {name: action for action in ACTIONS for name in binding_ids(action)}


@dataclass(frozen=True, slots=True)
class FooterEntry:
    """A key of the footer: its action, its binding in force, and how the key is displayed."""

    action: Action
    binding: Binding
    display: str
    enabled: bool = True

    @property
    def text(self) -> str:
        """The action in a word or two."""
        return self.binding.description

    @property
    def cells(self) -> int:
        """Its width, with the blank behind it."""
        return cell_len(f"{self.display} {self.text} ")


class FittingFooter(Footer):
    """A compact footer without cut keys: a key that does not fit is left out.

    A screen may name actions that come first (`footer_first`), such as those of a running scan.
    What the screen refuses now (`refusal_of`) is left out, also below a dialog.
    """

    _composed: tuple[object, ...] = ()

    async def recompose(self) -> None:
        """Rebuild the keys only when they changed; Textual asks at every change of focus."""
        if not self.is_attached:
            return  # the screen was removed because another topic was opened
        keys = (self.app.size.width, *self._entries())
        if keys != self._composed:
            self._composed = keys
            if not self._replace_texts():
                await super().recompose()

    def _replace_texts(self) -> bool:
        """Give the keys their new texts; return whether there are as many as before.

        New widgets would be styled, mounted and laid out, as often as something starts or ends.
        """
        shown, at_the_end = self._fitting()
        entries, keys = [*shown, None, *at_the_end], list(self.children)
        if [isinstance(key, FooterKey) for key in keys] != [entry is not None for entry in entries]:
            return False
        for key, entry in zip(keys, entries, strict=True):
            if isinstance(key, FooterKey) and entry is not None:
                binding = entry.binding
                key.key, key.key_display, key.description = binding.key, entry.display, entry.text
                key.action, key.tooltip = binding.action, binding.tooltip
                key.refresh(layout=True)
        return True

    def _fitting(self) -> tuple[list[FooterEntry], list[FooterEntry]]:
        return fitting(self._entries(), self.app.size.width)

    def on_mount(self) -> None:
        super().on_mount()
        # Behind the mounting of the screen, which gives it its focus.
        self.screen.call_later(self.recompose)

    def compose(self) -> ComposeResult:
        if not self._composed:
            return
        shown, at_the_end = self._fitting()
        yield from map(self._key, shown)
        yield Static("", classes="footer-gap")
        yield from map(self._key, at_the_end)

    def _key(self, entry: FooterEntry) -> FooterKey:
        binding = entry.binding
        return FooterKey(
            binding.key,
            entry.display,
            entry.text,
            binding.action,
            tooltip=binding.tooltip,
            classes="-compact",  # from the start: a later class styles it anew
        )

    def _entries(self) -> list[FooterEntry]:
        first: Sequence[str] = getattr(self.screen, "footer_first", ())
        entries = ordered(self.screen.active_bindings, self.app.get_key_display, first)
        refused: Callable[[str], str] = getattr(self.screen, "refusal_of", lambda name: "")
        return [entry for entry in entries if not refused(entry.action.name)]

    def on_resize(self, event: events.Resize) -> None:
        self.call_after_refresh(self.recompose)


def ordered(
    active: Mapping[str, tuple[object, Binding, bool, str]],
    display: Callable[[Binding], str],
    first: Sequence[str] = (),
) -> list[FooterEntry]:
    """Return a key for each enabled action, the most useful first.

    The actions `first` come first, the others by rank. A letter is shown before another key.
    """
    entries: dict[str, FooterEntry] = {}
    for _, binding, enabled, _ in active.values():
        action = _ACTIONS.get(binding.id or "")
        if action is None or not enabled or binding.key.startswith(NO_KEY):
            continue
        if not (binding.show or action.name in first):
            continue
        letter = binding.id != action.binding.id
        if action.name not in entries or letter:
            entries[action.name] = FooterEntry(action, binding, display(binding))

    def index(entry: FooterEntry) -> tuple[int, int]:
        name = entry.action.name
        return (0, first.index(name)) if name in first else (1, entry.action.rank or 0)

    return sorted(entries.values(), key=index)


def fitting(
    entries: Iterable[FooterEntry], room: int
) -> tuple[list[FooterEntry], list[FooterEntry]]:
    """Return the entries that fit into so many cells, `MOST` in all, and those of the right end."""
    entries = list(entries)
    at_the_end = [entry for entry in entries if entry.action.name in AT_THE_END]
    room -= sum(entry.cells for entry in at_the_end)
    shown = []
    for entry in entries:
        if entry.action.name not in AT_THE_END and entry.cells <= room:
            shown.append(entry)
            room -= entry.cells
    return shown[: MOST - len(at_the_end)], at_the_end
