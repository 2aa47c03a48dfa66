"""Test cases of promptfoo: YAML, JSON, JSON Lines and CSV with variables and assertions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from guardtui.domain.prompt_reading import Unlabelled
from guardtui.domain.prompts import PROMPT_BYTES
from guardtui.files.foreign.base import (
    Entry,
    ForeignInput,
    ForeignPrompts,
    Format,
    ImportOptions,
    mapped,
)
from guardtui.files.problems import FileError, json_error
from guardtui.files.prompt_rows import read_rows
from guardtui.files.source_positions import json_lines, json_list, json_members, plain, text_of
from guardtui.files.table_formats import SEPARATORS, header_fields
from guardtui.files.yaml_documents import line_of

_PROMPTS = ("prompt", "input", "query", "question", "message", "text")
"""Names of the prompt's variable if there are several and none is given."""

_FIRES = {
    "not-guardrails": True,
    "guardrails": False,
    "not-moderation": True,
    "moderation": False,
    "is-refusal": True,
    "not-is-refusal": False,
}
"""Verdict that a test expects of a guardrail, by the type of its assertion."""

_ASSERTION = re.compile(r"(not-)?([a-z][a-z-]*)(?:\([\d.]+\))?(?::(.*))?", re.DOTALL)
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}", re.ASCII)
_FILLED_AT_MOST = 100
"""Number of variables filled into a prompt; they may name each other in a circle."""
_REFERENCE = "names another file: convert that one"

_Parts: TypeAlias = tuple[int, Sequence[Any]]
"""A test as written, with its line; of its parts, mappings, the last one's values count."""


@dataclass(slots=True)
class _Test:
    line: int
    vars: dict[str, Any] = field(default_factory=dict)
    asserts: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    description: str = ""


def _recognises(source: ForeignInput) -> bool:
    """Return whether there are special CSV columns, `vars` in a list of tests, or `tests`."""
    if source.ending in (".parquet", ".eval", ".co"):
        return False
    if source.ending in (".csv", ".tsv"):
        return bool(_special_columns(source))
    if _is_json_lines(source):
        return isinstance(source.first_object.get("vars"), dict)
    if source.looks_like_json:
        try:
            return _is_config(json.loads(source.text))
        except (ValueError, RecursionError):
            return False
    return source.ending in (".yaml", ".yml") and _is_config(source.yaml)


def _is_json_lines(source: ForeignInput) -> bool:
    return source.ending in (".jsonl", ".ndjson") or (
        source.looks_like_json and isinstance(source.first_object.get("vars"), dict)
    )


def _special_columns(source: ForeignInput) -> list[str]:
    """Return the columns that only promptfoo has, with the delimiter that separates them."""
    for separator in SEPARATORS:
        names = [name.strip() for name in header_fields(source.content, separator)]
        special = [name for name in names if name.startswith(("__expected", "__metadata:"))]
        if special:
            return special
    return []


def _is_config(document: Any) -> bool:
    if isinstance(document, dict):
        scenarios = document.get("scenarios")
        return "tests" in document or (
            isinstance(scenarios, list)
            and any(isinstance(item, dict) and "config" in item for item in scenarios)
        )
    first = document[0] if isinstance(document, list) and document else None
    return isinstance(first, dict) and "vars" in first


def _read(source: ForeignInput, options: ImportOptions) -> ForeignPrompts:
    """Read a row for each test; several rows if the prompt's variable is a list.

    The prompt is the variable named by `prompt_column`, else the only one, else the one called
    prompt, input, query, question, message or text. The label is the variable or metadata value
    named by `expected_column`, else it follows from an assertion: one whose value is among `true`,
    or `guardrails` (nothing is blocked), `not-guardrails` (something is), `moderation`,
    `is-refusal` and their opposites, or `equals` with true or false. Columns: the other variables,
    the metadata, `description`, `assert`. Tests without any assertion, which are legal, are left
    out unless `unlabelled` says otherwise.

    Source: promptfoo, site/docs/configuration/test-cases.md, .../scenarios.md,
    .../expected-outputs/guardrails.md, src/csv.ts for the special columns and for assertions in a
    cell, and src/evaluatorHelpers.ts (`resolveVariables`) for variables in variables.
    """
    tests = list(_tests(source))
    name = _prompt_variable(source, tests, options)
    if not options.expected_column and any(test.asserts for test in tests):
        options = replace(options, unlabelled=options.unlabelled or Unlabelled.LEAVE_OUT)
    entries: list[Entry] = []
    for test in tests if name else ():
        try:
            entries += _entries(source, test, name, options)
        except ValueError as error:
            source.report(str(error), test.line)
    return mapped(source, entries, options)


