"""Many definitions against one prompt set at once, in one matrix product, half by half."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from guardtui.advice.candidates import Material
from guardtui.advice.splits import Split
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.scanners.base import Report
from guardtui.scanners.local.embedding import PromptVectors
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.scoring import TopicTable, probability, topic_texts

Floats: TypeAlias = "NDArray[np.float32]"
Stopped = Callable[[], bool]

SMOOTH = 0.8
"""Width of the step that a prompt's z counts by, in natural logits, for up to `_FEW` of a class."""

CAUTION = 1.0
"""Standard errors that are taken off a rate before the smaller one is chosen by."""

_FEW = 15

_PROMPTS, _TOPICS = 1024, 128  # of each in one block: what is in work stays in the cache
_MATERIAL = 1000  # prompts of a sort that edits are made of
_TEXTS = 20_000  # vectors of texts that are kept
_TEXTS_AT_ONCE = 64  # between two looks at whether to stop


@dataclass(frozen=True, eq=False)
class Measured:
    """What many topics are worth, [c] each.

    `objective` is a cautious, smoothed coverage on the search half: a prompt counts by how far
    its z lies beyond the threshold, prompts that are examples of the topic are left out, and each
    rate is taken `CAUTION` standard errors lower, so that the class with fewer prompts gets more
    room. It is a scale to choose by and no rate. `matched` [c, 4] counts
    the prompts that match: of the search half those that belong and the others, then the same of
    the report half (0 where it was not asked for). `totals` [4] are how many there are.
    """

    objective: NDArray[np.float64]
    matched: NDArray[np.int64]
    totals: tuple[int, int, int, int]

    def coverage(self, half: int) -> NDArray[np.float64]:
        """Coverage [c] on the search half (0) or the report half (1)."""
        belong, others = self.totals[2 * half], self.totals[2 * half + 1]
        hits, false = self.matched[:, 2 * half], self.matched[:, 2 * half + 1]
        return np.minimum(hits / belong, 1 - false / others)


