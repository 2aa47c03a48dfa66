"""Evaluation sets of NeMo Guardrails: interactions, and user intents with examples."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from guardtui.files.foreign.base import (
    Entry,
    ForeignInput,
    ForeignPrompts,
    Format,
    ImportOptions,
    mapped,
)
from guardtui.files.problems import FileError
from guardtui.files.source_positions import plain, text_of
from guardtui.files.yaml_documents import line_of

_INTENT = "user intent"
_USER = re.compile(r"^define\s+user\s", re.MULTILINE)
_DEFINE = re.compile(r"define\s+user\s+(.+?)\s*(?:#.*)?")
_EXAMPLE = re.compile(r'\s+"(.*)"\s*(?:#.*)?')


def _recognises(source: ForeignInput) -> bool:
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


def _read(source: ForeignInput, options: ImportOptions) -> ForeignPrompts:
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
        _require_intents(source, options, entries)
    else:
        entries = list(_interactions(source, options, policies))
    if options.guardrail and options.guardrail not in policies:
        shown = ", ".join(policies) or "none"
        message = f"no refusal is expected by {options.guardrail!r:.60} (but by: {shown:.300})"
        source.report(f"{message}: name another with --guardrail")
    elif not options.guardrail and len(policies) > 1:
        message = f"refusals are expected by several policies: {', '.join(policies):.300}"
        source.report(f"{message}; name one with --guardrail")
    return mapped(source, entries, options)


def require_colang_1(source: ForeignInput) -> None:
    """Raise FileError for a file in Colang 2, which has flows in place of examples."""
    if re.search(r"^(?:flow|import|global)\s|^@\w+", source.text, re.MULTILINE):
        raise FileError(
            source.path,
            "this is Colang 2, which has no labelled examples to read",
            "name a file in Colang 1.0 ('define user'), or write the prompts to a CSV",
        )


def _examples(source: ForeignInput) -> Iterator[Entry]:
    """Yield the quoted lines below `define user NAME`. Raises FileError for Colang 2."""
    if not re.search(r"^define\s", source.text, re.MULTILINE):
        require_colang_1(source)
    intent = None
    for line, text in enumerate(source.text.split("\n"), start=1):
        if text.strip() and not text[:1].isspace() and not text.startswith("#"):
            match = _DEFINE.fullmatch(text.rstrip())
            intent = match[1] if match else None
        elif intent is not None and (example := _EXAMPLE.fullmatch(text.rstrip())):
            prompt, columns = example[1].replace('\\"', '"'), {_INTENT: intent}
            yield Entry(line, prompt, intent, label_name=_INTENT, columns=columns)


def _require_intents(source: ForeignInput, options: ImportOptions, entries: list[Entry]) -> None:
    """Report a problem if no intent is named, or one that the file has not."""
    intents = dict.fromkeys(entry.label for entry in entries)
    shown = ", ".join(intents)
    if intents and not options.true:
        message = "which intents belong to the topic? name each with --true"
        source.report(f"{message}; existing: {shown:.400}")
    known = {intent.lower() for intent in intents}
    for name in options.true if intents else ():
        if name.strip().lower() not in known:
            source.report(f"no intent is named {name!r:.60}; existing: {shown:.400}")


def _interactions(
    source: ForeignInput, options: ImportOptions, policies: dict[str, None]
) -> Iterator[Entry]:
    """Yield the inputs of all interactions, and add the policies that expect a refusal."""
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
            source.report("the interaction has no list of inputs", line)
            continue
        outputs = interaction.get("expected_output")
        if not isinstance(outputs, list) or not all(isinstance(item, dict) for item in outputs):
            source.report("'expected_output' is missing or not a list of outputs", line)
            continue
        kinds = [text_of(item.get("type")) for item in outputs]
        refusals = [
            text_of(item.get("policy")) for item in outputs if item.get("type") == "refusal"
        ]
        policies.update(dict.fromkeys(refusals))
        refused = options.guardrail in refusals if options.guardrail else bool(refusals)
        columns = {"id": interaction.get("id"), "expected_output": ", ".join(kinds)}
        for number, given in enumerate(interaction["inputs"]):
            input_line = line_of(interaction["inputs"], number) or line
            prompt = given if isinstance(given, str) else _messages(given)
            if prompt is None:
                source.report("the input is neither text nor messages of a user", input_line)
            else:
                label = options.expected(refused)
                yield Entry(
                    input_line, prompt, expected=label, prompt_name="messages", columns=columns
                )


def _messages(given: Any) -> list[Any] | None:
    """Return the messages of an input; None for anything else."""
    try:
        messages = plain(given.get("messages") if isinstance(given, dict) else None)
    except ValueError:
        return None
    return messages if isinstance(messages, list) else None


FORMAT = Format(
    "an evaluation set of NeMo Guardrails (YAML, JSON, Colang 1.0)",
    ("guardrail", "true"),
    _recognises,
    _read,
)
