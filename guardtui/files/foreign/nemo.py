"""Evaluation sets of NeMo Guardrails: interactions, intents with examples, moderation files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guardtui.files.foreign.base import (
    ForeignInput,
    ForeignPrompts,
    ForeignRow,
    ImportOptions,
    Problems,
    require_colang_1,
)
from guardtui.files.problems import FileError, from_os_error
from guardtui.files.source_positions import json_lines, plain, text_of
from guardtui.files.yaml_documents import line_of

TITLE = "an evaluation set of NeMo Guardrails (a file, or its folder)"
OPTIONS = ("guardrail", "true")

_SPLITS = {"harmful.txt": True, "helpful.txt": False}
"""Whether the guardrail should trigger on the prompts of a file with this name."""

_DEFINE = re.compile(r"define\s+user\s+(.+?)\s*(?:#.*)?")
_EXAMPLE = re.compile(r'\s+"(.*)"\s*(?:#.*)?')
_DOCUMENTS = (".yaml", ".yml", ".json")
_FILES_AT_MOST = 500


def recognises(source: ForeignInput) -> bool:
    """Return whether the input has interactions, `define user`, harmful.txt or helpful.txt."""
    if source.is_folder:
        return any(_is_part(file) for file in _files(source))
    return _is_part(source)


def _is_part(source: ForeignInput) -> bool:
    if source.path.name.lower() in _SPLITS:
        return True
    if source.ending == ".co":
        return re.search(r"^define\s+user\s", source.text, re.MULTILINE) is not None
    if source.ending in (".jsonl", ".ndjson"):
        return "user_input" in source.first_object
    if source.ending not in _DOCUMENTS or "interactions" not in source.text:
        return False
    if source.ending == ".json":
        try:
            json.loads(source.text)
        except (ValueError, RecursionError):
            return False
    document = source.yaml
    return isinstance(document, dict) and "interactions" in document


def _files(source: ForeignInput) -> list[ForeignInput]:
    """Return the files in a folder (recursively) that can be parts of a set. Raises FileError."""
    endings = (".co", ".jsonl", ".ndjson", *_DOCUMENTS)
    try:
        paths = sorted(
            path
            for path in source.path.rglob("*")
            if path.is_file() and (path.suffix.lower() in endings or path.name.lower() in _SPLITS)
        )
    except OSError as error:
        raise from_os_error(source.path, error) from error
    if len(paths) > _FILES_AT_MOST:
        problem = f"{len(paths)} files in it could be part of an evaluation set"
        raise FileError(source.path, problem, f"name a folder with at most {_FILES_AT_MOST}")
    return [ForeignInput(path) for path in paths]


@dataclass(slots=True)
class _NemoPrompt:
    """A prompt with its group: an intent, or the policies that expect a refusal; or its label."""

    path: Path
    line: int
    prompt: str
    extra: dict[str, str]
    intent: str | None = None
    refusals: tuple[str, ...] | None = None
    fires: bool | None = None


def read(source: ForeignInput, mapped: ImportOptions, problems: Problems) -> ForeignPrompts:
    """Read a row for each input, example or line.

    - `interactions` (YAML or JSON): a guardrail should trigger if an expected output is a refusal;
      `guardrail` selects one of several policies.
    - `define user` in Colang 1.0: `true` names the intents that belong to the topic.
    - `harmful.txt` and `helpful.txt`: one prompt per line.
    - JSON Lines: `user_input` and `user_input_label`.

    Source: NVIDIA/NeMo-Guardrails, nemoguardrails/eval/models.py (`InteractionSet`),
    nemoguardrails/eval/data/moderation/README.md and processed_sample.jsonl beside it,
    nemoguardrails/evaluate/data/topical/dataset_tools.py (`write_colang_output`).
    """
    entries: list[_NemoPrompt] = []
    for file in _files(source) if source.is_folder else [source]:
        if source.is_folder and not _is_part(file):
            continue
        entries += _parts(file, problems)
    intents = dict.fromkeys(entry.intent for entry in entries if entry.intent is not None)
    policies = dict.fromkeys(name for entry in entries for name in entry.refusals or ())
    _require_choice(source, mapped, problems, list(intents), list(policies))
    true = {name.strip().lower() for name in mapped.true}
    rows = []
    several = 0
    for entry in entries:
        if entry.intent is not None:
            expected = entry.intent.lower() in true
        elif entry.refusals is not None:
            named = mapped.guardrail in entry.refusals if mapped.guardrail else bool(entry.refusals)
            expected = mapped.expected(named)
        else:
            expected = mapped.expected(bool(entry.fires))
        several += "messages" in entry.extra
        rows.append(ForeignRow(entry.path, entry.line, entry.prompt, expected, entry.extra))
    notes = []
    if several:
        inputs = "1 input has" if several == 1 else f"{several} inputs have"
        notes.append(f"{inputs} several messages: the user's last one is the prompt")
    return ForeignPrompts(rows, None, notes)


def _require_choice(
    source: ForeignInput,
    mapped: ImportOptions,
    problems: Problems,
    intents: list[str],
    policies: list[str],
) -> None:
    if intents:
        shown = ", ".join(intents)
        known_names = {name.lower() for name in intents}
        unknown = [name for name in mapped.true if name.strip().lower() not in known_names]
        if not mapped.true:
            problems.add(
                source.path,
                f"which intents belong to the topic? name each with --true; existing: {shown:.400}",
            )
        for name in unknown:
            problems.add(source.path, f"no intent is named {name!r:.60}; existing: {shown:.400}")
    if mapped.guardrail and mapped.guardrail not in policies:
        shown = ", ".join(policies) or "none"
        message = f"no refusal is expected by {mapped.guardrail!r:.60} (but by: {shown:.300})"
        problems.add(source.path, f"{message}: name another with --guardrail")
    elif not mapped.guardrail and len(policies) > 1:
        message = f"refusals are expected by several policies: {', '.join(policies):.300}"
        problems.add(source.path, f"{message}; name one with --guardrail")


def _parts(source: ForeignInput, problems: Problems) -> Iterator[_NemoPrompt]:
    if (fires := _SPLITS.get(source.path.name.lower())) is not None:
        for line, text in enumerate(source.text.split("\n"), start=1):
            if text.strip():
                yield _NemoPrompt(source.path, line, text.strip(), {}, fires=fires)
    elif source.ending in (".jsonl", ".ndjson"):
        yield from _labelled(source, problems)
    elif source.ending == ".co" or re.search(r"^define\s+user\s", source.text, re.MULTILINE):
        yield from _examples(source)
    else:
        yield from _interactions(source, problems)


def _examples(source: ForeignInput) -> Iterator[_NemoPrompt]:
    """Yield the quoted lines below `define user NAME`. Raises FileError for Colang 2."""
    if not re.search(r"^define\s", source.text, re.MULTILINE):
        require_colang_1(source.path, source.text)
    intent = None
    for line, text in enumerate(source.text.split("\n"), start=1):
        if text.strip() and not text[:1].isspace() and not text.startswith("#"):
            match = _DEFINE.fullmatch(text.rstrip())
            intent = match[1] if match else None
        elif intent is not None and (example := _EXAMPLE.fullmatch(text.rstrip())):
            text = example[1].replace('\\"', '"')
            yield _NemoPrompt(source.path, line, text, {"user intent": intent}, intent=intent)


def _labelled(source: ForeignInput, problems: Problems) -> Iterator[_NemoPrompt]:
    for line, value in json_lines(source.text):
        if isinstance(value, ValueError):
            problems.add(source.path, str(value), line)
        elif not isinstance(value, dict) or not isinstance(value.get("user_input"), str):
            problems.add(source.path, "'user_input', the prompt, is missing or not a text", line)
        elif type(value.get("user_input_label")) is not bool:
            problems.add(source.path, "'user_input_label' is neither true nor false", line)
        else:
            own_keys = ("user_input", "user_input_label")
            extra = {name: text_of(item) for name, item in value.items() if name not in own_keys}
            fires = value["user_input_label"]
            yield _NemoPrompt(source.path, line, value["user_input"], extra, fires=fires)


def _interactions(source: ForeignInput, problems: Problems) -> Iterator[_NemoPrompt]:
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
        kinds = ", ".join(text_of(item.get("type")) for item in outputs)
        base = {"id": text_of(interaction.get("id")), "expected_output": kinds}
        for number, given in enumerate(interaction["inputs"]):
            line_number = line_of(interaction["inputs"], number) or line
            prompt, messages = _prompt(given)
            if prompt is None:
                problems.add(
                    source.path, "the input is neither text nor messages of a user", line_number
                )
                continue
            extra = base | ({"messages": messages} if messages else {})
            yield _NemoPrompt(source.path, line_number, prompt, extra, refusals=refusals)


def _prompt(given: Any) -> tuple[str | None, str]:
    """Return the prompt of an input, and its messages as text if there are several."""
    if isinstance(given, str):
        return str(given), ""
    messages = given.get("messages") if isinstance(given, dict) else None
    try:
        messages = plain(messages)
    except ValueError:
        return None, ""
    if not isinstance(messages, list):
        return None, ""
    by_user = [
        message["content"]
        for message in messages
        if isinstance(message, dict)
        and message.get("role") == "user"
        and isinstance(message.get("content"), str)
    ]
    if not by_user:
        return None, ""
    return by_user[-1], text_of(messages) if len(messages) > 1 else ""
