"""Examples of a topic that are also prompts of its measured set: they always match."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from guardtui.domain.metrics import Metrics
from guardtui.domain.topic import named_examples

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class EqualTexts:
    """Finds prompts with the same text, comparing letters and digits only.

    `prompts` are the texts of a prompt set, String [N].
    """

    def __init__(self, prompts: pl.Series) -> None:
        self._prompts = prompts
        self._normalised = normalised(prompts)

    def rows(self, text: str) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows with exactly this text, and those differing in case, blanks or signs."""
        if _LONE_SURROGATE.search(text):  # no prompt has one: prompt files are UTF-8
            return np.zeros(0, np.intp), np.zeros(0, np.intp)
        exact = (self._prompts == text).to_numpy()
        key = normalised(pl.Series([text]))[0]
        if not key:  # only signs
            return np.flatnonzero(exact), np.zeros(0, np.intp)
        alike = (self._normalised == key).to_numpy()
        return np.flatnonzero(exact), np.flatnonzero(alike & ~exact)


def normalised(texts: pl.Series) -> pl.Series:
    """Return texts in NFKC and lower case, each run of signs replaced by a blank."""
    return (
        texts.str.normalize("NFKC")
        .str.to_lowercase()
        .str.replace_all(r"[^\p{L}\p{M}\p{N}]+", " ")
        .str.strip_chars(" ")
    )


@dataclass(frozen=True, eq=False)
class ExamplePrompts:
    """The examples (`numbers`, from 1) that are prompts of a set, and those prompts.

    `prompts` is bool [N], in the order of the evaluation. `metrics` cover all other prompts.
    """

    numbers: tuple[int, ...]
    prompts: NDArray[np.bool_]
    metrics: Metrics

    @property
    def sentence(self) -> str:
        """For example `examples 1 and 3 are prompts of the set; coverage without them: 0.641`."""
        many = len(self.numbers) > 1
        are, them = ("are prompts", "them") if many else ("is a prompt", "it")
        coverage = self.metrics.coverage
        figure = "n/a" if coverage is None else f"{coverage:.3f}"
        return f"{named_examples(self.numbers)} {are} of the set; coverage without {them}: {figure}"
