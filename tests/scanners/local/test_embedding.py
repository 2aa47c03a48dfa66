"""A prompt set is embedded once; long before its end, a fair sample of it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from guardtui.domain.prompts import PromptSet, prompt_keys
from guardtui.domain.topic import Intent, Topic
from guardtui.scanners.base import Progress
from guardtui.scanners.local import embedding
from guardtui.scanners.local.embedding import EmbeddedPart, embedding_order
from guardtui.scanners.local.scanner import LocalScanner

TOPIC = Topic(name="Tax", description="Personal tax advice", examples=("pay less tax", "deduct"))


def prompt_set(count: int, belonging: int, first: str = "tax") -> PromptSet:
    """Return `count` prompts, those that belong first."""
    texts = [f"{first if row < belonging else 'soup'} number {row}" for row in range(count)]
    frame = pl.DataFrame(
        {
            "key": prompt_keys(texts),
            "line": pl.Series(range(2, count + 2), dtype=pl.UInt32),
            "prompt": texts,
            "expected": [row < belonging for row in range(count)],
        }
    )
    return PromptSet(frame, Intent.BLOCK, "made")


class Counting:
    """Notes which texts an encoder is given."""

    def __init__(self, scanner: LocalScanner, monkeypatch: pytest.MonkeyPatch) -> None:
        encoder, _, _ = scanner.load()
        self.texts: list[str] = []
        encode = encoder.encode

        def noted(texts: Sequence[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
            self.texts += texts
            return encode(texts)

        monkeypatch.setattr(encoder, "encode", noted)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "MANY", 30)
    monkeypatch.setattr(embedding, "PARTS", (20, 40, 80))


def grown(
    scanner: LocalScanner, prompts: PromptSet, stop_after: int | None = None
) -> list[EmbeddedPart]:
    """Embed prompts, and return the parts that were handed out; stop after so many of them."""
    parts: list[EmbeddedPart] = []
    whole = scanner.prompt_vectors(
        prompts, lambda progress: None, lambda: len(parts) == stop_after, parts.append
    )
    assert (whole is None) == (len(parts) == stop_after)
    return parts


@pytest.mark.parametrize("belonging", [1, 30, 150, 299])
def test_every_prefix_of_the_order_has_each_class_by_its_share(belonging: int) -> None:
    prompts = prompt_set(300, belonging)
    order = embedding_order(prompts)
    assert sorted(order.tolist()) == list(range(300))
    for count in (20, 100, 250):
        result = int(prompts.expected[order[:count]].sum())
        assert abs(result - count * belonging / 300) <= 1


def test_order_is_random_but_determined_by_the_prompts() -> None:
    prompts = prompt_set(300, 100)
    order = embedding_order(prompts)
    belonging = order[order < 100]
    assert not np.array_equal(belonging, np.sort(belonging))
    moved = np.random.default_rng(3).permutation(300)
    other = PromptSet(prompts.frame[moved], Intent.BLOCK, "moved")
    assert [other.keys[row] for row in embedding_order(other)] == [
        prompts.keys[row] for row in order
    ]


@pytest.mark.usefixtures("small_parts")
def test_parts_score_like_the_whole_set(tmp_path: Path) -> None:
    prompts = prompt_set(100, 30)
    scanner = LocalScanner("static", cache=tmp_path)
    parts = grown(scanner, prompts)
    assert [len(part.rows) for part in parts] == [20, 40, 80]
    whole = scanner.evaluate_now(TOPIC, prompts)
    assert whole is not None
    for part in parts:
        some = PromptSet(prompts.frame[part.rows], Intent.BLOCK, "part")
        beside = scanner.beside()
        beside.adopt(some.keys, part.vectors)
        result = beside.evaluate_now(TOPIC, some)
        assert result is not None
        np.testing.assert_array_equal(result.verdicts.score, whole.verdicts.score[part.rows])


@pytest.mark.usefixtures("small_parts")
def test_interrupted_embedding_resumes_with_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = prompt_set(100, 30)
    grown(LocalScanner("static", cache=tmp_path), prompts, stop_after=2)
    scanner = LocalScanner("static", cache=tmp_path)
    counting = Counting(scanner, monkeypatch)
    embedded_before: list[int] = []
    parts: list[EmbeddedPart] = []

    def take(part: EmbeddedPart) -> None:
        embedded_before.append(len(counting.texts))
        parts.append(part)

    reports: list[Progress] = []
    scanner.prompt_vectors(prompts, reports.append, grown=take)
    assert [len(part.rows) for part in parts] == [40, 80]
    assert embedded_before[0] == 0
    assert len(counting.texts) == 60
    assert reports[-1] == Progress("embedding prompts", 100, 100, known=40)


@pytest.mark.usefixtures("small_parts")
def test_prompts_that_are_all_cached_have_no_parts(tmp_path: Path) -> None:
    prompts = prompt_set(100, 30)
    LocalScanner("static", cache=tmp_path).prompt_vectors(prompts, lambda progress: None)
    assert grown(LocalScanner("static", cache=tmp_path), prompts) == []


@pytest.mark.usefixtures("small_parts")
def test_small_set_has_no_parts(tmp_path: Path) -> None:
    assert grown(LocalScanner("static", cache=tmp_path), prompt_set(30, 6)) == []
    assert len(grown(LocalScanner("static", cache=tmp_path), prompt_set(31, 6, "duty"))) == 1


def test_scan_that_waits_for_the_embedding_can_be_stopped(tmp_path: Path) -> None:
    scanner = LocalScanner("static", cache=tmp_path)
    scanner.load()
    prompts = prompt_set(30, 10)
    with scanner._lock:  # as while prompts are embedded
        assert scanner.settings.kind == "engine"
        assert scanner.evaluate_now(TOPIC, prompts, stopped=lambda: True) is None
        assert scanner.prompt_vectors(prompts, lambda progress: None, lambda: True) is None
    assert not scanner.has(prompts)
    assert scanner.evaluate_now(TOPIC, prompts) is not None
    assert scanner.has(prompts)


def test_stopping_keeps_embedded_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts = prompt_set(5000, 100)
    scanner = LocalScanner("static", cache=tmp_path)
    counting = Counting(scanner, monkeypatch)
    reports: list[Progress] = []
    stopped = scanner.prompt_vectors(prompts, reports.append, lambda: len(counting.texts) > 0)
    assert stopped is None
    assert 0 < len(counting.texts) == reports[-1].done < 5000
    assert scanner.prompt_vectors(prompts, reports.append) is not None
    assert len(counting.texts) == 5000
