"""A prompt file with repeats, two categories and both classes, and a topic to hold against it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from guardtui.domain.topic import Intent, Topic

TOPIC = Topic(
    name="Tax advice",
    description="Personal advice on taxes, deductions and returns",
    examples=("How do I deduct my car?", "Which taxes do I owe on my bonus?"),
    intent=Intent.BLOCK,
)


def write_prompts(path: Path, count: int = 120) -> Path:
    """Prompts of which some stand there twice, with lines that do not follow the rows."""
    about = ("my tax return", "the weather in Paris", "a deduction for shoes", "soup, hot", "VAT")
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt", "expected", "intent", "category", "note"])
        for number in range(count):
            what = about[number % 5]
            text = f"What about {what}\nno. {number % (count - 20)}?"
            belongs = number % 5 in (0, 2)
            label = "yes" if belongs != (number % 11 == 0) else "no"  # some are labelled wrong
            writer.writerow([text, label, "block", "even" if number % 2 else "odd", number])
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_prompts(tmp_path / "prompts.csv")