def _entries(
    source: ForeignInput, test: _Test, name: str, options: ImportOptions
) -> Iterator[Entry]:
    """Yield an entry for each prompt of a test. Raises ValueError."""
    if name not in test.vars:
        names = ", ".join(test.vars) or "none"
        raise ValueError(f"no variable is named {name!r} (existing: {names:.200})")
    label, label_name = _label(test, options)
    value = test.vars[name]
    for prompt in value if isinstance(value, list) else [value]:
        if isinstance(prompt, str):
            prompt = _resolved(name, {**test.vars, name: prompt})
        if isinstance(prompt, dict | list):
            message = f"the variable {name!r} is not text: name another with --prompt-column"
            source.report(message, test.line)
        elif isinstance(prompt, str) and prompt.startswith("file://"):
            source.report(f"the variable {name!r} {_REFERENCE}", test.line)
        else:
            yield Entry(
                test.line,
                prompt,
                label,
                expected=None if label_name else label,
                label_name=label_name,
                columns=_columns(test, {name, label_name}),
            )


def _resolved(name: str, variables: Mapping[str, Any]) -> str:
    """Return a variable with the variables that it names filled in, as promptfoo does."""
    text = str(variables[name])
    for _ in range(_FILLED_AT_MOST):
        known = (
            match
            for match in _VARIABLE.finditer(text)
            if isinstance(variables.get(match[1]), str | int | float)
        )
        match = next(known, None)
        if match is None or len(text) > PROMPT_BYTES:
            break
        text = f"{text[: match.start()]}{text_of(variables[match[1]])}{text[match.end() :]}"
    return text


# --- locations of tests -------------------------------------------------------------------------


def _tests(source: ForeignInput) -> Iterator[_Test]:
    """Yield the tests, each with the values that all tests have, and report the bad ones."""
    default: Any = None
    found: list[_Parts]
    if source.ending in (".csv", ".tsv"):
        found = list(_in_csv(source))
    elif _is_json_lines(source):
        found = [(line, [value]) for line, value in json_lines(source.text)]
    else:
        found, default = _in_document(source)
    if not found and source.ending not in (".csv", ".tsv"):
        source.report("the list of tests is missing: name a file that has one")
    for line, parts in found:
        try:
            if isinstance(parts[0], ValueError):
                raise parts[0]
            yield _test(line, [plain(part) for part in parts], plain(default))
        except ValueError as error:
            source.report(str(error), line)


def _in_document(source: ForeignInput) -> tuple[list[_Parts], Any]:
    """Return the tests of a list or a configuration, and what all of them have."""
    document: Any
    if source.looks_like_json:
        try:
            if source.text.lstrip().startswith("["):
                return [(line, [value]) for line, value in json_list(source.text)], None
            document, tests = json_members(source.text, "tests")
        except (ValueError, RecursionError) as error:
            raise json_error(source.path, error) from error
    else:
        document = source.yaml
        if not isinstance(document, dict):
            document = {"tests": document if isinstance(document, list) else None}
        listed = document.get("tests")
        listed = listed if isinstance(listed, list) else []
        tests = [(line_of(listed, index) or 1, test) for index, test in enumerate(listed)]
    if isinstance(document.get("tests"), str):
        raise FileError(source.path, f"'tests' {_REFERENCE}", str(document["tests"])[:200])
    found: list[_Parts] = [(line, [test]) for line, test in tests]
    scenarios = document.get("scenarios")
    for scenario in scenarios if isinstance(scenarios, list) else ():
        found += _in_scenario(scenario)
    return found, document.get("defaultTest")


def _in_scenario(scenario: Any) -> Iterator[_Parts]:
    """Yield each test of a scenario with each of its configurations."""
    configurations = scenario.get("config") if isinstance(scenario, dict) else scenario
    if not isinstance(configurations, list):
        yield 1, [configurations]  # reported as a test that is not a mapping
        return
    templates = scenario.get("tests") or [{}]
    for index, configuration in enumerate(configurations):
        line = line_of(configurations, index) or 1
        for template in templates if isinstance(templates, list) else [templates]:
            yield line, [configuration, template]


def _test(line: int, parts: Sequence[Any], default: Any) -> _Test:
    """Return a test of its parts and the defaults of all tests. Raises ValueError."""
    default = default if isinstance(default, dict) else {}
    test = _Test(line)
    for values, name in ((test.vars, "vars"), (test.metadata, "metadata")):
        common = default.get(name)
        values.update(common if isinstance(common, dict) else {})
    for part in parts:
        if isinstance(part, str):
            raise ValueError(f"the test {part[:60]!r} {_REFERENCE}")
        if not isinstance(part, dict):
            raise ValueError("a test is not a mapping with vars")
        for values, name in ((test.vars, "vars"), (test.metadata, "metadata")):
            own = part.get(name)
            if isinstance(own, str):
                raise ValueError(f"{name} {_REFERENCE}")
            if own is not None and not isinstance(own, dict):
                raise ValueError(f"{name} is not a mapping of names to values")
            values.update(own or {})
        test.description = text_of(part.get("description")) or test.description
    for part in (*parts, default):
        test.asserts += _flat(part.get("assert"))
    return test


