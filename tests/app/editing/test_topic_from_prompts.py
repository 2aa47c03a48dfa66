"""A new topic for prompts that exist: its name, its examples, and the prompts left to measure."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardtui.app.editing.topic_from_prompts import central_prompts, name_for
from guardtui.app.editing.topic_opening import open_or_start
from guardtui.domain.prompts import PromptSetError
from guardtui.domain.topic import Intent, Topic
from guardtui.files.problems import FileError
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import PromptsGivenError, load_topic

SORTS = ("green", "black", "white", "herbal", "iced", "spiced", "smoked", "sweet", "cold", "hot")
TEA = [f"How do I make {sort} tea?" for sort in SORTS]
OTHERS = ["What is the time?", "Who wrote Hamlet?", "Is it raining?"]


def write(path: Path, tea: list[str], others: list[str] = OTHERS, column: str = "") -> Path:
    """Write prompts; `column` is the intent of all, if any."""
    end = f",{column}" if column else ""
    rows = [f'"{text}",true{end}' for text in tea] + [f'"{text}",false{end}' for text in others]
    head = "prompt,expected" + (",intent" if column else "")
    path.write_text("\n".join([head, *rows, ""]), "utf-8")
    return path


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("fraud-detection.csv", "Fraud detection"),
        ("tax_advice.v2.csv.gz", "Tax advice v2"),
        ("VAT.jsonl", "VAT"),
        ("--.csv", "Topic"),
        ("é" * 60 + ".csv", "É" + "é" * 49),
        ("a\x1b[31m.csv", "A [31m"),
    ],
)
def test_name_is_that_of_the_file(file: str, name: str) -> None:
    assert name_for(Path("folder", file)) == name


def test_prompt_file_makes_a_topic_and_central_prompts_leave_the_set(tmp_path: Path) -> None:
    path = write(tmp_path / "green_tea.csv", [*TEA, "Zebra crossings in Rome"], column="allow")
    workspace = open_or_start(path, None)
    topic = load_topic(tmp_path / "green_tea.yaml").topic
    assert (topic.name, topic.description, topic.intent) == ("Green tea", "", Intent.ALLOW)
    assert topic == workspace.topic_file.topic == workspace.session.topic
    assert len(topic.examples) == 2
    assert set(topic.examples) < set(TEA)
    assert not set(topic.examples) & set(load_prompts(path, Intent.BLOCK).prompts)
    assert len(workspace.prompts) == len(TEA) + 1 + len(OTHERS) - 2
    assert "Examples 1 and 2 are central prompts taken out of green_tea.csv (its backup" in (
        workspace.opening_note
    )
    before = workspace.undo_prompts()
    assert before
    assert len(load_prompts(path, Intent.BLOCK)) == len(TEA) + 1 + len(OTHERS)
    workspace.store.close()


def test_topic_beside_the_prompts_is_opened_unchanged(tmp_path: Path) -> None:
    path = write(tmp_path / "tea.csv", TEA)
    (tmp_path / "tea.yml").write_text("name: Mine\n", "utf-8")
    content = path.read_bytes()
    workspace = open_or_start(path, None)
    workspace.store.close()
    assert workspace.topic_file.path == tmp_path / "tea.yml"
    assert (tmp_path / "tea.yml").read_text("utf-8") == "name: Mine\n"
    assert path.read_bytes() == content
    assert not (tmp_path / "tea.yaml").exists()


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", FileError),
        (b"prompt,expected\n", PromptSetError),
        (b"prompt,expected\na,false\nb,false\n", PromptSetError),
        (b"\xff\xfe\x00", FileError),
    ],
)
def test_unusable_prompts_write_nothing(
    tmp_path: Path, content: bytes, error: type[Exception]
) -> None:
    path = tmp_path / "tea.csv"
    path.write_bytes(content)
    with pytest.raises(error):
        open_or_start(path, None)
    assert list(tmp_path.iterdir()) == [path]


def test_two_prompt_files_are_no_topic(tmp_path: Path) -> None:
    path = write(tmp_path / "tea.csv", TEA)
    with pytest.raises(PromptsGivenError):
        open_or_start(path, path)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("count", "examples"), [(1, 0), (3, 0), (4, 2), (9, 2), (10, 2), (13, 3)])
def test_enough_prompts_are_left_to_measure(tmp_path: Path, count: int, examples: int) -> None:
    tea = [*TEA, *(f"Which {kind} makes the best tea?" for kind in ("pot", "leaf", "water", "cup"))]
    path = write(tmp_path / "tea.csv", tea[:count])
    workspace = open_or_start(path, None)
    workspace.store.close()
    assert len(workspace.session.topic.examples) == examples
    fitted = "with 10 the threshold is fitted" in workspace.opening_note
    assert fitted == (count - examples < 10 <= count)
    assert int(load_prompts(path, Intent.BLOCK).expected.sum()) == count - examples


def test_examples_are_central_different_and_within_the_limits(tmp_path: Path) -> None:
    tea = [
        *TEA,
        *(f"HOW do I make {sort} tea??" for sort in SORTS),
        "How do I make tea? " * 20,
        "How do I make\ntea?",
        "How do I make all sorts of tea?",
    ]
    path = write(tmp_path / "tea.csv", tea, [*OTHERS, "How do I make all sorts of tea?"])
    chosen = central_prompts(load_prompts(path, Intent.BLOCK), Topic(name="Tea"))
    assert 1 <= len(chosen) <= 3
    assert set(chosen) <= set(tea[:20])
    assert len({text.casefold().rstrip("?") for text in chosen}) == len(chosen)


def test_prompts_that_cannot_be_edited_stay_and_that_is_said(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [("prompt", "expected"), *((text, True) for text in TEA), ("Rain?", False)]:
        book.active.append(row)
    book.save(tmp_path / "tea.xlsx")
    content = (tmp_path / "tea.xlsx").read_bytes()
    workspace = open_or_start(tmp_path / "tea.xlsx", None)
    workspace.store.close()
    assert "are central prompts of tea.xlsx, still measured:" in workspace.opening_note
    assert (tmp_path / "tea.xlsx").read_bytes() == content
    assert len(workspace.prompts) == len(TEA) + 1
