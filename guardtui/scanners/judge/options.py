"""The author's options of a judge, from which each run creates a scanner."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from guardtui.http.retries import NOTHING_DONE, Retries
from guardtui.http.secret import Secret
from guardtui.scanners.base import VerdictCache
from guardtui.scanners.budget import ANSWER_TOKENS, CallBudget, Prices
from guardtui.scanners.configuration import JudgeConfiguration
from guardtui.scanners.judge.asking import Dialect, JudgeModel
from guardtui.scanners.judge.reading import AnswerForm
from guardtui.scanners.judge.scanner import CONCURRENCY, JudgeScanner
from guardtui.scanners.judge.template import JudgeTemplate, default_template, load_template
from guardtui.scanners.model_address import ModelAddress, key_variables
from guardtui.scanners.paid_calls import WatchedLimit


@dataclass(frozen=True)
class JudgeOptions:
    """Models, template, answer form and limits. Cost and tokens are limits per run."""

    scanner_name: ClassVar[str] = "judge"

    models: tuple[ModelAddress, ...]
    template: JudgeTemplate | None = None
    form: AnswerForm | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    prices: Prices | None = None
    most_tokens: int | None = None
    most_cost: float | None = None
    answer_tokens: int = ANSWER_TOKENS
    concurrency: int = CONCURRENCY
    rate: float | None = None
    retries: int = 5
    allow_http: bool = False

    @classmethod
    def of(
        cls,
        configuration: JudgeConfiguration,
        models: Sequence[ModelAddress],
        *,
        most_tokens: int | None = None,
        most_cost: float | None = None,
    ) -> JudgeOptions:
        """Return the options of a configured judge, its models with their keys.

        Raises TemplateError, FormError, and OptionError for an option that cannot be sent.
        """
        names = ("answer_tokens", "concurrency", "rate", "retries", "allow_http")
        given = {name: getattr(configuration, name) for name in names}
        path, form = configuration.template, configuration.form
        options = cls(
            tuple(models),
            template=None if path is None else load_template(path),
            form=None if form is None else AnswerForm.parse(form),
            options=configuration.model_option,
            prices=Prices(configuration.price_in or 0.0, configuration.price_out or 0.0),
            most_tokens=most_tokens,
            most_cost=most_cost,
            **{name: value for name, value in given.items() if value is not None},
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
        return tuple(dict.fromkeys(model.key for model in self.models if model.key is not None))

    @property
    def key_variables(self) -> dict[str, str]:
        """The environment variable with the key of each address; "" without a key."""
        return key_variables(self.models)

    @property
    def name(self) -> str:
        """Name of the first model at its service; not inert."""
        return self.models[0].name

    @property
    def identity(self) -> str:
        """The first model and the options that `complete` sends. May hold a secret."""
        return json.dumps([self.models[0].full, dict(self.options)], sort_keys=True)

    def budget(self, answer_tokens: int) -> CallBudget:
        """Return a new budget, with a maximum of tokens in an answer."""
        return CallBudget(
            self.prices,
            most_tokens=self.most_tokens,
            most_cost=self.most_cost,
            answer_tokens=answer_tokens,
        )

    async def complete(self, messages: Sequence[Mapping[str, Any]], budget: CallBudget) -> str:
        """Return the text that the first model answers to messages. Raises ServiceError."""
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
            judge = JudgeModel(
                model.full,
                chat,
                default_template(),
                AnswerForm.parse("answer"),
                budget,
                Dialect(dict(self.options), frozenset(self.options)),
                Retries(attempts=attempts),
            )
            return (await judge.complete(messages)).completion

    def scanner(self, cache: VerdictCache | None = None, *, fresh: bool = False) -> JudgeScanner:
        """Create a scanner with its own budget and the current content of the template file.

        Raises ScannerError without a model, or for an invalid template.
        """
        template = self.template
        if template is not None and template.source:
            # The file may have changed since.
            template = load_template(Path(template.source))
        return JudgeScanner(
            self.models,
            template=template,
            form=self.form,
            budget=self.budget(self.answer_tokens),
            options=self.options,
            concurrency=self.concurrency,
            rate=self.rate,
            retries=self.retries,
            cache=cache,
            fresh=fresh,
            allow_http=self.allow_http,
        )
