"""`guardtui score` with history: what a grader is sent of a conversation, from tables and logs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import Run
from .grading_server import GradingServer, grading_server, said

SCORER = "model_graded_qa(include_history={}, template='Q=[{{question}}]{{answer:.0}}')"
HISTORY, QUESTION = SCORER.format(True), SCORER.format(False)

CHAT = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "What is 2+2?"},
    {"role": "assistant", "content": "4"},
    {"role": "user", "content": "And 3+3?"},
]
TOLD = "What is 2+2?\n\nAssistant: 4\n\nUser: And 3+3?\n\nAssistant: 6"


@pytest.fixture
def server() -> Iterator[GradingServer]:
    with grading_server(lambda _, __: said("GRADE: C")) as running:
        yield running


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GUARDTUI_CACHE", str(tmp_path / "cache"))


def prompts_of(
    server: GradingServer,
    score: Run,
    name: str,
    content: str,
    scorer: str = HISTORY,
) -> list[str]:
    """The questions that the grader was sent for the rows of a file."""
    Path(name).write_text(content, "utf-8")
    words = (name, "--scorer", scorer, "--model", f"{server.url}#m", "--concurrency", "1")
    code, _, err = score(*words)
    assert (code, err) == (0, "")
    return [prompt.removeprefix("Q=[").removesuffix("]") for prompt in server.prompts]


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def table(column: str, chat: object) -> str:
    """A CSV of one row with a conversation in a column."""
    cell = json.dumps(chat).replace('"', '""')
    if column == "input":
        return f'input,target,output\n"{cell}",6,6\n'
    return f'input,target,output,{column}\nAnd 3+3?,6,6,"{cell}"\n'


def test_without_messages_the_input_and_the_output_are_the_conversation(
    server: GradingServer, score: Run
) -> None:
    result = prompts_of(server, score, "o.csv", "input,target,output\nWhat is 2+2?,4,4\n")
    assert result == ["What is 2+2?\n\nAssistant: 4"]


@pytest.mark.parametrize("column", ["messages", "input"])
def test_conversations_in_csv_are_sent(column: str, server: GradingServer, score: Run) -> None:
    assert prompts_of(server, score, "o.csv", table(column, CHAT)) == [TOLD]


@pytest.mark.parametrize("column", ["messages", "input"])
def test_conversations_in_json_lines_are_sent(
    column: str, server: GradingServer, score: Run
) -> None:
    row = {"input": "And 3+3?", "target": "6", "output": "6"} | {column: CHAT}
    assert prompts_of(server, score, "o.jsonl", lines(row)) == [TOLD]


def test_an_output_that_ends_the_messages_is_not_repeated(
    server: GradingServer, score: Run
) -> None:
    chat = [*CHAT, {"role": "assistant", "content": "6"}]
    row = {"input": "And 3+3?", "target": "6", "output": "6", "messages": chat}
    assert prompts_of(server, score, "o.jsonl", lines(row)) == [TOLD]


def test_without_history_the_question_is_the_last_message_of_the_user(
    server: GradingServer, score: Run
) -> None:
    row = {"input": CHAT, "target": "6", "output": "6"}
    assert prompts_of(server, score, "o.jsonl", lines(row), QUESTION) == ["And 3+3?"]


def log_of(*samples: dict[str, Any]) -> str:
    head = {"version": 2, "status": "success", "eval": {"task": "demo"}}
    known = {"epoch": 1, "target": "6", "metadata": {}}
    return json.dumps({**head, "samples": [known | sample for sample in samples]})


ANSWER = {"role": "assistant", "content": "attachment://aa"}


def test_the_messages_of_a_log_are_sent(server: GradingServer, score: Run) -> None:
    call = {"id": "1", "function": "add", "arguments": {"a": 3, "b": 3}, "type": "function"}
    chat = [
        *CHAT,
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "6", "function": "add", "tool_call_id": "1",
         "error": {"type": "timeout", "message": "slow "}},
        ANSWER,
    ]  # fmt: skip
    sample = {
        "id": 1, "input": CHAT, "messages": chat, "attachments": {"aa": "It is 6"},
        "output": {"choices": [{"message": ANSWER}], "completion": ""},
    }  # fmt: skip
    (found,) = prompts_of(server, score, "log.json", log_of(sample))
    assert found == (
        "What is 2+2?\n\nAssistant: 4\n\nUser: And 3+3?\n\nAssistant: add(a=3, b=3)\n\n"
        "Tool (add): slow 6\n\nAssistant: It is 6"
    )


def test_the_question_of_a_log_is_the_last_message_of_the_user(
    server: GradingServer, score: Run
) -> None:
    sample = {"id": 1, "input": CHAT, "messages": CHAT, "output": {"completion": "6"}}
    assert prompts_of(server, score, "log.json", log_of(sample), QUESTION) == ["And 3+3?"]
