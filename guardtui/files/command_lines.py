"""Command lines to show and to run: quoted for a shell, with file names that are no options."""

from __future__ import annotations

import shlex
from pathlib import Path


def path_word(path: Path) -> str:
    """Return a path as a word of a command, never an option; `-` is standard input."""
    text = str(path)
    return f"./{text}" if text.startswith("-") and text != "-" else text


def command_line(*words: str | Path) -> str:
    """Return words, and paths as `path_word`, as a line for a shell."""
    return shlex.join(path_word(word) if isinstance(word, Path) else word for word in words)
