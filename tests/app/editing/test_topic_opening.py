"""Opening a topic without a screen: which are known, what is refused, the engine that is shared."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from guardtui.app.editing.topic_opening import choose_scanner, known_topics, open_topic
from guardtui.files.problems import FileError
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.recent_topics import (
    LONGEST,
    forget_opened,
    last_opened,
    recent_topics,
    remember_opened,
)
from guardtui.session.topic_places import UnknownPromptsError, data_folder
from guardtui.session.workspace import Workspace
from tests.sessions import AIRS, Scanned


@pytest.fixture
def topic(tmp_path: Path) -> Path:
    path = tmp_path / "here" / "tax.yaml"
    path.parent.mkdir()
    path.write_text("name: Tax\ndescription: tax\nexamples: [a, b]\nintent: block\n", "utf-8")
    path.with_suffix(".csv").write_text("prompt,expected\na,true\nc,false\n", "utf-8")
    return path


def copy_of(topic: Path, name: str) -> Path:
    path = topic.with_name(name)
    for ending in (".yaml", ".csv"):
        shutil.copyfile(topic.with_suffix(ending), path.with_suffix(ending))
    return path


def test_recent_topics_come_first_each_once_and_the_current_is_left_out(topic: Path) -> None:
    paths = [copy_of(topic, f"t{number}.yaml") for number in range(3)]
    for path in (*paths, paths[0], topic):
        remember_opened(Workspace.open(path))
    result = known_topics(topic.parent, topic)
    assert [known.path for known in result] == [paths[0], paths[2], paths[1]]
    assert all(known.opened and not known.problem for known in result)
    forget_opened(paths[2])
    result = known_topics(topic.parent, topic)
    assert [known.path for known in result] == [paths[0], paths[1], paths[2]]
    assert result[-1].opened == ""  # only because it is in this folder
    assert known_topics(topic.parent / "gone", topic)[-1].path == paths[1]


def test_as_many_are_remembered_as_are_listed(topic: Path) -> None:
    for number in range(LONGEST + 2):
        remember_opened(Workspace.open(copy_of(topic, f"t{number}.yaml")))
    assert len(recent_topics()) == LONGEST
    assert recent_topics()[0].topic.name == f"t{LONGEST + 1}.yaml"


@pytest.mark.parametrize(
    "content",
    ["", "[1]", "{}", '[{"topic": "a\\u0000b", "prompts": "c"}]', "[" * 100_000],
    ids=range(5),
)
def test_a_damaged_list_is_an_empty_one(topic: Path, content: str) -> None:
    data_folder().mkdir(parents=True, exist_ok=True)
    (data_folder() / "recent.json").write_text(content, "utf-8")
    assert recent_topics() == []
    assert last_opened() is None
    remember_opened(Workspace.open(topic))
    assert last_opened() == (topic, topic.with_suffix(".csv"))


def test_a_missing_topic_is_marked_and_not_the_last(topic: Path) -> None:
    gone = copy_of(topic, "gone.yaml")
    remember_opened(Workspace.open(topic))
    remember_opened(Workspace.open(gone))
    gone.unlink()
    assert last_opened() == (topic, topic.with_suffix(".csv"))
    (known,) = (known for known in known_topics(topic.parent, topic) if known.path == gone)
    assert known.problem == "file not found"


def test_coverage_names_the_guardrail_it_is_about(topic: Path, tmp_path: Path) -> None:
    scanned = Scanned(tmp_path)
    shutil.copyfile(topic, scanned.topic_path)
    scanned.scan(settings=AIRS)
    remember_opened(Workspace.open(scanned.topic_path, tmp_path / "tax.csv"))
    (known,) = known_topics(topic.parent, topic)
    assert known.coverage is not None
    assert known.guardrail.startswith("AIRS prod")


def test_opening_refuses_the_current_topic_and_asks_for_prompts(topic: Path) -> None:
    current = Workspace.open(topic)
    with pytest.raises(FileError, match="open already"):
        open_topic(topic.parent / ".." / topic.parent.name / topic.name, None, current)
    lone = topic.with_name("lone.yaml")
    shutil.copyfile(topic, lone)
    with pytest.raises(UnknownPromptsError):
        open_topic(lone, None, current)
    opened = open_topic(lone, topic.with_suffix(".csv"), current)
    assert opened.prompts_path == topic.with_suffix(".csv")


def test_the_encoder_that_is_loaded_is_used_again(topic: Path) -> None:
    workspace = Workspace.open(topic)
    loaded = LocalScanner("static", 0.7)
    scanner = choose_scanner(workspace, None, None, "static", loaded)
    assert scanner.load()[0] is loaded.load()[0]
    assert scanner.settings.threshold == scanner.built_in_threshold
    workspace.store.update_settings({"encoder": "minilm"})
    assert choose_scanner(workspace, None, None, "static", loaded).encoder_name == "minilm"
    assert choose_scanner(workspace, "static", None, "minilm", loaded).encoder_name == "static"
