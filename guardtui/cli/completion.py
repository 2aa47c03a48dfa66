"""`guardtui completion`: the script that completes commands and options in a shell."""

from __future__ import annotations

from pathlib import Path

import click

from guardtui.cli.command_help import Command
from guardtui.cli.output import write

FOLDER = Path(__file__).parent / "completions"
"""Folder of the scripts, which scripts/build_completions.py makes."""

FILES = {"bash": "guardtui.bash", "zsh": "_guardtui", "fish": "guardtui.fish"}
"""Name of the script of each shell, as the shell looks for it."""


@click.command(
    "completion",
    cls=Command,
    examples=(
        (
            "guardtui completion bash > ~/.local/share/bash-completion/completions/guardtui",
            "bash, with bash-completion",
        ),
        (
            "guardtui completion zsh > ~/.zfunc/_guardtui",
            "zsh, with fpath=(~/.zfunc $fpath) before compinit in ~/.zshrc",
        ),
        ("guardtui completion fish > ~/.config/fish/completions/guardtui.fish", "fish"),
    ),
)
@click.argument("shell", type=click.Choice(list(FILES)))
def command(shell: str) -> None:
    """Print the script that completes commands and options in a shell.

    Write it once to the folder where the shell looks for completions; new shells have it then.
    """
    write((FOLDER / FILES[shell]).read_text("utf-8"))
