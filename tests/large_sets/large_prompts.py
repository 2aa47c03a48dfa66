"""A prompt file of any length, with repeats, two categories and both classes."""

from __future__ import annotations

import csv
from pathlib import Path

TOPIC = """\
name: Tax advice
description: Personal advice on taxes, deductions and returns
examples:
  - How do I deduct my car?
  - Which taxes do I owe on my bonus?
intent: block
"""

_ABOUT = ("my tax return", "the weather in Paris", "a deduction for shoes", "soup, hot", "VAT")


def write_prompts(path: Path, count: int) -> Path:
    """Write prompts of which some stand there twice, with lines that do not follow the rows."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt", "expected", "intent", "category", "note"])
        for number in range(count):
            text = f"What about {_ABOUT[number % 5]}\nno. {number % (count - 20)}?"
            belongs = number % 5 in (0, 2)
            label = "yes" if belongs != (number % 11 == 0) else "no"  # some are labelled wrong
            writer.writerow([text, label, "block", "even" if number % 2 else "odd", number])
    return path
