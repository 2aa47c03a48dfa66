"""What a session's scanners say of the definition of now, and which labels all of them doubt."""

from __future__ import annotations

import numpy as np

from guardtui.domain.evaluation import Evaluation, ScannerSettings
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Triggered, Verdicts
from guardtui.session.panel import look
from guardtui.session.session import Decision, Iteration

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
    identity: str = "",
    scores: list[float] | None = None,
) -> Evaluation:
    count = len(prompts)
    return Evaluation(
        topic,
        ScannerSettings(name, identity or name, None if scores is None else 0.5),
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
        Iteration(number, "2026-01-01", Decision.UNDECIDED, one)
        for number, one in enumerate(evaluations)
    ]


def test_of_each_scanner_the_newest_of_this_definition_speaks() -> None:
    sight = look(
        TOPIC,
        PROMPTS,
        recorded(
            evaluated([0, 0, 0, 0]),
            evaluated([1, 1, 0, 0]),
            evaluated([1, 0, 1, 0], "judge", identity="one"),
            evaluated([1, 1, 1, 1], "judge", identity="two"),
            evaluated([0, 0, 0, 0], topic=OTHER),
            evaluated([0, 0, 0, 0], "elsewhere", topic=OTHER),
        ),
        evaluated([1, 1, 1, 0], "local"),
    )
    assert [(one.name, one.number) for one in sight.voices] == [
        ("local", None),
        ("airs", 1),
        ("judge", 2),
        ("judge 2", 3),
    ]
    assert sight.panel.answers.tolist() == [[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1]]
    assert sight.elsewhere == (("elsewhere", 5),)


def test_a_scan_that_was_stopped_does_not_hide_a_complete_one() -> None:
    both = recorded(evaluated([1, 1, 0, 0]), evaluated([0, NOTHING, NOTHING, NOTHING]))
    (voice,) = look(TOPIC, PROMPTS, both).voices
    assert voice.number == 0


def test_the_live_engine_stands_for_what_it_recorded() -> None:
    iterations = recorded(evaluated([0, 0, 0, 0], "local"))
    (voice,) = look(TOPIC, PROMPTS, iterations, evaluated([1, 1, 1, 1], "local")).voices
    assert (voice.number, voice.answers.tolist()) == (None, [1, 1, 1, 1])


def test_prompts_are_aligned_by_content_whatever_became_of_their_labels() -> None:
    then = prompt_set(("c", True), ("gone", False), ("a", True))
    sight = look(TOPIC, PROMPTS, recorded(evaluated([1, 0, 0], prompts=then)))
    (voice,) = sight.voices
    assert voice.answers.tolist() == [0, Triggered.NOT_ASKED, 1, Triggered.NOT_ASKED]
    assert [voice.row_of(int(key)) for key in PROMPTS.keys] == [2, None, 0, None]


def test_a_scanner_that_knows_none_of_the_prompts_is_no_voice() -> None:
    then = prompt_set(("x", True), ("y", False))
    assert look(TOPIC, PROMPTS, recorded(evaluated([1, 0], prompts=then))).voices == ()


def test_suspects_need_every_scanner_and_every_iteration() -> None:
    #                          a  b  c  d   labels: yes yes no no
    engine = evaluated([0, 0, 1, 0], "local", scores=[0.4, 0.1, 0.9, 0.2])
    scan = evaluated([0, 0, 1, 0])
    sight = look(TOPIC, PROMPTS, recorded(scan), engine)
    assert sight.suspects.rows.tolist() == [1, 2, 0]  # by the distance of the engine
    assert sight.suspects.voices.tolist() == [2, 2, 2]
    past = evaluated([NOTHING, 1, 1, 0], topic=OTHER)
    sight = look(TOPIC, PROMPTS, recorded(scan, past), engine)
    assert sight.suspects.rows.tolist() == [2, 0]
    assert sight.suspects.voices.tolist() == [3, 2]
    assert sight.suspects.scanners.tolist() == [2, 2]


def test_one_scanner_on_one_definition_is_one_voice_however_often_it_ran() -> None:
    iterations = recorded(*[evaluated([0, 1, 0, 0], "local")] * 3)
    assert len(look(TOPIC, PROMPTS, iterations, evaluated([0, 1, 0, 0], "local")).suspects) == 0
    more = recorded(evaluated([0, 1, 0, 0], "local"), evaluated([0, 1, 0, 0], "local", OTHER))
    assert look(TOPIC, PROMPTS, more).suspects.rows.tolist() == [0]


def test_what_was_answered_under_the_other_intent_is_turned_round() -> None:
    allow = OTHER.model_copy(update={"intent": Intent.ALLOW})
    # “a” belongs, and this guardrail stopped it: for it, “a” does not belong.
    past = evaluated([1, 0, 1, 1], topic=allow)
    sight = look(TOPIC, PROMPTS, recorded(past), evaluated([0, 1, 0, 0], "local"))
    assert sight.suspects.rows.tolist() == [0]
    turned = look(allow, PROMPTS, recorded(evaluated([0, 1, 0, 0])), past)
    assert turned.label_of(1) is False
    assert turned.suspects.rows.tolist() == [0]
    assert sight.label_of(1) is True
