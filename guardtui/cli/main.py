"""The command `guardtui`; each sub-command is loaded when it is run."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from guardtui import __version__
from guardtui.cli import signals
from guardtui.cli.command_help import Group
from guardtui.cli.diagnostics import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from click.shell_completion import CompletionItem

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Write": {
        "open": ("open", "Open the app on a topic; 'guardtui TOPIC' does the same."),
        "new": ("new", "Create a topic file and its first prompts."),
        "check": ("check.command", "Check a definition and its labelled prompts."),
        "refine": ("refine.command", "Search for edits of a topic that raise its coverage."),
        "inbox": ("inbox", "Collect prompts from logs, and label them."),
    },
    "Measure": {
        "eval": ("eval.command", "Evaluate a topic against labelled prompts."),
        "audit": ("audit.command", "Evaluate the topics of one profile together."),
        "forecast": (
            "forecast",
            "Forecast the verdicts of a guardrail from recorded ones.",
        ),
        "compare": ("compare", "Compare two reports or iterations, prompt by prompt."),
        "history": ("history", "List, keep, discard, restore and pin iterations."),
        "score": ("score.command", "Score a model's outputs against their targets."),
    },
    "Guardrails": {
        "guardrails": ("guardrails", "List the guardrails, check one, or print a template."),
        "topics": ("topics.command", "List, create, apply, revert and delete topics of AIRS."),
        "sandbox": ("sandbox", "Serve an imitation of AIRS on this machine, for tests."),
    },
    "Files": {
        "export": ("export", "Write a report of a session's iterations."),
        "convert": ("convert", "Convert another tool's test cases to a prompt set."),
        "sample": ("sample", "Print a small prompt set to start from."),
    },
    "This machine": {
        "serve": ("serve.command", "Show the app in a browser on this machine."),
        "config": ("config", "List, check and change the settings."),
        "agent": ("agent.command", "Describe guardtui to a coding agent."),
        "completion": ("completion", "Print the completion script of a shell."),
        "doctor": ("doctor.command", "Check the installation and report problems."),
        "help": ("help", "Explain a command, with examples."),
    },
}
"""Module in this package and short help of each listed command, by its name, in groups."""

COMMANDS: dict[str, str] = {
    name: module for group in GROUPS.values() for name, (module, _) in group.items()
}
"""Module in this package, by the name of a command."""

_EXAMPLES = (
    ("guardtui tax.yaml", "Write a topic, with its effect at once"),
    ("guardtui eval tax.yaml --prompts tax.csv --min-coverage 0.8", "A gate for CI"),
    ("guardtui eval tax.yaml --prompts tax.csv --guardrail airs:prod", "Ask AIRS"),
    ("guardtui topics apply tax.yaml --guardrail airs:prod", "Deploy it"),
)


class LazyGroup(Group):
    """A group that imports a command's module only to run it, and opens a topic file."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for commands in GROUPS.values() for name in commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"guardtui.cli.{COMMANDS[cmd_name]}")
        command: click.Command = module.command
        return command

    def command_sections(
        self, ctx: click.Context
    ) -> Iterator[tuple[str, Sequence[tuple[str, str]]]]:
        for title, commands in GROUPS.items():
            yield title, [(name, text) for name, (_, text) in commands.items()]

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

        # Not by click's own group, which imports every command for its help.
        commands = [
            CompletionItem(name, help=text)
            for _, section in self.command_sections(ctx)
            for name, text in section
            if name.startswith(incomplete)
        ]
        options = click.Command.shell_complete(self, ctx, incomplete)
        # First: bash's script forgets the words before a file, and offers files if there are none.
        return [CompletionItem(incomplete, type="file"), *commands, *options]


def require_topic(word: str, *others: str) -> None:
    """Raise a usage error if `word` is not a file; it suggests the nearest command, if any.

    `others` are the words after it, which tell commands of airs-cli apart.
    """
    if Path(word).exists():
        return
    from guardtui.cli.airs_cli import AIRS_CLI, airs_cli_explained
    from guardtui.domain.text import display_start, nearest

    if word == AIRS_CLI:
        raise click.UsageError(airs_cli_explained(others))
    shown = display_start(word, 200)
    near = nearest(word, COMMANDS)
    remedy = (
        f"did you mean 'guardtui {near}'?"
        if near
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
    examples=_EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
    options_metavar="[--help] [--version]",
    subcommand_metavar="[TOPIC] [--prompts FILE] | COMMAND …",
)
@click.option(
    "-V",
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

    sys.exit(run(lambda: cli.main(arguments, prog_name="guardtui", standalone_mode=False)))
