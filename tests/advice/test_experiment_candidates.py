"""Candidates of experiments: subsets of examples from all sizes, and edits that differ."""

from __future__ import annotations

from dataclasses import replace

from guardtui.advice.candidates import Candidate, CandidateKind, same
from guardtui.advice.experiment_candidates import EDITS, MOST, best_edits, with_subsets
from guardtui.domain.topic import Topic, violations

from .conftest import TOPIC, Bench

FIVE = ("one a?", "two b?", "three c?", "four d?", "five e?")


def wording(description: str, examples: tuple[str, ...] = FIVE) -> Candidate:
    texts = {"description": description, "examples": examples}
    return Candidate(TOPIC.model_copy(update=texts), CandidateKind.TYPED, "", origin="line 1")


def sizes(found: list[Candidate], description: str) -> list[int]:
    return sorted(len(one.topic.examples) for one in found if one.topic.description == description)


def test_new_examples_come_with_both_descriptions_and_fewer_and_fewer_of_them() -> None:
    found = with_subsets(TOPIC, [wording("Taxes")])
    assert len(found) == MOST
    assert found[0].topic.examples == FIVE
    for text in (TOPIC.description, "Taxes"):
        counts = sizes(found, text)
        assert len(counts) == MOST // 2
        assert counts[-6:] == [4, 4, 4, 4, 4, 5]
    assert all(one.origin == "line 1" for one in found)


def test_a_description_is_tried_as_it_is_and_with_the_examples_of_another_wording() -> None:
    found = with_subsets(TOPIC, [wording("Taxes", TOPIC.examples), wording("Tax advice")])
    assert len(found) == MOST
    assert found[0].topic.examples == TOPIC.examples
    assert ("Taxes", FIVE) in {(one.topic.description, one.topic.examples) for one in found}


def test_prompts_that_either_writer_was_shown_do_not_count_for_a_combination() -> None:
    first = replace(wording("Taxes", TOPIC.examples), sources=("shown?",))
    second = replace(wording("Tax advice"), sources=("seen?",))
    found = with_subsets(TOPIC, [first, second])
    (both,) = (one for one in found if same(one.topic) == ("Taxes", tuple(sorted(FIVE))))
    assert {*both.sources} == {"shown?", "seen?"}


def test_the_definition_doubles_and_invalid_wordings_are_left_out() -> None:
    given = [
        wording(TOPIC.description, TOPIC.examples),
        wording("x" * 400, TOPIC.examples),
        wording("Taxes", TOPIC.examples),
        wording("Taxes", TOPIC.examples[::-1]),
    ]
    found = with_subsets(TOPIC, given)
    assert {one.topic.description for one in found} == {"Taxes"}


def test_edits_differ_by_what_they_add(bench: Bench) -> None:
    found = best_edits(bench.objective(), TOPIC)
    assert found is not None
    assert 0 < len(found) <= EDITS
    new = [
        tuple(text for text in one.topic.examples if text not in TOPIC.examples) for one in found
    ]
    assert len({*new}) == len(new) or () in new
    assert len({same(one.topic) for one in found}) == len(found)
    assert not any(violations(one.topic) for one in found)
    assert best_edits(bench.objective(), Topic(name="Tax"), stopped=lambda: True) is None
