"""The registry of report formats: name, file suffix, purpose and writer of each.

A new format is a module with a function `write`, and an entry of `FORMATS`. Other packages add
formats by an entry point of the group `GROUP`: a name and a `Writer`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias

from guardtui.domain.document import Depth, Document

if TYPE_CHECKING:  # the registry is loaded for the help of a command, which is quick
    from guardtui.reports.base import ReportInput

GROUP = "guardtui.reports"
"""Entry-point group by which other packages add formats."""

Writer: TypeAlias = "Callable[[ReportInput], str]"
"""Writer of a report's text; the same input gives the same text."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A switch of a format: the keyword argument of its writer, and its purpose in a few words."""

    keyword: str
    about: str

    @property
    def option(self) -> str:
        """The command-line option."""
        return f"--{self.keyword.replace('_', '-')}"


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """A format of reports.

    - `ending`: suffix of its files, without the first dot.
    - `about`: its purpose, one line.
    - `module`: module with the function `write`; "" for a format of another package.
    - `depth`: level of detail if `write` takes any `Document`; None if it takes a `ReportInput`.
    - `variant`: a switch of the format, or None.
    """

    ending: str
    about: str
    module: str = ""
    depth: Depth | None = None
    variant: Variant | None = None


FORMATS: dict[str, ReportFormat] = {
    "html": ReportFormat(
        "html",
        "one page to read and pass on, with charts and a search",
        "guardtui.reports.html.as_page",
        Depth.PAGE,
    ),
    "md": ReportFormat(
        "md",
        "to read, in a pull request: metrics, changes, mistakes",
        "guardtui.reports.as_markdown",
        Depth.FULL,
    ),
    "table": ReportFormat(
        "txt",
        "plain text, as 'guardtui eval' prints it",
        "guardtui.reports.as_text",
        Depth.BRIEF,
    ),
    "json": ReportFormat(
        "json",
        "everything, for programs; other commands read it back",
        "guardtui.reports.json_report",
    ),
    "csv": ReportFormat(
        "csv",
        "one row for each prompt, for a spreadsheet",
        "guardtui.reports.csv_report",
        variant=Variant("excel", "with a byte order mark, by which Excel knows UTF-8"),
    ),
    "tsv": ReportFormat(
        "tsv", "one row for each iteration (results.tsv)", "guardtui.reports.tsv_report"
    ),
    "junit": ReportFormat(
        "junit.xml",
        "a test for each prompt, for CI systems",
        "guardtui.reports.junit",
        variant=Variant("only_regressions", "in which only regressions fail"),
    ),
    "sarif": ReportFormat(
        "sarif", "mistakes as findings, for code scanning", "guardtui.reports.sarif"
    ),
    "airs-json": ReportFormat(
        "airs.json",
        "what 'airs runtime topics eval' prints, with its names",
        "guardtui.reports.airs_json",
    ),
    "litellm": ReportFormat(
        "litellm.yaml",
        "the guardrail as LiteLLM reads it, with its threshold",
        "guardtui.reports.litellm",
    ),
    "inspect-log": ReportFormat(
        "inspect.json",
        "a log that 'inspect view' opens, with every sample",
        "guardtui.reports.inspect_log",
    ),
    "brief": ReportFormat(
        "brief.json",
        "8 kB for an agent: figures, judgement, mistakes, next step",
        "guardtui.reports.brief",
    ),
}
"""The built-in formats, those for readers first; other packages may add more."""

OF_SESSIONS = ("tsv",)
"""Formats of all iterations of a session, which a single evaluation does not have."""

WITH_NEXT_STEP = ("html", "md", "brief")
"""Formats that say what to do next, by the session and measured edits."""

DOCUMENT_FORMATS = ("table", "md", "html", "json")
"""Formats of everything that has a document, besides the report on one evaluation."""

VARIANTS: dict[str, Variant] = {
    name: known.variant for name, known in FORMATS.items() if known.variant is not None
}
"""Variant of each format that has one."""


def report_formats() -> tuple[str, ...]:
    """Return all formats: the built-in ones, then those that other packages add, sorted."""
    from importlib.metadata import entry_points

    added = {point.name for point in entry_points(group=GROUP)} - set(FORMATS)
    return (*FORMATS, *sorted(added))


def format_of(name: str) -> ReportFormat:
    """Return the format of this name; of another package's format only the name is known."""
    known = FORMATS.get(name)
    if known is not None:
        return known
    # The name becomes part of a file name.
    ending = re.sub(r"[^\w-]+", "-", name, flags=re.ASCII).strip("-") or "report"
    return ReportFormat(ending, "added by another package")


def load_writer(name: str, *, variant: bool = False, without: Collection[str] = ()) -> Writer:
    """Return the writer of a format, of its variant if that is wanted.

    Raises `ReportError` if the format is unknown, with all to choose from but those in `without`,
    or cannot be loaded. A format without a variant has one writer.
    """
    known = FORMATS.get(name)
    if known is None:
        return _added_writer(name, without)
    write = import_module(known.module).write
    depth = known.depth
    if depth is not None:
        from guardtui.reports.topic_document import topic_document

        return lambda report: str(write(topic_document(report, depth)))
    if variant and known.variant is not None:
        return partial(write, **{known.variant.keyword: True})
    writer: Writer = write
    return writer


def _added_writer(name: str, without: Collection[str]) -> Writer:
    from importlib.metadata import entry_points

    from guardtui.reports.base import ReportError

    for point in entry_points(group=GROUP, name=name):
        try:
            loaded: Writer = point.load()
        except Exception as error:
            raise ReportError(
                f"the report format {name!r} of {point.value} cannot be loaded "
                f"({type(error).__name__})"
            ) from error
        return loaded
    choices = ", ".join(known for known in report_formats() if known not in without)
    raise ReportError(f"unknown report format {name!r}: choose one of {choices}")


def render(document: Document, name: str) -> str:
    """Return a document as "table", "md" or "html"; it ends with a line feed."""
    text: str = import_module(FORMATS[name].module).write(document)
    return text
