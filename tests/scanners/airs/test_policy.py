"""Policies: whatever is in them survives, and every change can be taken back exactly."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.topic import Intent
from guardtui.sandbox.policy import check, classic_policy, directional_policy
from guardtui.scanners.airs.policy import (
    PolicyUndo,
    TopicPin,
    attach,
    for_sending,
    merged,
    restore,
)
from guardtui.scanners.airs.policy_paths import (
    GUARDRAIL,
    PolicyError,
    PolicyPath,
    guardrails,
    members,
    pinned,
    sections,
    target,
)

A = "aaaaaaaa-0000-4000-8000-000000000001"
B = "bbbbbbbb-0000-4000-8000-000000000002"
C = "cccccccc-0000-4000-8000-000000000003"


def pin(topic_id: str = A, revision: int = 4) -> TopicPin:
    return TopicPin(topic_id=topic_id, topic_name=f"Topic {topic_id[0]}", revision=revision)


def member(topic_id: str, revision: int = 1, **more: Any) -> dict[str, Any]:
    return {**pin(topic_id, revision).model_dump(), **more}


def guardrail(*groups: Any, action: str = "allow", **more: Any) -> dict[str, Any]:
    results = {"name": GUARDRAIL, "action": action, "options": [], "topic-list": list(groups)}
    return {**results, **more}


def group(action: str, *topics: Any) -> dict[str, Any]:
    return {"action": action, "topic": list(topics) or None}


def classic(*items: Any) -> dict[str, Any]:
    policy = classic_policy()
    section = policy["ai-security-profiles"][0]["model-configuration"]
    section["model-protection"] += copy.deepcopy(list(items))
    return policy


def item_of(policy: Any) -> Any:
    results = [item for _, item in guardrails(policy)]
    assert len(results) == 1
    return results[0]


def test_first_topic_makes_the_guardrail() -> None:
    policy = classic()
    original = copy.deepcopy(policy)
    edit = attach(policy, pin(), Intent.BLOCK)
    assert policy == original
    assert item_of(edit.policy) == guardrail(group("block", member(A, 4)))
    assert edit.changes == (
        "a topic guardrail is added (entry 1), default allow",
        "topic Topic a is added to the block list, revision 4",
    )
    assert edit.warnings == ()
    check(for_sending(edit.policy)[0], {A: 4}, empty_list=False)


def test_allow_topic_makes_the_default_block() -> None:
    edit = attach(classic(), pin(), Intent.ALLOW)
    assert item_of(edit.policy)["action"] == "block"
    assert pinned(edit.policy, A) == ((PolicyPath(entry=0), "allow", 4),)


def test_null_bucket_is_filled_and_the_other_stays() -> None:
    policy = classic(guardrail(group("block"), group("allow")))
    edit = attach(policy, pin(), Intent.BLOCK)
    assert item_of(edit.policy)["topic-list"] == [group("block", member(A, 4)), group("allow")]
    sent, notes = for_sending(edit.policy)
    assert item_of(sent)["topic-list"] == [group("block", member(A, 4))]
    assert notes == ()


def test_pin_is_updated_in_place() -> None:
    topics = [member(B, 2), member(A, 3, note="mine"), member(C, 1)]
    edit = attach(classic(guardrail(group("block", *topics))), pin(A, 4), Intent.BLOCK)
    assert item_of(edit.policy)["topic-list"][0]["topic"] == [
        member(B, 2),
        member(A, 4, note="mine"),
        member(C, 1),
    ]
    assert edit.changes == ("topic Topic a: revision 3 → 4",)


def test_topic_changes_its_bucket() -> None:
    policy = classic(guardrail(group("allow", member(A)), action="block"))
    edit = attach(policy, pin(A, 1), Intent.BLOCK)
    assert pinned(edit.policy, A) == ((PolicyPath(entry=0), "block", 1),)
    assert edit.changes == (
        "topic Topic a is moved to the block list",
        "default for prompts that match no topic: block → allow",
    )
    assert item_of(for_sending(edit.policy)[0])["topic-list"] == [group("block", member(A))]


def test_mixed_default_stays_unless_requested() -> None:
    policy = classic(guardrail(group("allow", member(B)), action="block"))
    edit = attach(policy, pin(), Intent.BLOCK)
    assert item_of(edit.policy)["action"] == "block"
    assert edit.warnings == (
        "the default stays block: prompts that match no topic are stopped, "
        "because the profile has topics to allow",
    )
    asked = attach(policy, pin(), Intent.BLOCK, set_default=True)
    assert item_of(asked.policy)["action"] == "allow"
    assert asked.warnings == ()
    policy = classic(guardrail(group("block", member(B))))
    edit = attach(policy, pin(), Intent.ALLOW)
    assert item_of(edit.policy)["action"] == "allow"
    assert "let through, because the profile has topics to block" in edit.warnings[0]


def test_newer_layout_is_edited_at_the_prompt() -> None:
    policy = directional_policy()
    edit = attach(policy, pin(), Intent.BLOCK)
    assert [place for place, _ in guardrails(edit.policy)] == [
        PolicyPath(entry=0, direction="prompt")
    ]
    entry = edit.policy["ai-security-profiles"][0]
    assert entry["model-configuration"] == policy["ai-security-profiles"][0]["model-configuration"]
    response = attach(policy, pin(), Intent.BLOCK, path=PolicyPath(entry=0, direction="response"))
    assert [place for place, _ in guardrails(response.policy)] == [
        PolicyPath(entry=0, direction="response")
    ]
    both = attach(response.policy, pin(), Intent.BLOCK).policy
    assert [place.direction for place, _ in guardrails(both)] == ["prompt", "response"]
    assert "entry 1, prompt" in edit.changes[0]


def test_empty_guardrail_is_omitted_with_a_note() -> None:
    policy = directional_policy()
    directions = policy["ai-security-profiles"][0]["content-type-configurations"]
    directions["response"]["model-protection"].append(guardrail(group("block"), group("allow")))
    sent, notes = for_sending(attach(policy, pin(), Intent.BLOCK).policy)
    assert notes == ("a topic guardrail without topics is omitted (entry 1, response)",)
    check(sent, {A: 4}, empty_list=False)


def test_ambiguous_entries_need_a_choice() -> None:
    policy = classic(guardrail(group("block", member(B))))
    policy["ai-security-profiles"].insert(0, classic()["ai-security-profiles"][0])
    assert target(policy) == PolicyPath(entry=1)
    edit = attach(policy, pin(), Intent.BLOCK)
    assert edit.policy["ai-security-profiles"][0] == policy["ai-security-profiles"][0]
    assert pinned(edit.policy, A)[0][0] == PolicyPath(entry=1)
    policy["ai-security-profiles"].append(copy.deepcopy(policy["ai-security-profiles"][1]))
    with pytest.raises(PolicyError, match="choose one of entry 2; entry 3"):
        attach(policy, pin(), Intent.BLOCK)
    chosen = attach(policy, pin(), Intent.BLOCK, path=PolicyPath(entry=2))
    assert pinned(chosen.policy, A)[0][0] == PolicyPath(entry=2)


@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"ai-security-profiles": None},
        {"ai-security-profiles": []},
        {"ai-security-profiles": ["x", None]},
        {"ai-security-profiles": [{}]},
        {"ai-security-profiles": [{"model-configuration": []}]},
        {"ai-security-profiles": [{"content-type-mode": "per_content_type"}]},
        {"ai-security-profiles": [{"model-configuration": {"model-protection": "x"}}]},
        classic(guardrail(action="allow") | {"topic-list": "x"}),
        classic(guardrail({"action": "block", "topic": "abc"})),
    ],
)
def test_policy_without_a_path_is_rejected(policy: dict[str, Any]) -> None:
    before = copy.deepcopy(policy)
    with pytest.raises(PolicyError):
        attach(policy, pin(), Intent.BLOCK)
    assert policy == before


def test_deeply_nested_policy_is_rejected() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(PolicyError, match="nested too deeply"):
        attach(classic() | {"x": deep}, pin(), Intent.BLOCK)


def test_names_are_made_inert() -> None:
    evil = TopicPin(topic_id=A, topic_name="\x1b]52;c;x\x07", revision=1)
    edit = attach(classic(), evil, Intent.BLOCK)
    assert not any(ord(one) < 32 for text in edit.changes for one in text)
    assert item_of(edit.policy)["topic-list"][0]["topic"][0]["topic_name"] == evil.topic_name


def test_full_profile_gives_a_warning() -> None:
    many = [member(f"{number:08x}-0000-4000-8000-000000000000") for number in range(20)]
    assert attach(classic(guardrail(group("block", *many))), pin(), Intent.BLOCK).warnings


# What a tenant may hold: nulls, missing and empty things, unknown keys everywhere.

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2)
    ),
    max_leaves=4,
)
extras = st.dictionaries(st.sampled_from(["x-new", "severity", "note", ""]), values, max_size=2)


def with_extras(base: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(lambda one, more: {**more, **one}, base, extras)


def topics(ids: list[str]) -> st.SearchStrategy[Any]:
    one = with_extras(st.builds(member, st.sampled_from(ids), st.integers(0, 5)))
    return st.lists(one, max_size=3) | st.none()


def groups(ids: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    full = st.fixed_dictionaries(
        {"action": st.sampled_from(["allow", "block"]), "topic": topics(ids)}
    )
    bare = st.fixed_dictionaries({"action": st.sampled_from(["allow", "block"])})
    return with_extras(full | bare)


def rails(ids: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    base = {"name": st.just(GUARDRAIL)}
    optional = {
        "action": st.sampled_from(["allow", "block", None]),
        "options": values,
        "topic-list": st.lists(groups(ids), max_size=3) | st.none(),
    }
    return with_extras(st.fixed_dictionaries(base, optional=optional))


def policies(ids: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    other = with_extras(st.just({"name": "prompt-injection", "action": "block"}))
    protections = st.lists(rails(ids) | other | values, max_size=3) | st.none()
    section = with_extras(st.fixed_dictionaries({}, optional={"model-protection": protections}))
    plain = with_extras(st.fixed_dictionaries({"model-configuration": section}))
    directed = with_extras(
        st.fixed_dictionaries(
            {
                "content-type-mode": st.just("per_content_type"),
                "content-type-configurations": st.fixed_dictionaries(
                    {"prompt": section}, optional={"response": section, "tool-call": values}
                ),
                "model-configuration": values,
            }
        )
    )
    entries = st.lists(plain | directed, min_size=1, max_size=2)
    return with_extras(st.fixed_dictionaries({"ai-security-profiles": entries}))


intents = st.sampled_from(list(Intent))


def place_in(policy: dict[str, Any]) -> PolicyPath:
    return next(path for path, _ in sections(policy) if path.direction in ("", "prompt"))


@given(policies([A, B, C]), intents, st.booleans())
def test_attaching_is_idempotent_and_pins_once(
    policy: dict[str, Any], intent: Intent, asked: bool
) -> None:
    place = place_in(policy)
    once = attach(policy, pin(), intent, path=place, set_default=asked)
    assert (place, intent.value, 4) in pinned(once.policy, A)
    assert len([one for one in pinned(once.policy, A) if one[0] == place]) == 1
    twice = attach(once.policy, pin(), intent, path=place, set_default=asked)
    assert twice.policy == once.policy
    assert twice.changes == ()


@given(policies([A, B, C]), intents)
def test_other_data_of_the_policy_is_kept(policy: dict[str, Any], intent: Intent) -> None:
    before = copy.deepcopy(policy)
    place = place_in(policy)
    edit = attach(policy, pin(), intent, path=place)
    assert policy == before
    changed = copy.deepcopy(edit.policy)
    assert skeleton_of(changed, place) == skeleton_of(before, place)
    for where, item in guardrails(before):
        now = dict(guardrails(edit.policy))[where] if where != place else None
        if now is not None:
            assert now == item
    old = dict(guardrails(before)).get(place)
    new = dict(guardrails(edit.policy))[place]
    if old is not None:
        known = {"action", "topic-list"}
        assert {k: v for k, v in new.items() if k not in known} == {
            k: v for k, v in old.items() if k not in known
        }
        kept = [(a, one) for a, one in members(old) if one["topic_id"] != A]
        assert [(a, one) for a, one in members(new) if one["topic_id"] != A] == kept


def skeleton_of(policy: dict[str, Any], place: PolicyPath) -> Any:
    """The policy without the first topic guardrail of one place, and its empty list."""
    policy = copy.deepcopy(policy)
    entry = policy["ai-security-profiles"][place.entry]
    section = (
        entry["content-type-configurations"][place.direction]
        if place.direction
        else entry["model-configuration"]
    )
    items = section.get("model-protection") or []
    position = next(
        (k for k, x in enumerate(items) if isinstance(x, dict) and x.get("name") == GUARDRAIL), None
    )
    if position is not None:
        del items[position]
    section["model-protection"] = items
    return policy


@given(policies([A, B, C]), intents, st.booleans())
def test_restore_reverts_an_attachment_exactly(
    policy: dict[str, Any], intent: Intent, asked: bool
) -> None:
    edit = attach(policy, pin(), intent, path=place_in(policy), set_default=asked)
    undo = PolicyUndo.model_validate_json(edit.undo.model_dump_json())
    assert restore(edit.policy, undo).policy == policy
    # The service leaves empty buckets out and shows them again.
    sent, _ = for_sending(edit.policy)
    assert for_sending(restore(sent, undo).policy)[0] == for_sending(policy)[0]


@given(policies([A, B, C]), st.lists(intents, min_size=2, max_size=4))
def test_merged_undo_reverts_several_edits(policy: dict[str, Any], wanted: list[Intent]) -> None:
    place = place_in(policy)
    now, way_back = policy, None
    for revision, intent in enumerate(wanted):
        edit = attach(now, pin(A, revision), intent, path=place)
        way_back = edit.undo if way_back is None else merged(way_back, edit.undo)
        now = edit.policy
    assert way_back is not None
    assert restore(now, way_back).policy == policy


@given(policies([A, B, C]), intents)
def test_merged_undo_reverts_edits_of_which_the_last_was_not_sent(
    policy: dict[str, Any], intent: Intent
) -> None:
    place = place_in(policy)
    first = attach(policy, pin(A, 7), intent, path=place)
    second = attach(first.policy, pin(A, 8), intent, path=place)
    back = restore(first.policy, merged(first.undo, second.undo))
    assert (back.policy, back.warnings) == (policy, ())


def test_a_pin_by_somebody_else_stays() -> None:
    edit = attach(classic(), pin(A, 4), Intent.BLOCK)
    theirs = attach(edit.policy, pin(A, 9), Intent.BLOCK).policy
    back = restore(theirs, edit.undo)
    assert (back.policy, back.changes) == (theirs, ())
    assert back.warnings == ("somebody else pinned the topic since: their pin stays",)


@given(policies([A, B, C]), intents)
def test_nothing_empty_is_sent(policy: dict[str, Any], intent: Intent) -> None:
    sent, _ = for_sending(attach(policy, pin(), intent, path=place_in(policy)).policy)
    for _, item in guardrails(sent):
        assert item["topic-list"]
        assert all(one.get("topic") for one in item["topic-list"])
    assert for_sending(sent)[0] == sent


@given(policies([A, B, C]), intents)
def test_restore_keeps_foreign_changes(policy: dict[str, Any], intent: Intent) -> None:
    place = place_in(policy)
    edit = attach(policy, pin(), intent, path=place)
    other = TopicPin(topic_id="dddddddd-0000-4000-8000-000000000004", topic_name="D", revision=9)
    theirs = attach(edit.policy, other, intent, path=place)
    back = restore(theirs.policy, edit.undo)
    assert (place, intent.value, 9) in pinned(back.policy, other.topic_id)
    mine = sorted(one for one in pinned(back.policy, A) if one[0] == place)
    assert mine == sorted(one for one in pinned(policy, A) if one[0] == place)
    assert back.warnings
