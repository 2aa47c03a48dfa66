"""Candidate edits: within the limits, from given prompts, in a fixed order, without repeats."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.advice.candidates import (
    Candidate,
    CandidateKind,
    Material,
    candidates,
    changes,
    is_usable_example,
    same,
)
from guardtui.domain.topic import Topic, violations

MATERIAL = Material(
    missed=("Can I write off my desk?", "deduct a desk at home", "Write off a home office"),
    caught=("How do I file my tax return?", "May I claim a home office?"),
)
TOPIC = Topic(
    name="Tax",
    description="Questions about income tax, and requests to file returns",
    examples=("Can I deduct my car?", "How do I pay less tax?"),
)
WORDS = st.sampled_from(
    ["tax", "not", "except", "and", "or", ",", "(home)", "Ämter", "don't", "such as", "x" * 90, "é"]
)
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
TOPICS = st.builds(
    Topic,
    name=st.sampled_from(["Tax", "", "T" * 100]),
    description=TEXTS,
    examples=st.lists(TEXTS, max_size=6).map(tuple),
)
PROMPTS = st.lists(TEXTS | st.sampled_from(["a\nb", "hid\u200bden", "y" * 260]), max_size=5)
MATERIALS = st.builds(Material, PROMPTS.map(tuple), PROMPTS.map(tuple))


@settings(deadline=None)
@given(TOPICS, MATERIALS)
def test_candidates_are_valid_new_and_distinct(topic: Topic, material: Material) -> None:
    edits = candidates(topic, material)
    names = [same(candidate.topic) for candidate in edits]
    assert len({*names, same(topic)}) == len(edits) + 1
    sources = {*material.missed, *material.caught}
    for candidate in edits:
        assert not violations(candidate.topic)
        assert (candidate.topic.name, candidate.topic.intent) == (topic.name, topic.intent)
        assert candidate.topic.description == topic.description  # the author's words
        fresh = {*candidate.topic.examples} - {*topic.examples}
        assert fresh <= sources
        assert all(map(is_usable_example, fresh))
        assert candidate.change
    assert candidates(topic, material) == edits


@settings(deadline=None)
@given(TOPICS, MATERIALS, st.integers(1, 40))
def test_the_number_of_candidates_is_limited(topic: Topic, material: Material, most: int) -> None:
    whole = candidates(topic, material)
    edits = candidates(topic, material, most)
    assert len(edits) == min(most, len(whole)) or len(edits) >= most // 2
    assert len(edits) <= most
    assert {same(candidate.topic) for candidate in edits} <= {
        same(candidate.topic) for candidate in whole
    }


def of_kind(kind: CandidateKind, topic: Topic = TOPIC) -> list[Candidate]:
    return [candidate for candidate in candidates(topic, MATERIAL) if candidate.kind is kind]


def test_every_kind_of_edit_is_tried() -> None:
    three = TOPIC.model_copy(update={"examples": (*TOPIC.examples, "Tax refund?")})
    draft = Topic(name="Tax", description="Questions about income tax")
    kinds = {
        candidate.kind for topic in (three, draft) for candidate in candidates(topic, MATERIAL)
    }
    given = {CandidateKind.REWORD, CandidateKind.TYPED}  # by a model or the author
    assert kinds == set(CandidateKind) - given


def test_missed_prompts_are_added_first_where_there_is_room() -> None:
    added = [candidate.topic.examples[-1] for candidate in of_kind(CandidateKind.ADD_EXAMPLE)]
    assert added == [*MATERIAL.missed, *MATERIAL.caught]
    full = TOPIC.model_copy(update={"examples": ("a", "b", "c", "d", "e")})
    assert of_kind(CandidateKind.ADD_EXAMPLE, full) == []
    assert len(of_kind(CandidateKind.SWAP_EXAMPLE, full)) == 5 * 5
    wide = Topic(name="Tax", description="d" * 250, examples=("a" * 250, "b" * 250, "c" * 235))
    short = [candidate.topic.examples[-1] for candidate in of_kind(CandidateKind.ADD_EXAMPLE, wide)]
    assert short == []


def test_an_example_that_is_there_in_other_case_is_not_offered() -> None:
    topic = TOPIC.model_copy(update={"examples": ("CAN I write off  my desk?", "Other")})
    assert MATERIAL.missed[0] not in [
        text for candidate in candidates(topic, MATERIAL) for text in candidate.topic.examples
    ]


def test_no_example_is_dropped_below_two() -> None:
    assert of_kind(CandidateKind.DROP_EXAMPLE) == []
    three = TOPIC.model_copy(update={"examples": ("a", "b", "c")})
    assert [
        candidate.topic.examples for candidate in of_kind(CandidateKind.DROP_EXAMPLE, three)
    ] == [
        ("b", "c"),
        ("a", "c"),
        ("a", "b"),
    ]


def test_candidates_fix_a_definition_beyond_a_limit() -> None:
    long = TOPIC.model_copy(update={"examples": ("a" * 251, "b")})
    fixed = of_kind(CandidateKind.SWAP_EXAMPLE, long)
    assert fixed
    assert all(candidate.topic.examples[0] != long.examples[0] for candidate in fixed)
    assert of_kind(CandidateKind.ADD_EXAMPLE, long) == []


@pytest.mark.parametrize(
    "text", ["", " ", "a\nb", "hid\u200bden", "y" * 251, "{x}", "see https://x", "<b>", "`x`"]
)
def test_code_markup_and_hidden_text_are_no_examples(text: str) -> None:
    assert not is_usable_example(text)
    assert is_usable_example("How do I file (a) tax return, please?")


def test_several_edits_are_described_as_instructions() -> None:
    after = TOPIC.model_copy(update={"description": "Tax", "examples": ("New?", "x\x1b[31m", "z")})
    assert changes(TOPIC, after) == (
        "Change the description to “Tax”",
        "Replace example 1, “Can I deduct my car?”, by “New?”",
        "Replace example 2, “How do I pay less tax?”, by “x␛[31m”",
        "Add the example “z”",
    )
    assert changes(after, TOPIC)[-1] == "Drop example 3: “z”"
    assert changes(TOPIC, TOPIC) == ()
    assert changes(Topic(), Topic(description="Tax")) == ("Write the description: “Tax”",)


@pytest.mark.parametrize("examples", [(), ("",), ("How do I lower my tax?",)])
def test_a_draft_is_completed_in_one_edit(examples: tuple[str, ...]) -> None:
    missed = tuple(f"How do I deduct my {thing}?" for thing in ("car", "desk", "flat", "bike"))
    material = Material(missed, ())
    draft = Topic(name="Tax advice", description="Tax", examples=examples)
    edits = candidates(draft, material)
    assert edits
    for candidate in edits:
        assert not violations(candidate.topic)
        assert candidate.topic.name == draft.name
        assert candidate.topic.description == "Tax"
        assert all(text in candidate.topic.examples for text in examples if text.strip())
        assert set(candidate.topic.examples) <= {*missed, *examples}
    assert len({same(candidate.topic) for candidate in edits}) == len(edits)
    assert edits == candidates(draft, material)
    assert candidates(draft.model_copy(update={"description": ""}), material) == []
