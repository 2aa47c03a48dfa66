"""`guardtui guardrails`: list the guardrails, their keys and templates, and check one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from guardtui.app.guardrails.check_result import CheckResult, CheckResults
from guardtui.cli.command_help import Group
from guardtui.cli.diagnostics import Exit, note
from guardtui.cli.guardrail_options import GuardrailFlags, set_option
from guardtui.cli.options import FILE, exits, json_option, output_option
from guardtui.cli.output import table, write
from guardtui.cli.output_options import TEMPLATES, format_for


@dataclass(frozen=True, slots=True)
class GuardrailEntry:
    """A guardrail with a name; a nearer file has one of the same name if it is shadowed."""

    name: str
    kind: str
    keys: dict[str, Any]
    file: str
    line: int | None
    shadowed: bool


@dataclass(frozen=True, slots=True)
class GuardrailList:
    """The guardrails that have a name."""

    guardrails: list[GuardrailEntry]


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """A key of a kind of guardrail, with its values in words."""

    name: str
    values: str
    help: str


@dataclass(frozen=True, slots=True)
class KeyList:
    """The keys of a kind of guardrail."""

    of: str
    keys: list[KeyEntry]


_KINDS = ("engine", "airs", "judge", "decision")


@click.group(
    "guardrails",
    cls=Group,
    invoke_without_command=True,
    examples=(
        ("guardtui guardrails", "The guardrails that have a name here"),
        ("guardtui guardrails --keys airs", "What can be set for a kind"),
        ("guardtui guardrails check prod", "Whether one is reached"),
    ),
)
@click.option("--keys", "kind", type=click.Choice(_KINDS), help="List the keys of this kind.")
@json_option
@click.pass_context
def command(context: click.Context, kind: str | None, as_json: bool) -> None:
    """List the guardrails that --guardrail can name, check one, or print a template.

    They are in the section guardrails of the settings ('guardtui config --path'), and in
    guardrails.yaml beside a topic, which wins. The Guardrail dialog of the app writes them too.
    """
    if context.invoked_subcommand is not None:
        if kind is not None or as_json:
            raise click.UsageError("--keys and --json cannot be combined with a command")
    elif kind is not None:
        _list_keys(kind, as_json=as_json)
    else:
        _list(None, as_json=as_json)


@command.command("list")
@click.argument("topic", type=FILE, required=False)
@json_option
def list_(topic: Path | None, as_json: bool) -> None:
    """List the guardrails: name, kind, what each is made of, and where it comes from.

    Those beside TOPIC come first; without it, those in the current folder. A guardrail is shadowed
    if a nearer file has one of the same name.
    """
    _list(topic, as_json=as_json)


def _list(topic: Path | None, *, as_json: bool) -> None:
    from guardtui.app.guardrails.named import load_guardrails
    from guardtui.domain.text import display_text

    known = load_guardrails(topic)
    if as_json:
        from guardtui.reports.json_data import encode

        entries = [
            GuardrailEntry(
                each.name,
                each.kind,
                shown_values(each.configuration.given()),
                str(each.path),
                each.line,
                each.shadowed,
            )
            for each in known
        ]
        write(encode("guardrails", GuardrailList(entries)))
        return
    rows = [
        [
            display_text(each.name),
            each.kind,
            display_text(" ".join(_texts(each.configuration.given()))),
            f"{display_text(str(each.path))}:{each.line}" + " (shadowed)" * each.shadowed,
        ]
        for each in known
    ]
    write(table(rows, ("name", "kind", "keys", "from")))
    if not known:
        note("no guardrail has a name yet: add one in the app, or to guardrails.yaml")


def _texts(values: dict[str, Any]) -> list[str]:
    """Return values of keys as `--set` takes them."""
    texts = []
    for key, value in shown_values(values).items():
        if isinstance(value, dict):
            texts += [f"{key}.{name}={json.dumps(entry)}" for name, entry in value.items()]
        elif isinstance(value, list):
            texts.append(f"{key}={','.join(value)}")
        else:
            texts.append(f"{key}={str(value).lower() if isinstance(value, bool) else value}")
    return texts


def shown_values(values: dict[str, Any]) -> dict[str, Any]:
    """Return values of keys without the queries of URLs, which may hold a secret."""
    from guardtui.http.address import without_queries

    def shown(value: Any) -> Any:
        if isinstance(value, list):
            return [shown(entry) for entry in value]
        return without_queries(value) if isinstance(value, str) else value

    return {key: shown(value) for key, value in values.items()}


def _list_keys(kind: str, *, as_json: bool) -> None:
    from guardtui.scanners.configuration import keys_of

    keys = keys_of(kind)
    if as_json:
        from guardtui.reports.json_data import encode

        rows = [KeyEntry(key.name, key.values, key.help) for key in keys]
        write(encode("keys", KeyList(kind, rows)))
    else:
        write(table([[key.name, key.values, key.help] for key in keys], ("key", "values", "help")))


@command.command("check")
@set_option("Value of a key of the guardrail for this check, such as retries=3 (repeatable).")
@click.argument("name")
@json_option
@exits({Exit.NOT_COMPLETED: "it does not work"})
def check(name: str, settings: tuple[str, ...], as_json: bool) -> int:
    """Send a guardrail one or two plain prompts, and report whether it answers.

    NAME is a name or an address, such as airs:PROFILE.
    """
    result = check_guardrail(GuardrailFlags(name, settings).select())
    checked = CheckResults.of([result])
    if as_json:
        from guardtui.reports.json_data import encode

        write(encode("doctor", checked))
    else:
        from guardtui.domain.text import display_text

        remedy = f"\n  {display_text(result.remedy)}" if result.remedy else ""
        write(f"{result.state}: {result.name}: {display_text(result.value)}{remedy}\n")
    return Exit.DONE if checked.ok else Exit.NOT_COMPLETED


def check_guardrail(guardrail: Any) -> CheckResult:
    """Return the result of a check of a `NamedGuardrail`. Raises GuardrailError and InputError."""
    from guardtui.app.guardrails.choosing import check as ask
    from guardtui.app.guardrails.remote import RemoteOptions
    from guardtui.cli import signals
    from guardtui.cli.airs_service import failures_told

    with failures_told():
        return signals.run(ask(RemoteOptions(), guardrail))


@command.command("template")
@click.argument("kind", type=click.Choice(["judge", "decision"]))
@output_option
def template(kind: str, output: Path | None) -> int:
    """Print the instructions of a judge, or the question for a decision model, to edit.

    The key template names the edited file.
    """
    from guardtui.scanners.models.templates import DecisionTemplate, JudgeTemplate

    format_for(None, output, "md", TEMPLATES)
    write((JudgeTemplate if kind == "judge" else DecisionTemplate).built_in().text, output)
    return Exit.DONE
