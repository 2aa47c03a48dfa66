"""Screens and pages that do not depend on the topic: help, settings, messages."""

from __future__ import annotations

from collections.abc import Mapping

from guardtui.tui.help.screen import show_help
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window


class ToolsFeature:
    """Opens screens and pages that do not depend on the workspace."""

    def __init__(self, window: Window) -> None:
        self.actions: Mapping[str, ActionMethod] = {
            "next_pane": window.panes.show_next,
            "zoom_pane": window.panes.zoom,
            "show_help": lambda: show_help(window.app),
            "screenshot": lambda: window.app.run_action("screenshot"),
            "open_menu": lambda: window.app.run_action("open_menu"),
            "recent_messages": lambda: window.app.run_action("recent_messages"),
            "settings": lambda: window.app.run_action("open_settings"),
        }
