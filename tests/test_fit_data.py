"""The set that scoring constants are fitted on keeps the conventions of its README."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from guardtui.domain.topic import Topic, violations
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import load_topic

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "scripts" / "fit_data"
NAMES = sorted(
    file.relative_to(FOLDER).with_suffix("").as_posix() for file in FOLDER.glob("*/*.yaml")
)
LONG_WORDS = 60


def _topic(name: str) -> Topic:
    return load_topic(FOLDER / f"{name}.yaml").topic


def _frame(name: str) -> pl.DataFrame:
    return load_prompts(FOLDER / f"{name}.csv", _topic(name).intent).frame


def _normal(text: str) -> str:
    """Return the words of a text in lower case, without punctuation."""
    return " ".join(re.findall(r"\w+", text.lower()))


def test_the_set_has_enough_topics_of_both_intents_in_several_families() -> None:
    intents = Counter(_topic(name).intent for name in NAMES)
    families = {name.split("/")[0] for name in NAMES}
    assert len(NAMES) >= 16
    assert min(intents["block"], intents["allow"]) >= 5
    assert len(families) >= 4


def test_every_prompt_set_has_a_topic() -> None:
    sets = sorted(
        file.relative_to(FOLDER).with_suffix("").as_posix() for file in FOLDER.rglob("*.csv")
    )
    assert sets == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_topic_keeps_the_limits_and_its_examples_are_not_scored(name: str) -> None:
    topic = _topic(name)
    assert violations(topic) == ()
    prompts = {_normal(prompt) for prompt in _frame(name)["prompt"]}
    assert not prompts & {_normal(example) for example in topic.examples}


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_set_is_balanced_in_label_length_and_language(name: str) -> None:
    frame = _frame(name)
    assert frame.height >= 60
    assert 0.4 <= frame["expected"].cast(pl.Float64).mean() <= 0.6
    languages = Counter(frame["language"])
    foreign = frame.height - languages["en"]
    assert len(languages) >= 5
    assert 0.2 <= foreign / frame.height <= 0.35
    for language in languages:
        labels = set(frame.filter(pl.col("language") == language)["expected"])
        assert labels == {True, False}, language
    long = frame.filter(pl.col("prompt").str.split(" ").list.len() >= LONG_WORDS)
    assert min(long["expected"].sum(), (~long["expected"]).sum()) >= 2


def test_no_prompt_occurs_twice_or_in_the_samples() -> None:
    counts = Counter(_normal(prompt) for name in NAMES for prompt in _frame(name)["prompt"])
    assert [prompt for prompt, count in counts.items() if count > 1] == []
    for name in ("tax-advice", "airline-service", "harm-intent"):
        samples = load_prompts(ROOT / "sample_data" / f"{name}.csv").prompts
        assert not counts.keys() & {_normal(prompt) for prompt in samples}
