"""Paths that the author types in a dialog: completed, and read."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from textual.suggester import Suggester

from guardtui.domain.text import display_text
from guardtui.files.problems import FileError


class PathSuggester(Suggester):
    """Suggest the rest of a file or folder name, except names with invisible characters."""

    def __init__(self, endings: Collection[str] | None = None) -> None:
        """`endings` are those of the files to suggest besides folders; None: all files."""
        super().__init__(use_cache=False, case_sensitive=True)
        self._endings = endings

    async def get_suggestion(self, value: str) -> str | None:
        folder, prefix = os.path.split(value)
        if not value:
            return None
        try:
            names = sorted(os.listdir(Path(folder or ".").expanduser()))  # noqa: PTH208
        except (OSError, RuntimeError, ValueError):  # such as the home folder of an unknown user
            return None
        for name in names:
            if name.startswith(prefix) and name != prefix and display_text(name) == name:
                if name.startswith(".") and not prefix:
                    continue
                whole = Path(folder or ".").expanduser() / name
                if whole.is_dir():
                    return f"{value}{name[len(prefix) :]}/"
                if self._endings is None or whole.suffix.lower() in self._endings:
                    return value + name[len(prefix) :]
        return None


def typed_path(text: str, folder: Path) -> Path:
    """Return the path of a text, relative to the working folder, or else to `folder`.

    Raises FileError for an invalid name, such as one with a null character or with the home folder
    of an unknown user.
    """
    try:
        path = Path(text).expanduser()
        resolved = folder / path
        return resolved if not path.exists() and resolved.exists() else path
    except (OSError, RuntimeError, ValueError) as error:
        raise FileError(text, f"not a valid file name ({error})", "") from error
