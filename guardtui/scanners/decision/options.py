"""The author's options of a decision model, from which each run creates a scanner."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from guardtui.domain.operating_point import SHIPPED
from guardtui.http.decisions import Api
from guardtui.http.secret import Secret
from guardtui.scanners.base import VerdictCache
from guardtui.scanners.budget import CallBudget, Prices
from guardtui.scanners.configuration import DecisionConfiguration
from guardtui.scanners.decision.scanner import CONCURRENCY, THRESHOLD, DecisionScanner
from guardtui.scanners.decision.template import DecisionTemplate, load_template
from guardtui.scanners.model_address import ModelAddress, key_variables


@dataclass(frozen=True)
class DecisionOptions:
    """The model, its question and limits. Cost and tokens are limits per run.

    `questions` is the maximum per request; None means the limit of the format.
    """

    scanner_name: ClassVar[str] = "decision"

    model: ModelAddress
    api: Api = Api.DECISIONS
    template: DecisionTemplate | None = None
    prices: Prices | None = None
    most_tokens: int | None = None
    most_cost: float | None = None
    concurrency: int = CONCURRENCY
    rate: float | None = None
    retries: int = 5
    allow_http: bool = False
    threshold: float = THRESHOLD
    threshold_source: str = SHIPPED
    questions: int | None = None

    @classmethod
    def of(
        cls,
        configuration: DecisionConfiguration,
        model: ModelAddress,
        *,
        most_tokens: int | None = None,
        most_cost: float | None = None,
        questions: int | None = None,
    ) -> DecisionOptions:
        """Return the options of a configured decision model with its key. Raises TemplateError."""
        names = ("concurrency", "rate", "retries", "allow_http")
        given = {name: getattr(configuration, name) for name in names}
        path = configuration.template
        options = cls(
            model,
            api=Api(configuration.api or Api.DECISIONS),
            template=None if path is None else load_template(path),
            prices=Prices(configuration.price_in or 0.0, configuration.price_out or 0.0),
            most_tokens=most_tokens,
            most_cost=most_cost,
            questions=questions,
            **{name: value for name, value in given.items() if value is not None},
        )
        options.scanner()
        return options

    def at_threshold(self, threshold: float, source: str) -> DecisionOptions:
        """Return the options with another threshold, and where it is from."""
        return replace(self, threshold=threshold, threshold_source=source)

    @property
    def title(self) -> str:
        """The model in a few words; safe to show anywhere."""
        return self.model.shown

    @property
    def keys(self) -> tuple[Secret, ...]:
        """All keys that may be sent."""
        return () if self.model.key is None else (self.model.key,)

    @property
    def key_variables(self) -> dict[str, str]:
        """The environment variable with the key of each address; "" without a key."""
        return key_variables([self.model])

    @property
    def questions_at_once(self) -> int:
        """Maximum number of questions per request."""
        return self.questions or self.api.most_questions

    def scanner(self, cache: VerdictCache | None = None, *, fresh: bool = False) -> DecisionScanner:
        """Create a scanner with its own budget and the current content of the template file.

        Raises ScannerError for an invalid template.
        """
        budget = CallBudget(self.prices, most_tokens=self.most_tokens, most_cost=self.most_cost)
        template = self.template
        if template is not None and template.source:
            # The file may have changed since.
            template = load_template(Path(template.source))
        return DecisionScanner(
            self.model,
            api=self.api,
            template=template,
            threshold=self.threshold,
            threshold_source=self.threshold_source,
            budget=budget,
            concurrency=self.concurrency,
            rate=self.rate,
            retries=self.retries,
            cache=cache,
            fresh=fresh,
            allow_http=self.allow_http,
        )
