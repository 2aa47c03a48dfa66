"""Many prompts, and an encoder that waits before it embeds those beyond the first part."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from guardtui.files.prompt_files import load_prompts
from guardtui.scanners.local import embedding
from guardtui.scanners.local.embedding import embedding_order
from guardtui.scanners.local.encoder import load_encoder

FIRST = 20
COUNT = 60

TOPIC = """\
name: Tax advice
description: Personal tax advice
examples:
  - How can I pay less tax?
  - Can I deduct my home office?
intent: block
"""


def write_many(folder: Path) -> Path:
    """Write a topic with prompts of which a third belongs, those first; return its path."""
    path = folder / "tax.yaml"
    path.write_text(TOPIC, "utf-8")
    rows = [
        *(f"which tax is due in case {row},true,block" for row in range(COUNT // 3)),
        *(f"a recipe of soup {row},false,block" for row in range(COUNT - COUNT // 3)),
    ]
    (folder / "tax.csv").write_text("\n".join(["prompt,expected,intent", *rows, ""]), "utf-8")
    return path


class Held:
    """Small parts, and prompts beyond the first that are not embedded before `let`."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(embedding, "MANY", FIRST + 1)
        monkeypatch.setattr(embedding, "PARTS", (FIRST,))
        prompts = load_prompts(path.with_suffix(".csv"))
        order = embedding_order(prompts)
        texts = prompts.prompts.to_list()
        self.first = frozenset(texts[row] for row in order[:FIRST])
        self.rest = frozenset(texts) - self.first
        self.embedded: list[str] = []
        self.let = threading.Event()
        encoder = load_encoder("static")
        encode = encoder.encode

        def held(wanted: Sequence[str]) -> NDArray[np.float32]:
            if not self.rest.isdisjoint(wanted):
                self.let.wait()
            self.embedded += [text for text in wanted if text in self.first | self.rest]
            return encode(wanted)

        monkeypatch.setattr(encoder, "encode", held)
        # One small piece of work after the other, so that an end leaves most of the rest undone.
        monkeypatch.setattr(type(encoder), "chunk", 4)
        monkeypatch.setattr("guardtui.scanners.local.vectors.cores", lambda: 1)
