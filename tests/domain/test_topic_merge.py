"""Merging two edits: nobody's edit is lost without being named."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.topic import Intent, Topic
from guardtui.domain.topic_merge import FIELDS, merge_topics

TOPICS = st.builds(
    Topic,
    name=st.sampled_from(["a", "b", "c"]),
    description=st.sampled_from(["a", "b", "c"]),
    examples=st.sampled_from([(), ("a",), ("a", "b")]),
    intent=st.sampled_from(Intent),
)


@given(TOPICS, TOPICS, TOPICS)
def test_each_field_is_of_whoever_changed_it(base: Topic, mine: Topic, theirs: Topic) -> None:
    merge = merge_topics(base, mine, theirs)
    for name in FIELDS:
        old, own, other = (getattr(topic, name) for topic in (base, mine, theirs))
        result = getattr(merge.topic, name)
        if name in merge.conflicts:
            assert len({old, own, other}) == 3
            assert result == own
        else:
            assert result == (own if own != old else other)


@given(TOPICS, TOPICS)
def test_one_edit_alone_is_that_edit(base: Topic, edited: Topic) -> None:
    assert merge_topics(base, base, edited).topic == edited
    assert merge_topics(base, edited, base).topic == edited
    assert merge_topics(base, edited, edited).conflicts == ()
