"""Judges: each prompt is sent once per language model, and several models vote."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from guardtui.domain.guardrail import JUDGE, Guardrail, ScannerSettings
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Failure, Triggered, Verdict
from guardtui.http.errors import ServiceError, inert
from guardtui.http.model_keys import origin_of
from guardtui.http.openai import PATH, ChatModel
from guardtui.http.secret import Secret
from guardtui.scanners.base import ScannerError, VerdictCache, verdict_key
from guardtui.scanners.configuration import JudgeConfiguration
from guardtui.scanners.models.address import (
    ModelAddress,
    addresses_revision,
    keys_of,
)
from guardtui.scanners.models.budget import CallBudget
from guardtui.scanners.models.calls import CallOptions, Sending
from guardtui.scanners.models.judge_answers import AnswerForm
from guardtui.scanners.models.judge_calls import Dialect, JudgeCalls, first_dialect
from guardtui.scanners.models.scanner import ModelScanner
from guardtui.scanners.models.templates import JudgeTemplate
from guardtui.scanners.remote import without_verdict

_BYTES_PER_TOKEN = 4
"""For English text; other languages have fewer characters per token, but more bytes each."""
_MARKS_TOKENS = 16
"""Tokens of a call besides its texts: roles, separators of messages."""
_USUAL_ANSWER_TOKENS = 60
"""A reason in two sentences and the line with the answer."""
_SAMPLED = 200


@dataclass(frozen=True)
class JudgeOptions:
    """The author's options of a judge, from which each run creates a scanner.

    `template` is the wording of the question, `form` reads the answer, `options` are sent with
    every call (temperature is 0 unless they set it).
    """

    scanner_name: ClassVar[str] = JUDGE

    models: tuple[ModelAddress, ...]
    template: JudgeTemplate = field(default_factory=JudgeTemplate.built_in)
    form: AnswerForm = field(default_factory=lambda: AnswerForm.parse("answer"))
    options: Mapping[str, Any] = field(default_factory=dict)
    calls: CallOptions = field(default_factory=CallOptions)

    @classmethod
    def of(cls, configuration: JudgeConfiguration, models: Sequence[ModelAddress]) -> JudgeOptions:
        """Return the options of a configured judge, its models with their keys.

        Raises TemplateError, FormError, and OptionError for an option that cannot be sent.
        """
        path = configuration.template
        options = cls(
            tuple(models),
            template=JudgeTemplate.built_in() if path is None else JudgeTemplate.load(path),
            form=AnswerForm.parse(configuration.form or "answer"),
            options=configuration.model_option,
            calls=CallOptions.of(configuration),
        )
        options.scanner()
        return options

    @property
    def title(self) -> str:
        """The models in a few words; safe to show anywhere."""
        first = self.models[0].shown
        more = len(self.models) - 1
        return f"{first} and {more} more" if more else first

    @property
    def keys(self) -> tuple[Secret, ...]:
        """All keys that may be sent."""
        return keys_of(self.models)

    @property
    def key_variables(self) -> dict[str, str]:
        """The environment variable with the key of each address; "" without a key."""
        return {origin_of(model.url): model.key_variable for model in self.models}

    @property
    def name(self) -> str:
        """Name of the first model at its service; not inert."""
        return self.models[0].name

    @property
    def identity(self) -> str:
        """The first model and the options that `complete` sends. May hold a secret."""
        return json.dumps([self.models[0].full, dict(self.options)], sort_keys=True)

    async def complete(self, messages: Sequence[Mapping[str, Any]], budget: CallBudget) -> str:
        """Return the text that the first model answers to messages. Raises ServiceError."""
        sending = replace(self.calls, concurrency=1, rate=None, timeout=300.0).sending(budget)
        async with sending.client(self.models[0], PATH) as client:
            chat = ChatModel(client, self.name)
            dialect = Dialect(dict(self.options), frozenset(self.options))
            return (await JudgeCalls(chat, dialect, sending).complete(messages)).completion

    def scanner(
        self, cache: VerdictCache | None = None, *, fresh: bool = False
    ) -> ModelScanner[JudgePanel]:
        """Create a scanner with its own budget and the current content of the template file.

        A `cache` is searched before a model is called unless `fresh`, and stores each answer at
        once. Raises ScannerError without a model, or for an invalid template or option, and
        ValueError for an invalid rate.
        """
        return ModelScanner(JudgePanel(self, cache, fresh=fresh), self.calls)


class JudgePanel:
    """Asks models whether a prompt belongs to the topic; a majority of more than half decides.

    The models are called concurrently; without a majority, as after a tie or unreadable answers,
    the prompt gets no verdict. Raises ScannerError without a model or for an invalid option.
    """

    most_at_once = 1

    def __init__(
        self, options: JudgeOptions, cache: VerdictCache | None = None, *, fresh: bool = False
    ) -> None:
        if not options.models:
            raise ScannerError(
                "the judge needs a model: write URL#name, such as http://localhost:11434/v1#m"
            )
        self.models = tuple(dict.fromkeys(options.models))
        self.template = options.template.current()
        self._form, self._options = options.form, dict(options.options)
        self._answer_tokens = options.calls.answer_tokens
        self._cache, self._fresh = cache, fresh
        # The options that a server accepts are learnt once, not in every scan.
        self._dialects = {model: first_dialect(self._form, self._options) for model in self.models}

    @property
    def settings(self) -> ScannerSettings:
        options = inert(json.dumps(self._options, sort_keys=True)) if self._options else ""
        guardrail = Guardrail(
            JUDGE,
            models=tuple(inert(model.name) for model in self.models),
            template=self.template.id,
            form="" if self._form.spec == "answer" else inert(self._form.spec),
            options=options,
        )
        return ScannerSettings(guardrail, revision=addresses_revision(self.models))

    def find(self, topic: Topic, text: str, epoch: int) -> Verdict | None:
        votes: list[Verdict] = []
        for model in self.models:
            cached = self._cached(model, topic, text, epoch)
            if cached is None:
                return None
            votes.append(cached)
        return self.decided(topic, votes)

    def estimate(
        self, topic: Topic, prompts: Sequence[str], answer_tokens: int
    ) -> tuple[float, float]:
        sample = prompts[:: max(1, len(prompts) // _SAMPLED)]
        sizes = [
            len(message["content"].encode("utf-8", "surrogatepass"))
            for prompt in sample
            for message in self.template.filled(topic, prompt)
        ]
        read = sum(sizes) / max(1, len(sample)) / _BYTES_PER_TOKEN + _MARKS_TOKENS
        return read, min(_USUAL_ANSWER_TOKENS, answer_tokens)

    @contextlib.asynccontextmanager
    async def opened(self, sending: Sending) -> AsyncIterator[_JudgeRun]:
        async with contextlib.AsyncExitStack() as opened:
            calls = {}
            for model in self.models:
                client = await opened.enter_async_context(sending.client(model, PATH))
                chat = ChatModel(client, model.name)
                calls[model] = JudgeCalls(chat, self._dialects[model], sending)
            yield _JudgeRun(self, calls)

    async def vote(
        self, calls: JudgeCalls, model: ModelAddress, topic: Topic, text: str, epoch: int
    ) -> Verdict:
        """Return the vote of one model, cached or new: YES if the prompt belongs to the topic.

        Raises ServiceError.
        """
        cached = self._cached(model, topic, text, epoch)
        if cached is not None:
            return cached
        answer = await calls.ask(topic, text, self.template, self._form)
        if answer.belongs is None:
            return Verdict(
                Triggered.NO_VERDICT,
                reason=answer.reason,
                problem=answer.problem,
                failure=Failure.FAILED,
            )
        vote = Verdict(Triggered(answer.belongs), reason=answer.reason)
        if self._cache is not None:
            # Cached here and not by the reader of the results: a cancelled run must not lose it.
            self._cache.keep(self._key(model, topic, text, epoch), vote)
        return vote

    def decided(self, topic: Topic, votes: Sequence[Verdict]) -> Verdict:
        """Return the joint verdict of all models on a prompt."""
        reasons = []
        for vote in votes:
            word = ("yes" if vote.triggered else "no") if vote.decided else vote.problem
            reasons.append(f"{word}: {vote.reason}" if vote.reason else word)
        if len(votes) > 1:
            named = zip(self.models, reasons, strict=True)
            reasons = [f"{model.name}: {reason}" for model, reason in named]
        reason = "\n".join(reasons)
        decided = [vote for vote in votes if vote.decided]
        yes = sum(vote.triggered is Triggered.YES for vote in decided)
        for belongs, count in ((True, yes), (False, len(decided) - yes)):
            if 2 * count > len(votes):
                triggered = Triggered(belongs == (topic.intent is Intent.BLOCK))
                note = "" if count == len(votes) else f"{count} of {len(votes)} models"
                return Verdict(triggered, note, reason=reason)
        failed = [vote for vote in votes if not vote.decided]
        problem = f"no majority of {len(votes)} models: {yes} yes, {len(decided) - yes} no"
        if len(votes) == 1:
            problem = failed[0].problem
        elif failed:
            problem += f", {len(failed)} without an answer ({failed[0].problem})"
        return Verdict(
            Triggered.NO_VERDICT,
            reason=reason,
            problem=problem,
            failure=Failure.FAILED if failed else None,
        )

    def _cached(self, model: ModelAddress, topic: Topic, text: str, epoch: int) -> Verdict | None:
        if self._cache is None or self._fresh:
            return None
        return self._cache.find(self._key(model, topic, text, epoch))

    def _key(self, model: ModelAddress, topic: Topic, text: str, epoch: int) -> bytes:
        """Return the cache key of an answer; it does not depend on the intent."""
        return verdict_key(
            "judge",
            model.full,
            self.template.text,
            self._form.spec,
            json.dumps([self._options, self._answer_tokens], sort_keys=True),
            json.dumps([topic.name, topic.description, *topic.examples]),
            text,
            str(epoch),
        )


class _JudgeRun:
    """The questions of one run to all models of a panel."""

    def __init__(self, panel: JudgePanel, calls: Mapping[ModelAddress, JudgeCalls]) -> None:
        self._panel, self._calls = panel, calls

    def probes(self, topic: Topic, texts: Sequence[str], epoch: int) -> tuple[str, ...]:
        """Return nothing: the key of a cached answer says which model gave it."""
        return ()

    async def verdict(self, topic: Topic, text: str, epoch: int) -> Verdict:
        panel = self._panel
        votes = await _all_of(
            [panel.vote(calls, model, topic, text, epoch) for model, calls in self._calls.items()]
        )
        return panel.decided(topic, votes)

    async def verdicts(self, topics: Sequence[Topic], text: str, epoch: int) -> list[Verdict]:
        return [await self.verdict(topic, text, epoch) for topic in topics]


async def _all_of(votes: Sequence[Any]) -> list[Verdict]:
    """Return all votes; the failure of a model becomes a vote without an answer.

    Raises the ServiceError if all models fail.
    """
    results = await asyncio.gather(*votes, return_exceptions=True)
    verdicts: list[Verdict] = []
    failures: list[ServiceError] = []
    for result in results:
        if isinstance(result, ServiceError):
            failures.append(result)
            verdicts.append(without_verdict(result))
        elif isinstance(result, BaseException):
            raise result
        else:
            verdicts.append(result)
    if failures and len(failures) == len(results):
        raise failures[0]
    return verdicts
