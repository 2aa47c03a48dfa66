"""Candidates of experiments: subsets of examples from all sizes, and edits that differ."""

from __future__ import annotations

from dataclasses import replace

from guardtui.advice.candidates import Candidate, CandidateKind, same
from guardtui.advice.experiment_candidates import (
    EDITS,
    MOST,
    best_edits,
    names,
    new_examples,
    with_subsets,
)
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


def test_names_tell_candidates_of_one_description_apart() -> None:
    new = ("When is tax due?", TOPIC.examples[0])
    found = with_subsets(TOPIC, [wording("Taxes", new), wording("Tax advice", TOPIC.examples)])
    shown = names(TOPIC, found)
    assert len({*shown}) == len(found)
    assert shown[0] == "description 1, examples a, 1: “Taxes”"
    assert "description 2, examples 1, 2: “Tax advice”" in shown
    assert "description as it is, examples a, 1" in shown
    assert new_examples(TOPIC, found) == {"When is tax due?": "a"}


def test_letters_go_on_after_z_and_edits_of_the_engine_have_none() -> None:
    many = [wording(f"{n}", tuple(f"{n} {k}" for k in range(5))) for n in range(6)]
    letters = [*new_examples(TOPIC, many).values()]
    assert (letters[25:28], len({*letters})) == (["z", "a2", "b2"], 30)
    edit = replace(many[0], kind=CandidateKind.ADD_EXAMPLE, change="Add example 3")
    assert (names(TOPIC, [edit]), new_examples(TOPIC, [edit])) == (["Add example 3"], {})
