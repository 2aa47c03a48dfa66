"""Prompts in languages that the engine has not learnt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from guardtui.domain.findings import Finding, Severity
from guardtui.domain.prompts import LISTED, PromptSet
from guardtui.scanners.local.languages import LEARNT, language_not_learnt

CODE = "unknown-language"
"""Code of the finding."""

READ_AT_MOST = 5_000
"""Maximum number of prompts read; a larger set is sampled evenly."""

_NAMED = 5


def unknown_language_finding(
    encoder_name: str, prompts: PromptSet, stopped: Callable[[], bool] = lambda: False
) -> Finding | None:
    """Return the finding that counts prompts in languages the encoder has not learnt.

    Returns None if there are none, or if stopped.
    """
    step = -(-len(prompts) // READ_AT_MOST)
    counts: Counter[str] = Counter()
    lines: list[int] = []
    sampled = prompts.frame.gather_every(step)
    for line, prompt in sampled.select("line", "prompt").iter_rows():
        if stopped():
            return None
        if language := language_not_learnt(encoder_name, prompt):
            counts[language] += 1
            lines.append(line)
    if not counts:
        return None
    named = [f"{name} {count}" for name, count in counts.most_common(_NAMED)]
    if len(counts) > _NAMED:
        named.append(f"{len(counts) - _NAMED} other languages")
    total = counts.total()
    looked = f" of {len(sampled)} looked at" if step > 1 else ""
    verb = "is in a language" if total == 1 else "are in languages"
    remedy = "scan them with the real guardrail"
    if len(LEARNT[encoder_name]) == 1:
        remedy += ", or choose the encoder 'pair', which has learnt more of them"
    message = (
        f"{total} prompt{'s' * (total != 1)}{looked} {verb} that the engine's encoder "
        f"{encoder_name!r} has not learnt ({', '.join(named)}): what it says of them means little; "
        f"{remedy}"
    )
    return Finding(Severity.WARNING, CODE, message, tuple(lines[:LISTED]))
