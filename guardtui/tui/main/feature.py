"""A feature of the main screen: its actions, and what it does when the state changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from guardtui.app.state import AppState

ActionMethod: TypeAlias = Callable[..., Awaitable[Any] | None]


class Feature(Protocol):
    """A part of the main screen. It knows services and panes, never the screen."""

    @property
    def actions(self) -> Mapping[str, ActionMethod]:
        """Methods by the names of the registry of actions, without their arguments."""


@runtime_checkable
class StateObserver(Protocol):
    """A feature that follows some fields of the state."""

    follows: tuple[str, ...]

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Show what changed, at each change of these fields, in the order of the features."""
