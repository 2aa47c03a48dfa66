"""SARIF 2.1.0 (OASIS), for code scanning: findings with their rules and locations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import quote

from guardtui import __version__
from guardtui.domain.text import display_text
from guardtui.reports.json_text import dumps

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

FINGERPRINT = "guardtui/v1"
"""Name of the fingerprint, which identifies a finding across runs."""

GITHUB_FINGERPRINT = "primaryLocationLineHash"
"""The only fingerprint that GitHub reads: `HASH:N`, the N-th finding of a log with this hash.

Source: docs.github.com, "SARIF support for code scanning"; github/codeql-action, fingerprints.ts.
"""

_MARKS = str.maketrans({"[": "\\[", "]": "\\]", "{": "{{", "}": "}}"})
_RESULTS = '"results": []'


@dataclass(frozen=True, slots=True)
class SarifRule:
    """A kind of finding. `level` is `error`, `warning` or `note`; no text is foreign."""

    id: str
    name: str
    short: str
    help: str
    level: str


@dataclass(frozen=True, slots=True)
class SarifResult:
    """A finding. `message` may be any text; `lines` count from 1 and may be empty.

    `fingerprint` depends on the subject of the finding, not on its location. `state` is `new`,
    `unchanged` or `updated` since a baseline, or "" without one.
    """

    rule: str
    level: str
    message: str
    path: str = ""
    lines: Sequence[int] = ()
    fingerprint: str = ""
    state: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict)


def sarif_log(
    rules: Sequence[SarifRule],
    findings: Sequence[SarifResult],
    *,
    run: str,
    problems: Sequence[str] = (),
    properties: Mapping[str, Any] | None = None,
) -> str:
    """Return a log with one run, a line for each result.

    `run` names the run: code scanning shows findings of runs with different names together, and
    replaces those of an earlier run with the same name. `problems` are sentences on why it was not
    successful.
    """
    driver = {
        "name": "guardtui",
        "version": __version__,
        "rules": [
            {
                "id": rule.id,
                "name": rule.name,
                "shortDescription": {"text": rule.short},
                "fullDescription": {"text": rule.help},
                "help": {"text": rule.help, "markdown": rule.help},
                "defaultConfiguration": {"level": rule.level},
                "properties": {"tags": ["guardrail"]},
            }
            for rule in rules
        ],
    }
    notifications = [
        {"level": "error", "message": {"text": message_text(problem)}} for problem in problems
    ]
    document: dict[str, Any] = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "automationDetails": {"id": f"guardtui/{quote(_encoded(run), safe='')}/"},
                "invocations": [
                    {
                        "executionSuccessful": not problems,
                        "toolExecutionNotifications": notifications,
                    }
                ],
                "columnKind": "unicodeCodePoints",
                "properties": dict(properties or {}),
                "results": [],
            }
        ],
    }
    indices = {rule.id: index for index, rule in enumerate(rules)}
    seen: Counter[str] = Counter()
    lines = []
    for finding in findings:
        seen[finding.fingerprint] += 1
        lines.append(f"        {dumps(_result(finding, indices, seen[finding.fingerprint]))}")
    results = ",\n".join(lines)
    text = dumps(document, indent=2) + "\n"
    if not results:
        return text
    # Quotes in texts are escaped, so this is the key, and the last one of the run.
    before, _, after = text.rpartition(_RESULTS)
    return f'{before}"results": [\n{results}\n      ]{after}'


def message_text(text: str) -> str:
    """Return any text as a message that is inert and has neither links nor placeholders.

    Source: SARIF 2.1.0, 3.11.5 and 3.11.6: braces are doubled, brackets have a backslash.
    """
    return display_text(text).translate(_MARKS)


def uri(path: str) -> str:
    """Return a path as a URI: relative paths stay relative, absolute ones are file://."""
    pure: PurePath = PurePosixPath(path)
    if "\\" in path or PureWindowsPath(path).drive:
        pure = PureWindowsPath(path)
    parts = quote(_encoded(pure.as_posix()), safe="/")
    if not pure.is_absolute():
        return parts
    return f"file://{parts}" if parts.startswith("/") else f"file:///{parts.replace('%3A', ':', 1)}"


def _encoded(text: str) -> bytes:
    # Lone surrogates of a file name stand for bytes that are not UTF-8.
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _result(finding: SarifResult, indices: Mapping[str, int], repeat: int) -> dict[str, Any]:
    """Return a result; `repeat` counts from 1 the findings of the log with this fingerprint."""
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": indices[finding.rule],
        "level": finding.level,
        "message": {"text": message_text(finding.message)},
    }
    if finding.path:
        lines = finding.lines or (0,)
        result["locations"] = [_location(finding.path, lines[0])]
        if len(lines) > 1:
            result["relatedLocations"] = [_location(finding.path, line) for line in lines[1:]]
    if finding.fingerprint:
        result["partialFingerprints"] = {
            FINGERPRINT: finding.fingerprint,
            GITHUB_FINGERPRINT: f"{finding.fingerprint}:{repeat}",
        }
    if finding.state:
        result["baselineState"] = finding.state
    if finding.properties:
        result["properties"] = dict(finding.properties)
    return result


def _location(path: str, line: int) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": uri(path)}}
    if line:
        location["region"] = {"startLine": line}
    return {"physicalLocation": location}
