"""Prompts that an edit makes examples, and the offer to take them out of the measured set."""

from __future__ import annotations

from pathlib import Path

from guardtui.app.editing.workspace_sync import taken_prompts
from tests.app.bench import Bench


def test_only_new_examples_are_prompts_that_were_taken(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    texts, keys = bench.prompts.prompts.to_list(), bench.prompts.keys
    before = bench.topic.model_copy(update={"examples": (texts[0], "else")})
    after = bench.topic.model_copy(update={"examples": (texts[0], texts[3].upper(), "new")})
    assert taken_prompts(before, after, bench.prompts) == {int(keys[3])}
    assert taken_prompts(after, before, bench.prompts) == frozenset()
