"""Prompts that an edit makes examples, and the offer to take them out of the measured set."""

from __future__ import annotations

from pathlib import Path

from guardtui.app.editing.workspace_sync import ends_the_fit, taken_prompts
from tests.app.bench import Bench


def test_only_new_examples_are_prompts_that_were_taken(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    texts, keys = bench.prompts.prompts.to_list(), bench.prompts.keys
    before = bench.topic.model_copy(update={"examples": (texts[0], "else")})
    after = bench.topic.model_copy(update={"examples": (texts[0], texts[3].upper(), "new")})
    assert taken_prompts(before, after, bench.prompts) == {int(keys[3])}
    assert taken_prompts(after, before, bench.prompts) == frozenset()


def test_taking_out_prompts_can_end_the_fit_of_the_threshold(tmp_path: Path) -> None:
    prompts = Bench(tmp_path).prompts  # ten of each label
    one = frozenset({int(prompts.keys[0])})
    assert ends_the_fit(prompts, one)
    assert not ends_the_fit(prompts, frozenset())
    few = Bench(tmp_path, each=1).prompts
    assert not ends_the_fit(few, frozenset({int(few.keys[0])}))  # none is fitted anyway
