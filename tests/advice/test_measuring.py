"""Many definitions at once give what the scanner gives for each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.advice.candidates import candidates
from guardtui.advice.measuring import metrics_of_counts, open_scorer, z_cut
from guardtui.advice.splits import split_prompts
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.scanners.local import matrix
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.scoring import probability
from tests.examples import up_to

from .conftest import TOPIC, Bench, bench_of

TEXTS = st.sampled_from(
    [
        "",
        " ",
        "Tax",
        "weather in Paris",
        "How do I pay less tax?",
        "réclamer ça",
        "Can I deduct it?",
    ]
)
TOPICS = st.builds(
    Topic,
    name=TEXTS,
    description=TEXTS,
    examples=st.lists(TEXTS, max_size=6).map(tuple),
    intent=st.sampled_from(Intent),
)


def z_of(bench: Bench, topics: list[Topic]) -> np.ndarray:
    """z of all prompts by way of the batch, [c, N]."""
    scorer = bench.scorer
    scorer.learn(topics)
    table, vectors = scorer._table(topics)
    _, model, _ = bench.scanner.load()
    widths = model.widths(table, vectors)
    rows = np.arange(len(bench.prompts))
    similarities = scorer._vectors.matrix.products(vectors, rows)
    return model.combine_many(similarities, table, widths, scorer._vectors.terms)


def z_alone(bench: Bench, topic: Topic) -> np.ndarray:
    found = bench.scanner.z(topic, bench.prompts, lambda _: None)
    assert found is not None
    return found[0]


@pytest.fixture(scope="module")
def shared(prompts: PromptSet) -> Bench:
    return bench_of(prompts, split_prompts(prompts), LocalScanner("static"))


@settings(max_examples=up_to(60), deadline=None)
@given(st.lists(TOPICS, min_size=1, max_size=8))
def test_z_is_that_of_the_scanner_for_any_definitions(shared: Bench, topics: list[Topic]) -> None:
    for batch, topic in zip(z_of(shared, topics), topics, strict=True):
        np.testing.assert_allclose(batch, z_alone(shared, topic), atol=2e-4)


@pytest.mark.parametrize("encoder", ["static", "pair"])
def test_counts_are_those_of_the_scanner_for_every_candidate(
    prompts: PromptSet, encoder: str
) -> None:
    split = split_prompts(prompts)
    bench = bench_of(prompts, split, LocalScanner(encoder))
    found = candidates(TOPIC, bench.scorer.material(bench.scorer.matches(TOPIC)))
    topics = [TOPIC, *(one.topic for one in found[::9])]
    measured = bench.scorer.measure(topics)
    assert measured is not None
    for row, topic in enumerate(topics):
        verdicts = bench.scanner.scan_now(topic, prompts, lambda _: None)
        assert verdicts is not None
        hits = verdicts.triggered.astype(bool)
        np.testing.assert_array_equal(bench.scorer.matches(topic), hits)
        counts = [
            int((hits & half & (prompts.expected == label)).sum())
            for half in (split.search, split.report)
            for label in (True, False)
        ]
        assert measured.matched[row].tolist() == counts


def test_blocks_change_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    found = candidates(TOPIC, bench.scorer.material(bench.scorer.matches(TOPIC)))
    topics = [one.topic for one in found[:150]]
    whole = bench.scorer.measure(topics)
    monkeypatch.setattr("guardtui.advice.measuring._PROMPTS", 7)
    monkeypatch.setattr("guardtui.advice.measuring._TOPICS", 11)
    monkeypatch.setattr("guardtui.scanners.local.scoring._TOPICS", 13)
    blocks = bench.scorer.measure(topics)
    assert whole is not None
    assert blocks is not None
    np.testing.assert_array_equal(whole.matched, blocks.matched)
    np.testing.assert_allclose(whole.objective, blocks.objective, atol=1e-5)


def test_the_search_half_alone_gives_the_same_objective(bench: Bench) -> None:
    both = bench.scorer.measure([TOPIC])
    alone = bench.scorer.measure([TOPIC], report=False)
    assert both is not None
    assert alone is not None
    np.testing.assert_allclose(both.objective, alone.objective, atol=1e-6)
    assert alone.matched[0, 2:].tolist() == [0, 0]


def test_a_prompt_that_is_an_example_does_not_count_for_it(bench: Bench) -> None:
    scorer = bench.scorer
    rows = [row for row in bench.split.search_rows if bench.prompts.expected[row]]
    text = bench.prompts.prompts[int(rows[0])]
    topic = TOPIC.model_copy(update={"examples": (TOPIC.examples[0], text)})
    own, columns = scorer._own([TOPIC, topic])
    assert own.tolist() == [1]
    measured = scorer.measure([topic])
    assert measured is not None
    # By hand: the same formula over the prompts that are left.
    z = z_of(bench, [topic])[0] - scorer.cut
    soft = 0.5 + 0.5 * np.tanh(z / (2 * scorer._smooth))
    chosen = bench.split.search.copy()
    chosen[bench.split.search_rows[columns[0]]] = False
    rates = []
    for label, values in ((True, soft), (False, 1 - soft)):
        part = values[chosen & (bench.prompts.expected == label)].astype(float)
        rates.append(part.mean() - np.sqrt(part.mean() * (1 - part.mean()) / len(part)))
    assert measured.objective[0] == pytest.approx(min(rates), abs=1e-5)


def test_many_prompts_held_as_int8_give_the_same_but_for_rounding(
    prompts: PromptSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "COMPACT_FROM", 1)
    bench = bench_of(prompts, split_prompts(prompts), LocalScanner("static"))
    np.testing.assert_allclose(z_of(bench, [TOPIC])[0], z_alone(bench, TOPIC), atol=2e-4)


def test_edits_are_made_of_prompts_of_the_search_half(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    hits = bench.scorer.matches(TOPIC)
    whole = bench.scorer.material(hits)
    rows = bench.split.search_rows
    triples = zip(
        bench.prompts.prompts.gather(rows).to_list(),
        bench.prompts.expected[rows].tolist(),
        hits[rows].tolist(),
        strict=True,
    )
    missed = tuple(text for text, belongs, hit in triples if belongs and not hit)
    assert whole.missed == missed
    assert len(whole.missed) + len(whole.caught) + len(whole.others) == len(rows)
    monkeypatch.setattr("guardtui.advice.measuring._MATERIAL", 7)
    some = bench.scorer.material(hits)
    for fewer, more in ((some.missed, whole.missed), (some.others, whole.others)):
        assert len(fewer) == 7
        assert fewer == tuple(text for text in more if text in fewer)
        assert fewer != more[:7]  # not those that happen to come first
    assert bench.scorer.material(hits) == some


def test_it_stops_between_blocks(bench: Bench) -> None:
    assert bench.scorer.measure([TOPIC], lambda: True) is None
    split = bench.split
    assert open_scorer(LocalScanner("static"), bench.prompts, split, print, lambda: True) is None


def test_texts_are_forgotten_when_there_are_too_many(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("guardtui.advice.measuring._TEXTS", 6)
    topics = [TOPIC.model_copy(update={"description": f"tax {k}"}) for k in range(12)]
    first = [bench.scorer.matches(topic) for topic in topics]
    again = [bench.scorer.matches(topic) for topic in topics]
    np.testing.assert_array_equal(first, again)
    assert len(bench.scorer._places) <= 6


@pytest.mark.parametrize("intent", Intent)
def test_metrics_of_counts_are_those_of_an_evaluation(bench: Bench, intent: Intent) -> None:
    topic = TOPIC.model_copy(update={"intent": intent})
    prompts = bench.prompts
    verdicts = bench.scanner.scan_now(topic, prompts, lambda _: None)
    assert verdicts is not None
    settings = bench.scanner.settings
    evaluation = Evaluation(topic, settings, "", prompts.keys, prompts.expected, verdicts)
    hits = bench.scorer.matches(topic)
    expected = prompts.expected
    counts = (int(expected.sum()), int((~expected).sum()))
    matched = (int((hits & expected).sum()), int((hits & ~expected).sum()))
    assert metrics_of_counts(*counts, *matched, intent) == evaluation.metrics


@given(st.floats(0.001, 0.999))
def test_the_cut_is_the_first_z_that_reaches_the_threshold(threshold: float) -> None:
    cut = z_cut(threshold)
    wanted = np.float32(threshold)
    assert probability(cut) >= wanted
    assert probability(np.nextafter(cut, np.float32(-50))) < wanted
