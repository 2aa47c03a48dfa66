"""Verdicts of several scanners on the same prompts: agreement and majority."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from guardtui.domain.agreement import Agreement, agreement
from guardtui.domain.verdicts import Triggered


@dataclass(frozen=True, eq=False)
class Panel:
    """The answers of S scanners on N prompts, with the labels.

    `names` are the scanners' names. `answers` is int8 [S, N], values of `Triggered`.
    `should_trigger` (bool [N]) says whether the guardrail should trigger by the labels. Raises
    ValueError if the shapes differ.
    """

    names: tuple[str, ...]
    answers: NDArray[np.int8]
    should_trigger: NDArray[np.bool_]

    def __post_init__(self) -> None:
        shape = (len(self.names), *self.should_trigger.shape)
        if self.answers.shape != shape:
            raise ValueError(f"{self.answers.shape} answers for {shape}: scanners and labels")

    def __len__(self) -> int:
        return int(self.should_trigger.shape[0])

    @cached_property
    def yes(self) -> NDArray[np.intp]:
        """Number of scanners that trigger on each prompt, intp [N]."""
        return self._counted(Triggered.YES)

    @cached_property
    def no(self) -> NDArray[np.intp]:
        """Number of scanners that do not trigger on each prompt, intp [N]."""
        return self._counted(Triggered.NO)

    def _counted(self, answer: Triggered) -> NDArray[np.intp]:
        counts: NDArray[np.intp] = (self.answers == answer).sum(axis=0, dtype=np.intp)
        return counts

    @cached_property
    def compared(self) -> NDArray[np.bool_]:
        """Rows with verdicts of at least two scanners, bool [N]; only these can agree or differ."""
        enough: NDArray[np.bool_] = self.yes + self.no >= 2
        return enough

    @cached_property
    def differ(self) -> NDArray[np.bool_]:
        """Rows where two scanners have different verdicts, bool [N]."""
        both: NDArray[np.bool_] = (self.yes > 0) & (self.no > 0)
        return both

    @cached_property
    def majority(self) -> NDArray[np.int8]:
        """The verdict of more than half of the scanners with a verdict, int8 [N] of `Triggered`.

        NO_VERDICT for ties and if fewer than two scanners have a verdict.
        """
        balance = np.sign(self.yes - self.no)
        triggered = np.where(balance > 0, np.int8(Triggered.YES), np.int8(Triggered.NO))
        decided = self.compared & (balance != 0)
        majority: NDArray[np.int8] = np.where(decided, triggered, np.int8(Triggered.NO_VERDICT))
        return majority

    @cached_property
    def against(self) -> NDArray[np.bool_]:
        """Rows where the majority contradicts the label, bool [N]."""
        decided = self.majority != Triggered.NO_VERDICT
        wrong: NDArray[np.bool_] = decided & (
            (self.majority == Triggered.YES) != self.should_trigger
        )
        return wrong

    @cached_property
    def pairs(self) -> Mapping[tuple[int, int], Agreement]:
        """Agreement of each pair of scanners, by their indices, with Cohen's kappa."""
        return {
            (first, second): agreement(self.answers[first], self.answers[second])
            for first, second in combinations(range(len(self.names)), 2)
        }

    @cached_property
    def alpha(self) -> float | None:
        """Krippendorff's alpha for nominal data over all scanners: 1 full agreement, 0 chance.

        α = 1 − D_o / D_e, over the verdicts that can be paired: those on prompts that at least two
        scanners judged. With y and m − y yes and no of the m verdicts on a prompt, D_o = 2/n · Σ
        y(m − y) / (m − 1), and D_e = 2 n₁ n₀ / (n (n − 1)) over all n = n₁ + n₀ of them. No two
        scanners need to have judged the same prompts. The value may be negative.

        Source: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, section C for
        nominal data with missing values. None if undefined: nothing can be paired, or all paired
        verdicts are the same.
        """
        yes, no = self.yes[self.compared], self.no[self.compared]
        ones, zeros = int(yes.sum()), int(no.sum())
        if not ones or not zeros:
            return None
        judged, unequal = yes + no, yes * no
        # Integers as far as possible, so that the order of prompts does not change the result.
        disagreeing = sum(
            int(unequal[judged == count].sum()) / (count - 1)
            for count in range(2, len(self.names) + 1)
        )
        return 1 - (ones + zeros - 1) * disagreeing / (ones * zeros)
