"""Descriptions and file suffixes of report formats, for lists."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """A format; `ending` is the suffix of its files without the first dot, `about` one line."""

    ending: str
    about: str


FORMATS: dict[str, ReportFormat] = {
    "html": ReportFormat("html", "one page to read and pass on, with charts and a search"),
    "md": ReportFormat("md", "to read, in a pull request: metrics, changes, mistakes"),
    "table": ReportFormat("txt", "plain text, as 'guardtui eval' prints it"),
    "json": ReportFormat("json", "everything, for programs; other commands read it back"),
    "csv": ReportFormat("csv", "one row for each prompt, for a spreadsheet"),
    "csv-excel": ReportFormat("excel.csv", "the same for Excel: it opens with all its letters"),
    "tsv": ReportFormat("tsv", "one row for each iteration (results.tsv)"),
    "junit": ReportFormat("junit.xml", "a test for each prompt, for CI systems"),
    "junit-regressions": ReportFormat("regressions.xml", "the same; only regressions fail"),
    "sarif": ReportFormat("sarif", "mistakes as findings, for code scanning"),
    "airs-json": ReportFormat(
        "airs.json", "what 'airs runtime topics eval' prints, with its names"
    ),
    "litellm": ReportFormat(
        "litellm.yaml", "the guardrail as LiteLLM reads it, with its threshold"
    ),
    "inspect-log": ReportFormat(
        "inspect.json", "a log that 'inspect view' opens, with every sample"
    ),
}
"""The built-in formats; other packages may add more."""

_ORDER = {name: index for index, name in enumerate(FORMATS)}


def format_of(name: str) -> ReportFormat:
    """Return the format of this name; of another package's format only the name is known."""
    known = FORMATS.get(name)
    if known is not None:
        return known
    # The name becomes part of a file name.
    ending = re.sub(r"[^\w-]+", "-", name, flags=re.ASCII).strip("-") or "report"
    return ReportFormat(ending, "added by another package")


def in_order(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in the order of a list: formats for readers first, unknown ones last."""
    return tuple(sorted(names, key=lambda name: (_ORDER.get(name, len(_ORDER)), name)))