class TopicScorer:
    """Scores topics against the prompts of a split, as `LocalScanner` does, many at a time.

    Objects are made by `open_scorer`; not for several threads at once. The labels of the report
    half are in `matched` alone, never in the objective.
    """

    def __init__(
        self, scanner: LocalScanner, prompts: PromptSet, split: Split, vectors: PromptVectors
    ) -> None:
        _, self._model, _ = scanner.load()
        self._scanner = scanner
        self._vectors = vectors
        self.prompts = prompts
        self.split = split
        threshold = scanner.settings.threshold
        if threshold is None:
            raise RuntimeError("the local scanner has no threshold")
        self.cut = z_cut(threshold)
        self._rows = np.concatenate([split.search_rows, split.report_rows])
        self._searched = len(split.search_rows)
        label = prompts.expected[self._rows]
        search = np.arange(len(self._rows)) < self._searched
        masks = (search & label, search & ~label, ~search & label, ~search & ~label)
        self._weights = np.stack(masks, axis=1).astype(np.float32)
        belong, others, report_belong, report_others = (int(mask.sum()) for mask in masks)
        self.totals = (belong, others, report_belong, report_others)
        # With more prompts the step is made steeper at the rate that suits a density (Silverman
        # 1986, section 3.4): the objective nears coverage itself.
        self._smooth = SMOOTH * min(1.0, (_FEW / max(min(belong, others), 1)) ** 0.2)
        self._columns: dict[str, list[int]] = {}
        texts = prompts.prompts.gather(split.search_rows).to_list()
        for column, text in enumerate(texts):
            self._columns.setdefault(text, []).append(column)
        self._places: dict[str, int] = {}
        self._texts = np.zeros((0, self._dimensions), np.float32)

    def learn(self, topics: Sequence[Topic], stopped: Stopped = lambda: False) -> int | None:
        """Embed the texts of topics that are not known yet; how many, or None when stopped."""
        wanted = dict.fromkeys(text for topic in topics for text in _texts(topic) if text.strip())
        fresh = [text for text in wanted if text not in self._places]
        if not fresh:
            return 0
        if len(self._places) + len(fresh) > _TEXTS:
            kept = [text for text in wanted if text in self._places]
            self._texts = self._texts[[self._places[text] for text in kept]]
            self._places = {text: place for place, text in enumerate(kept)}
        for start in range(0, len(fresh), _TEXTS_AT_ONCE):
            part = fresh[start : start + _TEXTS_AT_ONCE]
            vectors = self._scanner.embed(part, stopped)
            if vectors is None or stopped():
                return None
            known = len(self._places)
            if known + len(part) > len(self._texts):
                grown = np.zeros((2 * (known + len(part)), vectors.shape[1]), np.float32)
                grown[:known] = self._texts[:known]
                self._texts = grown
            self._texts[known : known + len(part)] = vectors
            self._places.update((text, known + place) for place, text in enumerate(part))
        return len(fresh)

    def measure(
        self, topics: Sequence[Topic], stopped: Stopped = lambda: False, *, report: bool = True
    ) -> Measured | None:
        """Objective and counts of topics; without `report` of the search half alone.

        None when `stopped` said so between two blocks.
        """
        if self.learn(topics, stopped) is None:
            return None
        table, vectors = self._table(topics)
        widths = self._model.widths(table, vectors)
        owners, columns = self._own(topics)
        soft = np.zeros((len(topics), 2))
        matched = np.zeros((len(topics), 4))
        end = len(self._rows) if report else self._searched
        starts = [*range(0, self._searched, _PROMPTS), *range(self._searched, end, _PROMPTS)]
        for start in starts:
            searched = start < self._searched
            stop = min(start + _PROMPTS, self._searched if searched else end)
            rows = self._rows[start:stop]
            weights = self._weights[start:stop]
            terms = self._vectors.terms[rows]
            similarities = self._vectors.matrix.products(vectors, rows)
            for first in range(0, len(topics), _TOPICS):
                if stopped():
                    return None
                some = slice(first, first + _TOPICS)
                z = self._model.combine_many(similarities, table.part(some), widths[some], terms)
                # The rounded difference has the sign of the true one, so this is z ≥ cut.
                z -= self.cut
                matched[some] += (z >= 0).astype(np.float32) @ weights
                if not searched:
                    continue
                z *= np.float32(0.5 / self._smooth)
                np.tanh(z, out=z)
                soft[some] += z @ weights[:, :2]
                low, high = np.searchsorted(owners, [first, first + len(z)])
                own, column = owners[low:high] - first, columns[low:high] - start
                inside = (column >= 0) & (column < stop - start)
                own, column = own[inside], column[inside]
                spared = z[own, column][:, None] * weights[column, :2]
                np.subtract.at(soft, own + first, spared)
        objective = self._objective(soft, owners, columns)
        return Measured(objective, np.rint(matched).astype(np.int64), self.totals)

    def matches(self, topic: Topic) -> NDArray[np.bool_]:
        """Whether each prompt of the set matches a topic, bool [N]; rows in no half too."""
        self.learn([topic])
        table, vectors = self._table([topic])
        widths = self._model.widths(table, vectors)
        found = np.empty(len(self.prompts), bool)
        for start in range(0, len(found), _PROMPTS):
            rows = np.arange(start, min(start + _PROMPTS, len(found)))
            similarities = self._vectors.matrix.products(vectors, rows)
            terms = self._vectors.terms[rows]
            z = self._model.combine_many(similarities, table, widths, terms)
            found[rows] = z[0] >= self.cut
        return found

    def material(self, matches: NDArray[np.bool_]) -> Material:
        """What edits may be made of, from the search half: given which prompts match, bool [N].

        Of each sort at most `_MATERIAL`, picked by the prompts' hashes, in their order.
        """
        rows = self.split.search_rows
        expected, hit = self.prompts.expected[rows], matches[rows]

        def texts(chosen: NDArray[np.bool_]) -> tuple[str, ...]:
            some = rows[chosen]
            if len(some) > _MATERIAL:
                order = np.argpartition(self.prompts.keys[some], _MATERIAL)
                some = np.sort(some[order[:_MATERIAL]])
            return tuple(self.prompts.prompts.gather(some).to_list())

        return Material(texts(expected & ~hit), texts(expected & hit), texts(~expected))

    def _table(self, topics: Sequence[Topic]) -> tuple[TopicTable, Floats]:
        """The topics as places in the texts that they have, and those texts' vectors [t, d]."""
        places: dict[str, int] = {}
        heads = np.full(len(topics), -1, np.intp)
        width = max((len(topic.examples) for topic in topics), default=0)
        examples = np.full((len(topics), width), -1, np.intp)
        for row, topic in enumerate(topics):
            for column, text in enumerate(_texts(topic)):
                if text.strip():
                    place = places.setdefault(text, len(places))
                    if column:
                        examples[row, column - 1] = place
                    else:
                        heads[row] = place
        if not places:
            return TopicTable(heads, examples), np.zeros((1, self._dimensions), np.float32)
        return TopicTable(heads, examples), self._texts[[self._places[text] for text in places]]

    @property
    def _dimensions(self) -> int:
        return int(self._model.background.shape[1])

    def _own(self, topics: Sequence[Topic]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Pairs of a topic and a prompt of the search half that is one of its examples."""
        pairs = [
            (row, column)
            for row, topic in enumerate(topics)
            for text in dict.fromkeys(topic.examples)
            for column in self._columns.get(text, ())
        ]
        array = np.array(pairs, np.intp).reshape(-1, 2)
        return array[:, 0], array[:, 1]

    def _objective(
        self, soft: NDArray[np.float64], owners: NDArray[np.intp], columns: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        counts = np.tile(np.array(self.totals[:2], np.float64), (len(soft), 1))
        np.subtract.at(counts, owners, self._weights[columns, :2])
        counts = np.maximum(counts, 1)
        rates = np.clip(0.5 + 0.5 * soft / counts, 0, 1)
        rates[:, 1] = 1 - rates[:, 1]
        rates -= CAUTION * np.sqrt(rates * (1 - rates) / counts)
        smaller: NDArray[np.float64] = rates.min(axis=1)
        return smaller


def open_scorer(
    scanner: LocalScanner,
    prompts: PromptSet,
    split: Split,
    report: Report,
    stopped: Stopped = lambda: False,
) -> TopicScorer | None:
    """A scorer for these prompts, which are embedded first where they are not; None when stopped.

    Raises `ScannerError` when the encoder cannot be loaded.
    """
    vectors = scanner.prompt_vectors(prompts, report, stopped)
    return None if vectors is None else TopicScorer(scanner, prompts, split, vectors)


def metrics_of_counts(belong: int, others: int, hits: int, false: int, intent: Intent) -> Metrics:
    """Metrics from how many of those that belong and of the others match."""
    if intent is Intent.BLOCK:
        return Metrics(tp=hits, tn=others - false, fp=false, fn=belong - hits)
    # An allow topic fires on what does not match: what belongs should not trigger.
    return Metrics(tp=others - false, tn=hits, fp=belong - hits, fn=false)


def metrics_of_matches(
    expected: NDArray[np.bool_], matches: NDArray[np.bool_], intent: Intent
) -> Metrics:
    """Metrics from labels and from which prompts match, both bool [n]."""
    hits = int(np.count_nonzero(expected & matches))
    belong, false = int(np.count_nonzero(expected)), int(np.count_nonzero(matches)) - hits
    return metrics_of_counts(belong, len(expected) - belong, hits, false, intent)


def z_cut(threshold: float) -> np.float32:
    """The smallest z whose score, as it is shown, reaches the threshold."""
    wanted = np.float32(threshold)
    low, high = np.float32(-40), np.float32(40)
    while True:
        middle = np.float32((low + high) / 2)
        if middle in (low, high):
            return high
        if probability(middle) >= wanted:
            high = middle
        else:
            low = middle


def _texts(topic: Topic) -> list[str]:
    return topic_texts(topic.name, topic.description, topic.examples)
