"""Conversations in files: what chat services and inspect_ai write, and what is bad in others."""

from __future__ import annotations

from typing import Any

import pytest

from guardtui.files.chats import ChatMessage, ChatToolCall, read_chat


def test_tool_calls_of_services_and_inspect_are_read() -> None:
    call = {"id": "1", "type": "function"}
    of_services = {**call, "function": {"name": "add", "arguments": '{"a": 1}'}}
    of_inspect = {**call, "function": "add", "arguments": {"a": 1}}
    messages = read_chat(
        [
            {"role": "assistant", "content": None, "tool_calls": [of_services, of_inspect]},
            {"role": "tool", "tool_call_id": "1", "name": "add", "content": "2"},
        ]
    )
    added = ChatToolCall("add", {"a": 1})
    assert messages == (
        ChatMessage("assistant", "", tool_calls=(added, added)),
        ChatMessage("tool", "2", function="add"),
    )


def test_text_of_message_parts_is_used() -> None:
    parts = [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": "one"},
        {"type": "image_url", "image_url": {"url": "data:"}},
        {"type": "text", "text": "two"},
    ]
    (message,) = read_chat([{"role": "user", "content": parts}])
    assert (message.text, message.media) == ("one\ntwo", ("reasoning", "image_url"))


def test_roles_of_services_are_known() -> None:
    chat = [{"role": "developer", "content": "a"}, {"role": "function", "name": "f", "content": ""}]
    assert [one.role for one in read_chat(chat)] == ["system", "tool"]


@pytest.mark.parametrize(
    ("chat", "problem"),
    [
        ("hello", "this is not a list of messages"),
        ([], "it has no messages"),
        (["hello"], "message 1 is not an object"),
        ([{"content": "x"}], "message 1 has no role"),
        (
            [{"role": "user", "content": "x"}, {"role": "bot", "content": "x"}],
            "message 2 has the unknown role",
        ),
        ([{"role": "user"}], "message 1 has no content"),
        ([{"role": "user", "content": 3}], "message 1 has a content that is neither text"),
        ([{"role": "user", "content": [3]}], "message 1 has a content that is neither text"),
        ([{"role": "assistant", "content": "", "tool_calls": [{}]}], "message 1 has a tool call"),
        ([{"role": "assistant", "content": "", "tool_calls": 1}], "message 1 has tool calls that"),
    ],
)
def test_chat_errors_name_the_message(chat: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read_chat(chat)
