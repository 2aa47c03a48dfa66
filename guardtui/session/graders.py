"""Grading models as a run of scores needs them: asked once for a prompt, and no longer if dead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from guardtui.domain.errors import GuardtuiError
from guardtui.scorer.models import GraderModel, use_models
from guardtui.scorer.state import HasCompletion, Message, Output
from guardtui.session.score_cache import AnswerCache, answer_key

GRADER = "grader"
"""The role of the models that grade unless a scorer names another one."""

GIVE_UP_AFTER = 10
"""Failures of a model in a row, without an answer in between, after which it is not asked again."""


class GraderError(GuardtuiError):
    """A model gave no answer; the message says which, why, and what to do."""


class ScoreError(GuardtuiError):
    """A scorer or metric cannot be used on these rows at all; the message names it and a remedy."""


class NotAskedError(GraderError):
    """A model was not asked, since it had failed too often."""


class KeptGrader:
    """A model whose answers are kept; what is known, or being asked, is not asked again.

    With `fresh` known answers are not looked up; those that come are kept all the same. Raises
    GraderError from `generate` for every failure of the model.
    """

    def __init__(
        self, name: str, model: GraderModel, cache: AnswerCache | None, *, fresh: bool = False
    ) -> None:
        self.name = name
        self.model = model
        self.asked = 0
        self.found = 0
        self._cache = cache
        self._fresh = fresh
        self._failures = 0
        self._coming: dict[bytes, asyncio.Task[str]] = {}
        self._renewed: set[bytes] = set()

    async def generate(self, input: str | Sequence[Message]) -> HasCompletion:  # noqa: A002
        """The answer to a prompt, known or new."""
        if not isinstance(input, str):
            return Output(await self._ask(input))
        key = answer_key(self.name, input)
        if self._cache is not None and (not self._fresh or key in self._renewed):
            known = self._cache.find(key)
            if known is not None:
                self.found += 1
                return Output(known)
        coming = self._coming.get(key)
        if coming is None:
            coming = self._coming[key] = asyncio.create_task(self._new(key, input))
            coming.add_done_callback(_heard)
            return Output(await asyncio.shield(coming))
        answer = await asyncio.shield(coming)
        self.found += 1
        return Output(answer)

    async def _new(self, key: bytes, prompt: str) -> str:
        """Ask, in a task of its own.

        When another model of a panel fails, who waits for this one is cancelled, but what it will
        answer is kept.
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
        """Wait for what is being asked now, also for what nobody waits for any more."""
        if self._coming:
            await asyncio.wait(list(self._coming.values()))

    async def close(self) -> None:
        """Break off what is still being asked, and close the connections."""
        broken_off = list(self._coming.values())
        for one in broken_off:
            one.cancel()
        await asyncio.gather(*broken_off, return_exceptions=True)
        close = getattr(self.model, "aclose", None)
        if close is not None:
            await close()

    async def _ask(self, prompt: str | Sequence[Message]) -> str:
        if self._failures >= GIVE_UP_AFTER:
            raise NotAskedError(f"{self.name} was not asked: it had failed {self._failures} times")
        self.asked += 1
        try:
            reply = await self.model.generate(prompt)
            completion = reply.completion
        except Exception as error:
            self._failures += 1
            text = str(error) or type(error).__name__
            raise GraderError(text if self.name in text else f"{self.name}: {text}") from error
        if not completion.strip():
            self._failures += 1
            raise GraderError(f"{self.name} answered without a word: is its token limit too low?")
        self._failures = 0
        return completion


def _heard(task: asyncio.Task[str]) -> None:
    """That nobody waits for a failure any more is no fault of its own."""
    if not task.cancelled():
        task.exception()


class Graders:
    """The models of a run by their names, each made once."""

    def __init__(
        self,
        make: Callable[[str], tuple[str, GraderModel]],
        cache: Callable[[], AnswerCache] | None = None,
        *,
        fresh: bool = False,
    ) -> None:
        """`make` gives the full name of a model and the model, or raises ValueError.

        `cache` is called when the first model is made.
        """
        self._make = make
        self._cache = cache
        self._fresh = fresh
        self._named: dict[str, KeptGrader] = {}
        self.known: dict[str, KeptGrader] = {}

    def get(self, name: str) -> KeptGrader:
        """The model of a name. Raises ScoreError for a name that is none."""
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
        """Within this, scorers find the models that grade and those that play other roles.

        Several of a role are a panel; the first of `models` grades for scorers without a role. A
        role that nobody plays is a NoModelError. Raises ScoreError for a name that is none.
        """
        named = {GRADER: models, **(roles or {})}
        bound = {role: [self.get(name) for name in names] for role, names in named.items() if names}
        with use_models(
            self.get(models[0]) if models else None,
            roles={role: found if len(found) > 1 else found[0] for role, found in bound.items()},
            resolve=self.get,
            roles_required=True,
        ):
            yield

    def names_of(self, roles: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """The full names of the models of each role."""
        return {role: [self.get(name).name for name in names] for role, names in roles.items()}

    async def settle(self) -> None:
        """Wait for what is being asked now, also for what nobody waits for any more: it is kept."""
        for one in self.known.values():
            await one.settle()

    async def close(self) -> None:
        """Break off what is still being asked, and close the connections."""
        for one in self.known.values():
            await one.close()

    @property
    def asked(self) -> int:
        """Prompts that were sent."""
        return sum(one.asked for one in self.known.values())

    @property
    def found(self) -> int:
        """Prompts whose answer was known, or was being asked for."""
        return sum(one.found for one in self.known.values())
