"""State of a sample as read by scorers: a small class, and protocols for other classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol


class HasCompletion(Protocol):
    """The response of a model."""

    @property
    def completion(self) -> str:
        """The text of the response; may be empty."""


class TextState(Protocol):
    """The part of a state that the text scorers read."""

    @property
    def output(self) -> HasCompletion:
        """The response of the model."""


class ChoiceLike(Protocol):
    """One of several choices."""

    @property
    def value(self) -> str:
        """The text of this choice."""

    @property
    def correct(self) -> bool | None:
        """True if the model selected it; None if not evaluated."""

    @property
    def original_position(self) -> int:
        """Its index before the choices were shuffled."""


class ChoiceState(TextState, Protocol):
    """The part of a state that `choice` reads: the response and the selected choices."""

    @property
    def choices(self) -> Sequence[ChoiceLike]:
        """The choices in display order."""


@dataclass(slots=True)
class Output:
    """The response of a model, as one text."""

    completion: str = ""


@dataclass(slots=True)
class Choice:
    """One of several choices; `correct` is True if the model selected it."""

    value: str
    correct: bool | None = None
    original_position: int = 0


@dataclass(slots=True)
class ToolCall:
    """A tool call in an assistant's message."""

    function: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Message:
    """One message of a conversation; `function` and `error` belong to the result of a tool."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    tool_calls: list[ToolCall] = field(default_factory=list)
    function: str | None = None
    error: str | None = None
    attachments: list[Any] = field(default_factory=list)
    """Images, audio and video, in their original form."""


class TaskState:
    """One sample during its evaluation.

    `output` and `input` may be plain texts; `choices` may be the texts of the choices in their
    original order. Scorers accept any object with the attributes they read, so this class is needed
    only without another state class.
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
            Choice(option, original_position=index) if isinstance(option, str) else option
            for index, option in enumerate(choices)
        ]
        self.sample_id = sample_id
        self.epoch = epoch
        self.model = model

    @property
    def input_text(self) -> str:
        """The input as text; of several messages the last one of the user.

        Raises ValueError if no message is the user's.
        """
        if isinstance(self.input, str):
            return self.input
        for message in reversed(self.input):
            if message.role == "user":
                return message.text
        raise ValueError("the input of this sample holds no message of a user")
