"""What scorers read of a sample: a small state of our own, and protocols for those of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol


class HasCompletion(Protocol):
    """What a model answered."""

    @property
    def completion(self) -> str:
        """The text of the answer; empty when there is none."""


class TextState(Protocol):
    """All that the text scorers read."""

    @property
    def output(self) -> HasCompletion:
        """What the model answered."""


class ChoiceLike(Protocol):
    """One of several answers to choose from."""

    @property
    def value(self) -> str:
        """The text of this choice."""

    @property
    def correct(self) -> bool | None:
        """True when the model selected it; None when nobody has looked."""

    @property
    def original_position(self) -> int:
        """Its index before the choices were shuffled."""


class ChoiceState(TextState, Protocol):
    """What `choice` reads: the answer, and which of the choices it selected."""

    @property
    def choices(self) -> Sequence[ChoiceLike]:
        """The choices in the order they were shown."""


@dataclass(slots=True)
class Output:
    """What a model answered, as one text."""

    completion: str = ""


@dataclass(slots=True)
class Choice:
    """One of several answers; `correct` is True when the model selected it."""

    value: str
    correct: bool | None = None
    original_position: int = 0


@dataclass(slots=True)
class ToolCall:
    """A call of a tool that an assistant's message asks for."""

    function: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Message:
    """One message of a conversation; `function` and `error` are those of a tool's answer."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: list[ToolCall] = field(default_factory=list)
    function: str | None = None
    error: str | None = None
    attachments: list[Any] = field(default_factory=list)
    """Images, audio and video, in whatever form they came."""


class TaskState:
    """One sample in the middle of its evaluation.

    `output` and `input` may be plain texts; `choices` may be the texts of the choices in their
    original order. Scorers take any object that has what they read, so this class is needed only
    where there is no other state.
    """

    __slots__ = (
        "choices", "epoch", "input", "messages", "metadata", "model", "output", "sample_id",
    )  # fmt: skip

    def __init__(
        self,
        output: str | Output = "",
        *,
        input: str | Sequence[Message] = "",  # noqa: A002 - the field's name
        messages: Sequence[Message] = (),
        metadata: Mapping[str, Any] | None = None,
        choices: Sequence[str | Choice] = (),
        sample_id: str | int = 0,
        epoch: int = 1,
        model: str = "",
    ) -> None:
        self.output = Output(output) if isinstance(output, str) else output
        self.input = input if isinstance(input, str) else list(input)
        self.messages = list(messages)
        self.metadata = dict(metadata or {})
        self.choices = [
            Choice(one, original_position=place) if isinstance(one, str) else one
            for place, one in enumerate(choices)
        ]
        self.sample_id = sample_id
        self.epoch = epoch
        self.model = model

    @property
    def input_text(self) -> str:
        """The input as text: of several messages the last one of the user.

        Raises ValueError when no message is the user's.
        """
        if isinstance(self.input, str):
            return self.input
        for message in reversed(self.input):
            if message.role == "user":
                return message.text
        raise ValueError("the input of this sample holds no message of a user")
