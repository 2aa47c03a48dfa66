"""Comparison of two evaluations: both sides, and the differing prompts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from guardtui.domain.comparison import Change, Comparison, align, compare
from guardtui.domain.guardrail import UNKNOWN, guardrail_label, guardrail_text
from guardtui.domain.metrics import RATES, Metrics
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic, describe_changes
from guardtui.domain.verdicts import Outcome, is_wrong
from guardtui.reports.renderers import render
from guardtui.session.evaluation_refs import Mistakes, RecordedEvaluation, mistake_keys

Side: TypeAlias = "RecordedEvaluation | Mistakes"
"""One side of a comparison: an evaluation, or the mistakes that a report lists."""

GONE = "(its text is not known)"


@dataclass(frozen=True, slots=True)
class ComparedPrompt:
    """A prompt with its label and its outcomes in A and B, "" if one does not contain it.

    `prompt` and `line` may be None. `expected` is the current label; `score` is that of B, or of A
    for a prompt that is not in B.
    """

    prompt: str | None
    line: int | None
    was: str
    now: str
    expected: bool | None = None
    score: float | None = None

    @property
    def line_text(self) -> str:
        """The line in its prompt file, or ""."""
        return f"line {self.line}" if self.line else ""

    @property
    def label(self) -> str:
        """The current label, or ""."""
        return "" if self.expected is None else str(self.expected).lower()

    @property
    def outcomes(self) -> str:
        """The outcomes in A and in B."""
        return f"{self.was or 'absent'} → {self.now or 'absent'}"


@dataclass(frozen=True, eq=False)
class ComparedGroup:
    """Prompts that differ in one way; items are made on demand.

    `labels` says whether the labels differ.
    """

    key: str
    title: str
    count: int
    item: Callable[[int], ComparedPrompt]
    labels: bool = False

    def __len__(self) -> int:
        return self.count

    def first(self, count: int | None = None) -> Iterator[ComparedPrompt]:
        """Return the first items, at most `count`; all without it."""
        most = self.count if count is None else min(count, self.count)
        return map(self.item, range(most))


@dataclass(frozen=True, eq=False)
class ComparisonReport:
    """A and B, from A to B.

    `comparison` is None if only the mistakes of one side are known: then `limit` says so, `groups`
    are mistakes, and `deltas` are for all prompts of each side. `still_wrong` counts prompts that
    are wrong in both. `caveats` are cautions about the comparison.
    """

    before: Side
    after: Side
    comparison: Comparison | None
    deltas: Mapping[str, float | None]
    groups: tuple[ComparedGroup, ...]
    still_wrong: int
    caveats: tuple[str, ...]
    limit: str = ""

    @property
    def sides(
        self,
    ) -> tuple[tuple[str, Side], tuple[str, Side]]:
        """Both sides, each with its letter."""
        return ("A", self.before), ("B", self.after)

    @property
    def definitions(self) -> tuple[Topic, Topic] | None:
        """Both definitions; None if one is unknown."""
        if isinstance(self.before, Mistakes) or isinstance(self.after, Mistakes):
            return None
        return self.before.evaluation.topic, self.after.evaluation.topic

    @property
    def changes(self) -> tuple[str, ...]:
        """The changes of the definition, in words."""
        return describe_changes(*self.definitions) if self.definitions else ()

    @property
    def sentence(self) -> str:
        """The result of the comparison, or why there is none."""
        return self.limit if self.comparison is None else self.comparison.describe("A")


def measured_text(compared: ComparisonReport, quote: Callable[[str], str] | None = None) -> str:
    """Return which guardrail each side measured; `quote` as in `guardrail_text`."""
    settings = [
        None if isinstance(side, Mistakes) else side.evaluation.settings
        for _, side in compared.sides
    ]
    first, second = (
        UNKNOWN if guardrail is None else guardrail_text(guardrail, *([quote] if quote else []))
        for guardrail in settings
    )
    if settings[0] is not None and settings[0] == settings[1]:
        return f"Both measured by {first}."
    return f"A measured by {first}; B measured by {second}."


def column_heads(compared: ComparisonReport) -> tuple[str, str]:
    """Return `A` and `B`, each with a short name of its guardrail; inert."""
    first, second = (
        letter
        if isinstance(side, Mistakes)
        else f"{letter}: {guardrail_label(side.evaluation.settings)}"
        for letter, side in compared.sides
    )
    return first, second


def side_text(side: Side) -> str:
    """Return topic, guardrail and threshold of one side, in a line; not inert."""
    if isinstance(side, Mistakes):
        return f"{side.topic} ({side.intent.value}), guardrail and definition not told"
    topic, settings = side.evaluation.topic, side.evaluation.settings
    parts = [f"{topic.name} ({topic.intent.value})", settings.guardrail.text(str)]
    if settings.revision:
        parts.append(f"revision {settings.revision}")
    if settings.threshold is not None:
        source = f" ({settings.threshold_source})" if settings.threshold_source else ""
        parts.append(f"threshold {settings.threshold:.3f}{source}")
    return ", ".join(parts)


def counts_text(metrics: Metrics, other: Metrics) -> str:
    """Return the counts of both."""
    names = (("TP", "tp"), ("FN", "fn"), ("FP", "fp"), ("TN", "tn"), ("no verdict", "errors"))
    shown = [*names, *([("open", "open")] if metrics.open or other.open else [])]
    return ", ".join(
        f"{title} {getattr(metrics, name)} → {getattr(other, name)}" for title, name in shown
    )


def hold(before: Side, after: Side) -> ComparisonReport:
    """Compare B with A, by prompts if both have verdicts, otherwise by their mistakes."""
    if isinstance(before, Mistakes) or isinstance(after, Mistakes):
        return _by_mistakes(before, after)
    comparison = compare(before.evaluation, after.evaluation)
    now = after.evaluation
    codes = now.codes

    def group(key: str, title: str, change: Change) -> ComparedGroup:
        rows = np.flatnonzero(comparison.changes == change)
        labels = change is Change.RELABELLED
        return ComparedGroup(key, title, len(rows), lambda index: item(int(rows[index])), labels)

    def item(row: int) -> ComparedPrompt:
        was = int(comparison.before[row])
        return ComparedPrompt(
            *_text(int(now.keys[row]), after.prompts, before.prompts),
            was=Outcome(was).name if was >= 0 else "",
            now=Outcome(int(codes[row])).name,
            expected=bool(now.expected[row]),
            score=_score(after, row),
        )

    rows_before = align(now.keys, before.evaluation.keys).index
    removed_rows = np.empty(0, np.intp) if rows_before is None else np.flatnonzero(rows_before < 0)

    def removed(index: int) -> ComparedPrompt:
        row = int(removed_rows[index])
        return ComparedPrompt(
            *_text(int(before.evaluation.keys[row]), before.prompts, after.prompts),
            was=Outcome(int(before.evaluation.codes[row])).name,
            now="",
            expected=bool(before.evaluation.expected[row]),
            score=_score(before, row),
        )

    groups = (
        group("regressions", "Regressions", Change.REGRESSION),
        group("fixes", "Fixes", Change.FIX),
        group("relabelled", "Relabelled", Change.RELABELLED),
        group("added", "Added", Change.ADDED),
        ComparedGroup("removed", "Removed", len(removed_rows), removed),
        group("no_verdict", "Without a verdict in one of the two", Change.NO_VERDICT),
        group("open", "Not asked in one of the two", Change.OPEN),
    )
    same = comparison.changes == Change.SAME
    return ComparisonReport(
        before,
        after,
        comparison,
        comparison.deltas,
        groups,
        int(np.count_nonzero(same & is_wrong(codes))),
        comparison.caveats,
    )


def _by_mistakes(before: Side, after: Side) -> ComparisonReport:
    sides = (before, after)
    names = " and ".join(
        letter for letter, side in zip("AB", sides, strict=True) if isinstance(side, Mistakes)
    )
    wrong = [_wrong(side) for side in sides]
    only = [
        [key for key in own if key not in others]
        for own, others in ((wrong[0], wrong[1]), (wrong[1], wrong[0]))
    ]
    both = [key for key in wrong[1] if key in wrong[0]]
    texts = [
        side.prompts if isinstance(side, RecordedEvaluation) else None for side in (after, before)
    ]

    def group(key: str, title: str, keys: list[int]) -> ComparedGroup:
        return ComparedGroup(key, title, len(keys), lambda index: item(keys[index]))

    def item(key: int) -> ComparedPrompt:
        prompt, line = _text(key, *texts)
        if prompt is None:
            prompt = next(
                (mistakes[key][1] for mistakes in wrong if key in mistakes and mistakes[key][1]),
                None,
            )
        was, now = (
            mistakes[key][0] if key in mistakes else _right(side, key)
            for mistakes, side in zip(wrong, sides, strict=True)
        )
        return ComparedPrompt(prompt, line, was, now)

    deltas = {
        name: None if old is None or new is None else new - old
        for name in RATES
        for old, new in [(getattr(before.metrics, name), getattr(after.metrics, name))]
    }
    caveats = [
        f"of {names} only the mistakes are listed: which prompts were right, and whether both ran "
        "on the same prompts, is not known",
    ]
    totals = [side.metrics.prompts for side in sides]
    if totals[0] != totals[1]:
        caveats.append(f"different numbers of prompts: {totals[0]} then, {totals[1]} now")
    intents = [
        side.intent if isinstance(side, Mistakes) else side.evaluation.topic.intent
        for side in sides
    ]
    if intents[0] is not intents[1]:
        caveats.append(f"different intents: {intents[0]} then, {intents[1]} now")
    return ComparisonReport(
        before,
        after,
        None,
        deltas,
        (
            group("mistakes_only_in_b", "Mistakes only in B", only[1]),
            group("mistakes_only_in_a", "Mistakes only in A", only[0]),
            group("mistakes_in_both", "Mistakes in both", both),
        ),
        len(both),
        tuple(caveats),
        f"{names} list{'s' * (len(names) == 1)} mistakes only: "
        "what the difference is worth cannot be told",
    )


def _wrong(side: Side) -> dict[int, tuple[str, str]]:
    """Return outcome and text of the mistakes, by key; the text may be ""."""
    if isinstance(side, Mistakes):
        return mistake_keys(side)
    evaluation = side.evaluation
    rows = np.flatnonzero(is_wrong(evaluation.codes))
    return {
        key: (Outcome(code).name, "")
        for key, code in zip(
            evaluation.keys[rows].tolist(), evaluation.codes[rows].tolist(), strict=True
        )
    }


def _right(side: Side, key: int) -> str:
    """Return the outcome of a prompt that is not a mistake, or "" if unknown."""
    if isinstance(side, Mistakes):
        return "not listed"
    rows = np.flatnonzero(side.evaluation.keys == np.uint64(key))
    return Outcome(int(side.evaluation.codes[rows[0]])).name if len(rows) else ""


def _score(side: RecordedEvaluation, row: int) -> float | None:
    score = float(side.evaluation.verdicts.score[row])
    return round(score, 6) if np.isfinite(score) else None


def _text(key: int, *sets: PromptSet | None) -> tuple[str | None, int | None]:
    """Return text and line of a prompt, from the first set that has it."""
    for prompts in sets:
        row = prompts.row_of(key) if prompts is not None else None
        if prompts is not None and row is not None:
            line = int(prompts.frame["line"][row])
            return str(prompts.frame["prompt"][row]), line or None
    return None, None


def load_form(name: str) -> Callable[[ComparisonReport], str]:
    """Return the writer of a comparison in a format; equal input gives equal text."""
    if name == "json":
        from guardtui.reports.compared.as_json import write

        return write
    from guardtui.reports.compared.document import compared_document

    return lambda compared: render(compared_document(compared), name)
