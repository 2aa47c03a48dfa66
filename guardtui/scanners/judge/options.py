"""All that an author says of a judge, from which a scanner is made for each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from guardtui.http.retries import NOTHING_DONE, Retries
from guardtui.http.secret import Secret
from guardtui.scanners.base import VerdictCache
from guardtui.scanners.budget import ANSWER_TOKENS, Budget, Prices
from guardtui.scanners.judge.asking import Dialect, Judge
from guardtui.scanners.judge.reading import Form
from guardtui.scanners.judge.scanner import CONCURRENCY, JudgeScanner
from guardtui.scanners.judge.template import Template, default_template, load_template
from guardtui.scanners.model_address import ModelAddress, key_variables
from guardtui.scanners.paid_calls import WatchedLimit


@dataclass(frozen=True)
class JudgeOptions:
    """Models, wording, reading and limits. Money and tokens are limits of one run."""

    scanner_name: ClassVar[str] = "judge"

    models: tuple[ModelAddress, ...]
    template: Template | None = None
    form: Form | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    prices: Prices | None = None
    most_tokens: int | None = None
    most_cost: float | None = None
    answer_tokens: int = ANSWER_TOKENS
    concurrency: int = CONCURRENCY
    rate: float | None = None
    retries: int = 5
    allow_http: bool = False

    @property
    def place(self) -> str:
        """Which models, in a few words that may be shown anywhere."""
        first = self.models[0].shown
        more = len(self.models) - 1
        return f"{first} and {more} more" if more else first

    @property
    def keys(self) -> tuple[Secret, ...]:
        """All keys that may be sent."""
        return tuple(dict.fromkeys(model.key for model in self.models if model.key is not None))

    @property
    def key_variables(self) -> dict[str, str]:
        """The environment variable with the key of each address; "" for those without a key."""
        return key_variables(self.models)

    async def complete(self, messages: Sequence[Mapping[str, Any]], answer_tokens: int) -> str:
        """What the first model answers to messages, in words. Raises ServiceError."""
        from guardtui.http.openai import ChatModel

        model = self.models[0]
        attempts = self.retries + 1
        async with ChatModel(
            model.url,
            model.name,
            model.key,
            limit=WatchedLimit(1),
            retries=Retries(attempts=attempts, on=NOTHING_DONE),
            timeout=300.0,
            allow_http=self.allow_http,
        ) as chat:
            judge = Judge(
                model.full,
                chat,
                default_template(),
                Form.parse("answer"),
                Budget(answer_tokens=answer_tokens),
                Dialect(dict(self.options), frozenset(self.options)),
                Retries(attempts=attempts),
            )
            return (await judge.complete(messages)).completion

    def scanner(self, cache: VerdictCache | None = None, *, fresh: bool = False) -> JudgeScanner:
        """Make a scanner with its own budget and the template as its file is now.

        Raises ScannerError without a model, or for a template that cannot be used.
        """
        budget = Budget(
            self.prices,
            most_tokens=self.most_tokens,
            most_cost=self.most_cost,
            answer_tokens=self.answer_tokens,
        )
        template = self.template
        if template is not None and template.source:
            # The author may have edited it since.
            template = load_template(Path(template.source))
        return JudgeScanner(
            self.models,
            template=template,
            form=self.form,
            budget=budget,
            options=self.options,
            concurrency=self.concurrency,
            rate=self.rate,
            retries=self.retries,
            cache=cache,
            fresh=fresh,
            allow_http=self.allow_http,
        )
