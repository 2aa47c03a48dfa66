"""`guardtui completion`: the script that completes commands and options in a shell."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from guardtui.cli.output import write


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash  eval "$(guardtui completion bash)"             in ~/.bashrc
    zsh   eval "$(guardtui completion zsh)"              in ~/.zshrc
    fish  guardtui completion fish > ~/.config/fish/completions/guardtui.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    complete = kind(ctx.find_root().command, {}, "guardtui", "_GUARDTUI_COMPLETE")
    # Skips the check of bash's version, which would start a bash.
    write(ShellComplete.source(complete).rstrip("\n") + "\n")
