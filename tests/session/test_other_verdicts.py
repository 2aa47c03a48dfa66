"""The latest verdicts of a session's guardrails, and the labels that they put in doubt."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Outcome, Verdicts
from guardtui.session.other_verdicts import (
    independent_names,
    newest_answers,
    other_verdicts,
    suspect_labels,
)
from guardtui.session.session import Decision, Iteration
from tests.guardrails import (
    airs_settings,
    decision_settings,
    engine_settings,
    judge_settings,
    settings_of,
)

TOPIC = Topic(name="Tax", description="tax advice", examples=("one", "two"))
OTHER = TOPIC.model_copy(update={"description": "tax advice for all"})
NOTHING = -1


def prompt_set(*rows: tuple[str, bool], intent: str = "block") -> PromptSet:
    import polars as pl

    raw = pl.DataFrame(
        {
            "prompt": [text for text, _ in rows],
            "expected": [str(label).lower() for _, label in rows],
            "intent": [intent] * len(rows),
        }
    )
    return build_prompt_set(raw, np.arange(2, 2 + len(rows), dtype=np.uint32), "test.csv")


PROMPTS = prompt_set(("a", True), ("b", True), ("c", False), ("d", False))


def evaluated(
    answers: list[int],
    name: str = "airs",
    topic: Topic = TOPIC,
    prompts: PromptSet = PROMPTS,
    settings: ScannerSettings | None = None,
    scores: list[float] | None = None,
) -> Evaluation:
    count = len(prompts)
    return Evaluation(
        topic,
        settings or settings_of(name, threshold=None if scores is None else 0.5),
        prompts.fingerprint,
        prompts.keys,
        prompts.expected,
        Verdicts(
            np.array(answers, np.int8),
            np.array(scores or [np.nan] * count, np.float32),
            np.full(count, -1, np.int16),
        ),
    )


def recorded(*evaluations: Evaluation) -> list[Iteration]:
    return [
        Iteration(number, "2026-01-01", Decision.UNDECIDED, evaluation)
        for number, evaluation in enumerate(evaluations)
    ]


def names(codes: np.ndarray) -> list[str]:
    return [Outcome(code).name for code in codes.tolist()]


def doubted(
    iterations: list[Iteration],
    engine: Evaluation | None = None,
    topic: Topic = TOPIC,
    prompts: PromptSet = PROMPTS,
) -> list[int]:
    return np.flatnonzero(suspect_labels(topic, prompts, iterations, engine)).tolist()


def test_each_guardrail_has_its_newest_verdicts_those_on_this_definition_first() -> None:
    others = other_verdicts(
        TOPIC,
        PROMPTS,
        recorded(
            evaluated([0, 0, 0, 0], settings=airs_settings("prod")),
            evaluated([1, 1, 0, NOTHING], settings=airs_settings("prod")),
            evaluated([1, 0, 1, 0], settings=judge_settings("one")),
            evaluated([0, 0, 0, 1], topic=OTHER, settings=airs_settings("prod")),
            evaluated([0, 0, 0, 0], topic=OTHER, settings=airs_settings("dev")),
            evaluated([1, 1, 1, 1], "engine"),
        ),
    )
    dev, one, prod = others.guardrails
    assert [guardrail.title for guardrail in others.guardrails] == ["dev", "one", "prod"]
    assert names(prod.codes) == ["TP", "TP", "TN", "TN"]
    assert prod.current.tolist() == [True] * 4
    assert names(one.codes) == ["TP", "FN", "FP", "TN"]
    assert (names(dev.codes), dev.current.any()) == (["FN", "FN", "TN", "TN"], False)
    sources = [prod.source(int(key)) for key in PROMPTS.keys]
    assert [source and (source[0].number, source[1]) for source in sources] == [
        (1, 0), (1, 1), (1, 2), (0, 3),
    ]  # fmt: skip
    against, judged = others.counts(np.arange(4))
    assert (against.tolist(), judged.tolist()) == ([1, 2, 1, 0], [3, 3, 3, 3])


def test_the_shown_guardrail_and_the_engine_are_not_among_the_others() -> None:
    iterations = recorded(evaluated([0, 0, 0, 0]), evaluated([0, 0, 0, 0], "engine"))
    shown = iterations[0].evaluation.settings
    assert other_verdicts(TOPIC, PROMPTS, iterations, shown).guardrails == ()
    assert len(other_verdicts(TOPIC, PROMPTS, iterations).guardrails) == 1


def test_prompts_are_aligned_by_content_despite_new_labels() -> None:
    then = prompt_set(("c", True), ("gone", False), ("a", True))
    (airs,) = other_verdicts(
        TOPIC, PROMPTS, recorded(evaluated([1, 0, 0], prompts=then))
    ).guardrails
    assert names(airs.codes) == ["FN", "OPEN", "FP", "OPEN"]
    assert airs.source(int(PROMPTS.keys[1])) is None


def test_a_guardrail_without_verdicts_on_the_prompts_is_omitted() -> None:
    then = prompt_set(("x", True), ("y", False))
    iterations = recorded(evaluated([1, 0], prompts=then), evaluated([NOTHING] * 4, "judge"))
    assert other_verdicts(TOPIC, PROMPTS, iterations).guardrails == ()


def test_two_independent_guardrails_put_a_label_in_doubt() -> None:
    #                          a  b  c  d   labels: yes yes no no
    engine = evaluated([0, 0, 1, 0], "engine")
    scan = evaluated([0, 1, 1, 0])
    assert doubted(recorded(scan), engine) == [0, 2]
    assert doubted(recorded(scan)) == []


def test_all_engine_iterations_count_as_one_scanner() -> None:
    wrong = [0, 1, 0, 0]
    iterations = recorded(
        *(evaluated(wrong, topic=topic, settings=engine_settings(version))
          for version in ("1", "2") for topic in (TOPIC, OTHER)),
        evaluated(wrong, settings=airs_settings("sandbox", sandbox=True)),
    )  # fmt: skip
    assert doubted(iterations, evaluated(wrong, "engine")) == []


def test_newest_answer_on_this_definition_has_precedence() -> None:
    iterations = recorded(
        evaluated([0, 1, 0, 0]),  # this definition, the oldest
        evaluated([1, NOTHING, 0, 0]),  # this definition, and nothing of b
        evaluated([0, 0, 1, 0], topic=OTHER),
    )
    (airs,) = newest_answers(TOPIC, PROMPTS, iterations)
    assert (airs.name, airs.answers.tolist()) == ("AIRS", [1, 1, 0, 0])
    (airs,) = newest_answers(OTHER, PROMPTS, iterations)
    assert airs.answers.tolist() == [0, 0, 1, 0]


def test_judges_that_share_a_model_are_one_scanner() -> None:
    def judge(*models: str) -> Evaluation:
        return evaluated([0, 1, 0, 0], settings=judge_settings(*models))

    three = recorded(judge("one"), judge("two"), judge("two", "three"))
    independent = [one.name for one in newest_answers(TOPIC, PROMPTS, three)]
    assert independent == ["judge one", "judge three, two"]
    assert doubted(three) == [0]
    assert doubted(recorded(judge("one"), judge("two", "one"))) == []


def test_prompt_stopped_by_another_topic_has_no_answer() -> None:
    scan = evaluated([1, 1, 1, 1])
    verdicts = replace(scan.verdicts, stopped_by={2: ("Another topic",), 3: ("Tax", "Another")})
    iterations = recorded(replace(scan, verdicts=verdicts))
    (airs,) = newest_answers(TOPIC, PROMPTS, iterations)
    assert airs.answers.tolist() == [1, 1, NOTHING, 1]
    (airs_column,) = other_verdicts(TOPIC, PROMPTS, iterations).guardrails
    assert names(airs_column.codes) == ["TP", "TP", "OPEN", "FP"]


def test_answers_for_the_other_intent_are_inverted() -> None:
    allow = OTHER.model_copy(update={"intent": Intent.ALLOW})
    # “a” belongs, and this guardrail stopped it: for it, “a” does not belong.
    past = evaluated([1, 0, 1, 1], topic=allow)
    assert doubted(recorded(past), evaluated([0, 1, 0, 0], "engine")) == [0]
    local = recorded(evaluated([0, 1, 0, 0], "engine"), past)
    assert doubted(local, topic=allow) == [0]
    (airs,) = other_verdicts(TOPIC, PROMPTS, recorded(past)).guardrails
    assert names(airs.codes) == ["FN", "TP", "TN", "TN"]


# --- independent guardrails -------------------------------------------------------------------

PANEL = judge_settings("m1", "m2", "m3", "m4", "m5")


@pytest.mark.parametrize(
    ("guardrails", "names"),
    [
        ([PANEL, judge_settings("m5"), judge_settings("m3")], ["judge m1, m2, m3, m4, m5"] * 3),
        ([PANEL, judge_settings("m6")], ["judge m1, m2, m3, m4, m5", "judge m6"]),
        (
            [judge_settings("a", "b"), judge_settings("c"), judge_settings("c", "b")],
            ["judge a, b, c"] * 3,
        ),
        (
            [judge_settings("m, template x"), judge_settings("m")],
            ["judge m, template x", "judge m"],
        ),
        ([airs_settings("prod"), airs_settings("preprod")], ["AIRS", "AIRS"]),
        (
            [engine_settings("1"), engine_settings("2"), airs_settings("prod", sandbox=True)],
            ["the engine"] * 3,
        ),
        (
            [decision_settings("m"), decision_settings("n")],
            ["decision model m", "decision model n"],
        ),
    ],
)
def test_guardrails_that_share_a_model_are_one(
    guardrails: list[ScannerSettings], names: list[str]
) -> None:
    assert independent_names(guardrails) == names
