"""The state of a sample, and the names of the room."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import guardtui.scorer as api
from guardtui.scorer import TaskState
from guardtui.scorer.state import Choice, Message, Output


def test_plain_texts_will_do() -> None:
    state = TaskState("out", input="in", choices=["a", "b"], metadata={"k": 1}, sample_id="s")
    assert (state.output, state.input_text, state.epoch) == (Output("out"), "in", 1)
    assert state.choices == [Choice("a", None, 0), Choice("b", None, 1)]
    assert (state.metadata, state.sample_id, state.messages) == ({"k": 1}, "s", [])


def test_the_input_of_several_messages_is_the_users_last() -> None:
    spoken = [Message("system", "s"), Message("user", "1"), Message("user", "2")]
    assert TaskState(input=[*spoken, Message("assistant", "a")]).input_text == "2"
    with pytest.raises(ValueError, match="user"):
        _ = TaskState(input=spoken[:1]).input_text


def test_public_api_is_stable() -> None:
    for name in api.__all__:
        result = getattr(api, name)
        assert result is getattr(api, name)
        assert not inspect.ismodule(result), name
    assert set(api.__all__) <= set(dir(api))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = api.no_such_name


def test_names_for_readers_and_for_type_checkers_agree() -> None:
    tree = ast.parse(Path(api.__file__).read_text("utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        (alias.name, node.module)
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == {(name, f"guardtui.scorer.{home}") for name, home in api._HOME_OF.items()}


@pytest.mark.process
def test_the_room_is_open_at_once() -> None:
    def seconds(statement: str) -> float:
        before = os.times()
        subprocess.run([sys.executable, "-c", statement], check=True)
        after = os.times()
        return sum(after[2:4]) - sum(before[2:4])  # of child processes, as user and as system

    floor = min(seconds("import pydantic") for _ in range(3))
    assert min(seconds("import guardtui.scorer") for _ in range(3)) < 3 * floor
