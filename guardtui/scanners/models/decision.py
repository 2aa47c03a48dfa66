"""Decision models: one yes/no question about each prompt, answered by a probability."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from guardtui.domain.guardrail import DECISION, Guardrail, ScannerSettings
from guardtui.domain.operating_point import BUILT_IN
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Failure, Triggered, Verdict
from guardtui.http.decisions import Api, DecisionAnswer, DecisionModel
from guardtui.http.errors import inert
from guardtui.http.secret import Secret
from guardtui.scanners.base import VerdictCache
from guardtui.scanners.configuration import DecisionConfiguration
from guardtui.scanners.models.address import (
    ModelAddress,
    addresses_revision,
    keys_of,
)
from guardtui.scanners.models.calls import CallOptions, Sending
from guardtui.scanners.models.decision_calls import (
    DecisionCache,
    DecisionRequests,
    estimated_tokens,
    is_pinned,
)
from guardtui.scanners.models.scanner import ModelScanner
from guardtui.scanners.models.templates import DecisionTemplate

THRESHOLD = 0.5
"""Probability from which a prompt matches, unless the author set or fitted another."""


@dataclass(frozen=True)
class DecisionOptions:
    """The author's options of a decision model, from which each run creates a scanner.

    `questions` is the maximum per request; None means the limit of the format.
    """

    scanner_name: ClassVar[str] = DECISION

    model: ModelAddress
    api: Api = Api.DECISIONS
    template: DecisionTemplate = field(default_factory=DecisionTemplate.built_in)
    threshold: float = THRESHOLD
    threshold_source: str = BUILT_IN
    questions: int | None = None
    calls: CallOptions = field(default_factory=CallOptions)

    @classmethod
    def of(cls, configuration: DecisionConfiguration, model: ModelAddress) -> DecisionOptions:
        """Return the options of a configured decision model with its key. Raises TemplateError."""
        path = configuration.template
        options = cls(
            model,
            api=Api(configuration.api or Api.DECISIONS),
            template=DecisionTemplate.built_in() if path is None else DecisionTemplate.load(path),
            calls=CallOptions.of(configuration),
        )
        options.scanner()
        return options

    def at_threshold(self, threshold: float, source: str) -> DecisionOptions:
        """Return the options with another threshold, and where it is from."""
        return replace(self, threshold=threshold, threshold_source=source)

    @property
    def models(self) -> tuple[ModelAddress, ...]:
        """The model."""
        return (self.model,)

    @property
    def title(self) -> str:
        """The model in a few words; safe to show anywhere."""
        return self.model.shown

    @property
    def keys(self) -> tuple[Secret, ...]:
        """All keys that may be sent."""
        return keys_of(self.models)

    @property
    def questions_at_once(self) -> int:
        """Maximum number of questions per request."""
        return self.questions or self.api.most_questions

    def scanner(
        self, cache: VerdictCache | None = None, *, fresh: bool = False
    ) -> ModelScanner[ScoredQuestion]:
        """Create a scanner with its own budget and the current content of the template file.

        A `cache` is searched before the model is called unless `fresh`, and stores each answer at
        once, so that another threshold needs no call. Raises ScannerError for an invalid template,
        and ValueError for an invalid rate.
        """
        return ModelScanner(ScoredQuestion(self, cache, fresh=fresh), self.calls)


class ScoredQuestion:
    """Asks a decision model whether a prompt belongs to the topic; its probability is the score.

    A prompt matches from `threshold` on. Cached answers of another model version are not used.
    """

    def __init__(
        self, options: DecisionOptions, cache: VerdictCache | None = None, *, fresh: bool = False
    ) -> None:
        self.model, self.api = options.model, options.api
        self.most_at_once = options.questions_at_once
        self.template = options.template.current()
        self.threshold, self._threshold_source = options.threshold, options.threshold_source
        self.answers = DecisionCache(self.model, self.api, cache, fresh)
        """Cached answers."""

    @property
    def settings(self) -> ScannerSettings:
        name, answering = self.model.name, self.answers.answering
        guardrail = Guardrail(
            DECISION,
            models=(inert(name),),
            answered_by="" if answering == name else inert(answering),
            api="" if self.api is Api.DECISIONS else str(self.api),
            template=self.template.id,
        )
        return ScannerSettings(
            guardrail, self.threshold, self._threshold_source, addresses_revision([self.model])
        )

    def use_threshold(self, threshold: float, source: str) -> None:
        """Use another threshold from the next answer on."""
        self.threshold, self._threshold_source = threshold, source

    def find(self, topic: Topic, text: str, epoch: int) -> Verdict | None:
        known = self.answers.find(text, self.template.filled(topic), epoch)
        return None if known is None else self.verdict_of(topic, DecisionAnswer(known))

    @property
    def models(self) -> tuple[ModelAddress, ...]:
        return (self.model,)

    def estimate(
        self, topic: Topic, prompts: Sequence[str], answer_tokens: int
    ) -> tuple[float, float]:
        question = self.template.filled(topic)
        tokens = sum(estimated_tokens(text, [question]) for text in prompts)
        return tokens / max(1, len(prompts)), 1.0

    @contextlib.asynccontextmanager
    async def opened(self, sending: Sending) -> AsyncIterator[_DecisionRun]:
        async with self.requests(sending) as requests:
            yield _DecisionRun(self, requests)

    @contextlib.asynccontextmanager
    async def requests(self, sending: Sending) -> AsyncIterator[DecisionRequests]:
        """Open the connections of one run for requests to the service."""
        async with sending.client(self.model, self.api.path) as client:
            service = DecisionModel(client, self.model.name, self.api)
            yield DecisionRequests(service, sending, self.answers)

    def verdict_of(self, topic: Topic, answer: DecisionAnswer) -> Verdict:
        """Return the verdict by an answer at the threshold."""
        score = answer.probability
        if score is None:
            failure = None if answer.refused else Failure.FAILED
            return Verdict(Triggered.NO_VERDICT, problem=answer.problem, failure=failure)
        belongs = bool(np.float32(score) >= np.float32(self.threshold))
        return Verdict(Triggered(belongs == (topic.intent is Intent.BLOCK)), score=score)


class _DecisionRun:
    """The questions of one run."""

    def __init__(self, asked: ScoredQuestion, requests: DecisionRequests) -> None:
        self._asked, self._requests = asked, requests

    def probes(self, topic: Topic, texts: Sequence[str], epoch: int) -> Iterator[str]:
        """Yield texts without a cached answer until the answer to one says which model answers.

        Nothing if the name determines the model, or if all or no answers are cached.
        """
        if is_pinned(self._asked.model.name):
            return
        unknown = [text for text in texts if self._asked.find(topic, text, epoch) is None]
        if len(unknown) == len(texts):
            return
        for text in unknown:
            if self._requests.model is not None:
                return
            yield text

    async def verdict(self, topic: Topic, text: str, epoch: int) -> Verdict:
        (verdict,) = await self.verdicts([topic], text, epoch)
        return verdict

    async def verdicts(self, topics: Sequence[Topic], text: str, epoch: int) -> list[Verdict]:
        asked = self._asked
        questions = [asked.template.filled(topic) for topic in topics]
        answers = await self._requests.ask(text, questions, epoch)
        return [
            asked.verdict_of(topic, answer) for topic, answer in zip(topics, answers, strict=True)
        ]
