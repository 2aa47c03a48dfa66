"""All that an author says of a judge, from which a scanner is made for each run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guardtui.http.errors import inert
from guardtui.http.retries import NOTHING_DONE, Retries
from guardtui.http.secret import Secret
from guardtui.scanners.base import VerdictCache
from guardtui.scanners.judge.asking import Dialect, Judge, WatchedLimit, note_sent
from guardtui.scanners.judge.budget import ANSWER_TOKENS, Budget, Prices
from guardtui.scanners.judge.endpoints import EndpointLine, members_of
from guardtui.scanners.judge.reading import Form
from guardtui.scanners.judge.scanner import CONCURRENCY, JudgeScanner, ModelAddress
from guardtui.scanners.judge.template import Template, default_template, load_template

if TYPE_CHECKING:
    from guardtui.http.chat_fleet import ChatFleet
    from guardtui.http.openai import ChatModel


@dataclass(frozen=True)
class JudgeOptions:
    """Models, wording, reading and limits. Money and tokens are limits of one run.

    With `endpoints` the models have no URL, and every endpoint serves them all.
    """

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
    endpoints: tuple[EndpointLine, ...] = ()

    @property
    def place(self) -> str:
        """Which models, in a few words that may be shown anywhere."""
        urls = [one.url for one in self.endpoints] or [self.models[0].url]
        where = inert(urls[0])[:60] if len(urls) == 1 else f"{len(urls)} endpoints"
        first = f"{inert(self.models[0].name)[:60]} at {where}"
        more = len(self.models) - 1
        return f"{first} and {more} more" if more else first

    @property
    def keys(self) -> tuple[Secret, ...]:
        """All keys that may be sent."""
        held = [one.key for one in self.models] + [one.key for one in self.endpoints]
        return tuple(dict.fromkeys(key for key in held if key is not None))

    @property
    def key_variables(self) -> dict[str, str]:
        """The environment variable with the key of each address; "" for those without a key."""
        from guardtui.http.model_keys import origin_of

        if self.endpoints:
            return {one.url: one.key_variable for one in self.endpoints}
        return {origin_of(one.url): one.key_variable for one in self.models}

    async def complete(self, messages: Sequence[Mapping[str, Any]], answer_tokens: int) -> str:
        """What the first model answers to messages, in words. Raises ServiceError."""
        model = self.models[0]
        attempts = self.retries + 1
        unsent = Retries(attempts=attempts, on=NOTHING_DONE)
        chat: ChatModel | ChatFleet
        async with contextlib.AsyncExitStack() as opened:
            if self.endpoints:
                from guardtui.http.chat_fleet import ChatFleet
                from guardtui.http.fleet import Fleet

                members = members_of(self.endpoints, 1, allow_http=self.allow_http)
                fleet = Fleet(members, retries=self.retries, timeout=300.0, given=note_sent)
                chat = ChatFleet(
                    await opened.enter_async_context(fleet), model.name, retries=unsent
                )
            else:
                from guardtui.http.openai import ChatModel

                chat = ChatModel(
                    model.url,
                    model.name,
                    model.key,
                    limit=WatchedLimit(1),
                    retries=unsent,
                    timeout=300.0,
                    allow_http=self.allow_http,
                )
                await opened.enter_async_context(chat)
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

    def scanner(
        self,
        cache: VerdictCache | None = None,
        *,
        fresh: bool = False,
        went_out: Callable[[str], None] = lambda told: None,
    ) -> JudgeScanner:
        """A scanner with a budget of its own, by the template as its file is now.

        `went_out` is told in words when an endpoint is asked no more.
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
            endpoints=self.endpoints,
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
            went_out=went_out,
        )
