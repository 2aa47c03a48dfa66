"""The help of a command: options under headings, exit codes and examples, for 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from guardtui.cli.options import exits_of, general_exits

SECTIONS = {
    "Prompts": "prompts unlabelled sheet",
    "Input": "from intent expected-column true expected positive negative",
    "Guardrail": "guardrail set encoder threshold with sandbox default for",
    "Model": "model model-role writer concurrency retries sample-timeout allow-http",
    "Search": "time single",
    "Experiment": "experiment calls test-profile resume wordings",
    "Gates": "baseline min-coverage max-regressions max-errors require-complete "
    "require-significant min-topic-coverage max-conflicts strict",
    "Report": "format output to write-topic all excel only-regressions more page record trust",
    "Thresholds": "thresholds min-tpr min-tnr",
    "Fewer calls": "flips within max-calls",
    "Repetitions": "epochs reducer repeat fresh",
    "Metrics": "scorer metric cluster group plugin",
    "Large prompt sets": "jobs ray",
    "Server": "host port state decisions",
    "Behaviour": "latency propagation pending max-batch poll-limit rate-limit concurrent-limit "
    "list-order delete-reply empty-topic-list max-questions",
    "Faults": "fault slow retry-after seed",
}
"""Headings of options, in the order of the help, with the names of the options below each."""

_HEADINGS = {f"--{name}": title for title, names in SECTIONS.items() for name in names.split()}
_FEW = 9
"""Up to this number, options stand in one list."""
_WIDEST = 24
"""Columns for the name of an option; a longer one stands on a line of its own."""


class Command(click.Command):
    """A command whose help ends with exit codes and `examples`, pairs of a line and its purpose."""

    def __init__(self, *args: Any, examples: Sequence[tuple[str, str]] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, with headings if there are many."""
        shown = [
            (_HEADINGS.get(parameter.opts[0], "Options"), record)
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option)
            and (record := parameter.get_help_record(ctx)) is not None
        ]
        if len(shown) <= _FEW:
            shown = [("Options", record) for _, record in shown]
        width = min(max(len(name) for _, (name, _) in shown), _WIDEST)
        for title in (*SECTIONS, "Options"):
            rows = [(f"{name:<{width}}", text) for own, (name, text) in shown if own == title]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, _WIDEST)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the exit codes that have a meaning of their own, and the examples."""
        if codes := exits_of(self):
            with formatter.section("Exit codes"):
                rows = sorted({**general_exits(), **codes}.items())
                formatter.write_dl([(str(int(code)), meaning) for code, meaning in rows])
        if self.examples:
            with formatter.section("Examples"):
                for line, purpose in self.examples:
                    formatter.write_text(f"# {purpose}")
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")  # never broken


class Group(Command, click.Group):
    """A group of such commands, each listed with its whole first sentence."""

    command_class = Command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, then the options of the group itself."""
        self.format_commands(ctx, formatter)
        Command.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings."""
        sections = list(self.command_sections(ctx))
        width = max(len(name) for _, rows in sections for name, _ in rows)
        for title, rows in sections:
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", text) for name, text in rows])

    def command_sections(
        self, ctx: click.Context
    ) -> Iterator[tuple[str, Sequence[tuple[str, str]]]]:
        """Yield headings, with the names of the commands below each and what these do."""
        names = self.list_commands(ctx)
        commands = [(name, self.get_command(ctx, name)) for name in names]
        yield (
            "Commands",
            [(name, found.get_short_help_str(_WHOLE)) for name, found in commands if found],
        )


class ListingGroup(Group):
    """A group of commands on a topic whose word `list` may be left out."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name, command and arguments; those of `list` where a file stands first."""
        if args[0] not in self.commands and Path(args[0]).is_file():
            args = ["list", *args]
        return super().resolve_command(ctx, args)


_WHOLE = 1000
"""Characters of a short help that is not cut."""
