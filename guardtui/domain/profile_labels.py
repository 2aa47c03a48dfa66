"""The topics of a profile over their prompts: the labels of each one's set, and its matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.metrics import Metrics, metrics_of
from guardtui.domain.prompts import PromptSet, prompt_keys
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered, is_answered, outcomes


class Label(IntEnum):
    """Label of a prompt in a topic's own prompt set: whether the prompt is about the topic."""

    UNLABELLED = -1
    NO = 0
    YES = 1
    BOTH = 2
    """The set contains the prompt with both labels."""


@dataclass(frozen=True, eq=False)
class ProfileMember:
    """A topic of the profile, its labels, and the prompts it matches.

    All columns are over the N prompts of the profile. `labels` is int8 [N], values of `Label`.
    `matches` is int8 [N], values of `Triggered`: whether the prompt is about the topic; no prompt
    was asked before its scan. `lines` is int32 [N], 0 for prompts that are not in the topic's set.
    `source` is the file of its prompt set, or "". `repeats` counts rows of that file that repeat an
    earlier row.
    """

    topic: Topic
    labels: NDArray[np.int8]
    matches: NDArray[np.int8]
    lines: NDArray[np.int32]
    source: str = ""
    repeats: int = 0

    @cached_property
    def own(self) -> NDArray[np.intp]:
        """Rows that its set labels unambiguously, intp [k]."""
        labelled = (self.labels == Label.NO) | (self.labels == Label.YES)
        return np.flatnonzero(labelled)

    @cached_property
    def should_trigger(self) -> NDArray[np.bool_]:
        """Return whether the topic should stop each of its own rows, bool [k]."""
        belongs: NDArray[np.bool_] = self.labels[self.own] == Label.YES
        return belongs if self.topic.intent is Intent.BLOCK else ~belongs

    @cached_property
    def alone(self) -> Metrics:
        """Metrics of the topic by itself, over its own rows."""
        answers = self.matches[self.own]
        if self.topic.intent is Intent.ALLOW:
            answers = np.where(is_answered(answers), np.int8(1) - answers, answers)
        return metrics_of(outcomes(self.should_trigger, answers))

    @property
    def labelled(self) -> bool:
        """Return whether the topic has a prompt set."""
        return bool(len(self.own))


@dataclass(frozen=True, eq=False)
class ProfilePrompts:
    """The N prompts that a profile is measured on, with the labels of each of its T topics.

    The labels in `prompts` are meaningless: each topic has its own.
    """

    prompts: PromptSet
    members: tuple[ProfileMember, ...]

    def __len__(self) -> int:
        return len(self.prompts)


def all_prompts(topics: Sequence[tuple[Topic, PromptSet | None]]) -> ProfilePrompts:
    """Return the prompts of all topics, each distinct text once, in order.

    A topic without prompts of its own is measured on those of the others.
    """
    indices: dict[str, int] = {}
    rows_of_topics: list[NDArray[np.intp]] = []
    for _, prompts in topics:
        texts = [] if prompts is None else prompts.prompts.to_list()
        rows = (indices.setdefault(text, len(indices)) for text in texts)
        rows_of_topics.append(np.fromiter(rows, np.intp, len(texts)))
    texts = list(indices)
    frame = pl.DataFrame(
        {
            "key": pl.Series(prompt_keys(texts), dtype=pl.UInt64),
            "line": pl.Series(range(1, len(texts) + 1), dtype=pl.UInt32),
            "prompt": pl.Series(texts, dtype=pl.String),
            "expected": pl.Series([False] * len(texts), dtype=pl.Boolean),
        }
    )
    members = tuple(
        _member(topic, prompts, rows, len(texts))
        for (topic, prompts), rows in zip(topics, rows_of_topics, strict=True)
    )
    return ProfilePrompts(PromptSet(frame, Intent.BLOCK, "all prompt sets"), members)


def prompts_of_one(topic: Topic, prompts: PromptSet, companions: Sequence[Topic]) -> ProfilePrompts:
    """Return the prompts of one topic, on which its companions have no labels.

    Repeated texts stay: every row of the set is a row of the profile.
    """
    count, rows = len(prompts), np.arange(len(prompts))
    others = [_member(companion, None, rows[:0], count) for companion in companions]
    return ProfilePrompts(prompts, (_member(topic, prompts, rows, count), *others))


def _member(
    topic: Topic, prompts: PromptSet | None, rows: NDArray[np.intp], count: int
) -> ProfileMember:
    """Return a topic whose own prompts are at `rows` (intp [k]) of the profile's `count`."""
    labels = np.full(count, Label.UNLABELLED, np.int8)
    matches, lines = np.full(count, Triggered.NOT_ASKED, np.int8), np.zeros(count, np.int32)
    if prompts is None:
        return ProfileMember(topic, labels, matches, lines)
    expected = prompts.expected
    labels[rows] = expected.astype(np.int8)
    yes, no = np.zeros(count, bool), np.zeros(count, bool)
    yes[rows[expected]] = True
    no[rows[~expected]] = True
    labels[yes & no] = Label.BOTH
    # Reversed, so that a repeated text gets its first line.
    lines[rows[::-1]] = prompts.frame["line"].to_numpy()[::-1]
    repeats = len(rows) - int(np.count_nonzero(yes | no))
    return ProfileMember(topic, labels, matches, lines, prompts.source, repeats)
