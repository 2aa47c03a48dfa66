"""Candidates of experiments: subsets of examples from all sizes, and edits that differ."""

from __future__ import annotations

from itertools import combinations

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


def test_a_wording_comes_with_subsets_of_every_size() -> None:
    found = with_subsets(TOPIC, [wording("Taxes")])
    assert len(found) == sum(len([*combinations(FIVE, size)]) for size in (2, 3, 4, 5))
    assert found[0].topic.examples == FIVE
    assert {len(one.topic.examples) for one in found[:4]} == {2, 3, 4, 5}
    assert all(one.origin == "line 1" for one in found)


def test_several_wordings_share_the_places_evenly() -> None:
    found = with_subsets(TOPIC, [wording("Taxes"), wording("Tax advice for a person")])
    assert len(found) == MOST
    both = [sizes(found, text) for text in ("Taxes", "Tax advice for a person")]
    assert [len(counts) for counts in both] == [MOST // 2] * 2
    assert all({2, 3, 4, 5} == {*counts} for counts in both)


def test_the_definition_doubles_and_invalid_wordings_are_left_out() -> None:
    given = [
        wording(TOPIC.description, TOPIC.examples),
        wording("x" * 400),
        wording("Taxes", TOPIC.examples),
        wording("Taxes", TOPIC.examples[::-1]),
    ]
    found = with_subsets(TOPIC, given)
    assert [one.topic.description for one in found] == ["Taxes"]


def test_a_wording_with_two_examples_stays_as_it_is() -> None:
    (found,) = with_subsets(TOPIC, [wording("Taxes", ("a?", "b?"))])
    assert found.topic.examples == ("a?", "b?")


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
