"""Chat completions: what is asked, what is read of answers, and whose key goes where."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.http.address import AddressError
from guardtui.http.client import model_client
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.openai import (
    PATH,
    ChatCompletion,
    ChatModel,
    TokenUsage,
    parse_model,
    read_completion,
)
from guardtui.http.secret import Secret
from guardtui.scorer.models import GraderModel
from guardtui.scorer.state import Message, ToolCall
from tests.http.server import Server, Step, answer
from tests.http.times import JumpClock


def said(content: object, **more: Any) -> dict[str, Any]:
    finish = more.pop("finish_reason", "stop")
    message = {"role": "assistant", "content": content, **more}
    return {
        "id": "chatcmpl-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }


async def asked(prompt: Any, step: Step | None = None) -> tuple[ChatCompletion, Any]:
    async with (
        Server(step or answer(said("yes"))) as server,
        model_client(f"{server.url}/v1", PATH, Secret("sk-1"), clock=JumpClock()) as client,
    ):
        completion = await ChatModel(client, "my-model").generate(prompt)
        (request,) = server.received
        assert request.target == "/v1/chat/completions"
        assert request.headers["authorization"] == "Bearer sk-1"
        return completion, request.json


async def test_prompt_is_answered() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    completion, request = await asked("Is it?", answer(said("yes") | {"usage": usage}))
    assert completion == ChatCompletion("yes", TokenUsage(3, 1), "chatcmpl-1", "stop")
    assert request == {"model": "my-model", "messages": [{"role": "user", "content": "Is it?"}]}


async def test_model_grades_as_a_grader() -> None:
    grader: GraderModel = ChatModel(model_client("https://host.example/v1", PATH), "m")
    assert isinstance(grader, GraderModel)


async def test_messages_are_converted_to_the_protocol() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    _, request = await asked(
        [
            Message("system", "Be brief."),
            Message("user", "Look", attachments=[picture]),
            Message("assistant", "", tool_calls=[ToolCall("zoom", {"x": 2})]),
            Message("tool", "a cat", function="zoom"),
            Message("tool", "", function="zoom", error="no lens"),
            SimpleNamespace(role="user", text="So?"),
        ],
    )
    assert request["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Look"}, picture]},
        {"role": "assistant", "content": 'zoom({"x": 2})'},
        {"role": "user", "content": "Answer of zoom:\na cat"},
        {"role": "user", "content": "Answer of zoom:\nno lens"},
        {"role": "user", "content": "So?"},
    ]


async def test_unsupported_attachment_is_reported() -> None:
    model = ChatModel(model_client("https://host.example/v1", PATH), "m")
    with pytest.raises(ServiceError, match="attachment") as caught:
        await model.generate([Message("user", "Look", attachments=[object()])])
    assert (caught.value.kind, caught.value.final, caught.value.attempts) == (
        ErrorKind.REQUEST,
        True,
        0,
    )


async def test_options_of_a_call_are_sent_to_a_url_with_path_and_query() -> None:
    async with Server(answer(said("yes"))) as server:
        url = f"{server.url}/v1/chat/completions/?api-version=2"
        async with model_client(url, PATH) as client:
            model = ChatModel(client, "m")
            await model.complete([{"role": "user", "content": "x"}], temperature=1, max_tokens=5)
        (request,) = server.received
    assert request.target == "/v1/chat/completions?api-version=2"
    assert "authorization" not in request.headers
    messages = [{"role": "user", "content": "x"}]
    sent = {"model": "m", "messages": messages, "temperature": 1, "max_tokens": 5}
    assert request.json == sent


@pytest.mark.parametrize(
    ("data", "completion"),
    [
        (said("text"), ChatCompletion("text", id="chatcmpl-1", finish="stop")),
        (said(""), ChatCompletion("", id="chatcmpl-1", finish="stop")),
        (said(None), ChatCompletion("", id="chatcmpl-1", finish="stop")),
        (
            said(
                [
                    {"type": "text", "text": "a"},
                    "b",
                    {"type": "reasoning", "text": "no"},
                    {"type": "output_text", "text": 1},
                    7,
                ]
            ),
            ChatCompletion("ab", id="chatcmpl-1", finish="stop"),
        ),
        (
            said([{"type": "refusal", "refusal": "I can't"}]),
            ChatCompletion("", id="chatcmpl-1", finish="stop", refusal="I can't"),
        ),
        (
            said(None, refusal="No."),
            ChatCompletion("", id="chatcmpl-1", finish="stop", refusal="No."),
        ),
        (
            said("cut", finish_reason="length"),
            ChatCompletion("cut", id="chatcmpl-1", finish="length"),
        ),
        ({"choices": [{"message": {}}]}, ChatCompletion("")),
        (
            {"error": None, "choices": [{"message": {"content": "x"}, "finish_reason": None}]},
            ChatCompletion("x"),
        ),
        (
            said("x")
            | {
                "id": 7,
                "usage": {"prompt_tokens": "many", "completion_tokens": True, "total_tokens": -1},
            },
            ChatCompletion("x", finish="stop"),
        ),
        (said("x") | {"usage": None}, ChatCompletion("x", id="chatcmpl-1", finish="stop")),
    ],
)
def test_response_with_missing_fields_is_read(data: object, completion: ChatCompletion) -> None:
    read = read_completion(data)
    assert read == completion
    assert read.cut_off == (completion.finish == "length")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (None, "not a JSON object"),
        ([], "not a JSON object"),
        ("yes", "not a JSON object"),
        ({}, "no choices"),
        ({"choices": []}, "no choices"),
        ({"choices": "x"}, "no choices"),
        ({"choices": [None]}, "no choices"),
        ({"choices": [{"text": "old"}]}, "no message"),
        ({"choices": [{"message": {"content": 5}}]}, "not text"),
    ],
)
def test_invalid_response_is_an_error(data: object, problem: str) -> None:
    with pytest.raises(ServiceError, match=problem) as caught:
        read_completion(data)
    assert (caught.value.kind, caught.value.final) == (ErrorKind.CONTENT, True)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "choices",
                        "message",
                        "content",
                        "type",
                        "text",
                        "error",
                        "usage",
                        "refusal",
                        "code",
                    ]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=20,
    )
)
def test_any_response_is_read_or_rejected(data: object) -> None:
    for one in (
        data,
        {"choices": data},
        {"choices": [{"message": data}]},
        {"choices": [{"message": {"content": data}}]},
    ):
        with contextlib.suppress(ServiceError):
            assert isinstance(read_completion(one).completion, str)


@pytest.mark.parametrize(
    ("step", "kind", "message"),
    [
        (
            answer({"error": {"message": "No such model", "code": "model_not_found"}}, 404),
            ErrorKind.REQUEST,
            "HTTP 404: No such model",
        ),
        (
            answer({"error": "model 'x' not found"}, 404),
            ErrorKind.REQUEST,
            "HTTP 404: model 'x' not found",
        ),
        (
            answer({"error": {"message": "upstream is down", "code": 502}}),
            ErrorKind.SERVER,
            "upstream is down",
        ),
        (answer({"error": {"message": "slow", "code": 429}}), ErrorKind.LIMITED, "slow"),
        (answer({"error": "odd"}), ErrorKind.SERVER, "odd"),
        (
            answer({"error": {"message": "bad key sk-1"}}, 401),
            ErrorKind.CREDENTIALS,
            "HTTP 401: bad key •••",
        ),
    ],
)
async def test_errors_contain_the_message_of_the_service(
    step: Step, kind: ErrorKind, message: str
) -> None:
    with pytest.raises(ServiceError) as caught:
        await asked("x", step)
    assert (caught.value.kind, caught.value.message) == (kind, message)


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("https://host.example/v1#my/model:7b", ("https://host.example/v1", "my/model:7b")),
        (" http://localhost:11434/v1/ # llama3 ", ("http://localhost:11434/v1", "llama3")),
        ("host.example#a#b", ("https://host.example", "a#b")),
        ("https://host.example/v1?api-version=1#m", ("https://host.example/v1?api-version=1", "m")),
    ],
)
def test_model_is_named_by_url_and_name(text: str, pair: tuple[str, str]) -> None:
    assert parse_model(text) == pair


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("https://host.example/v1", "URL#name"),
        ("https://host.example/v1#", "URL#name"),
        ("#model", "no URL"),
        ("", "URL#name"),
        ("https://host.example#a\x1b", "not a model name"),
        ("http://host.example#m", "unencrypted"),
        ("https://me:hunter2@host.example#m", "user or password"),
        ("https://me:hunter2@host.example", "URL#name"),
        ("ftp://host.example#m", "https"),
    ],
)
def test_text_without_a_model_is_rejected(text: str, problem: str) -> None:
    with pytest.raises(AddressError, match=problem) as caught:
        parse_model(text)
    assert "hunter2" not in str(caught.value)
    assert str(caught.value).isprintable()


def test_plain_http_to_a_model_needs_permission() -> None:
    assert parse_model("http://host.example#m", allow_http=True)[0] == "http://host.example"
    with pytest.raises(AddressError):
        model_client("http://host.example", PATH)
    model_client("http://host.example", PATH, allow_http=True)
