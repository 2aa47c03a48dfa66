"""Experiments on judges and decision models: all definitions of a round are asked together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from guardtui.app.experiments.answering import Arrived, DefinitionRows
from guardtui.app.guardrails.remote import ModelOptions
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic
from guardtui.scanners.base import Report, VerdictCache
from guardtui.scanners.local.vectors import cache_folder
from guardtui.scanners.models.many import ManyQuestions, Question
from guardtui.scanners.models.scanner import Asking, ModelScanner, Questioner
from guardtui.session.caches import SqliteVerdicts


class ModelAnswering:
    """A judge or decision model during an experiment.

    Each request is about one text; a decision model answers in it for all definitions that want
    it. Cached answers are no calls, and equal texts are sent once. The connections stay open for
    the whole experiment, so that its answers are all of one version of the model.
    """

    def __init__(self, options: ModelOptions, cache: VerdictCache | None = None) -> None:
        """`cache` replaces the cache of verdicts in the usual folder."""
        self._options, self._cache = options, cache
        self._opened = contextlib.AsyncExitStack()
        self._scanner: ModelScanner[Questioner] = options.scanner(cache)
        self._asking: Asking | None = None
        self._held = False
        self.calls = 0
        """Number of verdicts that the service was asked for so far."""
        self.probes = 0

    @property
    def settings(self) -> ScannerSettings:
        return self._scanner.settings

    @property
    def stored_template(self) -> tuple[str, str] | None:
        template = self._options.template.current()
        return template.id, template.text

    def cached(self, definitions: Sequence[Topic], prompts: PromptSet) -> NDArray[np.bool_]:
        """Return which verdicts are cached, bool [k, N]. Blocks."""
        with contextlib.ExitStack() as opened:
            cache = self._cache
            if cache is None:
                cache = opened.enter_context(contextlib.closing(SqliteVerdicts(cache_folder())))
            scanner: ModelScanner[Questioner] = self._options.scanner(cache)
            return np.stack([scanner.known(topic, prompts) for topic in definitions])

    def cost(self, topic: Topic, prompts: PromptSet, calls: int) -> str:
        """Return the tokens of so many calls, and their cost if prices are known, in words.

        Definitions that share a request take fewer.
        """
        expense = self._scanner.expense(topic, prompts.prompts.to_list(), None)
        return f"at most {expense.text(calls)}. {expense.basis}" if calls else ""

    async def __aenter__(self) -> Self:
        cache = self._cache
        if cache is None:
            cache = self._opened.enter_context(contextlib.closing(SqliteVerdicts(cache_folder())))
        self._scanner = self._options.scanner(cache)
        self._scanner.hold(self._held)
        self._sending = self._scanner.sending()
        self._asking = await self._opened.enter_async_context(
            self._scanner.asked.opened(self._sending)
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._asking = None
        await self._opened.aclose()

    def hold(self, held: bool) -> None:
        """Pause or resume sending; requests in flight are completed."""
        self._held = held
        self._scanner.hold(held)

    async def ask(
        self, wanted: Sequence[DefinitionRows], prompts: PromptSet, arrived: Arrived, report: Report
    ) -> None:
        """Ask for all wanted verdicts, until too many requests failed. Raises as `Answering`."""
        assert self._asking is not None  # noqa: S101 - it is asked while it is entered
        texts = prompts.prompts.to_list()
        asked, sending = self._scanner.asked, self._sending
        run = ManyQuestions(asked, sending, self._asking, arrived, report, self._count)
        await run.ask(
            [question for definition in wanted for question in _questions(definition, texts)]
        )

    def _count(self, calls: int) -> None:
        self.calls += calls


def _questions(wanted: DefinitionRows, texts: Sequence[str]) -> Iterator[Question]:
    rows: dict[str, list[int]] = {}
    for row in wanted.rows.tolist():
        rows.setdefault(texts[row], []).append(row)
    for text, some in rows.items():
        yield Question(wanted.number, wanted.topic, text, tuple(some))
