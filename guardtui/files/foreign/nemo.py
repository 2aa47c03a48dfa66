"""Evaluation sets of NeMo Guardrails: interactions, and user intents with examples."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from guardtui.files.foreign.base import (
    ForeignInput,
    ForeignPrompts,
    ImportOptions,
    Problems,
    require_colang_1,
)
from guardtui.files.foreign.mapping import Entry, mapped
from guardtui.files.problems import FileError
from guardtui.files.source_positions import plain, text_of
from guardtui.files.yaml_documents import line_of

TITLE = "an evaluation set of NeMo Guardrails (YAML, JSON, Colang 1.0)"
OPTIONS = ("guardrail", "true")

_INTENT = "user intent"
_USER = re.compile(r"^define\s+user\s", re.MULTILINE)
_DEFINE = re.compile(r"define\s+user\s+(.+?)\s*(?:#.*)?")
_EXAMPLE = re.compile(r'\s+"(.*)"\s*(?:#.*)?')


def recognises(source: ForeignInput) -> bool:
    """Return whether the input has interactions or `define user`."""
    if source.ending == ".co":
        return _USER.search(source.text) is not None
    if source.ending not in (".yaml", ".yml", ".json") or "interactions" not in source.text:
        return False
    if source.ending == ".json":
        try:
            json.loads(source.text)
        except (ValueError, RecursionError):
            return False
    document = source.yaml
    return isinstance(document, dict) and "interactions" in document


def read(source: ForeignInput, options: ImportOptions, problems: Problems) -> ForeignPrompts:
    """Read a row for each input or example.

    - `interactions` (YAML or JSON): a guardrail should trigger if an expected output is a refusal;
      `guardrail` selects one of several policies.
    - `define user` in Colang 1.0: `true` names the intents that belong to the topic.

    Source: NVIDIA/NeMo-Guardrails, nemoguardrails/eval/models.py (`InteractionSet`) and
    nemoguardrails/evaluate/data/topical/dataset_tools.py (`write_colang_output`).
    """
    policies: dict[str, None] = {}
    if source.ending == ".co" or _USER.search(source.text):
        entries = list(_examples(source))
    else:
        entries = list(_interactions(source, options, policies, problems))
    intents = dict.fromkeys(entry.label for entry in entries if entry.label_name == _INTENT)
    _require_choice(source, options, problems, list(intents), list(policies))
    return mapped(entries, options, problems)


def _require_choice(
    source: ForeignInput,
    options: ImportOptions,
    problems: Problems,
    intents: list[str],
    policies: list[str],
) -> None:
    if intents:
        shown = ", ".join(intents)
        known_names = {name.lower() for name in intents}
        unknown = [name for name in options.true if name.strip().lower() not in known_names]
        if not options.true:
            problems.add(
                source.path,
                f"which intents belong to the topic? name each with --true; existing: {shown:.400}",
            )
        for name in unknown:
            problems.add(source.path, f"no intent is named {name!r:.60}; existing: {shown:.400}")
    if options.guardrail and options.guardrail not in policies:
        shown = ", ".join(policies) or "none"
        message = f"no refusal is expected by {options.guardrail!r:.60} (but by: {shown:.300})"
        problems.add(source.path, f"{message}: name another with --guardrail")
    elif not options.guardrail and len(policies) > 1:
        message = f"refusals are expected by several policies: {', '.join(policies):.300}"
        problems.add(source.path, f"{message}; name one with --guardrail")


def _examples(source: ForeignInput) -> Iterator[Entry]:
    """Yield the quoted lines below `define user NAME`. Raises FileError for Colang 2."""
    if not re.search(r"^define\s", source.text, re.MULTILINE):
        require_colang_1(source.path, source.text)
    intent = None
    for line, text in enumerate(source.text.split("\n"), start=1):
        if text.strip() and not text[:1].isspace() and not text.startswith("#"):
            match = _DEFINE.fullmatch(text.rstrip())
            intent = match[1] if match else None
        elif intent is not None and (example := _EXAMPLE.fullmatch(text.rstrip())):
            prompt, columns = example[1].replace('\\"', '"'), {_INTENT: intent}
            yield Entry(source.path, line, prompt, intent, label_name=_INTENT, columns=columns)


def _interactions(
    source: ForeignInput, options: ImportOptions, policies: dict[str, None], problems: Problems
) -> Iterator[Entry]:
    document = source.yaml
    sets = document.get("interactions") if isinstance(document, dict) else None
    if not isinstance(sets, list):
        raise FileError(
            source.path,
            "it has no evaluation data",
            "name a file with interactions, 'define user', or user_input; or its folder",
        )
    for index, interaction in enumerate(sets):
        line = line_of(sets, index) or 1
        if not isinstance(interaction, dict) or not isinstance(interaction.get("inputs"), list):
            problems.add(source.path, "the interaction has no list of inputs", line)
            continue
        outputs = interaction.get("expected_output")
        if not isinstance(outputs, list) or not all(isinstance(item, dict) for item in outputs):
            problems.add(source.path, "'expected_output' is missing or not a list of outputs", line)
            continue
        refusals = tuple(
            text_of(item.get("policy")) for item in outputs if item.get("type") == "refusal"
        )
        policies.update(dict.fromkeys(refusals))
        refused = options.guardrail in refusals if options.guardrail else bool(refusals)
        kinds = ", ".join(text_of(item.get("type")) for item in outputs)
        columns = {"id": interaction.get("id"), "expected_output": kinds}
        for number, given in enumerate(interaction["inputs"]):
            line_number = line_of(interaction["inputs"], number) or line
            prompt = _prompt(given)
            if prompt is None:
                message = "the input is neither text nor messages of a user"
                problems.add(source.path, message, line_number)
                continue
            yield Entry(
                source.path,
                line_number,
                prompt,
                expected=options.expected(refused),
                prompt_name="messages",
                columns=columns,
            )


def _prompt(given: Any) -> str | list[Any] | None:
    """Return the text or the messages of an input; None for anything else."""
    if isinstance(given, str):
        return str(given)
    try:
        messages = plain(given.get("messages") if isinstance(given, dict) else None)
    except ValueError:
        return None
    return messages if isinstance(messages, list) else None
