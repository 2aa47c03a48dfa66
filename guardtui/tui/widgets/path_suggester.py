"""Completion of paths in a line."""

from __future__ import annotations

import os
from pathlib import Path

from textual.suggester import Suggester

from guardtui.domain.text import display_text


class PathSuggester(Suggester):
    """The rest of the name of a file or folder; names that draw badly are not offered."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        folder, begun = os.path.split(value)
        if not value:
            return None
        try:
            names = sorted(os.listdir(Path(folder or ".").expanduser()))  # noqa: PTH208
        except (OSError, RuntimeError, ValueError):  # also a home that nobody has
            return None
        for name in names:
            if name.startswith(begun) and name != begun and display_text(name) == name:
                if name.startswith(".") and not begun:
                    continue
                whole = Path(folder or ".").expanduser() / name
                return value + name[len(begun) :] + ("/" if whole.is_dir() else "")
        return None
