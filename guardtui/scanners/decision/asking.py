"""Questions about one text in one request: within the budget, cached, and by one model only."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from guardtui.domain.verdicts import Triggered, Verdict
from guardtui.http.decisions import Answer, Answers, Api, Question
from guardtui.http.errors import Kind, ServiceError, inert
from guardtui.http.retries import ONCE, Retries
from guardtui.scanners.base import VerdictCache, verdict_key
from guardtui.scanners.budget import Budget
from guardtui.scanners.model_address import ModelAddress
from guardtui.scanners.paid_calls import Call, paid_call

if TYPE_CHECKING:
    from guardtui.http.decision_model import DecisionModel

CHARACTERS_OF_A_TOKEN = 4
"""By which tokens are estimated before a scan; counted ones take their place."""
_OVERHEAD = 32
"""Tokens of a question besides its words, and of its answer at most."""

_DATE = r"20\d\d-?[01]\d(?:-?[0-3]\d)?|[01]\d[0-3]\d"
_VERSION = re.compile(rf"[-@:_](?:{_DATE})")
_DATED = re.compile(rf".*[-@:_](?:{_DATE})", re.DOTALL)


def is_version_of(answered: str, requested: str) -> bool:
    """Whether a model that answered is the requested one, or a dated version of it.

    `decide-1-2026-10-01` is a version of `decide-1`; `decide-10` and `decide-1-mini` are not. Of a
    name that has a date already there are no versions.
    """
    if answered == requested:
        return True
    version = answered.removeprefix(requested)
    is_one = version != answered and _VERSION.fullmatch(version) is not None
    return is_one and not is_pinned(requested)


def is_pinned(name: str) -> bool:
    """Whether a name ends in a date, so that it always means the same model."""
    return _DATED.fullmatch(name) is not None


def estimated_tokens(text: str, questions: Sequence[Question]) -> int:
    """About how many tokens a request has, at four characters each."""
    characters = len(text) + sum(len(question.whole) for question in questions)
    return characters // CHARACTERS_OF_A_TOKEN + _OVERHEAD * len(questions)


@dataclass(eq=False)
class AnswerCache:
    """Answers of one decision model that were given before, by the model that gave them.

    `answering` is the model that gave the last answer, "" before the first: an alias may mean
    another one tomorrow, and only its answers are found. Nothing is found while `fresh`.
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

    def find(self, text: str, question: Question, epoch: int = 1) -> float | None:
        """The probability that the model gave before; None without one."""
        if self.cache is None or self.fresh or not self.answering:
            return None
        known = self.cache.find(self._key(self.answering, text, question, epoch))
        return None if known is None else known.score

    def keep(
        self, model: str, text: str, question: Question, probability: float, epoch: int = 1
    ) -> None:
        """Keep an answer of a model; any end of the process keeps it."""
        if self.cache is not None:
            verdict = Verdict(Triggered(probability >= 0.5), score=probability)
            self.cache.keep(self._key(model, text, question, epoch), verdict)

    def keep_model(self, model: str) -> None:
        """Keep which model answers from now on."""
        self.answering = model
        if self.cache is not None:
            self.cache.keep(self._model_key, Verdict(Triggered.NO, model))

    def _key(self, model: str, text: str, question: Question, epoch: int) -> bytes:
        """All that an answer depends on; how many questions a request has is no part of it."""
        wording = json.dumps([question.instructions, question.yes, question.no])
        return verdict_key(
            "decision", self.address.full, self.api, model, wording, text, str(epoch)
        )


@dataclass(eq=False)
class Asking:
    """The requests of one run. All its answers are of one model, the first that answers.

    `model` is None before that.
    """

    service: DecisionModel
    budget: Budget
    cache: AnswerCache
    retries: Retries = ONCE
    model: str | None = None

    async def ask(self, text: str, questions: Sequence[Question], epoch: int = 1) -> list[Answer]:
        """An answer to each question about a text, kept as soon as it comes.

        Raises ServiceError, also for a spent budget and for an answer of another model than the
        one that was asked for.
        """

        def prepare() -> Call[Answers]:
            size = len(json.dumps(self.service.body(text, questions), ensure_ascii=False).encode(
                "utf-8", "surrogatepass"
            ))  # fmt: skip
            send = lambda: self.service.ask(text, questions)  # noqa: E731
            return Call(size, send, _OVERHEAD * len(questions))

        found = await paid_call(prepare, self.budget, self.service.limit, self.retries)
        model = found.model
        if not is_version_of(model, self.service.model):
            asked = inert(self.service.model)[:60]
            told = f"the answer is of the model {inert(model)[:60]}, not of {asked}"
            if not model:
                told = f"the answer does not name its model, which should be {asked}"
            raise ServiceError(Kind.CONTENT, told, status=200, final=True)
        if model != self.cache.answering:
            self.cache.keep_model(model)
        for question, answer in zip(questions, found.answers, strict=True):
            if answer.probability is not None:
                self.cache.keep(model, text, question, answer.probability, epoch)
        if self.model is None:
            self.model = model
        if model == self.model:
            return list(found.answers)
        # Its answers are paid for and kept: another run has them all of this model.
        problem = (
            f"the model changed during the run, from {inert(self.model)[:60]} to "
            f"{inert(model)[:60]}: scan again"
        )
        return [
            replace(answer, probability=None, problem=answer.problem or problem)
            for answer in found.answers
        ]
