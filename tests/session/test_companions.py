"""Files of companion topics: paths, problems, changes, and profile files that list them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from guardtui.domain.profile import MOST_TOPICS
from guardtui.domain.topic import Intent, Topic
from guardtui.session.companions import kept_path, load_companions, read_paths, write_paths

OWN = Topic(name="Tax", description="tax advice", examples=("one", "two"))
RECIPES = Topic(name="Recipes", description="cooking", examples=("a", "b"), intent=Intent.ALLOW)


def write(path: Path, name: str, intent: str = "intent: block") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"name: {name}\ndescription: d\nexamples: [a, b]\n{intent}\n", "utf-8")
    return path


def test_paths_are_stored_relative_to_the_topic_file(tmp_path: Path) -> None:
    topic = tmp_path / "topics" / "tax.yaml"
    write(topic.parent / "sub" / "other.yaml", "Other")
    write(tmp_path / "shared" / "more.yaml", "More")
    paths = [
        kept_path(topic, topic.parent / "sub" / "other.yaml"),
        kept_path(topic, tmp_path / "shared" / "more.yaml"),
    ]
    assert paths == ["sub/other.yaml", "../shared/more.yaml"]
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("topics", "shared"):
        (tmp_path / name).rename(moved / name)
    loaded = load_companions(moved / "topics" / "tax.yaml", paths)
    assert [topic.name for topic in loaded.topics] == ["Other", "More"]
    assert loaded.paths == tuple(paths)
    assert not loaded.problems


def test_every_unusable_file_has_a_problem_and_the_others_are_used(tmp_path: Path) -> None:
    topic = write(tmp_path / "tax.yaml", "Tax")
    write(tmp_path / "good.yaml", "Good")
    write(tmp_path / "same-name.yaml", "Good")
    write(tmp_path / "own-name.yaml", "Tax")
    (tmp_path / "broken.yaml").write_text("name: [", "utf-8")
    os.link(tmp_path / "good.yaml", tmp_path / "link.yaml")
    paths = ["gone.yaml", "good.yaml", "broken.yaml", "same-name.yaml", "own-name.yaml"]
    loaded = load_companions(topic, [*paths, "tax.yaml", "link.yaml", "a\0b"], OWN)
    assert [topic.name for topic in loaded.topics] == ["Good"]
    problems = [file.problem and file.problem.problem for file in loaded.files]
    assert problems == [
        "no such file",
        None,
        loaded.problems[1].problem,
        f"another topic is called 'Good' already: {tmp_path / 'good.yaml'}",
        f"another topic is called 'Tax' already: {topic}",
        "this topic file is in the profile already",
        "this topic file is in the profile already",
        "not a valid file name",
    ]
    assert all(problem.remedy for problem in loaded.problems[:-1])


def test_file_without_an_intent_uses_that_of_the_tested_topic(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", "A", "")
    write(tmp_path / "b.yaml", "B", "intent: block")
    loaded = load_companions(tmp_path / "tax.yaml", ["a.yaml", "b.yaml"], RECIPES)
    assert [topic.intent for topic in loaded.topics] == [Intent.ALLOW, Intent.BLOCK]


def test_changed_deleted_and_new_files_are_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", "A")
    loaded = load_companions(tmp_path / "tax.yaml", ["a.yaml"])
    assert not loaded.changed
    write(path, "Another name")
    assert loaded.changed
    path.unlink()
    gone = load_companions(tmp_path / "tax.yaml", ["a.yaml"])
    assert not gone.topics
    assert not gone.changed
    write(path, "A")
    assert gone.changed


def test_topics_beyond_the_limit_have_a_problem(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{n}.yaml", f"T{n}").name for n in range(MOST_TOPICS)]
    loaded = load_companions(tmp_path / "tax.yaml", paths, OWN)
    assert len(loaded.topics) == MOST_TOPICS - 1
    assert "at most 20 topics" in str(loaded.problems[0])


def test_invalid_paths_in_settings_are_skipped() -> None:
    assert read_paths(write_paths(["a", "b"])) == ("a", "b")
    for damaged in ({}, {"companions": "a"}, {"companions": None}, {"companions": {"a": 1}}):
        assert read_paths(damaged) == ()
    assert read_paths({"companions": ["a", 3, "", None]}) == ("a",)


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """A profile file of the topic under test and two others, in a folder of its own."""
    write(tmp_path / "tax.yaml", "Tax")
    write(tmp_path / "topics" / "a.yaml", "A")
    write(tmp_path / "topics" / "b.yaml", "B", "")
    path = tmp_path / "topics" / "profile.yaml"
    path.write_text("topics:\n  - ../tax.yaml\n  - a.yaml\n  - {topic: b.yaml, prompts: b.csv}\n")
    return path


def test_a_profile_file_stands_for_its_other_topics(tmp_path: Path, profile: Path) -> None:
    loaded = load_companions(tmp_path / "tax.yaml", ["topics/profile.yaml"], OWN)
    assert [topic.name for topic in loaded.topics] == ["A", "B"]
    assert loaded.paths == ("topics/profile.yaml",)
    assert [file.path for file in loaded.files] == ["topics/a.yaml", "topics/b.yaml"]
    assert [file.profile for file in loaded.files] == ["topics/profile.yaml"] * 2
    names = {path.name for path in loaded.locations}
    assert names == {"profile.yaml", "a.yaml", "b.yaml"}
    again = load_companions(tmp_path / "tax.yaml", ["topics/profile.yaml", "topics/a.yaml"], OWN)
    assert "in the profile already" in str(again.problems[0])


@pytest.mark.parametrize(
    ("default", "closed"), [("", None), ("default: block\n", True), ("default: allow\n", False)]
)
def test_default_is_that_of_the_profile_file(
    tmp_path: Path, profile: Path, default: str, closed: bool | None
) -> None:
    profile.write_text(default + profile.read_text("utf-8"), "utf-8")
    paths = ["topics/a.yaml", "topics/profile.yaml"]
    assert load_companions(tmp_path / "tax.yaml", paths, RECIPES).closed is closed
    assert load_companions(tmp_path / "tax.yaml", paths[:1], RECIPES).closed is None


def test_a_changed_profile_file_is_noticed(tmp_path: Path, profile: Path) -> None:
    loaded = load_companions(tmp_path / "tax.yaml", ["topics/profile.yaml"], OWN)
    assert not loaded.changed
    profile.write_text("topics: [a.yaml]\nname: p\n", "utf-8")
    assert loaded.changed
    profile.write_text("topics: nothing\n", "utf-8")
    broken = load_companions(tmp_path / "tax.yaml", ["topics/profile.yaml"], OWN)
    assert "topics is not a list" in str(broken.problems[0])
    assert broken.paths == ("topics/profile.yaml",)
