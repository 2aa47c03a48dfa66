"""Texts of topic revisions: remembered on disk, bounded, and never in the way."""

from __future__ import annotations

from pathlib import Path

from guardtui.domain.topic import Topic
from guardtui.scanners.airs.models import CustomTopic
from guardtui.scanners.airs.topic_revisions import ServiceRevisions, text_hash
from guardtui.session.topic_revisions import FILE, SqliteTopicRevisions

TAX = CustomTopic(
    topic_id="2F3C0000-0000-4000-8000-000000000000",
    topic_name="Tax",
    revision=1,
    description="A secret text",
    examples=("a", "b"),
)
NEWER = TAX.model_copy(update={"revision": 2, "description": "Another text"})


def test_seen_revisions_are_found_by_another_process(tmp_path: Path) -> None:
    ServiceRevisions("https://a", SqliteTopicRevisions(tmp_path)).keep([TAX, NEWER])
    known = ServiceRevisions("https://a", SqliteTopicRevisions(tmp_path))
    assert known.text(TAX.topic_id.lower(), 1) == text_hash(TAX)
    assert known.text(TAX.topic_id, 0) == text_hash(TAX)  # a pin without a revision
    assert known.text(TAX.topic_id, 2) == text_hash(NEWER) != text_hash(TAX)
    assert known.text(TAX.topic_id, 3) is None
    elsewhere = ServiceRevisions("https://b", SqliteTopicRevisions(tmp_path))
    assert elsewhere.text(TAX.topic_id, 1) is None


def test_file_contains_no_texts(tmp_path: Path) -> None:
    ServiceRevisions("https://a", SqliteTopicRevisions(tmp_path)).keep([TAX])
    assert b"secret" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_hash_of_a_definition_is_that_of_its_text() -> None:
    topic = Topic(name="Tax", description="A secret text", examples=("a", "b"))
    assert text_hash(topic) == text_hash(TAX)
    assert text_hash(topic.model_copy(update={"examples": ("b", "a")})) != text_hash(TAX)


def test_oldest_entries_are_deleted_beyond_the_limit(tmp_path: Path) -> None:
    rows = [("id", revision, "text") for revision in range(1, 6)]
    SqliteTopicRevisions(tmp_path).keep("https://a", rows)
    few = SqliteTopicRevisions(tmp_path, limit=2)
    assert [few.find("https://a", "id", one) for one in range(3, 6)] == [None, "text", "text"]


def test_unusable_file_stores_nothing(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    revisions = SqliteTopicRevisions(tmp_path)
    revisions.keep("https://a", [("id", 1, "text")])
    assert revisions.find("https://a", "id", 1) is None
    (tmp_path / "file").write_bytes(b"")
    revisions = SqliteTopicRevisions(tmp_path / "file")
    revisions.keep("https://a", [("id", 1, "text")])
    assert revisions.find("https://a", "id", 1) is None
