"""Prompt files: the rows a CSV writer wrote, at the lines they stand on, and every bad input."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guardtui.domain.prompts import PromptSetError
from guardtui.files.problems import FileError, read_bytes
from guardtui.files.prompt_files import load_prompts, sample_csv
from tests.examples import up_to

HEADER = "prompt,expected,intent\n"
# NUL and lone carriage returns have tests of their own.
PIECE = st.sampled_from([*'abé",;\t \n=\U0001f600', "\r\n", "\u2028", "\x1e", "\x85"])
CELL = st.lists(PIECE, max_size=8).map("".join)
PROMPT = CELL.filter(lambda text: text.strip() != "")
SHARED = settings(
    max_examples=up_to(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def oracle(text: str) -> tuple[list[list[str]], list[int]]:
    """Rows below the header, and their first lines, by the standard library alone."""
    reader = csv.reader(io.StringIO(text, newline="\n"), strict=True)
    rows, lines, before = [], [], 0
    for row in reader:
        if row:
            rows.append(row)
            lines.append(before + 1)
        before = reader.line_num
    return rows[1:], lines[1:]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@SHARED
@given(
    rows=st.lists(st.tuples(PROMPT, CELL), min_size=2, max_size=8),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    blank=st.booleans(),
    mark=st.booleans(),
    cut=st.booleans(),
)
def test_csv_writer_output_is_read(
    tmp_path: Path,
    rows: list[tuple[str, str]],
    end: str,
    quoting: int,
    blank: bool,
    mark: bool,
    cut: bool,
) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator=end, quoting=quoting)  # type: ignore[arg-type]
    writer.writerow([" Prompt", "EXPECTED ", "intent", "Note"])
    for number, (prompt, note) in enumerate(rows):
        if blank:
            stream.write(end)
        writer.writerow([prompt, str(number % 2 == 0), "block", note])
    text = stream.getvalue()
    text = text.removesuffix(end) if cut else text
    path = write(tmp_path / "p.csv", ("\ufeff" if mark else "") + text)
    prompts = load_prompts(path)
    expected, lines = oracle(text)
    assert prompts.prompts.to_list() == [row[0] for row in expected] == [row[0] for row in rows]
    assert prompts.frame["Note"].to_list() == [row[3] for row in expected]
    assert prompts.frame["line"].to_list() == lines


def test_rows_with_quoted_line_feeds_have_their_lines(tmp_path: Path) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(["prompt", "expected", "intent"])
    for number in range(60_000):  # large enough to be read in several pieces
        text = f'{number},"\n"{"x" * (number % 90)}\r\n,' if number % 3 else f"plain {number}"
        writer.writerow([text, "true" if number % 2 else "false", "block"])
    prompts = load_prompts(write(tmp_path / "p.csv", stream.getvalue()))
    expected, lines = oracle(stream.getvalue())
    assert prompts.frame["line"].to_list() == lines
    assert prompts.prompts.to_list() == [row[0] for row in expected]


BAD = {
    "empty": (b"", None, "empty"),
    "only a mark": (b"\xef\xbb\xbf\n", None, "empty"),
    "only a vertical tab": (b"\v", None, "empty"),
    "NUL": (HEADER.encode() + b"a\0b,true,block\n", 2, "NUL"),
    "Latin-1": (HEADER.encode() + b"caf\xe9,true,block\n", 2, "offset 26"),
    "UTF-16": (HEADER.encode("utf-16"), None, "UTF-16"),
    "unclosed quote": (HEADER.encode() + b'a,true,block\n"b\nc,true,block\n', 3, "never closed"),
    "text after a quote": (HEADER.encode() + b'a,1,block\n"b" c,0,block\n', 3, "quote"),
    "blank after a quote": (HEADER.encode() + b'"a\nb" ,1,block\n', 3, "quote"),
    "blank before a quote": (HEADER.encode() + b'a, "1",block\n', 2, "quote"),
    "quote in a bare field": (HEADER.encode() + b'5" pipe,1,block\n', 2, "quote"),
}


@pytest.mark.parametrize(("content", "line", "said"), BAD.values(), ids=BAD)
def test_invalid_file_error_names_line_and_remedy(
    tmp_path: Path, content: bytes, line: int | None, said: str
) -> None:
    path = write(tmp_path / "p.csv", content)
    with pytest.raises(FileError) as caught:
        load_prompts(path)
    assert caught.value.line == line
    assert said in caught.value.problem
    assert caught.value.remedy
    assert str(caught.value).startswith(f"{path}:{line}: " if line else f"{path}: ")


def test_missing_file_and_folder_are_reported(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        load_prompts(tmp_path / "gone.csv")
    with pytest.raises(FileError, match="folder"):
        load_prompts(tmp_path)


def test_file_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    with path.open("wb") as file:
        file.write(b'[{"prompt": ')
        file.truncate((8 << 30) + 1)  # sparse: takes no space
    with pytest.raises(FileError, match="8 GiB"):
        load_prompts(path)


def test_ragged_rows_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", HEADER + '"a\nb",true,block\nc\nd,e,true,block\n')
    with pytest.raises(PromptSetError) as caught:
        load_prompts(path)
    assert [finding.lines for finding in caught.value.findings] == [(4,), (5,)]
    short, long = (finding.message for finding in caught.value.findings)
    assert short.startswith("1 field where the header has 3, so expected is missing")
    assert long == "4 fields where the header has 3: a text that holds a comma needs quotes"


def test_errors_of_ragged_rows_and_labels_are_reported_together(tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", HEADER + "a,maybe,block\nb\nc,true,blok\n,true,block,x\n")
    with pytest.raises(PromptSetError) as caught:
        load_prompts(path)
    results = [(finding.lines[0], finding.code) for finding in caught.value.findings]
    assert results == [(2, "expected"), (3, "ragged"), (4, "intent"), (5, "ragged")]
    assert caught.value.total == 4


def test_many_errors_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", HEADER + "a,maybe,block\nb\n" * 150)
    with pytest.raises(PromptSetError, match="and 280 errors more") as caught:
        load_prompts(path)
    assert [finding.lines[0] for finding in caught.value.findings] == [*range(2, 22)]


def test_errors_of_broken_json_lines_and_labels_are_reported_together(tmp_path: Path) -> None:
    good = '{"prompt": "a", "expected": %s, "intent": "block"}\n'
    path = write(tmp_path / "p.jsonl", good % "true" + "{half\n" + good % '"maybe"')
    with pytest.raises(PromptSetError) as caught:
        load_prompts(path)
    results = [(finding.lines[0], finding.code) for finding in caught.value.findings]
    assert results == [(2, "json"), (3, "expected")]


def test_oversized_cell_error_names_its_line(tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", f'{HEADER}a,true,block\n"{"x" * 10_000_000}",false,block\n')
    with pytest.raises(PromptSetError, match="1 MiB") as caught:
        load_prompts(path)
    assert caught.value.findings[0].lines == (3,)


def test_file_with_only_a_header_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(PromptSetError, match="add prompts"):
        load_prompts(write(tmp_path / "p.csv", HEADER))


@pytest.mark.parametrize("name", ["key", "line"])
def test_columns_named_like_internal_ones_are_kept(tmp_path: Path, name: str) -> None:
    text = f"prompt,expected,intent,{name}\na,true,block,x\nb,false,block,y\n"
    prompts = load_prompts(write(tmp_path / "p.csv", text))
    assert len(prompts.extra_columns) == 1
    assert prompts.frame[prompts.extra_columns[0]].to_list() == ["x", "y"]


def test_json_lines_are_read(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"prompt": "a\nb\u2028", "expected": True, "intent": "block"},
        {"prompt": "c", "expected": "no", "intent": "block", "note": 3},
    ]
    text = "\n\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    prompts = load_prompts(write(tmp_path / "p.jsonl", text))
    assert prompts.prompts.to_list() == ["a\nb\u2028", "c"]
    assert prompts.expected.tolist() == [True, False]
    assert prompts.frame["line"].to_list() == [1, 3]
    assert prompts.frame["note"].to_list() == ["", "3"]


def test_sample_is_read_like_by_a_line_reader(tmp_path: Path) -> None:
    prompts = load_prompts(write(tmp_path / "p.csv", sample_csv()))
    assert len(prompts) == 12 == len(sample_csv().splitlines()) - 1
    assert prompts.category_column == "category"
    assert 0 < prompts.expected.sum() < 12
    assert not prompts.prompts.str.contains("[\r\n]").any()


def test_carriage_return_line_ends_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("prompt,expected,intent\ra,true,block\rb,false,block\r", newline="")
    with pytest.raises(FileError, match="carriage returns only"):
        load_prompts(path)
    path.write_text("prompt,expected,intent\ra,true,block\r\n", newline="")
    with pytest.raises(FileError, match="carriage returns only"):
        load_prompts(path)
    path = tmp_path / "p.jsonl"
    path.write_text('{"prompt": "a"}\r{"prompt": "b"}\r', newline="")
    with pytest.raises(FileError, match="carriage returns only"):
        load_prompts(path)


@pytest.mark.process
def test_endless_pipe_is_rejected(tmp_path: Path) -> None:
    pipe = tmp_path / "p.csv"
    os.mkfifo(pipe)
    writer = "import sys\nwith open(sys.argv[1], 'w') as pipe:\n while True: pipe.write('x' * 9999)"
    with (
        subprocess.Popen([sys.executable, "-c", writer, str(pipe)], stderr=subprocess.DEVNULL),
        pytest.raises(FileError, match="is more than the"),
    ):
        read_bytes(pipe, pipes=True, limit=1_000_000)


@pytest.mark.process
def test_interrupt_ends_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.csv")
    script = (
        "import signal, sys, threading; from pathlib import Path\n"
        "import polars; from guardtui.files.prompt_files import load_prompts\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])\n"
        "try: timer.start(); load_prompts(Path(sys.argv[1]))\n"
        "except KeyboardInterrupt: sys.exit(7)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "p.csv")]
    assert subprocess.run(command, check=False).returncode == 7
