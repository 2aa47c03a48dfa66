"""Test cases of promptfoo: YAML, JSON, JSON Lines and CSV with variables and assertions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from guardtui.domain.prompt_reading import Unlabelled
from guardtui.domain.prompts import PROMPT_BYTES
from guardtui.files.foreign.base import ForeignInput, ForeignPrompts, ImportOptions, Problems
from guardtui.files.foreign.mapping import Entry, mapped
from guardtui.files.problems import FileError, json_problem
from guardtui.files.prompt_rows import read_rows
from guardtui.files.source_positions import json_lines, json_list, json_members, plain, text_of
from guardtui.files.table_formats import SEPARATORS, header_fields
from guardtui.files.yaml_documents import line_of

TITLE = "test cases of promptfoo (YAML, JSON, JSONL, CSV)"
OPTIONS = ("prompt_column", "expected_column", "true", "unlabelled")

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
"""Whether a guardrail should trigger if a test has an assertion of this type."""

_ASSERTION = re.compile(r"(not-)?([a-z][a-z-]*)(?:\([\d.]+\))?(?::(.*))?", re.DOTALL)
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}", re.ASCII)
_FILLED_AT_MOST = 100
"""Number of variables filled into a prompt; they may name each other in a circle."""
_REFERENCE = "names another file: convert that one"


@dataclass(slots=True)
class _Test:
    line: int
    vars: dict[str, Any]
    asserts: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    description: str = ""


def recognises(source: ForeignInput) -> bool:
    """Return whether there are special CSV columns, `vars` in a list of tests, or `tests`."""
    if source.ending in (".parquet", ".eval", ".co"):
        return False
    if source.ending in (".csv", ".tsv"):
        return bool(_special_columns(source))
    if source.ending in (".jsonl", ".ndjson") or (
        source.looks_like_json and isinstance(source.first_object.get("vars"), dict)
    ):
        return isinstance(source.first_object.get("vars"), dict)
    if source.looks_like_json:
        try:
            return _is_config(json.loads(source.text))
        except (ValueError, RecursionError):
            return False
    if source.ending in (".yaml", ".yml"):
        return _is_config(source.yaml)
    return False


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
        return "tests" in document or _is_scenarios(document.get("scenarios"))
    first = document[0] if isinstance(document, list) and document else None
    return isinstance(first, dict) and "vars" in first


def read(source: ForeignInput, options: ImportOptions, problems: Problems) -> ForeignPrompts:
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
    tests = list(_tests(source, problems))
    name = _prompt_variable(source, tests, options, problems)
    if not options.expected_column and any(test.asserts for test in tests):
        options = replace(options, unlabelled=options.unlabelled or Unlabelled.LEAVE_OUT)
    entries: list[Entry] = []
    for test in tests if name else ():
        if name in test.vars:
            entries += _entries(source, test, name, options, problems)
        else:
            names = ", ".join(test.vars) or "none"
            message = f"no variable is named {name!r} (existing: {names:.200})"
            problems.add(source.path, message, test.line)
    return mapped(entries, options, problems)


def _entries(
    source: ForeignInput, test: _Test, name: str, options: ImportOptions, problems: Problems
) -> Iterator[Entry]:
    """Yield an entry for each prompt of a test."""
    try:
        label, label_name = _label(test, options)
    except ValueError as error:
        problems.add(source.path, str(error), test.line)
        return
    value = test.vars[name]
    for prompt in value if isinstance(value, list) else [value]:
        if isinstance(prompt, str):
            prompt = _resolved(name, {**test.vars, name: prompt})
        if isinstance(prompt, dict | list):
            message = f"the variable {name!r} is not text: name another with --prompt-column"
            problems.add(source.path, message, test.line)
        elif isinstance(prompt, str) and prompt.startswith("file://"):
            problems.add(source.path, f"the variable {name!r} {_REFERENCE}", test.line)
        else:
            yield Entry(
                source.path,
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


def _tests(source: ForeignInput, problems: Problems) -> Iterator[_Test]:
    default: Any = None
    if source.ending in (".csv", ".tsv"):
        yield from _from_csv(source, problems)
        return
    entries: list[tuple[int, Any]]
    if source.ending in (".jsonl", ".ndjson") or (
        source.looks_like_json and isinstance(source.first_object.get("vars"), dict)
    ):
        entries = list(json_lines(source.text))
    elif source.looks_like_json:
        entries, default = _from_json(source)
    else:
        entries, default = _from_yaml(source)
    if not entries:
        problems.add(source.path, "the list of tests is missing: name a file that has one")
    for line, value in entries:
        if isinstance(value, ValueError):
            problems.add(source.path, str(value), line)
        elif isinstance(value, str):
            problems.add(source.path, f"the test {value[:60]!r} {_REFERENCE}", line)
        else:
            try:
                test = _test(plain(value), line, plain(default))
            except ValueError as error:
                problems.add(source.path, str(error), line)
            else:
                yield test


def _from_json(source: ForeignInput) -> tuple[list[tuple[int, Any]], Any]:
    try:
        if source.text.lstrip().startswith("["):
            return json_list(source.text), None
        members, tests = json_members(source.text, "tests")
        tests += _from_scenarios(members.get("scenarios"))
    except RecursionError as error:
        raise FileError(source.path, "this JSON is nested too deeply") from error
    except json.JSONDecodeError as error:
        problem, line = json_problem(error)
        raise FileError(source.path, f"invalid JSON: {problem}", "fix the JSON", line) from error
    except ValueError as error:  # a number with thousands of digits
        problem = "this JSON holds a number that cannot be read"
        raise FileError(source.path, problem, "put it in quotes") from error
    if isinstance(members.get("tests"), str):
        raise FileError(source.path, f"'tests' {_REFERENCE}", str(members["tests"])[:200])
    return tests, members.get("defaultTest")


def _from_yaml(source: ForeignInput) -> tuple[list[tuple[int, Any]], Any]:
    document, default = source.yaml, None
    if isinstance(document, dict):
        default = document.get("defaultTest")
        scenarios = _from_scenarios(document.get("scenarios"))
        document = document.get("tests")
        if isinstance(document, str):
            raise FileError(source.path, f"'tests' {_REFERENCE}", str(document)[:200])
    else:
        scenarios = []
    tests = document if isinstance(document, list) else []
    numbered = [(line_of(document, index) or 1, test) for index, test in enumerate(tests)]
    return [*numbered, *scenarios], default


def _is_scenarios(value: Any) -> bool:
    return isinstance(value, list) and any(
        isinstance(item, dict) and "config" in item for item in value
    )


def _from_scenarios(scenarios: Any) -> list[tuple[int, Any]]:
    """Return the tests of scenarios, with lines: each test with each of the configurations."""
    tests: list[tuple[int, Any]] = []
    for scenario in scenarios if isinstance(scenarios, list) else ():
        configurations = scenario.get("config") if isinstance(scenario, dict) else scenario
        if not isinstance(configurations, list):
            tests.append((1, configurations))  # reported as a test that is not a mapping
            continue
        templates = scenario.get("tests") or [{}]
        tests += (
            (line_of(configurations, index) or 1, _combined(configuration, template))
            for index, configuration in enumerate(configurations)
            for template in (templates if isinstance(templates, list) else [templates])
        )
    return tests


def _combined(configuration: Any, test: Any) -> Any:
    """Return a test with the values of a configuration; its own values take precedence.

    A value that is not a mapping is returned as it is.
    """
    for part in (configuration, test):
        if not isinstance(part, dict):
            return part
    combined = {**configuration, **test}
    for name in ("vars", "metadata"):
        own, common = test.get(name), configuration.get(name)
        if isinstance(own, dict) and isinstance(common, dict):
            combined[name] = {**common, **own}
        elif not own and common:
            combined[name] = common
    combined["assert"] = [
        assertion
        for part in (configuration, test)
        if isinstance(part.get("assert"), list)
        for assertion in part["assert"]
    ]
    return combined


def _test(value: Any, line: int, default: Any) -> _Test:
    """Return a test including the defaults of all tests. Raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError("a test is not a mapping with vars")
    base = default if isinstance(default, dict) else {}

    def merged(name: str) -> dict[str, Any]:
        own, common = value.get(name), base.get(name)
        if isinstance(own, str):
            raise ValueError(f"{name} {_REFERENCE}")
        if own is not None and not isinstance(own, dict):
            raise ValueError(f"{name} is not a mapping of names to values")
        return {**(common if isinstance(common, dict) else {}), **(own or {})}

    asserts = [*_flat(value.get("assert")), *_flat(base.get("assert"))]
    return _Test(
        line, merged("vars"), asserts, merged("metadata"), text_of(value.get("description"))
    )


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


