"""Several scanners' verdicts on the same prompts: how well they agree, and what most say."""

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
    """The answers of S scanners on N prompts, beside the labels.

    `names` are those of the scanners, `answers` is int8 [S, N] with the values of `Triggered`,
    `should_trigger` (bool [N]) are the labels as the guardrail's duty. Raises ValueError when the
    shapes differ.
    """

    names: tuple[str, ...]
    answers: NDArray[np.int8]
    should_trigger: NDArray[np.bool_]

    def __post_init__(self) -> None:
        wanted = (len(self.names), *self.should_trigger.shape)
        if self.answers.shape != wanted:
            raise ValueError(f"{self.answers.shape} answers for {wanted}: scanners and labels")

    def __len__(self) -> int:
        return int(self.should_trigger.shape[0])

    @cached_property
    def yes(self) -> NDArray[np.intp]:
        """How many scanners say of each prompt that it triggers, intp [N]."""
        return self._counted(Triggered.YES)

    @cached_property
    def no(self) -> NDArray[np.intp]:
        """How many scanners say of each prompt that it does not trigger, intp [N]."""
        return self._counted(Triggered.NO)

    def _counted(self, answer: Triggered) -> NDArray[np.intp]:
        counts: NDArray[np.intp] = (self.answers == answer).sum(axis=0, dtype=np.intp)
        return counts

    @cached_property
    def compared(self) -> NDArray[np.bool_]:
        """Rows with verdicts of at least two scanners, bool [N]: others tell of no agreement."""
        enough: NDArray[np.bool_] = self.yes + self.no >= 2
        return enough

    @cached_property
    def differ(self) -> NDArray[np.bool_]:
        """Rows where two scanners have different verdicts, bool [N]."""
        both: NDArray[np.bool_] = (self.yes > 0) & (self.no > 0)
        return both

    @cached_property
    def majority(self) -> NDArray[np.int8]:
        """What more than half of the verdicts on each prompt are, int8 [N] of `Triggered`.

        NO_VERDICT where they are even, and where fewer than two scanners have a verdict.
        """
        said = np.sign(self.yes - self.no)
        triggered = np.where(said > 0, np.int8(Triggered.YES), np.int8(Triggered.NO))
        decided = self.compared & (said != 0)
        found: NDArray[np.int8] = np.where(decided, triggered, np.int8(Triggered.NO_VERDICT))
        return found

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
        """The agreement of each two scanners, by their places; with Cohen's kappa."""
        return {
            (first, second): agreement(self.answers[first], self.answers[second])
            for first, second in combinations(range(len(self.names)), 2)
        }

    @cached_property
    def alpha(self) -> float | None:
        """Krippendorff's alpha for nominal data, over all scanners: 1 always agree, 0 by chance.

        α = 1 − D_o / D_e, each of the verdicts that can be paired: those on prompts that at least
        two scanners judged. With y and m − y yes and no of the m verdicts on a prompt,
        D_o = 2/n · Σ y(m − y) / (m − 1), and D_e = 2 n₁ n₀ / (n (n − 1)) over all n = n₁ + n₀ of
        them. It needs no two scanners to have judged the same prompts, and may be negative.

        Source: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, section C for
        nominal data with missing values. None when undefined: nothing can be paired, or all
        verdicts that can be are the same.
        """
        yes, no = self.yes[self.compared], self.no[self.compared]
        ones, zeros = int(yes.sum()), int(no.sum())
        if not ones or not zeros:
            return None
        judged, unequal = yes + no, yes * no
        # Whole numbers as long as that goes: the order of prompts then changes no digit.
        disagreeing = sum(
            int(unequal[judged == count].sum()) / (count - 1)
            for count in range(2, len(self.names) + 1)
        )
        return 1 - (ones + zeros - 1) * disagreeing / (ones * zeros)
