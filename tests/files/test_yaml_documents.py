"""YAML of any kind is read or reported with its line; nothing else is raised or printed."""

from __future__ import annotations

import contextlib
import gc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from guardtui.files.problems import FileError
from guardtui.files.profile_files import is_profile, load_profile
from guardtui.files.topic_files import load_topic, save_topic
from guardtui.files.yaml_documents import line_of, load_yaml, start_of
from tests.examples import up_to
from tests.yaml_texts import yaml_texts

PATH = Path("file.yaml")
TOPIC = "name: a\ndescription: |\n  b\n  c\nexamples:\n- a\n- b # c\nintent: block\n"
PROFILE = "name: bank\ndefault: allow\ntopics:\n  - topic: a.yaml\n    prompts: a.csv\n  - b.yaml\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2020-99-99\n", "file.yaml:2: this YAML contains an unreadable value"),
        ("a: 1\nb:\n  - !!int x\n", "file.yaml:3: this YAML contains an unreadable value"),
        ("a: 1\n!!set b: c\n", "file.yaml:2: this YAML contains an unreadable value"),
        ("# c\n%YAML 1.5\n---\na: 1\n", "file.yaml:2: only YAML 1.1 and 1.2 can be read"),
        ("a: 1\nb: \x07\n", "file.yaml:2: this YAML contains an invalid character"),
        ("a: 1\nb: [\n", "file.yaml:3: "),
        ("a: 1\n<<: 3\n", "file.yaml:2: expected a mapping or list of mappings"),
        ("{a: " * 3000, "file.yaml: this YAML is nested too deeply"),
    ],
    ids=range(8),
)
def test_error_names_the_line(text: str, message: str) -> None:
    with pytest.raises(FileError) as caught:
        load_yaml(PATH, text)
    assert str(caught.value).startswith(message)
    assert caught.value.remedy


def test_entries_know_their_lines_except_merged_ones() -> None:
    document = load_yaml(PATH, "# c\na: &a {x: 1}\nb:\n- 1\n- 2\n<<: *a\n")
    assert [line_of(document, key) for key in ("a", "b", "x")] == [2, 3, None]
    assert line_of(document["b"], 1) == 5
    assert line_of({"a": 1}, "a") is None


def test_start_of_multiplied_aliases_is_short() -> None:
    lines = ["a0: &a0 [x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    document = load_yaml(PATH, "\n".join(lines))
    assert start_of(document["a29"]) == "a list"
    assert start_of(document) == "a mapping"
    assert start_of("b" * 100) == "b" * 40


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("failing", ["2020-99-99", "!!int x", "*nowhere"])
def test_failure_beside_unknown_tags_prints_nothing(failing: str) -> None:
    with pytest.raises(FileError):
        load_yaml(PATH, f"[!x a, !y [b], !z {{c: d}}, {failing}]")
    gc.collect(1)  # an error in a generator that is left behind would be a warning


ANY = settings(max_examples=up_to(3000), deadline=None, suppress_health_check=list(HealthCheck))


@ANY
@given(text=yaml_texts(("name", "description", "examples", "intent"), TOPIC))
def test_any_topic_file_is_read_and_saved_or_reported(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with contextlib.suppress(FileError):
        file = load_topic(path)
        changed = file.topic.model_copy(update={"name": "Other", "examples": ("a", "b: c")})
        save_topic(file, changed)
        assert load_topic(path).topic == changed


@ANY
@given(text=yaml_texts(("topics", "topic", "prompts", "name", "default"), PROFILE))
def test_any_profile_file_is_read_or_reported(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    is_profile(path)
    with contextlib.suppress(FileError):
        load_profile(path)
