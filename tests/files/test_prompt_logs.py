"""Readers of logs: shapes, verdicts of production, streams, and what is refused."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.domain.inbox import Production
from guardtui.files.problems import FileError
from guardtui.files.prompt_logs import LoggedPrompt, PromptLog

pytestmark = pytest.mark.usefixtures("no_trial_reads")

USER = {"role": "user", "content": "may I deduct it?"}
CHAT = [
    {"role": "system", "content": "be kind"},
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": "hi"},
    {"role": "user", "content": [{"type": "text", "text": "and tax?"}, {"type": "image_url"}]},
]
PARTS = [
    {"role": "system", "parts": [{"type": "text", "content": "be kind"}]},
    {"role": "user", "parts": [{"type": "text", "content": "hello"}]},
    {"role": "assistant", "parts": [{"type": "tool_call", "name": "f", "arguments": {}}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "result": "x"}]},
    {"role": "user", "parts": [{"type": "text", "content": "and tax?"}]},
]


def otlp(value: dict[str, Any]) -> dict[str, Any]:
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.input.messages", "value": value},
    ]
    other = {"name": "GET", "attributes": [{"key": "http.route", "value": {"stringValue": "/"}}]}
    spans = [other, {"name": "chat", "attributes": attributes}]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": spans}]}]}


def any_value(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    if isinstance(value, dict):
        pairs = [{"key": key, "value": any_value(item)} for key, item in value.items()]
        return {"kvlistValue": {"values": pairs}}
    return {"stringValue": value}


SHAPES: dict[str, object] = {
    "chat": CHAT,
    "litellm": {"id": "1", "model": "m", "messages": CHAT, "response": {"choices": []}},
    "request of litellm's proxy": {"proxy_server_request": {"body": {"messages": CHAT}}},
    "chat as text": {"messages": json.dumps(CHAT)},
    "span": {"name": "chat", "attributes": {"gen_ai.input.messages": json.dumps(PARTS)}},
    "structured span": {"attributes": {"gen_ai.input.messages": PARTS}},
    "OTLP with text": otlp({"stringValue": json.dumps(PARTS)}),
    "structured OTLP": otlp(any_value(PARTS)),
}


def read(path: Path, column: str = "") -> list[LoggedPrompt]:
    return list(PromptLog(path, column))


def texts(path: Path, column: str = "") -> list[str]:
    return [prompt.text for prompt in read(path, column)]


def lines(path: Path, values: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


@pytest.mark.parametrize("shape", SHAPES)
def test_the_turns_of_the_user_are_read(tmp_path: Path, shape: str) -> None:
    path = lines(tmp_path / "a.log", [SHAPES[shape], {"messages": [USER]}])
    assert texts(path) == ["hello", "and tax?", "may I deduct it?"]
    assert [prompt.origin for prompt in read(path)] == ["a.log:1", "a.log:1", "a.log:2"]


def test_documents_that_are_one_value_are_read(tmp_path: Path) -> None:
    path = tmp_path / "scans.json"
    contents = {"scan_contents": {"prompt": "hello", "response": "x"}, "scan_id": "1"}
    for value in (
        contents,
        [contents],
        {"items": [contents, {"scan_contents": None}]},
        ["hello"],
        [{"prompt": "hello"}],
        {"conversations": [{"messages": [{"role": "user", "content": "hello"}]}]},
    ):
        for indent in (None, 2):
            path.write_text(json.dumps(value, indent=indent))
            assert texts(path) == ["hello"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "txt"])
def test_tables_and_lists_are_read(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    prompts = ["one, or two", 'say "x"', "three"]
    frame = pl.DataFrame({"n": [1, 2, 3], "prompt": prompts})
    if ending == "parquet":
        frame.write_parquet(path)
    elif ending == "jsonl":
        frame.write_ndjson(path)
    elif ending == "txt":
        path.write_text("\n".join(["", *prompts, ""]))
    else:
        frame.write_csv(path, separator="\t" if ending == "tsv" else ",")
    assert texts(path) == prompts
    path.with_suffix(".gz").write_bytes(gzip.compress(path.read_bytes()))
    if ending in ("jsonl", "txt"):
        assert texts(path.with_suffix(".gz")) == prompts


def test_another_column_or_path_is_named(tmp_path: Path) -> None:
    values = [{"request": {"Text": "hello"}, "prompt": "no"}, {"request": {}}]
    log = PromptLog(lines(tmp_path / "a.jsonl", values), "request.text")
    assert [prompt.text for prompt in log] == ["hello"]
    assert log.without_text == 1
    (tmp_path / "a.csv").write_text("a;question\n1;hello\n")
    assert texts(tmp_path / "a.csv", "Question") == ["hello"]
    chats = pl.DataFrame({"turns": [CHAT[1:2]]})
    chats.write_parquet(tmp_path / "a.parquet")
    assert texts(tmp_path / "a.parquet", "turns") == ["hello"]


def guardrail(status: str, name: str = "tax") -> dict[str, Any]:
    return {"guardrail_name": name, "guardrail_status": status}


AIRS = {
    "prompt_detected": {"topic_violation": True},
    "profile_name": "prod",
    "profile_id": "AB-12",
    "prompt_detection_details": {"topic_guardrails_details": {"blocked_topics": ["Tax"]}},
}


@pytest.mark.parametrize(
    ("values", "production"),
    [
        ({"guardrail_information": [guardrail("success")]}, [Production(False, "tax")]),
        ({"guardrail_information": guardrail("guardrail_intervened")}, [Production(True, "tax")]),
        (
            {
                "metadata": {
                    "guardrail_information": [guardrail("success"), guardrail("blocked", "b")]
                }
            },
            [Production(False, "tax"), Production(True, "b")],
        ),
        ({"guardrail_information": [guardrail("guardrail_failed_to_respond")]}, []),
        (  # of the answer, not of the prompt
            {"guardrail_information": [guardrail("blocked") | {"guardrail_mode": "post_call"}]},
            [],
        ),
        (  # the profile stopped the prompt for another reason
            {
                "guardrail_information": [
                    guardrail("guardrail_intervened")
                    | {"guardrail_response": AIRS | {"prompt_detected": {"topic_violation": False}}}
                ]
            },
            [Production(False, "tax", "ab-12")],
        ),
        (
            {"prompt_detected": {"topic_violation": True}, "profile_name": "prod"},
            [Production(True, "airs:prod")],
        ),
        (AIRS, [Production(True, "airs:prod", "ab-12", ("Tax",))]),
        (AIRS | {"timeout": True}, []),
        (
            {"triggered": "no", "guardrail": "mine", "definition": "r7"},
            [Production(False, "mine", "r7")],
        ),
        ({"triggered": "perhaps"}, []),
    ],
)
def test_verdicts_of_production_are_those_of_the_last_turn(
    tmp_path: Path, values: dict[str, Any], production: list[Production]
) -> None:
    first, last = read(lines(tmp_path / "a.jsonl", [{"messages": CHAT} | values]))
    assert (first.production, last.production) == ((), tuple(production))
    assert [Production.of(one.as_json()) for one in production] == production


def test_a_text_that_occurs_twice_in_an_entry_has_both_verdicts(tmp_path: Path) -> None:
    parts = [{"prompt": "p", "triggered": triggered} for triggered in (True, False)]
    (logged,) = read(lines(tmp_path / "a.jsonl", [{"items": parts}]))
    assert logged.production == (Production(True), Production(False))


def test_standard_input_and_pipes_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(b'{"prompt": "hello"}\n'))
    monkeypatch.setattr("sys.stdin", stream)
    assert read(Path("-")) == [LoggedPrompt("hello", "standard input:1")]
    assert not stream.buffer.closed
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("hello\n",))
    writer.start()
    assert texts(pipe) == ["hello"]
    writer.join()


def test_last_line_of_a_log_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"prompt": "hello"}\n{"prompt": "hel')
    log = PromptLog(path)
    assert [prompt.text for prompt in log] == ["hello"]
    assert log.unfinished


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"", "there are no prompts in it"),
        ("a.csv", b"prompt\n", "there are no prompts in it"),
        ("a.csv", b"question\nx\n", r"no text of a user was found \(its columns: question\)"),
        ("a.jsonl", b'{"messages": [{"role": "system", "content": "x"}]}\n', "no text of a user"),
        ("a.jsonl", b'{"prompt": "  "}\n', "no text of a user"),
        (
            "a.jsonl",
            b'{"prompt": "x"}\n{"prompt"\n{"prompt": "y"}\n',
            "a.jsonl:2: this line is not",
        ),
        ("a.jsonl", b"hello\n", "a.jsonl:1: this line is not JSON"),
        ("a.json", b'[{"prompt": "x"},\n{"prom', "a.json:2: the JSON breaks off"),
        ("a.txt", b"x\nMZ\0\1\n", "a.txt:2: not a text file: it contains a NUL"),
        ("a.bin", bytes(range(256)), "not a text file|not UTF-8"),
        ("a.txt", "x\n".encode("utf-16"), "the file is UTF-16"),
        ("a.txt", b"x\ncaf\xe9\n", "a.txt:2: not UTF-8: byte 0xe9"),
        ("a.csv", b"n,prompt\n1,a, b\n", "a.csv:2: 3 fields where the header has 2"),
        ("a.csv", b'prompt\n"never closed\n', "a.csv:2: not valid CSV"),
        ("a.parquet", b"PAR1 no", "not a Parquet file"),
        ("a.gz", gzip.compress(b"hello\n" * 99)[:-12], "the gzip file is damaged"),
    ],
)
def test_bad_logs_are_refused_with_line_and_remedy(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileError, match=message):
        read(path)


def test_missing_files_and_folders_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", Path("a\0b"), Path("/dev/null")):
        with pytest.raises(FileError):
            read(path)


# --- any text -------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n"), min_size=1)


@given(st.lists(TEXT, min_size=1))
def test_any_text_comes_back_from_json(
    tmp_path_factory: pytest.TempPathFactory, found: list[str]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    lines(path, [{"messages": [{"role": "user", "content": text}]} for text in found])
    assert texts(path) == found


@given(st.lists(LINE.filter(str.strip), min_size=1), st.sampled_from(",;\t"))
def test_any_line_comes_back_from_csv(
    tmp_path_factory: pytest.TempPathFactory, found: list[str], delimiter: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerows([("n", "prompt"), *((1, text) for text in found)])
    assert texts(path) == found


@given(
    st.binary()
    | st.text().map(str.encode)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    (
                        "messages",
                        "role",
                        "content",
                        "parts",
                        "prompt",
                        "attributes",
                        "key",
                        "value",
                        "scan_contents",
                        "guardrail_information",
                        "metadata",
                        "prompt_detected",
                    )
                )
                | st.text(),
                inner,
            )
        ),
    ).map(lambda value: json.dumps(value).encode()),
    st.sampled_from(("log", "csv", "json", "jsonl", "txt", "gz")),
)
def test_any_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, ending: str
) -> None:
    path = tmp_path_factory.getbasetemp() / f"bytes.{ending}"
    path.write_bytes(content)
    with suppress(FileError):
        assert all(text.strip() for text in texts(path))
