"""The embedded scanner: an edit costs one text, and gives what a fresh scan would give."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.domain.prompt_edit import Add, Duplicate, PromptEdit, Relabel, Remove
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.files.prompt_edits import edit_prompts
from guardtui.files.prompt_files import load_prompts
from guardtui.scanners.base import Progress, ScannerError
from guardtui.scanners.local import encoder
from guardtui.scanners.local.encoder import Encoder, EncoderError
from guardtui.scanners.local.matrix import PromptMatrix
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.topic_places import sample_folder
from tests.examples import up_to

PROMPTS: PromptSet = load_prompts(sample_folder() / "tax-advice.csv")
TOPIC = Topic(
    name="Tax advice",
    description="Personal advice on taxes",
    examples=("Can I deduct my car?", "How do I pay less tax?"),
)
TEXTS = st.sampled_from(
    ["", "Tax", "weather in Paris", "How do I pay less tax?", "réclamer ça", " "]
)


def quiet(progress: Progress) -> None:
    pass


def scan(scanner: LocalScanner, topic: Topic) -> Verdicts:
    evaluation = scanner.evaluate_now(topic, PROMPTS)
    assert evaluation is not None
    return evaluation.verdicts


def test_cached_prompts_and_definition_are_scored_without_the_encoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = scan(LocalScanner("static", cache=tmp_path), TOPIC)

    def damaged(name: str) -> Encoder:
        raise EncoderError(f"{name} is damaged")

    monkeypatch.setattr(encoder, "load_encoder", damaged)
    scanner = LocalScanner("static", cache=tmp_path)
    assert np.array_equal(scan(scanner, TOPIC).score, before.score)
    with pytest.raises(ScannerError, match="static is damaged"):
        scan(scanner, TOPIC.model_copy(update={"description": "typed later"}))


def test_scanner_after_prompt_edits_embeds_only_new_prompts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes((sample_folder() / "tax-advice.csv").read_bytes())
    prompts, scanner = load_prompts(path), LocalScanner("static")
    scanner.evaluate_now(TOPIC, prompts)
    encoder, _, _ = scanner.load()
    embedded: list[str] = []
    encode = encoder.encode

    def recorded(texts: Sequence[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        embedded.extend(texts)
        return encode(texts)

    monkeypatch.setattr(encoder, "encode", recorded)
    some = frozenset(prompts.keys[10:13].tolist())
    edits: tuple[PromptEdit, ...] = (
        Relabel(some),
        Add("a new question", True),
        Duplicate(some),
        Remove(some),
    )
    for edit in edits:
        prompts = edit_prompts(path, prompts, edit).prompts
        embedded.clear()
        result = scanner.evaluate_now(TOPIC, prompts)
        assert embedded == ([edit.prompt] if isinstance(edit, Add) else [])
        fresh = LocalScanner("static").evaluate_now(TOPIC, prompts)
        assert result is not None
        assert fresh is not None
        np.testing.assert_array_equal(result.verdicts.score, fresh.verdicts.score)
        np.testing.assert_array_equal(result.verdicts.triggered, fresh.verdicts.triggered)
        np.testing.assert_array_equal(result.verdicts.matched, fresh.verdicts.matched)


def test_prompts_of_the_topic_trigger() -> None:
    verdicts = scan(LocalScanner("static"), TOPIC)
    expected = PROMPTS.expected
    assert np.median(verdicts.score[expected]) > 1.5 * np.median(verdicts.score[~expected])


def test_allow_topic_triggers_on_other_prompts() -> None:
    scanner = LocalScanner("static")
    block = scan(scanner, TOPIC)
    allow = scan(scanner, TOPIC.model_copy(update={"intent": Intent.ALLOW}))
    np.testing.assert_array_equal(allow.triggered, 1 - block.triggered)
    np.testing.assert_array_equal(allow.score, block.score)


def test_threshold_is_a_score() -> None:
    scanner = LocalScanner("static")
    default = scanner.settings
    assert (default.threshold_source, default.kind) == ("built-in", "engine")
    scanner.use_threshold(0.9)
    verdicts = scan(scanner, TOPIC)
    np.testing.assert_array_equal(verdicts.triggered == 1, verdicts.score >= 0.9)
    assert (scanner.settings.threshold, scanner.settings.threshold_source) == (0.9, "by hand")
    assert scanner.settings.guardrail == default.guardrail
    scanner.use_threshold(0.8, "calibrated")
    assert scanner.settings.threshold_source == "calibrated"
    scanner.use_threshold(None)
    assert scanner.settings == default


def test_topic_without_text_triggers_nothing_and_matches_nothing() -> None:
    verdicts = scan(LocalScanner("static"), Topic())
    assert not verdicts.triggered.any()
    assert (verdicts.matched == -1).all()


async def test_scan_in_a_thread_is_equal_and_reports_progress() -> None:
    reports: list[Progress] = []
    verdicts = await LocalScanner("static").scan(TOPIC, PROMPTS, reports.append)
    np.testing.assert_array_equal(verdicts.score, scan(LocalScanner("static"), TOPIC).score)
    assert reports[-1] == Progress("embedding prompts", len(PROMPTS), len(PROMPTS))
    assert [one.done for one in reports] == sorted(one.done for one in reports)


async def test_cancelled_scanner_stays_usable() -> None:
    scanner, told, goes_on = LocalScanner("static"), asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def report(progress: Progress) -> None:
        loop.call_soon_threadsafe(told.set)
        goes_on.wait(120)

    task = asyncio.create_task(scanner.scan(TOPIC, PROMPTS, report))
    await told.wait()
    task.cancel()
    await asyncio.sleep(0)
    goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(scan(scanner, TOPIC)) == len(PROMPTS)


def test_immediately_stopped_scan_returns_none() -> None:
    assert LocalScanner("static").evaluate_now(TOPIC, PROMPTS, stopped=lambda: True) is None


def test_explanation_is_of_the_same_score() -> None:
    scanner = LocalScanner("static")
    verdicts = scan(scanner, TOPIC)
    for row in (0, 50, 150):
        explanation = scanner.explain(TOPIC, PROMPTS.prompts[row])
        assert explanation.score == pytest.approx(float(verdicts.score[row]), abs=0.01)
        assert explanation.matched == verdicts.matched[row]


def test_an_unknown_encoder_is_rejected() -> None:
    with pytest.raises(ScannerError, match="choose one of"):
        LocalScanner("glove")


# --- edits, one after the other -----------------------------------------------------------


def add(topic: Topic, place: int, text: str) -> dict[str, object]:
    examples = list(topic.examples)
    examples.insert(place % (len(examples) + 1), text)
    return {"examples": tuple(examples)}


def remove(topic: Topic, place: int, text: str) -> dict[str, object]:
    examples = list(topic.examples)
    if examples:
        del examples[place % len(examples)]
    return {"examples": tuple(examples)}


def replace(topic: Topic, place: int, text: str) -> dict[str, object]:
    examples = list(topic.examples)
    if examples:
        examples[place % len(examples)] = text
    return {"examples": tuple(examples)}


def describe(topic: Topic, place: int, text: str) -> dict[str, object]:
    return {"description": text}


def rename(topic: Topic, place: int, text: str) -> dict[str, object]:
    return {"name": text}


EDITS = st.tuples(
    st.sampled_from([add, remove, replace, describe, rename]), st.integers(0, 5), TEXTS
)


@settings(max_examples=up_to(25), deadline=None)
@given(st.lists(EDITS, min_size=1, max_size=8))
def test_z_after_each_edit_is_exactly_that_of_a_fresh_one(edits: list) -> None:
    edited, topic = LocalScanner("static"), TOPIC
    scan(edited, topic)
    for change, place, text in edits:
        topic = topic.model_copy(update=change(topic, place, text))
        kept, fresh = (one.z(topic, PROMPTS, quiet) for one in (edited, LocalScanner("static")))
        assert kept is not None
        assert fresh is not None
        np.testing.assert_array_equal(kept[0], fresh[0])
        np.testing.assert_array_equal(kept[1], fresh[1])


@pytest.mark.parametrize(
    ("change", "embedded", "products"),
    [
        ({}, [], 0),
        ({"intent": Intent.ALLOW}, [], 0),
        ({"description": "Tax"}, ["Tax advice: Tax"], 1),
        ({"examples": (TOPIC.examples[0], "new")}, ["new"], 1),
        ({"examples": (*TOPIC.examples, "new")}, ["new"], 1),
        ({"examples": TOPIC.examples[:1]}, [], 0),
        ({"examples": TOPIC.examples[1:]}, [], 0),
    ],
)
def test_edit_computes_only_changed_rows(
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, object],
    embedded: list[str],
    products: int,
) -> None:
    scanner = LocalScanner("static")
    scan(scanner, TOPIC)
    encoder, _, _ = scanner.load()
    asked: list[str] = []
    computed: list[int] = []
    encode, product = encoder.encode, PromptMatrix.product

    def counting_encode(texts: Sequence[str]) -> np.ndarray:
        asked.extend(texts)
        return encode(texts)

    def counting_product(matrix: PromptMatrix, vector: np.ndarray, out: np.ndarray) -> None:
        computed.append(len(out))
        product(matrix, vector, out)

    monkeypatch.setattr(encoder, "encode", counting_encode)
    monkeypatch.setattr(PromptMatrix, "product", counting_product)
    scan(scanner, TOPIC.model_copy(update=change))
    assert asked == embedded
    assert computed == [len(PROMPTS)] * products


def test_other_prompts_are_scored_like_by_a_fresh_scanner() -> None:
    scanner = LocalScanner("static")
    other = load_prompts(sample_folder() / "airline-service.csv")
    scan(scanner, TOPIC)
    for prompts in (other, PROMPTS):
        found, fresh = (one.z(TOPIC, prompts, quiet) for one in (scanner, LocalScanner("static")))
        assert found is not None
        assert fresh is not None
        np.testing.assert_array_equal(found[0], fresh[0])


async def test_concurrent_scans_are_independent(eager_threads: None) -> None:
    scanner = LocalScanner("static")
    topics = [
        TOPIC.model_copy(update={"description": text, "examples": (text, "bread", "tax")[:count]})
        for text in PROMPTS.prompts.head(20)
        for count in (1, 3)
    ]
    result = await asyncio.gather(*(scanner.scan(topic, PROMPTS, quiet) for topic in topics))
    for topic, verdicts in zip(topics, result, strict=True):
        np.testing.assert_array_equal(verdicts.score, scan(LocalScanner("static"), topic).score)


def test_loading_does_not_wait_while_prompts_are_embedded() -> None:
    """The app asks for the settings of an encoder that another thread is using already."""
    scanner = LocalScanner("static")
    with ThreadPoolExecutor(1) as threads, scanner._turn(lambda: False):
        assert (
            threads.submit(lambda: scanner.settings).result(timeout=30).guardrail.encoder
            == "static"
        )


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads take turns as often as they can, so that what is not guarded shows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_score_equal_to_the_threshold_triggers() -> None:
    scanner = LocalScanner("static")
    for score in scan(scanner, TOPIC).score[::9].tolist():
        scanner.use_threshold(score)
        verdicts = scan(scanner, TOPIC)
        np.testing.assert_array_equal(verdicts.triggered == 1, verdicts.score >= score)
