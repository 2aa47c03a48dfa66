"""Requests with questions about one text: within the budget, cached, and of one model only."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from guardtui.domain.verdicts import Triggered, Verdict
from guardtui.http.decisions import (
    Api,
    DecisionAnswer,
    DecisionModel,
    DecisionQuestion,
    DecisionReply,
)
from guardtui.http.errors import ErrorKind, ServiceError, inert
from guardtui.scanners.base import VerdictCache, verdict_key
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.calls import PaidCall, Sending

CHARACTERS_OF_A_TOKEN = 4
"""For estimates before a scan; reported counts replace them."""
_OVERHEAD = 32
"""Maximum tokens of a question besides its words, and of its answer."""

_DATE = r"20\d\d-?[01]\d(?:-?[0-3]\d)?|[01]\d[0-3]\d"
_VERSION = re.compile(rf"[-@:_](?:{_DATE})")
_DATED = re.compile(rf".*[-@:_](?:{_DATE})", re.DOTALL)


def is_version_of(answered: str, requested: str) -> bool:
    """Return whether the answering model is the requested one, or a dated version of it.

    `decide-1-2026-10-01` is a version of `decide-1`; `decide-10` and `decide-1-mini` are not. A
    name with a date has no versions.
    """
    if answered == requested:
        return True
    version = answered.removeprefix(requested)
    is_dated = version != answered and _VERSION.fullmatch(version) is not None
    return is_dated and not is_pinned(requested)


def is_pinned(name: str) -> bool:
    """Return whether a name ends in a date, so that it always means the same model."""
    return _DATED.fullmatch(name) is not None


def estimated_tokens(text: str, questions: Sequence[DecisionQuestion]) -> int:
    """Estimate the tokens of a request, at four characters each."""
    characters = len(text) + sum(len(question.whole) for question in questions)
    return characters // CHARACTERS_OF_A_TOKEN + _OVERHEAD * len(questions)


@dataclass(eq=False)
class DecisionCache:
    """Cached answers of one decision model, by the model version that gave them.

    `answering` is the version that gave the last answer, "" before the first. Only its answers are
    found, because an alias may refer to another version later. If `fresh`, nothing is found.
    """

    address: ModelAddress
    api: Api
    cache: VerdictCache | None = None
    fresh: bool = False

    def __post_init__(self) -> None:
        known = None if self.cache is None else self.cache.find(self._model_key)
        self.answering = known.note if known is not None else ""

    @property
    def _model_key(self) -> bytes:
        return verdict_key("decision model", self.address.full, self.api)

    def find(self, text: str, question: DecisionQuestion, epoch: int = 1) -> float | None:
        """Return a cached probability, or None."""
        if self.cache is None or self.fresh or not self.answering:
            return None
        known = self.cache.find(self._key(self.answering, text, question, epoch))
        return None if known is None else known.score

    def keep(
        self, model: str, text: str, question: DecisionQuestion, probability: float, epoch: int = 1
    ) -> None:
        """Store an answer of a model, durably at once."""
        if self.cache is not None:
            verdict = Verdict(Triggered(probability >= 0.5), score=probability)
            self.cache.keep(self._key(model, text, question, epoch), verdict)

    def keep_model(self, model: str) -> None:
        """Store which model answers from now on."""
        self.answering = model
        if self.cache is not None:
            self.cache.keep(self._model_key, Verdict(Triggered.NO, model))

    def _key(self, model: str, text: str, question: DecisionQuestion, epoch: int) -> bytes:
        """Return the cache key of an answer; it does not depend on other questions of a request."""
        wording = json.dumps([question.instructions, question.yes, question.no])
        return verdict_key(
            "decision", self.address.full, self.api, model, wording, text, str(epoch)
        )


@dataclass(eq=False)
class DecisionRequests:
    """The requests of one run, whose answers are all of one model, the first that answers.

    `model` is None before the first answer.
    """

    service: DecisionModel
    sending: Sending
    cache: DecisionCache
    model: str | None = None

    async def ask(
        self, text: str, questions: Sequence[DecisionQuestion], epoch: int = 1
    ) -> list[DecisionAnswer]:
        """Return an answer to each question about a text; answers are cached at once.

        Raises ServiceError, also for a spent budget and for an answer of another model than the
        requested one.
        """

        def prepare() -> PaidCall[DecisionReply]:
            size = len(json.dumps(self.service.body(text, questions), ensure_ascii=False).encode(
                "utf-8", "surrogatepass"
            ))  # fmt: skip
            send = lambda: self.service.ask(text, questions)  # noqa: E731
            return PaidCall(size, send, _OVERHEAD * len(questions))

        reply = await self.sending.pay(prepare)
        model = reply.model
        if not is_version_of(model, self.service.model):
            requested = inert(self.service.model, characters=60)
            problem = (
                f"the answer is of the model {inert(model, characters=60)}, not of {requested}"
            )
            if not model:
                problem = f"the answer does not name its model, which should be {requested}"
            raise ServiceError(ErrorKind.CONTENT, problem, status=200, final=True)
        if model != self.cache.answering:
            self.cache.keep_model(model)
        for question, answer in zip(questions, reply.answers, strict=True):
            if answer.probability is not None:
                self.cache.keep(model, text, question, answer.probability, epoch)
        if self.model is None:
            self.model = model
        if model == self.model:
            return list(reply.answers)
        # These answers are paid for and cached: another run uses this model for all.
        problem = (
            f"the model changed during the run, from {inert(self.model, characters=60)} to "
            f"{inert(model, characters=60)}: scan again"
        )
        return [
            replace(answer, probability=None, problem=answer.problem or problem)
            for answer in reply.answers
        ]
