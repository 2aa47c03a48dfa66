"""Help of every command: headings, exit codes, examples that can be run, 80 columns."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import click
import pytest

from guardtui.cli.command_help import SECTIONS, Command
from guardtui.cli.main import COMMANDS, GROUPS, cli

from .conftest import Run


def commands() -> Iterator[tuple[str, click.Context]]:
    """Yield every command, also those in groups, by its words."""
    root = click.Context(cli, info_name="guardtui")
    for name in COMMANDS:
        found = cli.get_command(root, name)
        assert found is not None
        context = click.Context(found, parent=root, info_name=name)
        yield name, context
        if isinstance(found, click.Group):
            for inner in found.list_commands(context):
                command = found.get_command(context, inner)
                assert command is not None
                yield f"{name} {inner}", click.Context(command, parent=context, info_name=inner)


CONTEXTS = dict(commands())


@pytest.mark.parametrize("name", CONTEXTS)
def test_help_command_prints_the_help_of_every_command(run: Run, name: str) -> None:
    result = run("help", *name.split(), COLUMNS="80")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"Usage: guardtui {name}")
    assert result.out == run(*name.split(), "--help", COLUMNS="80").out
    assert max(map(len, result.out.splitlines())) <= 80
    assert "..." not in result.out.partition("\nCommands:\n")[2]


def test_help_without_a_command_lists_all(run: Run) -> None:
    result = run("help")
    assert result.out == run("--help").out
    for name in COMMANDS:
        assert f"\n  {name} " in result.out
    assert len(COMMANDS) <= 23
    for title in GROUPS:
        assert f"\n{title}:\n" in result.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evl"], "no command 'evl'; did you mean 'guardtui eval'?"),
        (["inbox", "ad"], "no command 'ad'; did you mean 'guardtui inbox add'?"),
        (["eval", "add"], "no command 'add'; 'guardtui help' lists the commands"),
        (["\x1b[2J"], "no command '␛[2J'; 'guardtui help' lists the commands"),
    ],
)
def test_help_of_no_command_suggests_one(run: Run, words: list[str], message: str) -> None:
    result = run("help", *words)
    assert (result.code, result.out) == (2, "")
    assert f"error: {message}\n" in result.err


def test_many_options_stand_under_headings_and_no_heading_is_unused() -> None:
    used = set()
    for name, context in CONTEXTS.items():
        text = context.get_help()
        titles = [title for title in SECTIONS if f"\n{title}:\n" in text]
        options = [one for one in context.command.params if isinstance(one, click.Option)]
        assert (len(titles) > 1) == (len(options) > 8), name
        used.update(titles)
    assert used == set(SECTIONS)


def test_exit_codes_with_a_meaning_of_their_own_are_listed() -> None:
    text = CONTEXTS["eval"].get_help()
    codes = text.partition("\nExit codes:\n")[2].partition("\n\n")[0].splitlines()
    numbers = [line.split()[0] for line in codes if line[2] != " "]
    assert numbers == ["0", "1", "2", "3", "4", "130"]


def test_every_command_and_group_has_examples_that_can_be_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in COMMANDS:
        command = CONTEXTS[name].command
        assert isinstance(command, Command)
        assert command.examples or name == "agent", name
        for line, purpose in command.examples:
            assert f"\n  # {purpose}\n  {line}\n" in f"{CONTEXTS[name].get_help()}\n"
            words = shlex.split(line.partition(" > ")[0])
            assert words[0] == "guardtui"
            found = CONTEXTS.get(" ".join(words[1:3])) or CONTEXTS.get(words[1])
            if found is None:  # a topic file
                found, words = CONTEXTS["open"], ["guardtui", "open", *words[1:]]
            depth = found.command_path.count(" ") + 1
            if not isinstance(found.command, click.Group):
                found.command.make_context(words[depth - 1], words[depth:])
