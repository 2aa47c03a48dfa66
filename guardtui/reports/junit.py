"""The report for CI systems: JUnit XML, a test case for each prompt."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from guardtui.domain.figures import rate_text
from guardtui.domain.metrics import RATES, Metrics
from guardtui.domain.text import display_text
from guardtui.domain.verdicts import Outcome
from guardtui.reports.base import ReportError, ReportInput, ReportRow
from guardtui.reports.json_data import RATE_KEYS
from guardtui.reports.prompt_problems import (
    about,
    is_regression,
    prompt_hash,
    prompt_line,
    prompt_start,
    statement,
)

NAME_CHARACTERS = 80
"""Characters of a prompt in the name of its test."""

_CHARACTERS = 1000  # of a prompt, in the text of a failure
_HASH = 8  # digits of a prompt's hash


def write(report: ReportInput, *, only_regressions: bool = False) -> str:
    """Return XML 1.0 with a suite for each category, ordered by their first prompts, or one suite.

    A mistake is a `failure` (type `FP`, `FN` or `regression`), a prompt without a verdict an
    `error`, and one that was not requested `skipped`. With `only_regressions` all other mistakes
    are `skipped` too: for gates that accept known mistakes. All prompts are listed, since readers
    count them. A test is named by its prompt, so that it keeps its history when lines move; `file`
    and `line` locate the prompt. There are no times. Properties of a suite are its rates and
    counts; the first suite also has those of all prompts, as `all.…`, and describes the evaluation.
    All texts are inert: `display_text` makes all characters visible that XML does not allow.

    Raises ReportError for `only_regressions` without a baseline, which would let everything pass.
    """
    if only_regressions and report.comparison is None:
        raise ReportError(
            "there is no baseline, so no mistake is a regression\n"
            "  name a baseline (--baseline), or let every mistake fail"
        )
    total = report.evaluation.metrics
    failures = total.fp + total.fn
    if only_regressions and report.comparison is not None:
        failures = report.comparison.regressions
    root = ElementTree.Element("testsuites", _counts(total, failures))
    root.set("name", display_text(f"guardtui: {report.topic.name}"))
    whole = [*about(report), *_measured(total, "all."), *_compared(report)]
    for name, rows in _suites(report).items():
        _add_suite(root, report, name, rows, whole, only_regressions)
        whole = []
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, "unicode")}\n'


def _suites(report: ReportInput) -> dict[str, list[ReportRow]]:
    """Return rows by category, "(none)" for those without one; without categories by the topic."""
    column = None if report.prompts is None else report.prompts.category_column
    if column is None:
        return {report.topic.name: list(report.rows())}
    index = report.extra_columns.index(column)
    suites: dict[str, list[ReportRow]] = {}
    for row in report.rows():
        value = row.extra[index]
        name = "" if value is None else str(value)
        suites.setdefault(name or "(none)", []).append(row)
    return suites


def _add_suite(
    root: ElementTree.Element,
    report: ReportInput,
    name: str,
    rows: list[ReportRow],
    whole: list[tuple[str, str]],
    only_regressions: bool,
) -> None:
    outcomes: list[str] = [row.outcome for row in rows]
    metrics = Metrics(*(outcomes.count(outcome.name) for outcome in Outcome))
    problems = [_problem(row, only_regressions) for row in rows]
    suite = _add(root, "testsuite", name=name, **_counts(metrics, problems.count("failure")))
    suite.set("skipped", str(problems.count("skipped")))
    if report.prompt_file:
        suite.set("file", display_text(report.prompt_file))
    properties = _add(suite, "properties")
    for key, value in (*whole, *_measured(metrics, "")):
        _add(properties, "property", name=key, value=value)
    for row, problem in zip(rows, problems, strict=True):
        location = {"file": report.prompt_file} if report.prompt_file and row.line else {}
        if location and (line := prompt_line(report, row)):
            location["line"] = str(line)
        named = {"classname": f"guardtui.{report.topic.name}.{name}", "name": _name(report, row)}
        case = _add(suite, "testcase", **named, **location)
        if problem:
            message = statement(report, row)
            kind = "regression" if is_regression(row) else row.outcome
            text = ": ".join(filter(None, (":".join(location.values()), row.outcome, message)))
            element = _add(case, problem, type=kind, message=message)
            element.text = f"{display_text(text)}\n{prompt_start(row, _CHARACTERS)}"


def _add(parent: ElementTree.Element, name: str, /, **attributes: str) -> ElementTree.Element:
    shown = {key: display_text(value) for key, value in attributes.items()}
    return ElementTree.SubElement(parent, name, shown)


def _problem(row: ReportRow, only_regressions: bool) -> str:
    """Return the name of the element that says why a prompt's test did not pass, or ""."""
    if row.outcome in ("TP", "TN"):
        return ""
    if row.outcome == "ERROR":
        return "error"
    is_skipped = row.outcome == "OPEN" or (only_regressions and not is_regression(row))
    return "skipped" if is_skipped else "failure"


def _name(report: ReportInput, row: ReportRow) -> str:
    """Return the name of a prompt's test, which is unique and depends only on the prompt's text.

    It is the prompt, or its start with its hash.
    """
    start = prompt_start(row, NAME_CHARACTERS)
    # No prompt may look like the name of another one with its hash.
    exact = start == row.prompt and " #" not in start
    return start if exact else f"{start} #{prompt_hash(report, row)[:_HASH]}"


def _counts(metrics: Metrics, failures: int) -> dict[str, str]:
    counts = {"tests": metrics.prompts, "failures": failures, "errors": metrics.errors}
    return {name: str(count) for name, count in counts.items()}


def _measured(metrics: Metrics, prefix: str) -> Iterator[tuple[str, str]]:
    for name in RATES:
        yield f"{prefix}{RATE_KEYS[name]}", rate_text(getattr(metrics, name))
    for name in ("tp", "fn", "fp", "tn", "errors", "open"):
        yield f"{prefix}{name}", str(getattr(metrics, name))


def _compared(report: ReportInput) -> Iterator[tuple[str, str]]:
    if report.comparison is not None:
        yield "all.regressions", str(report.comparison.regressions)
        yield "all.fixes", str(report.comparison.fixes)
        yield "all.comparison", display_text(report.comparison.sentence)
