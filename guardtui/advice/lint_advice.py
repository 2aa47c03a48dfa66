"""A piece of advice: its text, the measured effect of removing its cause, and its order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guardtui.domain.figures import rate_text
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic

if TYPE_CHECKING:  # lint of texts alone needs no data libraries
    from guardtui.domain.metrics import Metrics
    from guardtui.domain.prompts import PromptSet
    from guardtui.domain.significance import Significance

_LISTED = 20
SHOWN = 60
"""Maximum number of quoted characters."""

NO_EFFECT = "no-effect"
"""Code of the advice that a definition separates nothing: it has no removable cause."""

_CODES = (
    NO_EFFECT,
    "contradiction",
    "leakage",
    "exclusion",
    "negatives",
    "near-duplicates",
    "description",
    "long",
    "languages",
)
"""Codes of advice, in the order of unmeasured advice."""


@dataclass(frozen=True, slots=True)
class Removal:
    """The measured effect of removing the cause, on all labelled prompts.

    `worth` is the significance of the difference; None if prompts are left out.
    """

    before: Metrics
    after: Metrics
    worth: Significance | None = None

    @property
    def change(self) -> float | None:
        """Coverage without the cause minus coverage with it."""
        old, new = self.before.coverage, self.after.coverage
        return None if old is None or new is None else new - old

    @property
    def fixes(self) -> int:
        """Prompts that become correct; 0 if prompts are left out."""
        return 0 if self.worth is None else self.worth.fixes

    @property
    def regressions(self) -> int:
        """Prompts that become wrong; 0 if prompts are left out."""
        return 0 if self.worth is None else self.worth.regressions

    @property
    def p_value(self) -> float:
        """McNemar's exact p-value of fixes against regressions."""
        return 1.0 if self.worth is None else self.worth.p_value

    @property
    def could_be_chance(self) -> bool:
        """Return whether no change of coverage is shown, as in `Significance.could_be_chance`."""
        return self.worth is None or self.worth.could_be_chance


@dataclass(frozen=True, slots=True)
class Advice:
    """A doubtful part of a definition.

    `field` is `name`, `description`, `examples` or `examples.2`. `brief` is for one short line,
    `message` a sentence. `action` says in words what `removal` measured (or ""); `remedy` is the
    measured definition, which may exceed limits (None: prompts are left out, or nothing was
    measured). `lines` are of the prompt file. Foreign texts are shortened by `display_start`.
    """

    code: str
    field: str
    brief: str
    message: str
    action: str = ""
    removal: Removal | None = None
    remedy: Topic | None = None
    lines: tuple[int, ...] = ()

    @property
    def effect(self) -> str:
        """The measured effect in words: `example 2 dropped: coverage 0.812 → 0.840, 5 fixes …`.

        Empty if nothing was measured.
        """
        if self.code == NO_EFFECT or self.removal is None:
            return ""
        removal = self.removal
        change = (
            f"coverage {rate_text(removal.before.coverage)} → {rate_text(removal.after.coverage)}"
        )
        if removal.worth is None:
            return f"{self.action}: {change}"
        if not removal.fixes and not removal.regressions:
            return f"{self.action}: no verdict changes"
        return f"{self.action}: {change}, {removal.worth.sentence}"

    @property
    def line(self) -> str:
        """The advice in one line."""
        effect = self.effect
        return f"{self.message}; {effect}" if effect else self.message


def order(advice: Advice) -> tuple[int, float, int, str]:
    """Return the sort key: gains of coverage first, then unmeasured advice, then losses."""
    change = None if advice.removal is None else advice.removal.change
    group, value = 1, 0.0
    if change is not None:
        # Leaked prompts inflate coverage by what it loses without them.
        value = -change if advice.code == "leakage" else change
        group = 0 if value > 0 else 2
    if advice.code in (NO_EFFECT, "contradiction"):
        group = -2 if advice.code == NO_EFFECT else -1
    return group, -round(value, 9), _CODES.index(advice.code), advice.field


def without_examples(topic: Topic, numbers: Sequence[int]) -> Topic:
    """Return the topic without the examples of these numbers."""
    rest = tuple(text for number, text in enumerate(topic.examples, 1) if number not in numbers)
    return topic.model_copy(update={"examples": rest})


def part_name(number: int) -> str:
    """Return the description for 0, an example by its number."""
    return f"example {number}" if number else "description"


def field_of(numbers: Sequence[int]) -> str:
    """Return the field that these examples are (0: the description)."""
    if len(numbers) > 1:
        return "examples"
    return f"examples.{numbers[0]}" if numbers[0] else "description"


def file_lines(prompts: PromptSet, rows: Sequence[int]) -> tuple[int, ...]:
    """Return lines of the prompt file of some rows, the first of them."""
    lines = prompts.frame["line"].gather(list(rows)).sort().head(_LISTED).to_list()
    return tuple(int(line) for line in lines)


def quoted(text: str | None) -> str:
    """Return the start of a foreign text, in quotes."""
    text = text or ""
    return f"“{display_start(text, SHOWN)}”"
