"""Two recorded evaluations: the second as a report with the first as its baseline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from guardtui.domain.comparison import compare
from guardtui.domain.document import (
    Block,
    Bullets,
    Column,
    Document,
    Facts,
    Foreign,
    Item,
    Lines,
    Phrase,
    Section,
    Table,
    TitledLines,
    Tone,
)
from guardtui.domain.figures import UNDEFINED, interval_text, rate_text
from guardtui.domain.metrics import RATE_TITLES, RATES
from guardtui.domain.statistics import rate_intervals
from guardtui.domain.topic import describe_changes
from guardtui.domain.verdicts import Outcome, is_wrong
from guardtui.reports.base import ReportInput, delta_text
from guardtui.reports.glossary import CHANGE_TERMS, RATE_TERMS
from guardtui.reports.json_data import RATE_KEYS, Measured
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


@dataclass(frozen=True, slots=True)
class _Group:
    """Mistakes of one kind: key, title, and the keys of prompts."""

    key: str
    title: str
    prompts: Sequence[int]


class ComparedMistakes:
    """Comparison by mistakes, for a side of which nothing else is known."""

    def __init__(self, before: Side, after: Side) -> None:
        self.sides = (("A", before), ("B", after))
        self.names = " and ".join(name for name, side in self.sides if isinstance(side, Mistakes))
        self._wrong = _wrong(before), _wrong(after)
        in_a, in_b = self._wrong
        self.groups = (
            _Group("mistakes_only_in_b", "Mistakes only in B", [k for k in in_b if k not in in_a]),
            _Group("mistakes_only_in_a", "Mistakes only in A", [k for k in in_a if k not in in_b]),
            _Group("mistakes_in_both", "Mistakes in both", [k for k in in_b if k in in_a]),
        )
        old, new = before.metrics, after.metrics
        self.deltas: Mapping[str, float | None] = {
            name: None if None in pair else pair[1] - pair[0]
            for name in RATES
            for pair in [(getattr(old, name), getattr(new, name))]
        }

    @property
    def caveats(self) -> Iterator[str]:
        """Why the two may not be comparable."""
        yield (
            f"of {self.names} only the mistakes are listed: which prompts were right, and whether "
            "both ran on the same prompts, is not known"
        )
        (_, before), (_, after) = self.sides
        if before.metrics.prompts != after.metrics.prompts:
            yield (
                f"different numbers of prompts: {before.metrics.prompts} then, "
                f"{after.metrics.prompts} now"
            )
        if _topic(before)[1] != _topic(after)[1]:
            yield f"different intents: {_topic(before)[1]} then, {_topic(after)[1]} now"

    @property
    def sentence(self) -> str:
        """What cannot be said."""
        verb = "lists" if len(self.names) == 1 else "list"
        return f"{self.names} {verb} mistakes only: what the difference is worth cannot be told"

    def prompt(self, key: int) -> tuple[str | None, int | None, tuple[str, str]]:
        """Return text and line of a prompt where they are known, and both outcomes."""
        found = (
            (side.prompts, row)
            for _, side in reversed(self.sides)
            if isinstance(side, RecordedEvaluation) and side.prompts is not None
            for row in [side.prompts.row_of(key)]
            if row is not None
        )
        prompts, row = next(found, (None, 0))
        listed = next((wrong[key][1] for wrong in self._wrong if key in wrong), "")
        text = listed or None if prompts is None else str(prompts.frame["prompt"][row])
        line = None if prompts is None else int(prompts.frame["line"][row]) or None
        was, now = (
            wrong[key][0] if key in wrong else _outcome(side, key)
            for wrong, (_, side) in zip(self._wrong, self.sides, strict=True)
        )
        return text, line, (was, now)

    def data(self) -> dict[str, Any]:
        """Return the comparison for JSON."""

        def entry(key: int) -> dict[str, Any]:
            text, line, (was, now) = self.prompt(key)
            return {"prompt": text, "line": line, "was": was or None, "now": now or None}

        return {
            **{name.lower(): _side_data(side) for name, side in self.sides},
            "deltas": {key: self.deltas[name] for name, key in RATE_KEYS.items()},
            "sentence": self.sentence,
            "caveats": list(self.caveats),
            **{group.key: list(map(entry, group.prompts)) for group in self.groups},
        }

    def document(self) -> Document:
        """Return both sides, their rates, and the mistakes of each."""
        lists = [self._lines(group) for group in self.groups if group.prompts]
        return Document(
            ("Guardrail topic comparison: ", Foreign(_topic(self.sides[1][1])[0])),
            (f"{self.sentence}.",),
            (
                Section("Metrics", "metrics", tuple(self._metrics())),
                Section("Prompts", "prompts", tuple(lists), titled=False),
            ),
            made_with=Facts(
                tuple(
                    (name, (Foreign(side.name), ": ", Foreign(" ".join(_topic(side)))))
                    for name, side in self.sides
                )
            ),
            glossary=(*RATE_TERMS, *CHANGE_TERMS),
        )

    def _metrics(self) -> Iterator[Block]:
        intervals = [rate_intervals(side.metrics, fitted=_fitted(side)) for _, side in self.sides]
        titles = [title for name, _ in self.sides for title in (name, "95 % interval")]
        columns = (Column("rate", figure=False), *map(Column, (*titles, "change")))
        rows = []
        for name in RATES:
            cells = [RATE_TITLES[name]]
            for (_, side), known in zip(self.sides, intervals, strict=True):
                cells += [rate_text(getattr(side.metrics, name)), interval_text(known.get(name))]
            rows.append((*cells, delta_text(self.deltas[name]) or UNDEFINED))
        yield Table(columns, tuple(rows), named="Rates of A and B")
        yield Bullets(tuple(Item(caveat) for caveat in self.caveats), Tone.CAUTION)

    def _lines(self, group: _Group) -> TitledLines:
        def line(number: int) -> Phrase:
            text, line, (was, now) = self.prompt(group.prompts[number])
            place = f"line {line}, " if line else ""
            shown = "(its text is not known)" if text is None else Foreign(text)
            return (f"{place}{was or 'absent'} → {now or 'absent'}: ", shown)

        return TitledLines(f"{group.title} ({len(group.prompts)})", Lines(len(group.prompts), line))


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


def _side_data(side: Side) -> dict[str, Any]:
    topic, intent = _topic(side)
    return {
        "name": side.name,
        "profile": side.profile,
        "topic": topic,
        "intent": intent,
        "measured": Measured.of(side.metrics, fitted=_fitted(side)),
    }
