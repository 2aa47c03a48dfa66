"""Two recorded evaluations: the second as a report with the first as its baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from guardtui.domain.comparison import compare
from guardtui.domain.document import (
    Bullets,
    Document,
    Facts,
    Foreign,
    Item,
    Lines,
    Phrase,
    Section,
    TitledLines,
    Tone,
)
from guardtui.domain.metrics import RATES
from guardtui.domain.topic import describe_changes
from guardtui.domain.verdicts import Outcome, is_wrong
from guardtui.reports.base import ReportInput
from guardtui.reports.glossary import CHANGE_TERMS, RATE_TERMS
from guardtui.reports.json_data import Measured, by_key
from guardtui.reports.rates import rates_table
from guardtui.session.evaluation_refs import Mistakes, RecordedEvaluation, mistake_keys

Side: TypeAlias = "RecordedEvaluation | Mistakes"
"""An evaluation, or the mistakes that the JSON of the airs CLI lists."""


def compared_report(before: RecordedEvaluation, after: RecordedEvaluation) -> ReportInput:
    """Return the report on `after` with `before` as its baseline; texts come from either."""
    baseline, evaluation = before.evaluation, after.evaluation
    return ReportInput(
        topic=evaluation.topic,
        evaluation=evaluation,
        prompts=before.prompts if after.prompts is None else after.prompts,
        baseline=baseline,
        comparison=compare(baseline, evaluation),
        changes=describe_changes(baseline.topic, evaluation.topic),
        profile=after.profile,
        baseline_number=before.number,
        name=after.name,
        baseline_title=before.name,
        baseline_prompts=after.prompts if before.prompts is None else before.prompts,
    )


# --- of one side only the mistakes are known ----------------------------------------------

_GROUPS = {
    "mistakes_only_in_b": "Mistakes only in B",
    "mistakes_only_in_a": "Mistakes only in A",
    "mistakes_in_both": "Mistakes in both",
}


@dataclass(frozen=True, slots=True)
class SideData:
    """One of the two compared."""

    name: str
    profile: str
    topic: str
    intent: str
    measured: Measured

    @classmethod
    def of(cls, side: Side) -> SideData:
        """Return a side."""
        measured = Measured.of(side.metrics, fitted=_fitted(side))
        return cls(side.name, side.profile, *_topic(side), measured)


@dataclass(frozen=True, slots=True)
class ComparedMistake:
    """A prompt with its outcome in A and in B; null for what is not known."""

    prompt: str | None
    line: int | None
    was: str | None
    now: str | None


@dataclass(frozen=True, slots=True)
class MistakesData:
    """The comparison of A and B by their mistakes, for one of which nothing else is known."""

    a: SideData
    b: SideData
    deltas: dict[str, float | None]
    sentence: str
    caveats: tuple[str, ...]
    mistakes_only_in_b: list[ComparedMistake]
    mistakes_only_in_a: list[ComparedMistake]
    mistakes_in_both: list[ComparedMistake]

    @classmethod
    def of(cls, before: Side, after: Side) -> MistakesData:
        """Return the comparison of A and B by mistakes."""
        return cls(
            a=SideData.of(before),
            b=SideData.of(after),
            deltas=by_key(_deltas(before, after)),
            sentence=_sentence(before, after),
            caveats=tuple(_caveats(before, after)),
            **{
                group: [
                    ComparedMistake(text, line, was or None, now or None)
                    for text, line, was, now in prompts
                ]
                for group, prompts in _prompts(before, after).items()
            },
        )


def mistakes_document(before: Side, after: Side) -> Document:
    """Return both sides, their rates, and the mistakes of each."""
    lists = [
        TitledLines(
            f"{_GROUPS[group]} ({len(prompts)})", Lines(len(prompts), partial(_line, prompts))
        )
        for group, prompts in _prompts(before, after).items()
        if prompts
    ]
    caveats = tuple(map(Item, _caveats(before, after)))
    rates = rates_table(
        after.metrics,
        _deltas(before, after),
        baseline=before.metrics,
        fitted=_fitted(after),
        baseline_fitted=_fitted(before),
    )
    return Document(
        ("Guardrail topic comparison: ", Foreign(_topic(after)[0])),
        (f"{_sentence(before, after)}.",),
        (
            Section("Metrics", "metrics", (rates, Bullets(caveats, Tone.CAUTION))),
            Section("Prompts", "prompts", tuple(lists), titled=False),
        ),
        made_with=Facts(
            tuple(
                (name, (Foreign(side.name), ": ", Foreign(" ".join(_topic(side)))))
                for name, side in (("A", before), ("B", after))
            )
        ),
        glossary=(*RATE_TERMS, *CHANGE_TERMS),
    )


def _deltas(before: Side, after: Side) -> dict[str, float | None]:
    pairs = {name: (getattr(before.metrics, name), getattr(after.metrics, name)) for name in RATES}
    return {name: None if None in pair else pair[1] - pair[0] for name, pair in pairs.items()}


def _listing(before: Side, after: Side) -> str:
    """Return the names of the sides that only list mistakes."""
    sides = (("A", before), ("B", after))
    return " and ".join(name for name, side in sides if isinstance(side, Mistakes))


def _sentence(before: Side, after: Side) -> str:
    """Return what cannot be said."""
    names = _listing(before, after)
    verb = "lists" if len(names) == 1 else "list"
    return f"{names} {verb} mistakes only: what the difference is worth cannot be told"


def _caveats(before: Side, after: Side) -> Iterator[str]:
    """Yield why the two may not be comparable."""
    yield (
        f"of {_listing(before, after)} only the mistakes are listed: which prompts were right, "
        "and whether both ran on the same prompts, is not known"
    )
    old, new = before.metrics.prompts, after.metrics.prompts
    if old != new:
        yield f"different numbers of prompts: {old} then, {new} now"
    if _topic(before)[1] != _topic(after)[1]:
        yield f"different intents: {_topic(before)[1]} then, {_topic(after)[1]} now"


Prompt: TypeAlias = tuple[str | None, int | None, str, str]
"""Text and line where they are known, and both outcomes, "" where the prompt is not there."""


def _prompts(before: Side, after: Side) -> dict[str, list[Prompt]]:
    """Return the prompts of each of `_GROUPS`."""
    in_a, in_b = _wrong(before), _wrong(after)
    keys = (
        [key for key in in_b if key not in in_a],
        [key for key in in_a if key not in in_b],
        [key for key in in_b if key in in_a],
    )

    def prompt(key: int) -> Prompt:
        text, line = None, None
        for side in (after, before):
            prompts = side.prompts if isinstance(side, RecordedEvaluation) else None
            row = None if prompts is None else prompts.row_of(key)
            if prompts is not None and row is not None:
                text = str(prompts.frame["prompt"][row])
                line = int(prompts.frame["line"][row]) or None
                break
        listed = next((wrong[key][1] for wrong in (in_a, in_b) if key in wrong), "")
        was = in_a[key][0] if key in in_a else _outcome(before, key)
        now = in_b[key][0] if key in in_b else _outcome(after, key)
        return listed or text, line, was, now

    return {group: list(map(prompt, some)) for group, some in zip(_GROUPS, keys, strict=True)}


def _line(prompts: Sequence[Prompt], number: int) -> Phrase:
    text, line, was, now = prompts[number]
    place = f"line {line}, " if line else ""
    shown = "(its text is not known)" if text is None else Foreign(text)
    return (f"{place}{was or 'absent'} → {now or 'absent'}: ", shown)


def _topic(side: Side) -> tuple[str, str]:
    """Return name and intent of a side's topic."""
    if isinstance(side, Mistakes):
        return side.topic, side.intent.value
    return side.evaluation.topic.name, side.evaluation.topic.intent.value


def _wrong(side: Side) -> dict[int, tuple[str, str]]:
    """Return outcome and text of the mistakes, by key; the text may be ""."""
    if isinstance(side, Mistakes):
        return mistake_keys(side)
    keys, codes = side.evaluation.keys, side.evaluation.codes
    return {
        int(keys[k]): (Outcome(int(codes[k])).name, "") for k in np.flatnonzero(is_wrong(codes))
    }


def _outcome(side: Side, key: int) -> str:
    """Return the outcome of a prompt that is not a mistake, or "" if it is not there."""
    if isinstance(side, Mistakes):
        return "not listed"
    rows = np.flatnonzero(side.evaluation.keys == np.uint64(key))
    return Outcome(int(side.evaluation.codes[rows[0]])).name if len(rows) else ""


def _fitted(side: Side) -> bool:
    return isinstance(side, RecordedEvaluation) and side.evaluation.settings.has_fitted_threshold
