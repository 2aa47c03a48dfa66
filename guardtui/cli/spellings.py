"""Commands, options and formats of former versions and of airs-cli, and their spelling here."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from guardtui.domain.text import display_start

_SHOWN = 200  # characters of a value

COMMANDS = {
    "sweep": "is now 'guardtui eval TOPIC --prompts FILE --thresholds'",
    "merge": "is gone: 'guardtui eval TOPIC --prompts FILE --jobs N' evaluates a whole set",
    "import-results": "is gone: 'guardtui export' writes results.tsv, and nothing reads it",
    "judge-template": "is now 'guardtui guardrails template judge'",
    "decision-template": "is now 'guardtui guardrails template decision'",
}
"""What became of each command."""

FORMATS = {"csv-excel": "csv --excel", "junit-regressions": "junit --only-regressions"}
"""What follows --format now, by the name of a format."""

OPTIONS = {
    "--scanner": "--guardrail {value}",
    "--profile": "--guardrail airs:{value}",
    "--model": "--guardrail {kind}:{value}",
    "--airs": "--guardrail airs",
    "--judge": "--guardrail judge:URL#MODEL",
    "--encoder": "--set encoder={value}",
    "--region": "--set region={value}",
    "--scan-endpoint": "--set scan-endpoint={value}",
    "--tenant": "--set tenant={value}",
    "--concurrency": "--set concurrency={value}",
    "--rate": "--set rate={value}",
    "--retries": "--set retries={value}",
    "--batch": "--set batch=true",
    "--api": "--set api={value}",
    "--template": "--set template={value}",
    "--judge-template": "--set template={value}",
    "--judge-form": "--set form={value}",
    "--model-option": "--set model-option.{value}",
    "--allow-http": "--set allow-http=true",
    "--price-in": "--set price-in={value}",
    "--price-out": "--set price-out={value}",
    "--answer-tokens": "--set answer-tokens={value}",
    "--budget": "--set budget={value}",
    "--max-tokens": "--set max-tokens={value}",
    "--shards": "--jobs {value}",
    "--shard": "--jobs N",
    "--executor": "--jobs N, or --ray [ADDRESS]",
    "--address": "--ray {value}",
}
"""The spelling of today of each option; `kind` is the value of --scanner, or judge."""

_SEARCH_OPTIONS = {"--budget": "--time {value}"}
"""The spelling of today of options of a search."""

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

_SCANNERS = {
    "local": "engine",
    "airs": "airs:PROFILE",
    "judge": "judge:URL#MODEL",
    "decision": "decision:URL#MODEL",
}
_NAMED_BY = {"airs": "--profile", "judge": "--model", "decision": "--model"}
"""The option that named the guardrail of a --scanner."""


def explained(words: Sequence[str], known: Collection[str]) -> str:
    """Return how the old options of a command line are spelled now, one a line, or "".

    `known` are the options that the command has: an option without a successor there is left out.
    """
    given = [each for each in _given(words) if each[0] not in known]
    values = dict(given)
    kind = "decision" if values.get("--scanner") == "decision" else "judge"
    lines = []
    for option, value in given:
        shown = display_start(value, _SHOWN)
        if option == "--scanner":
            if _NAMED_BY.get(value) in values:
                continue  # the other one names the guardrail
            shown = _SCANNERS.get(value, shown)
        template = OPTIONS[option]
        if "--time" in known:
            template = _SEARCH_OPTIONS.get(option, template)
        if template.partition(" ")[0] not in known:
            continue
        new = template.format(value=shown or "VALUE", kind=kind)
        typed = f"{option} {display_start(value, _SHOWN)}" if "{value}" in template else option
        lines.append(f"{typed.strip()} is now {new}")
    return "\n".join(lines)


def _given(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the old options among the words, with their values ("" without one)."""
    for index, word in enumerate(words):
        if word == "--":
            return
        option, sign, value = word.partition("=")
        if option in OPTIONS:
            after = words[index + 1] if index + 1 < len(words) else ""
            yield option, value if sign else "" if after.startswith("--") else after


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
