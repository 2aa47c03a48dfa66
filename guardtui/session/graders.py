"""Grading models of a score run: each prompt is requested once, and dead models are disabled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from guardtui.domain.errors import GuardtuiError
from guardtui.scanners.base import verdict_key
from guardtui.scorer.models import GraderModel, use_models
from guardtui.scorer.state import HasCompletion, Message, Output
from guardtui.session.caches import SqliteCache

GRADER = "grader"
"""Role of the grading models, unless a scorer names another one."""

GIVE_UP_AFTER = 10
"""Consecutive failures of a model after which it gets no more requests."""


class GraderError(GuardtuiError):
    """A model gave no answer; the message says which, why, and what to do."""


class ScoreError(GuardtuiError):
    """A scorer or metric cannot be used on these rows; the message names it and the remedy."""


class NotAskedError(GraderError):
    """A model got no request because it had failed too often."""


class KeptGrader:
    """A model with cached answers; cached and pending prompts are not requested again.

    With `fresh`, cached answers are ignored, but new ones are still stored. `generate` raises
    GraderError for every failure of the model.
    """

    def __init__(
        self, name: str, model: GraderModel, cache: SqliteCache | None, *, fresh: bool = False
    ) -> None:
        self.name = name
        self.model = model
        self.sent = 0
        self.cached = 0
        self._cache = cache
        self._fresh = fresh
        self._failures = 0
        self._coming: dict[bytes, asyncio.Task[str]] = {}
        self._renewed: set[bytes] = set()

    async def generate(self, input: str | Sequence[Message]) -> HasCompletion:  # noqa: A002
        """Return the answer to a prompt, cached or new."""
        if not isinstance(input, str):
            return Output(await self._ask(input))
        key = verdict_key(self.name, input)
        if self._cache is not None and (not self._fresh or key in self._renewed):
            cached = self._cache.find(key)
            if cached is not None:
                self.cached += 1
                return Output(cached)
        pending = self._coming.get(key)
        if pending is None:
            pending = self._coming[key] = asyncio.create_task(self._new(key, input))
            pending.add_done_callback(_retrieve_exception)
            return Output(await asyncio.shield(pending))
        answer = await asyncio.shield(pending)
        self.cached += 1
        return Output(answer)

    async def _new(self, key: bytes, prompt: str) -> str:
        """Request an answer, in a task of its own.

        If another model of a panel fails, the waiting caller is cancelled, but this answer is still
        cached.
        """
        try:
            answer = await self._ask(prompt)
            if self._cache is not None:
                self._cache.keep(key, answer)
                self._renewed.add(key)
            return answer
        finally:
            del self._coming[key]

    async def settle(self) -> None:
        """Wait for all pending requests, even if no caller waits for them any more."""
        if self._coming:
            await asyncio.wait(list(self._coming.values()))

    async def close(self) -> None:
        """Cancel all pending requests, and close the connections."""
        pending = list(self._coming.values())
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        close = getattr(self.model, "aclose", None)
        if close is not None:
            await close()

    async def _ask(self, prompt: str | Sequence[Message]) -> str:
        if self._failures >= GIVE_UP_AFTER:
            raise NotAskedError(f"{self.name} got no request: it had failed {self._failures} times")
        self.sent += 1
        try:
            reply = await self.model.generate(prompt)
            completion = reply.completion
        except Exception as error:
            self._failures += 1
            text = str(error) or type(error).__name__
            raise GraderError(text if self.name in text else f"{self.name}: {text}") from error
        if not completion.strip():
            self._failures += 1
            raise GraderError(f"{self.name} returned an empty answer: is its token limit too low?")
        self._failures = 0
        return completion


def _retrieve_exception(task: asyncio.Task[str]) -> None:
    """Retrieve the exception, so that asyncio does not warn if no caller waits for it."""
    if not task.cancelled():
        task.exception()


class Graders:
    """The models of a run by name, each created once."""

    def __init__(
        self,
        make: Callable[[str], tuple[str, GraderModel]],
        cache: Callable[[], SqliteCache] | None = None,
        *,
        fresh: bool = False,
    ) -> None:
        """Store the arguments.

        `make` returns the full name of a model and the model, or raises ValueError. `cache` is
        called when the first model is created.
        """
        self._make = make
        self._cache = cache
        self._fresh = fresh
        self._named: dict[str, KeptGrader] = {}
        self.known: dict[str, KeptGrader] = {}

    def get(self, name: str) -> KeptGrader:
        """Return the model of a name. Raises ScoreError for an invalid name."""
        if name not in self._named:
            try:
                full, model = self._make(name)
            except ValueError as error:
                raise ScoreError(str(error)) from error
            if full not in self.known:
                cache = None if self._cache is None else self._cache()
                self.known[full] = KeptGrader(full, model, cache, fresh=self._fresh)
            self._named[name] = self.known[full]
        return self._named[name]

    @contextmanager
    def used(
        self, models: Sequence[str], roles: Mapping[str, Sequence[str]] | None = None
    ) -> Iterator[None]:
        """Provide the grading models and those of other roles to scorers within this context.

        Several models of a role are a panel; the first of `models` grades for scorers without a
        role. Using a role without a model raises NoModelError. Raises ScoreError for an invalid
        name.
        """
        named = {GRADER: models, **(roles or {})}
        bound = {role: [self.get(name) for name in names] for role, names in named.items() if names}
        with use_models(
            self.get(models[0]) if models else None,
            roles={role: panel if len(panel) > 1 else panel[0] for role, panel in bound.items()},
            resolve=self.get,
            roles_required=True,
        ):
            yield

    def names_of(self, roles: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Return the full names of the models of each role."""
        return {role: [self.get(name).name for name in names] for role, names in roles.items()}

    async def settle(self) -> None:
        """Wait for all pending requests, whose answers are cached."""
        for grader in self.known.values():
            await grader.settle()

    async def close(self) -> None:
        """Cancel all pending requests, and close the connections."""
        for grader in self.known.values():
            await grader.close()

    @property
    def sent(self) -> int:
        """Number of prompts that were sent."""
        return sum(grader.sent for grader in self.known.values())

    @property
    def cached(self) -> int:
        """Number of prompts whose answer was cached or already pending."""
        return sum(grader.cached for grader in self.known.values())
