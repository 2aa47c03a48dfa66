"""Labels written into prompt files of every format, by text."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.topic import Intent
from guardtui.files.label_edits import LabelEdit, read_labels, write_labels
from guardtui.files.problems import FileError
from guardtui.files.prompt_edits import PromptsChangedError
from guardtui.files.prompt_files import load_prompts

pytestmark = pytest.mark.usefixtures("no_trial_reads")

ROWS = [
    {"prompt": "a", "expected": "yes", "note": "1"},
    {"prompt": "b, or c", "expected": None, "note": 'say "2"'},
    {"prompt": "d", "expected": "no", "note": "3"},
    {"prompt": "e", "note": "4"},
    {"prompt": "b, or c", "expected": None, "note": "5"},
]
CSV = 'prompt,expected,note\na,yes,1\n"b, or c",,"say ""2"""\nd,no,3\ne,"",4\n"b, or c", ,5\n'


def forms() -> dict[str, bytes]:
    parquet = io.BytesIO()
    pl.DataFrame(ROWS, dict.fromkeys(("prompt", "expected", "note"), pl.String)).write_parquet(
        parquet
    )
    return {
        "p.csv": CSV.encode(),
        "p.csv.gz": gzip.compress(CSV.encode()),
        "p.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS).encode(),
        "p.json": json.dumps(ROWS, indent=1).encode(),
        "p.parquet": parquet.getvalue(),
    }


def edit(path: Path, **labels: bool | None) -> dict[str, bool | None]:
    """Write labels by text (b for "b, or c"), and return those that are read then."""
    named = {"b": "b, or c"}
    texts = {named.get(text, text): label for text, label in labels.items()}
    write_labels(read_labels(path), LabelEdit(texts), Intent.BLOCK)
    return dict(read_labels(path).labels)


@pytest.fixture(params=forms())
def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path: Path = tmp_path / request.param
    path.write_bytes(forms()[request.param])
    return path


def test_empty_cells_are_filled_texts_appended_and_labels_changed(path: Path) -> None:
    before = {"a": True, "b, or c": None, "d": False, "e": None}
    assert read_labels(path).labels == before
    after = before | {"b, or c": True, "e": False, "new": False}
    assert edit(path, b=True, e=False, new=False) == after
    assert edit(path, a=False, new=True) == after | {"a": False, "new": True}
    assert edit(path, a=True, b=None, e=None) == before | {"new": True}
    removal = LabelEdit({}, ["new"])
    write_labels(read_labels(path), removal, Intent.BLOCK)
    assert read_labels(path).labels == before
    if path.suffix == ".csv":
        assert path.read_text() == CSV.replace('e,"",4', "e,,4").replace(", ,5", ",,5")


@pytest.mark.parametrize("name", ["p.csv", "p.jsonl", "p.json", "p.parquet"])
def test_appended_rows_have_their_split_in_the_column_of_the_file(
    tmp_path: Path, name: str
) -> None:
    rows = [{"prompt": "a", "expected": True, "Split": "test"}]
    rows.append({"prompt": "b", "expected": False, "Split": "train"})
    frame, path = pl.DataFrame(rows), tmp_path / name
    write = {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "json": frame.write_json}
    write.get(name[2:], frame.write_parquet)(path)
    labels = {"c": True, "d": False, "e": False}
    write_labels(
        read_labels(path), LabelEdit(labels, splits={"c": "test", "e": "train"}), Intent.BLOCK
    )
    prompts = load_prompts(path, Intent.BLOCK)
    assert prompts.prompts.to_list() == [*"abcde"]
    splits = prompts.frame["Split"].fill_null("").to_list()
    assert splits == ["test", "train", "test", "", "train"]


def test_only_the_cell_changes(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(
        "x;Prompt;EXPECTED ;y\r\n1;a;WAHR;\r\n2; b ;;=1\r\n3;c;;\r\n".replace("WAHR", "TRUE")
    )
    edit(path, **{" b ": False, "new": True})
    assert path.read_bytes() == (
        b"x;Prompt;EXPECTED ;y\r\n1;a;TRUE;\r\n2; b ;FALSE;=1\r\n3;c;;\r\n;new;TRUE;\r\n"
    )


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.jsonl", "p.parquet"])
def test_first_labels_make_a_prompt_set(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert edit(path, a=True) == {"a": True}
    assert edit(path, a=True, b=True) == {"a": True, "b, or c": True}
    assert edit(path, d=False) == {"a": True, "b, or c": True, "d": False}
    gone = LabelEdit({}, ["a", "b, or c", "d"])
    write_labels(read_labels(path), gone, Intent.BLOCK)
    assert read_labels(path).labels == {}
    assert edit(path, a=False) == {"a": False}


@pytest.mark.parametrize(
    "content", ["prompt,expected\n", "prompt,expected", "prompt,expected,intent\r\n"]
)
def test_rows_are_appended_to_a_header(tmp_path: Path, content: str) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(content.encode())
    assert edit(path, a=True, b=False) == {"a": True, "b, or c": False}
    assert path.read_text().startswith(content.strip())


def test_what_the_file_cannot_hold_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(CSV)
    for text in ("a\0b", "\ud800", "x" * (1 << 20) + "y"):
        with pytest.raises(FileError, match="set it aside: nothing was written"):
            edit(path, **{text: True})
    path.write_text("prompt,label\na,1\n")
    with pytest.raises(FileError, match="the column expected is missing"):
        edit(path, a=True)
    path.write_text("prompt,expected\na,perhaps\nb,\n")
    with pytest.raises(FileError, match=r"p.csv:2: expected is 'perhaps'"):
        edit(path, b=True)
    path.write_text("prompt,expected\na,1,2,3\n")
    with pytest.raises(FileError, match="correct the file first"):
        edit(path, b=True)


def test_a_change_by_another_program_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(CSV)
    before = read_labels(path)
    path.write_text(CSV + "f,1,6\n")
    with pytest.raises(PromptsChangedError):
        write_labels(before, LabelEdit({"e": True}), Intent.BLOCK)
    assert path.read_text() == CSV + "f,1,6\n"


def test_a_backup_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(CSV)
    folder = tmp_path / "backups"
    write_labels(
        read_labels(path),
        LabelEdit({"e": True}),
        Intent.BLOCK,
        backup_folder=folder,
    )
    assert (folder / "p.csv.1.bak").read_text() == CSV


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@given(
    st.dictionaries(TEXT.filter(str.strip), st.booleans(), min_size=1),
    st.sampled_from(("csv", "tsv", "jsonl", "parquet")),
)
def test_any_text_is_written_or_refused(
    tmp_path_factory: pytest.TempPathFactory, labels: dict[str, bool], ending: str
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any.{ending}"
    path.unlink(missing_ok=True)
    written: dict[str, bool | None] = {}
    for text, label in labels.items():
        try:
            edit(path, **{text: label})
        except FileError:
            continue
        written["b, or c" if text == "b" else text] = label
    assert read_labels(path).labels == written
