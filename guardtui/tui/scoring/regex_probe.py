"""Regular expressions tried in a separate process: endless ones must not hang the app."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from guardtui.scorer.registry import is_registered, registry_info, registry_params
from guardtui.scorer.types import Scorer

LEAST_SECONDS = 2.0
ROWS_PER_SECOND = 20_000

_PROGRAM = """
import json, re, sys
patterns = [re.compile(text, flags) for text, flags in json.loads(sys.stdin.readline())]
for line in sys.stdin:
    text = json.loads(line)
    for one in patterns:
        one.search(text)
"""


def searched_for(scorer: Scorer) -> list[tuple[str, bool]]:
    """Return the regular expressions of a scorer, and whether each ignores the case."""
    if not is_registered(scorer):
        return []
    return list(
        _patterns_of({"name": registry_info(scorer).name, "params": registry_params(scorer)})
    )


def _patterns_of(value: Any) -> Iterator[tuple[str, bool]]:
    if isinstance(value, Mapping):
        params = value.get("params")
        if str(value.get("name")).rpartition("/")[2] == "pattern" and isinstance(params, Mapping):
            text = params.get("pattern")
            if isinstance(text, str):
                yield text, bool(params.get("ignore_case", True))
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _patterns_of(item)


def never_ends(scorer: Scorer, outputs: Sequence[str], least: float = LEAST_SECONDS) -> bool:
    """Return whether the regular expressions of a scorer take far too long on these outputs.

    `re` cannot be stopped and holds the whole process, so another process tries first. Returns
    False if no process can be started. Blocks, so call it in a thread.
    """
    patterns = searched_for(scorer)
    if not patterns:
        return False
    flags = [(text, 2 if ignore_case else 0) for text, ignore_case in patterns]  # 2: IGNORECASE
    lines = "\n".join(map(json.dumps, (flags, *outputs))) + "\n"
    with suppress(OSError, ValueError):
        try:
            subprocess.run(  # noqa: S603 - a program of ours, and the texts are data for it
                [sys.executable, "-I", "-S", "-c", _PROGRAM],
                input=lines.encode(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=max(least, len(outputs) / ROWS_PER_SECOND),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return True
    return False