def _from_csv(source: ForeignInput, problems: Problems) -> Iterator[_Test]:
    special = [name.lower() for name in _special_columns(source)]
    rows = read_rows(source.path, source.content, special)
    for finding in rows.unread:
        problems.add(source.path, finding.message, finding.lines[0] if finding.lines else None)
    names = rows.raw.columns
    if not names:  # such a frame has no rows to iterate over
        return
    for line, cells in zip(rows.lines.tolist(), rows.raw.iter_rows(), strict=True):
        test = _Test(line, {})
        for name, cell in zip(names, cells, strict=True):
            text = cell or ""
            if name.startswith("__expected"):
                if text.strip():
                    test.asserts.append(_assertion(text.strip()))
            elif name.startswith("__metadata:"):
                test.metadata[name.removeprefix("__metadata:").removesuffix("[]")] = text
            elif name == "__description":
                test.description = text
            elif name.startswith("__"):
                test.metadata[name] = text
            else:
                test.vars[name] = text
        yield test


def _assertion(text: str) -> dict[str, Any]:
    """Parse an assertion in a cell: `type: value`, or the text that the output must equal."""
    match = _ASSERTION.fullmatch(text)
    if match and (match[3] is not None or f"{match[1] or ''}{match[2]}" in _FIRES):
        value = (match[3] or "").strip()
        return {"type": f"{match[1] or ''}{match[2]}"} | ({"value": value} if value else {})
    return {"type": "equals", "value": text}


# --- their meaning ------------------------------------------------------------------------------


def _prompt_variable(
    source: ForeignInput, tests: list[_Test], options: ImportOptions, problems: Problems
) -> str:
    """Return the name of the prompt's variable; "" with a problem if it is unclear."""
    if options.prompt_column or not tests:
        return options.prompt_column
    names: dict[str, None] = {}
    for test in tests:
        names.update(dict.fromkeys(test.vars))
    names.pop(options.expected_column, None)
    usual = [name for name in names if name.lower() in _PROMPTS]
    candidates = list(names) if len(names) == 1 else usual
    if len(candidates) == 1:
        return candidates[0]
    shown = ", ".join(candidates or names) or "none"
    problems.add(
        source.path,
        f"which variable is the prompt? existing: {shown:.300}; name it with --prompt-column",
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
