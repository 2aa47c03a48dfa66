"""Stories: steps that are written one after the other, and played when they are awaited."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

P = ParamSpec("P")
S = TypeVar("S", bound="Story")


class Story:
    """What a person does and sees, in order: `await person.opens(…).types(…).sees(…)`."""

    def __init__(self) -> None:
        self._steps: list[tuple[str, Callable[[], Awaitable[None]]]] = []

    def __await__(self) -> Generator[Any, None, Self]:
        return self._told().__await__()

    async def _told(self) -> Self:
        steps, self._steps = self._steps, []
        try:
            for number, (told, play) in enumerate(steps, start=1):
                try:
                    await play()
                except Exception as error:
                    error.add_note(f"step {number} of {len(steps)}: {told}\n{self.scene()}")
                    raise
        finally:
            await self.ends()
        return self

    def scene(self) -> str:
        """What is to be seen when a step fails."""
        return ""

    async def ends(self) -> None:
        """Clean up after the last step, or the one that failed."""


def step(play: Callable[Concatenate[S, P], Awaitable[None]]) -> Callable[Concatenate[S, P], S]:
    """Make a coroutine method a step: calling it tells it, awaiting the story plays it."""

    @functools.wraps(play)
    def tell(story: S, /, *arguments: P.args, **options: P.kwargs) -> S:
        said = ", ".join(
            [*map(repr, arguments), *(f"{name}={value!r}" for name, value in options.items())]
        )
        story._steps.append(
            (f"{play.__name__}({said})", lambda: play(story, *arguments, **options))
        )
        return story

    return tell
