"""Commands of airs-cli, and what to type here instead."""

from __future__ import annotations

from collections.abc import Sequence

AIRS_CLI = "runtime"
"""The group of airs-cli that has the commands for topics, scans and profiles."""

AIRS_CLI_COMMANDS = {
    "topics create": "guardtui topics create FILE",
    "topics apply": "guardtui topics apply FILE --guardrail airs:NAME",
    "topics eval": "guardtui eval FILE --prompts FILE --guardrail airs:NAME",
    "topics revert": "guardtui topics delete NAME --force --updated-by EMAIL",
    "topics sample": "guardtui sample",
    "topics list": "guardtui topics list",
    "topics get": "guardtui topics get NAME",
    "topics update": "guardtui topics apply FILE",
    "topics delete": "guardtui topics delete NAME",
    "bulk-scan": "guardtui eval FILE --prompts FILE --guardrail airs --set batch=true",
    "resume-poll": "guardtui eval FILE --prompts FILE --guardrail airs --set batch=true",
    "profiles list": "guardtui topics list --guardrail airs:NAME",
    "profiles get": "guardtui topics list --guardrail airs:NAME",
    "profiles audit": "guardtui audit FILE",
}
"""Equivalents of the commands of `AIRS_CLI`; the table in docs/pages/airs.md has all of them."""


def airs_cli_explained(words: Sequence[str]) -> str:
    """Return what to type here instead of the words after `AIRS_CLI`, options included."""
    names = [word for word in words[:2] if not word.startswith("-")]
    known = [" ".join(names[:count]) for count in (2, 1)]
    name = next((name for name in known if name in AIRS_CLI_COMMANDS), "")
    subject = (
        f"'{AIRS_CLI} {name}' of airs-cli is" if name else f"'{AIRS_CLI}' is a command of airs-cli:"
    )
    remedy = f" '{AIRS_CLI_COMMANDS[name]}' here;" if name else ""
    return f"{subject}{remedy} see 'For users of airs-cli' in the page on AIRS (docs/pages/airs.md)"
