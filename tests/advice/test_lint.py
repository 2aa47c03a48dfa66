"""Lint: each finding on a definition made for it, effects compared with evaluations."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.advice.engine_scores import EngineScores, open_scores
from guardtui.advice.lint import lint
from guardtui.advice.lint_advice import Advice
from guardtui.advice.text_lint import lint_text
from guardtui.domain.comparison import compare
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.example_prompts import normalised
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.files.topic_files import load_topic
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.topic_places import sample_folder

from .conftest import TOPIC


@pytest.fixture(scope="module")
def scanner() -> LocalScanner:
    return LocalScanner("static")


@pytest.fixture(scope="module")
def engine(prompts: PromptSet, scanner: LocalScanner) -> EngineScores:
    made = open_scores(scanner, prompts, lambda _: None)
    assert made is not None
    return made


def codes(advice: Sequence[Advice]) -> list[str]:
    return [item.code for item in advice]


def evaluation(prompts: PromptSet, topic: Topic) -> Evaluation:
    result = LocalScanner("static").evaluate_now(topic, prompts)
    assert result is not None
    return result


def texts_of(prompts: PromptSet, *, expected: bool) -> list[str]:
    pairs = zip(prompts.prompts.to_list(), prompts.expected.tolist(), strict=True)
    return [text for text, label in pairs if label is expected]


def bad_topic(prompts: PromptSet, intent: Intent = Intent.BLOCK) -> Topic:
    """Return a definition with every weakness that lint knows."""
    return Topic(
        name="Tax advice",
        description=(
            "Personal advice on how to pay less tax, not about the history of taxes, except "
            "when the asker wants to know what to declare, unless they only ask for a date"
        ),
        examples=(
            texts_of(prompts, expected=True)[0],
            "How can I pay less tax this year?",
            "HOW CAN I PAY LESS TAX THIS YEAR!!",
            texts_of(prompts, expected=False)[3].upper(),
            "Was kann ich als Lehrer von der Steuer absetzen und wie mache ich das?",
        ),
        intent=intent,
    )


@pytest.mark.parametrize("intent", Intent)
def test_measured_effects_equal_those_of_evaluations(
    prompts: PromptSet, engine: EngineScores, intent: Intent
) -> None:
    topic = bad_topic(prompts, intent)
    advice = lint(topic, prompts, engine)
    assert {"contradiction", "leakage", "exclusion", "near-duplicates", "long", "languages"} <= set(
        codes(advice)
    )
    before = evaluation(prompts, topic)
    for item in advice:
        assert item.removal is not None
        assert item.removal.before == before.metrics
        if item.remedy is None:
            continue
        after = evaluation(prompts, item.remedy)
        comparison = compare(before, after)
        assert item.removal.after == after.metrics
        assert (item.removal.fixes, item.removal.regressions) == (
            comparison.fixes,
            comparison.regressions,
        )
        assert item.removal.p_value == comparison.p_value
        if item.code == "near-duplicates":
            dropped = item.field.removeprefix("examples.")
            assert item.brief.startswith(f"example {dropped} nearly equals ")


def test_leaked_prompts_are_left_out_and_named_by_line(
    prompts: PromptSet, engine: EngineScores
) -> None:
    topic = bad_topic(prompts)
    (leak,) = (item for item in lint(topic, prompts, engine) if item.code == "leakage")
    text = topic.examples[0]
    rest = prompts.frame.filter(pl.col("prompt") != text)
    left = evaluation(PromptSet(rest, prompts.intent, ""), topic)
    assert leak.removal is not None
    assert leak.removal.after == left.metrics
    assert leak.lines == tuple(prompts.frame.filter(pl.col("prompt") == text)["line"].to_list())
    assert leak.field == "examples.1"


def test_advice_on_a_fresh_definition(prompts: PromptSet, engine: EngineScores) -> None:
    advice = codes(lint(Topic(), prompts, engine))
    assert advice == []
    sound = codes(lint(TOPIC, prompts, engine))
    assert {"exclusion", "long", "leakage", "near-duplicates", "languages"}.isdisjoint(sound)


def test_an_example_among_the_negatives_is_found(prompts: PromptSet, engine: EngineScores) -> None:
    others = texts_of(prompts, expected=False)
    vectors = engine.vectors_of(others)
    assert vectors is not None
    cosines = engine.cosines(vectors)
    assert cosines is not None
    cosines[cosines >= 0.97] = -1
    gap = np.sort(cosines[:, ~prompts.expected])[:, -5:].mean(1)
    gap -= np.sort(cosines[:, prompts.expected])[:, -5:].mean(1)
    far = others[int(gap.argmax())] + " again"
    topic = TOPIC.model_copy(update={"examples": (*TOPIC.examples, far)})
    fields = [item.field for item in lint(topic, prompts, engine) if item.code == "negatives"]
    assert "examples.3" in fields


def test_weight_of_description_and_examples(prompts: PromptSet, engine: EngineScores) -> None:
    topic = load_topic(sample_folder() / "tax-advice.yaml").topic
    (weak,) = (item for item in lint(topic, prompts, engine) if item.code == "description")
    alone = evaluation(prompts, topic.model_copy(update={"examples": ()})).metrics.coverage
    examples = evaluation(prompts, Topic(examples=topic.examples)).metrics.coverage
    assert alone is not None
    assert examples is not None
    assert f"{alone:.3f} by" in weak.message
    assert f"{examples:.3f} by" in weak.message
    assert alone < examples
    vague = topic.model_copy(update={"examples": ("Gardens in winter", "Trees in spring")})
    assert "description" not in codes(lint(vague, prompts, engine))


def test_the_most_useful_comes_first_and_always_the_same(
    prompts: PromptSet, engine: EngineScores, scanner: LocalScanner
) -> None:
    topic = bad_topic(prompts)
    advice = lint(topic, prompts, engine)
    again = open_scores(scanner, prompts, lambda _: None)
    assert lint(topic, prompts, again) == advice
    assert advice[0].code == "contradiction"
    gains = [item.removal.change for item in advice if item.removal and item.code != "leakage"][1:]
    assert gains == sorted(gains, key=lambda gain: -(gain or 0))


def test_lint_of_text_measures_nothing(prompts: PromptSet) -> None:
    topic = bad_topic(prompts)
    assert codes(lint_text(topic)) == ["exclusion", "long", "languages"]
    with_prompts = lint(topic, prompts)
    assert codes(with_prompts)[:2] == ["contradiction", "leakage"]
    assert all(item.removal is None and item.effect == "" for item in with_prompts)
    assert all(item.line == item.message for item in with_prompts)


def test_stopped_lint_returns_unmeasured_advice(prompts: PromptSet, engine: EngineScores) -> None:
    topic = bad_topic(prompts)
    advice = lint(topic, prompts, engine, stopped=lambda: True)
    assert all(item.removal is None for item in advice)
    assert advice == lint(topic, prompts)


def test_the_live_preview_is_not_disturbed(prompts: PromptSet, scanner: LocalScanner) -> None:
    scanner.evaluate_now(TOPIC, prompts)
    kept = scanner._prepared
    assert kept is not None
    texts, rows = list(kept.texts), kept.similarities.copy()
    made = open_scores(scanner, prompts, lambda _: None)
    lint(bad_topic(prompts), prompts, made)
    assert scanner._prepared is kept
    assert kept.texts == texts
    assert np.array_equal(kept.similarities, rows)


@given(
    st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30), max_size=6)
)
def test_equal_texts_are_equal_by_the_unicode_database(texts: list[str]) -> None:
    def plain(text: str) -> str:
        lower = unicodedata.normalize("NFKC", text).lower()
        kept = (c if unicodedata.category(c)[0] in "LMN" else " " for c in lower)
        return " ".join("".join(kept).split())

    wanted = [plain(text) for text in texts]
    actual = normalised(pl.Series(texts, dtype=pl.String)).to_list()
    known = [all(unicodedata.category(c) != "Cn" for c in text) for text in texts]
    for want, got, sure in zip(wanted, actual, known, strict=True):
        # Characters that only the newer of two Unicode versions knows may differ.
        assert got == want or not sure


def test_foreign_texts_are_inert(prompts: PromptSet, engine: EngineScores) -> None:
    evil = "not \x1b]52;c;aGk=\x07 \u202e " + "tax " * 40
    topic = Topic(name=evil, description=evil, examples=(evil, evil))
    for item in lint(topic, prompts, engine):
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202e]", item.line + item.brief)


def test_a_definition_that_separates_nothing_comes_first(
    prompts: PromptSet, engine: EngineScores
) -> None:
    every = Topic(name="a", description="not about anything else", examples=("hello", "hi"))
    advice = lint(every, prompts, engine)
    assert "no-effect" not in codes(advice) or advice[0].code == "no-effect"
    # Before one whose cause would gain more when it is removed.
    wrong = Topic(
        name="Tax", description="Personal tax", examples=(texts_of(prompts, expected=False)[0], "x")
    )
    first, second, *_ = lint(wrong, prompts, engine, metrics=Metrics(tp=0, tn=50, fp=0, fn=50))
    assert (first.code, second.code) == ("no-effect", "contradiction")
    # What a guardrail elsewhere says of it counts more than the engine.
    for metrics, sign in (
        (Metrics(tp=50, tn=0, fp=50, fn=0), "everything triggers (TPR 1, TNR 0)"),
        (Metrics(tp=0, tn=50, fp=0, fn=50), "nothing triggers (TPR 0, TNR 1)"),
    ):
        first = lint(every, prompts, engine, metrics=metrics)[0]
        assert (first.code, first.brief) == ("no-effect", sign)
        assert first.line == first.message  # there is no cause to be removed
        assert lint(every, prompts, metrics=metrics)[0] == first  # without vectors too
    assert "no-effect" not in codes(lint(every, prompts, metrics=Metrics(40, 40, 10, 10)))
    assert "no-effect" not in codes(lint(Topic(), prompts, metrics=Metrics(0, 50, 0, 50)))
