"""Labelled prompts in the formats of other tools; each format has a module of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping

from guardtui.files.foreign import inspect_samples, nemo, openai_guardrails, promptfoo, table
from guardtui.files.foreign.base import ForeignError, ForeignInput, Format
from guardtui.files.problems import FileError, json_error

FORMATS: Mapping[str, Format] = {
    "inspect": inspect_samples.FORMAT,
    "promptfoo": promptfoo.FORMAT,
    "openai-guardrails": openai_guardrails.FORMAT,
    "nemo": nemo.FORMAT,
    "table": table.TABLE,
    "lines": table.LINES,
}
"""The formats by name."""

_IF_NO_OTHER = ("table", "lines")
"""Formats that match almost any file: used only if no other format is recognised."""


def recognised(source: ForeignInput) -> str:
    """Return the name of the format of the input. Raises ForeignError and FileError."""
    source.content  # noqa: B018 - raises FileError for an unreadable file
    found = [name for name in FORMATS if _recognises(name, source)]
    found = [name for name in found if name not in _IF_NO_OTHER] or found
    if len(found) == 1:
        return found[0]
    if found:
        raise ForeignError(
            f"{source.path}: this could be {' or '.join(found)}\n"
            f"  choose one with --from {'|'.join(found)}"
        )
    _require_whole(source)
    names = ", ".join(FORMATS)
    raise ForeignError(
        f"{source.path}: the format is not recognised\n  name it with --from, one of: {names}"
    )


def _recognises(name: str, source: ForeignInput) -> bool:
    try:
        return FORMATS[name].recognises(source)
    except FileError:
        return False


def _require_whole(source: ForeignInput) -> None:
    """Raise FileError for a YAML or JSON file, by extension, that cannot be parsed."""
    if source.ending in (".yaml", ".yml"):
        source.yaml  # noqa: B018 - raises FileError with the place of the error
    elif source.ending == ".co":
        nemo.require_colang_1(source)
    elif source.ending == ".json":
        try:
            json.loads(source.text)
        except (ValueError, RecursionError) as error:
            raise json_error(source.path, error) from error
