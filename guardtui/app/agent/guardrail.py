"""Guardrails of an agent's loop: engine, model or profile of AIRS, within a budget of calls."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from guardtui.app.agent.errors import CALLS, WRITE, AgentError
from guardtui.app.airs.profile_changes import ProfileChanges, wait_until_live
from guardtui.app.airs.revert_steps import revert_line
from guardtui.app.experiments.airs import AirsAnswering
from guardtui.app.experiments.answering import Answering
from guardtui.app.experiments.interrupted import interrupted, revert_interrupted
from guardtui.app.experiments.models import ModelAnswering
from guardtui.app.guardrails.choice import with_guardrail
from guardtui.app.guardrails.named import NamedGuardrail
from guardtui.app.guardrails.remote import AIRS, ModelOptions, RemoteOptions, at_stored_threshold
from guardtui.app.scan.record import logged_in_session
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
from guardtui.domain.operating_point import BUILT_IN, BY_HAND, FITTED
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Topic, violations
from guardtui.domain.verdicts import Triggered, is_answered
from guardtui.http.errors import inert
from guardtui.scanners.airs.scanner import ActiveRevision
from guardtui.scanners.base import RemoteScanner
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.scanners.local.vectors import cache_folder
from guardtui.session.caches import SqliteVerdicts
from guardtui.session.chosen_thresholds import settings_of_session, wanted_threshold
from guardtui.session.evaluator import RemoteEvaluator
from guardtui.session.store import SessionStore

SoFar: TypeAlias = Callable[[Evaluation], object]
"""Takes the verdicts of a scan that was interrupted or failed; quick."""


@dataclass
class CallBudget:
    """Calls of the guardrail that are allowed, 0 for none, and those that were made.

    A scan begins only if its prompts are within them; retries and the probes of deployed
    definitions, those of an experiment too, are counted afterwards.
    """

    most: int = 0
    made: int = 0

    @property
    def left(self) -> int:
        """Number of calls that are left."""
        return max(0, self.most - self.made)

    def require(self, calls: int, who: str) -> None:
        """Raise AgentError if so many calls are not left."""
        if calls <= self.left:
            return
        left = f"{self.left:,} of {self.most:,} are left" if self.most else "none are allowed"
        raise AgentError(
            f"not asked: that takes {count_text(calls, 'call')} of {who}, and {left}\n"
            f"  the author allows calls when the server is started: {CALLS} N"
        )


@dataclass(frozen=True, eq=False)
class Measured:
    """An evaluation, and what the agent should know of how it was made."""

    evaluation: Evaluation
    warnings: tuple[str, ...] = ()


class LoopGuardrail(Protocol):
    """A guardrail that evaluates definitions for an agent; all methods raise GuardtuiError."""

    @property
    def is_remote(self) -> bool:
        """Return whether an evaluation may cost calls."""

    @property
    def template(self) -> tuple[str, str] | None:
        """Id and text of the template that verdicts depend on, or None."""

    async def evaluate(
        self, own: Topic, topic: Topic, prompts: PromptSet, so_far: SoFar
    ) -> Measured:
        """Evaluate a definition; `own` is that of the topic file."""

    async def answering(self, topic: Topic, tell: Callable[[str], None]) -> Answering:
        """Return the guardrail for an experiment on a definition; warnings go to `tell`."""

    def kept_by(self, own: Topic) -> str:
        """Return that the service has another definition than the topic file, or ""."""

    async def close(self) -> None:
        """Wait for a change that was begun."""


def loop_guardrail(
    guardrail: NamedGuardrail,
    topic: Path,
    engine: LocalScanner,
    budget: CallBudget,
    *,
    writes: bool,
) -> LoopGuardrail:
    """Return what a loop on a topic file measures with; `writes` allows it to deploy.

    Blocks. Raises GuardtuiError naming missing settings.
    """
    if guardrail.kind == "engine":
        return _Engine(engine, topic)
    options = with_guardrail(RemoteOptions(guardrail=guardrail), guardrail)
    if guardrail.kind == AIRS:
        return _Profile(options, topic, budget, writes=writes)
    assert options.model is not None  # noqa: S101 - by its kind
    return _Model(options.model, topic, budget)


class _Engine:
    """The engine at the threshold that the author has chosen."""

    is_remote, template = False, None

    def __init__(self, engine: LocalScanner, topic: Path) -> None:
        self._engine, self._topic = engine, topic

    async def evaluate(
        self, own: Topic, topic: Topic, prompts: PromptSet, so_far: SoFar
    ) -> Measured:
        await asyncio.to_thread(self._follow_author)
        return Measured(await self._engine.evaluate(topic, prompts, lambda progress: None))

    def _follow_author(self) -> None:
        settings = settings_of_session(self._topic)
        wanted = wanted_threshold(settings)
        if isinstance(wanted, float) and settings.get("encoder") == self._engine.encoder_name:
            self._engine.use_threshold(wanted, str(settings.get("threshold_source", BY_HAND)))
        else:
            self._engine.use_threshold(None if wanted == BUILT_IN else FITTED)

    async def answering(self, topic: Topic, tell: Callable[[str], None]) -> Answering:
        raise AgentError(
            "an experiment asks a guardrail, and the engine is none\n"
            "  the author starts the server with --guardrail NAME"
        )

    def kept_by(self, own: Topic) -> str:
        return ""

    async def close(self) -> None:
        pass


class _Model:
    """A judge or a decision model, at the threshold of the session."""

    is_remote = True

    def __init__(self, options: ModelOptions, topic: Path, budget: CallBudget) -> None:
        self._options, self._topic, self._budget = options, topic, budget

    @property
    def template(self) -> tuple[str, str] | None:
        template = self._options.template.current()
        return template.id, template.text

    async def evaluate(
        self, own: Topic, topic: Topic, prompts: PromptSet, so_far: SoFar
    ) -> Measured:
        options = at_stored_threshold(self._options, self._topic)
        models = len({model.full for model in options.models})
        with contextlib.closing(SqliteVerdicts(cache_folder())) as cache:
            scanner: RemoteScanner = options.scanner(cache)
            evaluation = await _asked(
                scanner, topic, prompts, self._budget, options.title, so_far, self._topic, models
            )
            return Measured(evaluation)

    async def answering(self, topic: Topic, tell: Callable[[str], None]) -> Answering:
        return ModelAnswering(at_stored_threshold(self._options, self._topic))

    def kept_by(self, own: Topic) -> str:
        return ""

    async def close(self) -> None:
        pass


class _Profile:
    """A profile of AIRS, which measures the definition that it has: an edit is deployed first."""

    is_remote, template = True, None

    def __init__(
        self, options: RemoteOptions, topic: Path, budget: CallBudget, *, writes: bool
    ) -> None:
        self._options, self._topic = options, topic
        self._budget, self._writes = budget, writes
        settings = options.settings()
        self._connection = options.connect(settings, settings.required_profile)
        self._changes = ProfileChanges(topic)
        self._deployed: Topic | None = None

    @property
    def _name(self) -> str:
        return f"profile {inert(self._connection.profile, characters=60)}"

    async def evaluate(
        self, own: Topic, topic: Topic, prompts: PromptSet, so_far: SoFar
    ) -> Measured:
        if broken := violations(topic):
            limits = "\n".join(f"  {violation.message}" for violation in broken)
            raise AgentError(f"AIRS would reject this definition: fix it first\n{limits}")
        now, warnings, probes = await self._in_effect(own, topic, prompts)
        try:
            with contextlib.closing(SqliteVerdicts(cache_folder())) as cache:
                scanner = self._connection.scanner(now, cache=cache)
                evaluation = await _asked(
                    scanner, topic, prompts, self._budget, self._name, so_far, self._topic
                )
        finally:
            # Counted only now: what was deployed within the budget is measured.
            self._budget.made += probes
        return Measured(evaluation, warnings)

    async def _in_effect(
        self, own: Topic, topic: Topic, prompts: PromptSet
    ) -> tuple[ActiveRevision | None, tuple[str, ...], int]:
        """Return what the profile has, after the definition was deployed if it had another one.

        And warnings, and how many scans it took to see that it is in use.
        """
        connection = self._connection
        plan = await self._changes.plan(connection, topic)
        if plan is None:
            unknown = f"whether {self._name} has this definition is unknown"
            if topic != own:
                raise AgentError(
                    f"not asked: {unknown}, and an edit has to be deployed first\n"
                    "  the author sets PANW_MGMT_CLIENT_ID and its secret for that"
                )
            return None, (unknown,), 0
        if not plan.changes:
            return connection.in_effect(topic, plan), plan.warnings, 0
        if not self._writes:
            known = plan.difference or "which one it has is unknown"
            raise AgentError(
                f"not asked: {self._name} has another definition: {known}\n"
                f"  the author lets you deploy when the server is started: {WRITE}"
            )
        # Verdicts of a revision that does not exist yet are not in the cache.
        self._budget.require(len(set(prompts.prompts)), self._name)
        applied = await self._changes.apply(connection, topic, plan)
        self._deployed = topic

        async def no_longer(_: object) -> bool:
            return False

        live = await wait_until_live(
            connection, topic, applied.profile, show=lambda step: None, wait_on=no_longer
        )
        if not live.live:
            self._budget.made += live.probes
            raise AgentError(
                f"not asked: {self._name} was changed, and after {live.seconds:.0f} s scans do not "
                f"use that: {live.reason}\n  evaluate again later"
            )
        line = revert_line(self._topic, connection)
        warnings = (*applied.warnings, f"{self._name} has this definition now; to revert: {line}")
        return connection.in_effect(topic, applied), warnings, live.probes

    async def answering(self, topic: Topic, tell: Callable[[str], None]) -> Answering:
        connection, store = self._connection, SessionStore(self._topic)
        connection.settings.management()
        for found in interrupted(store):
            done = await revert_interrupted(found, self._options, self._changes, store)
            for text in (f"{found.text}: it was reverted", *done.warnings):
                tell(text)
        return AirsAnswering(
            connection,
            connection.profile,
            topic,
            self._topic,
            store,
            self._changes,
            tell=tell,
        )

    def kept_by(self, own: Topic) -> str:
        if self._deployed in (None, own):
            return ""
        line = revert_line(self._topic, self._connection)
        return (
            f"{self._name} still has the definition that was evaluated last; evaluate without "
            f"arguments deploys that of the topic file, {line} the one before"
        )

    async def close(self) -> None:
        await self._changes.close()


async def _asked(
    scanner: RemoteScanner,
    topic: Topic,
    prompts: PromptSet,
    budget: CallBudget,
    who: str,
    so_far: SoFar,
    path: Path,
    models: int = 1,
) -> Evaluation:
    """Ask about all prompts without a cached verdict, if the budget allows that.

    Those are not asked that the session of the topic file `path` has verdicts of production on.
    Raises AgentError, nothing asked, and ScannerError; `so_far` gets what was answered.
    """
    known = scanner.known(topic, prompts)
    guardrail = scanner.settings.guardrail
    logged = await asyncio.to_thread(logged_in_session, path, guardrail, topic, prompts)
    onto, rows = (None, None) if logged is None else logged
    if onto is not None:
        known |= is_answered(onto.verdicts.triggered)
    texts = prompts.prompts.to_list()
    unknown = {text for text, cached in zip(texts, known.tolist(), strict=True) if not cached}
    budget.require(len(unknown) * models, who)
    remote = RemoteEvaluator(scanner)
    answered: Evaluation | None = None
    try:
        with remote.handing_over(so_far):
            answered = await remote.evaluate_rows(topic, prompts, rows, onto)
        return answered
    finally:
        answered = answered or remote.so_far()
        asked = set()
        if answered is not None:
            open_ = (answered.verdicts.triggered == Triggered.NOT_ASKED).tolist()
            asked = {text for text, skipped in zip(texts, open_, strict=True) if not skipped}
        # Retries are calls too, and so is what was under way at an interrupt.
        budget.made += max(len(asked & unknown) * models, remote.sent)
