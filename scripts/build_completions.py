"""Make the completion scripts of shells in guardtui/cli/completions, by those of click."""

from __future__ import annotations

from pathlib import Path

from click.shell_completion import ShellComplete, get_completion_class

from guardtui.cli.completion import FILES, FOLDER
from guardtui.cli.main import cli


def scripts() -> dict[Path, str]:
    """Return the text of each file."""
    texts = {}
    for shell, name in FILES.items():
        kind = get_completion_class(shell)
        assert kind is not None
        complete = kind(cli, {}, "guardtui", "_GUARDTUI_COMPLETE")
        # That of the base class: bash's own would start a bash to check its version.
        text = ShellComplete.source(complete).rstrip("\n") + "\n"
        # zsh leaves empty words out of an unquoted list: those of a word that was not begun.
        text = text.replace("in ${response}; do", 'in "${response[@]}"; do')
        texts[FOLDER / name] = text
    return texts


if __name__ == "__main__":
    for path, text in scripts().items():
        path.write_text(text, "utf-8")
