"""`--model-role NAME=URL#MODEL`: models for the roles that scorers name."""

from __future__ import annotations

from collections.abc import Sequence

import click

from guardtui.cli.guardrail_options import Function


def model_role_option(function: Function) -> Function:
    """Add --model-role, which may be given several times."""
    return click.option(
        "--model-role",
        "model_roles",
        multiple=True,
        metavar="NAME=URL#MODEL",
        help="The model of a role that a scorer names (model_role=NAME); several are a panel.",
    )(function)


def roles_of(given: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the models of each role, in the order of the options. Raises UsageError."""
    roles: dict[str, tuple[str, ...]] = {}
    for text in given:
        name, equals, model = text.partition("=")
        name = name.strip()
        if not equals or not name or not model.strip() or "#" in name:
            raise click.UsageError(f"--model-role: write NAME=URL#MODEL, not {text!r}")
        roles[name] = (*roles.get(name, ()), model.strip())
    return roles
