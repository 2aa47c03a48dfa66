"""Grading models as a run of scores needs them: asked once for a prompt, and no longer if dead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from guardtui.scorer.models import GraderModel
from guardtui.scorer.state import HasCompletion, Message, Output
from guardtui.session.score_cache import AnswerCache, answer_key

GIVE_UP_AFTER = 10
"""Failures of a model in a row, without an answer in between, after which it is not asked again."""


class GraderError(Exception):
    """A model gave no answer; the message says which, why, and what to do."""


class ScoreError(Exception):
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
        self._coming: dict[bytes, asyncio.Future[str]] = {}
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
        while key in self._coming:
            try:
                answer = await asyncio.shield(self._coming[key])
            except asyncio.CancelledError:
                # Who asked was broken off; if that is not we ourselves, it is our turn.
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                continue
            self.found += 1
            return Output(answer)
        return Output(await self._new(key, input))

    async def _new(self, key: bytes, prompt: str) -> str:
        coming: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._coming[key] = coming
        try:
            answer = await self._ask(prompt)
        except BaseException as error:
            del self._coming[key]
            if isinstance(error, Exception):
                coming.set_exception(error)
                coming.exception()  # that nobody else waits for it is no fault
            else:
                coming.cancel()
            raise
        if self._cache is not None:
            self._cache.keep(key, answer)
            self._renewed.add(key)
        del self._coming[key]
        coming.set_result(answer)
        return answer

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

    async def close(self) -> None:
        """Close the connections of those models that have any."""
        for one in self.known.values():
            close = getattr(one.model, "aclose", None)
            if close is not None:
                await close()

    @property
    def asked(self) -> int:
        """Prompts that were sent."""
        return sum(one.asked for one in self.known.values())

    @property
    def found(self) -> int:
        """Prompts whose answer was known, or was being asked for."""
        return sum(one.found for one in self.known.values())