def _flat(asserts: Any) -> Iterator[dict[str, Any]]:
    """Yield assertions, including those within sets."""
    for assertion in asserts if isinstance(asserts, list) else ():
        if isinstance(assertion, dict):
            yield from (
                _flat(assertion["assert"])
                if assertion.get("type") == "assert-set"
                and isinstance(assertion.get("assert"), list)
                else [assertion]
            )


def _in_csv(source: ForeignInput) -> Iterator[_Parts]:
    special = [name.lower() for name in _special_columns(source)]
    rows = read_rows(source.path, source.content, special)
    for finding in rows.unread:
        source.report(finding.message, finding.lines[0] if finding.lines else None)
    for line, row in zip(rows.lines.tolist(), rows.raw.iter_rows(named=True), strict=False):
        test: dict[str, Any] = {"vars": {}, "metadata": {}, "assert": []}
        for name, cell in row.items():
            text = cell or ""
            if name.startswith("__expected"):
                if text.strip():
                    test["assert"].append(_assertion(text.strip()))
            elif name.startswith("__metadata:"):
                test["metadata"][name.removeprefix("__metadata:").removesuffix("[]")] = text
            elif name == "__description":
                test["description"] = text
            else:
                test["metadata" if name.startswith("__") else "vars"][name] = text
        yield line, [test]


def _assertion(text: str) -> dict[str, Any]:
    """Parse an assertion in a cell: `type: value`, or the text that the output must equal."""
    match = _ASSERTION.fullmatch(text)
    if match and (match[3] is not None or f"{match[1] or ''}{match[2]}" in _FIRES):
        value = (match[3] or "").strip()
        return {"type": f"{match[1] or ''}{match[2]}"} | ({"value": value} if value else {})
    return {"type": "equals", "value": text}


# --- their meaning ------------------------------------------------------------------------------


def _prompt_variable(source: ForeignInput, tests: list[_Test], options: ImportOptions) -> str:
    """Return the name of the prompt's variable; "" with a problem if it is unclear."""
    if options.prompt_column or not tests:
        return options.prompt_column
    names = dict.fromkeys(name for test in tests for name in test.vars)
    names.pop(options.expected_column, None)
    usual = [name for name in names if name.lower() in _PROMPTS]
    candidates = list(names) if len(names) == 1 else usual
    if len(candidates) == 1:
        return candidates[0]
    shown = ", ".join(candidates or names) or "none"
    source.report(
        f"which variable is the prompt? existing: {shown:.300}; name it with --prompt-column"
    )
    return ""


def _label(test: _Test, options: ImportOptions) -> tuple[Any, str]:
    """Return the value of the label and its name, or the label by assertions and "".

    None stands for a test that may go without a label. Raises ValueError.
    """
    if wanted := options.expected_column:
        name = wanted.removeprefix("metadata.").removeprefix("vars.")
        for values in (test.vars, test.metadata):
            if name in values:
                return values[name], name
        names = ", ".join([*test.vars, *test.metadata]) or "none"
        raise ValueError(f"no variable or metadata {name!r} (existing: {names:.200})")
    if not test.asserts and options.unlabelled in (Unlabelled.FALSE, Unlabelled.LEAVE_OUT):
        return None, ""
    labels = {
        label
        for assertion in test.asserts
        if (label := _asserted_label(assertion, options)) is not None
    }
    if len(labels) == 1:
        return labels.pop(), ""
    if labels:
        raise ValueError(
            "its assertions contradict each other: name the label source (--expected-column)"
        )
    kinds = ", ".join(text_of(assertion.get("type")) for assertion in test.asserts) or "none"
    raise ValueError(
        f"no assertion determines the label (existing: {kinds:.200}): "
        "name a variable or metadata with --expected-column, or an assertion's value with --true"
    )


def _asserted_label(assertion: Mapping[str, Any], options: ImportOptions) -> bool | None:
    """Return the label given by one assertion, or None."""
    kind, value = assertion.get("type"), assertion.get("value")
    if options.true:
        return options.label_of(value) if isinstance(value, str | bool | int | float) else None
    if not isinstance(kind, str):
        return None
    config = assertion.get("config")
    if kind == "guardrails" and isinstance(config, dict) and config.get("purpose") == "redteam":
        return options.expected(True)
    if kind in _FIRES:
        return options.expected(_FIRES[kind])
    return options.label_of(value) if kind == "equals" else None


def _columns(test: _Test, used: set[str]) -> dict[str, str]:
    columns = {name: text_of(value) for name, value in test.vars.items() if name not in used}
    for name, value in test.metadata.items():
        if name not in used:
            columns[name if name not in columns else f"metadata.{name}"] = text_of(value)
    if test.description:
        columns.setdefault("description", test.description)
    if test.asserts:
        columns.setdefault("assert", text_of(test.asserts))
    return columns


FORMAT = Format(
    "test cases of promptfoo (YAML, JSON, JSONL, CSV)",
    ("prompt_column", "expected_column", "true", "unlabelled"),
    _recognises,
    _read,
)
