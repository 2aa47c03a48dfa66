"""The command `guardtui`; each sub-command is loaded when it is run."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from guardtui import __version__
from guardtui.cli import signals
from guardtui.cli.diagnostics import run

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS: dict[str, tuple[str, str]] = {
    "open": ("open", "Open the app on a topic; 'guardtui TOPIC' does the same."),
    "new": ("new", "Create a topic file and its first prompts."),
    "eval": ("eval", "Evaluate a topic against labelled prompts."),
    "audit": ("audit", "Evaluate the topics of one profile together."),
    "judge-template": ("judge_template", "Print the judge's instructions, as a template to edit."),
    "decision-template": (
        "decision_template",
        "Print the question for a decision model, to edit.",
    ),
    "refine": ("refine", "Search for edits of a topic that raise its coverage."),
    "forecast": ("forecast", "Forecast the verdicts of a guardrail from recorded ones."),
    "topics": ("topics", "List, create, apply, revert and delete topics of AIRS."),
    "score": ("score", "Score a model's outputs against their targets."),
    "compare": ("compare", "Compare two reports or iterations, prompt by prompt."),
    "export": ("export", "Write a report of a session's iterations."),
    "check": ("check", "Check a definition and its labelled prompts."),
    "convert": ("convert", "Convert another tool's test cases to a prompt set."),
    "sample": ("sample", "Print a small prompt set to start from."),
    "serve": ("serve", "Show the app in a browser on this machine."),
    "sandbox": ("sandbox", "Serve an imitation of AIRS on this machine, for tests."),
    "config": ("config", "List, check and change the settings."),
    "doctor": ("doctor", "Check the installation and report problems."),
    "completion": ("completion", "Print the shell's completion script."),
}
"""Module in this package and short help, by the name of a command."""


class LazyGroup(click.Group):
    """A group that imports a command's module only to run it, and opens a topic file."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"guardtui.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        if not args and ctx.resilient_parsing:  # a shell completes the first word
            return super().parse_args(ctx, args)
        if not args or (args[0] not in COMMANDS and args[0] not in own):
            if args and not args[0].startswith("-") and not ctx.resilient_parsing:
                require_topic(*args)
            args = ["open", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        completions = super().shell_complete(ctx, incomplete)
        return [*completions, CompletionItem(incomplete, type="file")]


def require_topic(word: str, *others: str) -> None:
    """Raise a usage error if `word` is not a file; it suggests the nearest command, if any.

    `others` are the words after it, which tell commands of airs-cli apart.
    """
    if Path(word).exists():
        return
    from difflib import get_close_matches

    from guardtui.cli import airs_cli
    from guardtui.domain.text import display_start

    if word == airs_cli.GROUP:
        raise click.UsageError(airs_cli.explained(others))
    shown = display_start(word, 200)
    similar = get_close_matches(word, COMMANDS, n=1)
    remedy = (
        f"did you mean 'guardtui {similar[0]}'?"
        if similar
        else "give the path of a topic file, or see 'guardtui --help'"
    )
    raise click.UsageError(f"no topic file '{shown}'; {remedy}")


def _version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from guardtui.cli.output import write

        write(f"guardtui {__version__}\n")
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    options_metavar="[--help] [--version]",
    subcommand_metavar="[TOPIC] [--prompts FILE] | COMMAND …",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and exit.",
)
def cli() -> None:
    """Refine a custom topic guardrail: edit its definition and see the effect at once.

    With a topic file, or with nothing, guardtui opens the app. The commands do the same
    work without a screen.
    """


def _fill_closed_streams() -> None:
    """Reopen closed standard streams on the null device, so that no other file gets their numbers.

    Output of a library would end up in that file.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    # One edit is one small matrix product: a second BLAS thread gains nothing, and on busy cores
    # waiting for it costs a hundred times the product. Read by numpy when it is first imported.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")

    _fill_closed_streams()
    signals.listen()

    def command() -> Any:
        return cli.main(arguments, prog_name="guardtui", standalone_mode=False)

    sys.exit(run(command))
