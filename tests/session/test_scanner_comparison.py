"""What a session's scanners say of the definition of now, and which labels all of them doubt."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from guardtui.domain.evaluation import Evaluation
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered, Verdicts
from guardtui.session.independence import THE_ENGINE
from guardtui.session.scanner_comparison import collect_verdicts
from guardtui.session.session import Decision, Iteration
from tests.guardrails import airs_settings, engine_settings, judge_settings, settings_of

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


def test_newest_iteration_of_each_scanner_is_used() -> None:
    sight = collect_verdicts(
        TOPIC,
        PROMPTS,
        recorded(
            evaluated([0, 0, 0, 0]),
            evaluated([1, 1, 0, 0]),
            evaluated([1, 0, 1, 0], settings=judge_settings("one")),
            evaluated([1, 1, 1, 1], settings=judge_settings("two")),
            evaluated([0, 0, 0, 0], topic=OTHER),
            evaluated([0, 0, 0, 0], "elsewhere", topic=OTHER),
        ),
        evaluated([1, 1, 1, 0], "engine"),
    )
    assert [(scanner.name, scanner.number) for scanner in sight.scanners] == [
        ("engine", None),
        ("airs", 1),
        ("judge", 2),
        ("judge 2", 3),
    ]
    assert sight.panel.answers.tolist() == [[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1]]
    assert sight.elsewhere == (("elsewhere", 5),)


def test_stopped_scan_does_not_replace_a_complete_one() -> None:
    both = recorded(evaluated([1, 1, 0, 0]), evaluated([0, NOTHING, NOTHING, NOTHING]))
    (voice,) = collect_verdicts(TOPIC, PROMPTS, both).scanners
    assert voice.number == 0


def test_live_engine_replaces_its_recorded_iterations() -> None:
    iterations = recorded(evaluated([0, 0, 0, 0], "engine"))
    (voice,) = collect_verdicts(
        TOPIC, PROMPTS, iterations, evaluated([1, 1, 1, 1], "engine")
    ).scanners
    assert (voice.number, voice.answers.tolist()) == (None, [1, 1, 1, 1])


def test_prompts_are_aligned_by_content_despite_new_labels() -> None:
    then = prompt_set(("c", True), ("gone", False), ("a", True))
    sight = collect_verdicts(TOPIC, PROMPTS, recorded(evaluated([1, 0, 0], prompts=then)))
    (voice,) = sight.scanners
    assert voice.answers.tolist() == [0, Triggered.NOT_ASKED, 1, Triggered.NOT_ASKED]
    assert [voice.row_of(int(key)) for key in PROMPTS.keys] == [2, None, 0, None]


def test_scanner_without_verdicts_on_the_prompts_is_omitted() -> None:
    then = prompt_set(("x", True), ("y", False))
    assert (
        collect_verdicts(TOPIC, PROMPTS, recorded(evaluated([1, 0], prompts=then))).scanners == ()
    )


def test_two_independent_scanners_put_a_label_in_doubt() -> None:
    #                          a  b  c  d   labels: yes yes no no
    engine = evaluated([0, 0, 1, 0], "engine", scores=[0.4, 0.1, 0.9, 0.2])
    scan = evaluated([0, 0, 1, 0])
    sight = collect_verdicts(TOPIC, PROMPTS, recorded(scan), engine)
    assert sight.suspects.rows.tolist() == [1, 2, 0]  # by the distance of the engine
    assert sight.suspects.against.tolist() == [2, 2, 2]
    assert sight.sides(1) == (["AIRS", THE_ENGINE], [])


def test_all_engine_iterations_count_as_one_scanner() -> None:
    wrong = [0, 1, 0, 0]
    iterations = recorded(
        *(evaluated(wrong, topic=topic, settings=engine_settings(version))
          for version in ("1", "2") for topic in (TOPIC, OTHER)),
        evaluated(wrong, settings=airs_settings("sandbox", sandbox=True)),
    )  # fmt: skip
    sight = collect_verdicts(TOPIC, PROMPTS, iterations, evaluated(wrong, "engine"))
    assert [one.name for one in sight.independent] == [THE_ENGINE]
    assert len(sight.suspects) == 0


def test_newest_answer_on_this_definition_has_precedence() -> None:
    iterations = recorded(
        evaluated([0, 1, 0, 0]),  # this definition, the oldest
        evaluated([1, NOTHING, 0, 0]),  # this definition, and nothing of b
        evaluated([0, 0, 1, 0], topic=OTHER),
    )
    (airs,) = collect_verdicts(TOPIC, PROMPTS, iterations).independent
    assert (airs.name, airs.answers.tolist()) == ("AIRS", [1, 1, 0, 0])
    (airs,) = collect_verdicts(OTHER, PROMPTS, iterations).independent
    assert airs.answers.tolist() == [0, 0, 1, 0]


def test_judges_that_share_a_model_are_one_scanner() -> None:
    def judge(*models: str) -> Evaluation:
        return evaluated([0, 1, 0, 0], settings=judge_settings(*models))

    three = recorded(judge("one"), judge("two"), judge("two", "three"))
    names = [one.name for one in collect_verdicts(TOPIC, PROMPTS, three).independent]
    assert names == ["judge one", "judge three, two"]
    assert collect_verdicts(TOPIC, PROMPTS, three).suspects.rows.tolist() == [0]
    assert (
        len(collect_verdicts(TOPIC, PROMPTS, recorded(judge("one"), judge("two", "one"))).suspects)
        == 0
    )


def test_prompt_stopped_by_another_topic_has_no_answer() -> None:
    scan = evaluated([1, 1, 1, 1])
    verdicts = replace(scan.verdicts, stopped_by={2: ("Another topic",), 3: ("Tax", "Another")})
    (airs,) = collect_verdicts(
        TOPIC, PROMPTS, recorded(replace(scan, verdicts=verdicts))
    ).independent
    assert airs.answers.tolist() == [1, 1, NOTHING, 1]


def test_engine_blind_spot_does_not_put_labels_in_doubt() -> None:
    prompts = prompt_set(
        ("How can I deduct my car?", True),
        ("Was kann ich als Lehrer alles von der Steuer absetzen?", True),
        ("What is the tax on my income?", True),
        ("soup", False),
    )
    engine = evaluated([0, 0, 0, 0], "engine", prompts=prompts)
    scan = evaluated([1, NOTHING, NOTHING, 0], prompts=prompts)
    sight = collect_verdicts(TOPIC, prompts, recorded(scan), engine)
    assert len(sight.suspects) == 0
    # AIRS confirms the first label, the second is German, and of the third nothing is known.
    assert sight.suspects.blind_spot.tolist() == [0, 1]


def test_answers_for_the_other_intent_are_inverted() -> None:
    allow = OTHER.model_copy(update={"intent": Intent.ALLOW})
    # “a” belongs, and this guardrail stopped it: for it, “a” does not belong.
    past = evaluated([1, 0, 1, 1], topic=allow)
    sight = collect_verdicts(TOPIC, PROMPTS, recorded(past), evaluated([0, 1, 0, 0], "engine"))
    assert sight.suspects.rows.tolist() == [0]
    turned = collect_verdicts(allow, PROMPTS, recorded(evaluated([0, 1, 0, 0], "engine")), past)
    assert turned.suspects.rows.tolist() == [0]
