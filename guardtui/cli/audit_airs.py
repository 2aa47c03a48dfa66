"""An audit of a profile as deployed in AIRS: each prompt is requested once for all topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from guardtui.cli import diagnostics, signals
from guardtui.cli.airs_scans import AirsRun, open_verdicts, say_work
from guardtui.cli.airs_service import known_revisions
from guardtui.cli.diagnostics import InputError
from guardtui.cli.progress import watched
from guardtui.domain.guardrail import ScannerSettings
from guardtui.domain.profile_answers import matches_told, seems_closed
from guardtui.domain.profile_evaluation import ProfileEvaluation, evaluate_profile
from guardtui.domain.profile_labels import ProfilePrompts
from guardtui.domain.topic import Intent, Topic
from guardtui.http.errors import ServiceError, inert
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.profile_scanner import ProfileScanner, split_names
from guardtui.scanners.airs.profile_state import ProfileState, read_profile_state
from guardtui.session.evaluator import RemoteEvaluator
from guardtui.session.verdict_cache import SqliteVerdicts


@dataclass(frozen=True, eq=False)
class AuditResult:
    """An evaluated profile; `notices` are doubts about how it was measured."""

    evaluation: ProfileEvaluation
    settings: ScannerSettings
    notices: tuple[str, ...] = ()


def audit_profile(prompts: ProfilePrompts, airs: AirsRun, *, closed: bool | None) -> AuditResult:
    """Scan all prompts with the profile of AIRS.

    `closed` says whether the profile stops what no topic matches; None if the author did not say.
    Raises `InputError` and `ScannerError`.
    """
    with open_verdicts() as cache:

        async def audit() -> AuditResult:
            connection = AirsConnection(airs.settings, rate=airs.rate, revisions=known_revisions())
            state = await _look(connection)
            scanner = _scanner(connection, state, cache, airs)
            return await _evaluated(prompts, scanner, state, airs, closed=closed)

        return signals.run(audit())


async def _look(connection: AirsConnection) -> ProfileState | None:
    try:
        return await read_profile_state(connection)
    except ServiceError as error:
        raise AirsError(
            f"the profile {inert(connection.profile, characters=60)} could not be looked up: "
            f"{error.message}\n  nothing was scanned; without PANW_MGMT_CLIENT_ID and its secret "
            "profiles are not looked up"
        ) from error
    except AirsError as error:
        raise InputError(str(error)) from error


def _scanner(
    connection: AirsConnection,
    state: ProfileState | None,
    cache: SqliteVerdicts,
    airs: AirsRun,
) -> ProfileScanner:
    now = None if state is None else state.now
    return ProfileScanner(
        connection.profile,
        airs=connection.settings,
        revision="" if now is None else now.profile.profile_id,
        number=None if now is None else now.profile.revision,
        fingerprint="" if now is None else now.fingerprint,
        rate=connection.rate,
        cache=cache,
        fresh=airs.fresh,
        batches=airs.batches,
    )


async def _evaluated(
    prompts: ProfilePrompts,
    scanner: ProfileScanner,
    state: ProfileState | None,
    airs: AirsRun,
    *,
    closed: bool | None,
) -> AuditResult:
    whole = Topic()  # an empty topic: the verdicts are those of the whole profile
    say_work(
        scanner,
        whole,
        prompts.prompts,
        rate=airs.rate,
        fresh=airs.fresh,
        batches=airs.batches,
    )
    evaluator = RemoteEvaluator(scanner)
    scanned = await watched(
        evaluator.evaluate_rows(whole, prompts.prompts), lambda: evaluator.progress
    )
    verdicts = scanned.verdicts
    blocked, allowed = split_names(verdicts.stopped_by)
    topics = [topic.topic for topic in prompts.topics]
    notices: list[str] = [] if state is None else list(state.differences(topics))
    prompts = prompts.with_topics(_further_topics(topics, blocked, allowed, state))
    if closed is None and state is not None:
        closed = state.closed
    if closed is None:
        closed = seems_closed(verdicts.triggered, blocked)
        notices.append(
            "the default of the profile was not looked up: it is taken from the verdicts"
        )
    topics = [topic.topic for topic in prompts.topics]
    evaluation = evaluate_profile(
        prompts,
        matches_told(topics, verdicts.triggered, blocked, allowed, closed=closed),
        closed=closed,
        stopped=verdicts.triggered,
        errors=verdicts.errors,
        notes=verdicts.notes,
    )
    return AuditResult(evaluation, scanned.settings, tuple(notices))


def _further_topics(
    topics: Sequence[Topic],
    blocked: Mapping[int, tuple[str, ...]],
    allowed: Mapping[int, tuple[str, ...]],
    state: ProfileState | None,
) -> list[Topic]:
    """Return topics of the profile that the author did not name, sorted by name."""
    known = {topic.name for topic in topics}
    intents = {
        name: intent
        for names_of_rows, intent in ((blocked, Intent.BLOCK), (allowed, Intent.ALLOW))
        for names in names_of_rows.values()
        for name in names
        if name not in known
    }
    if state is not None:
        intents |= {topic.name: topic.intent for topic in state.topics if topic.name not in known}
    return [Topic(name=name, intent=intents[name]) for name in sorted(intents)]


def say_incomplete(evaluation: ProfileEvaluation, *, fresh: bool, allowed: bool) -> None:
    """Report the number of prompts without a verdict, the most frequent reason and a remedy."""
    missing = evaluation.error_count + evaluation.open_count
    ((reason, count),) = Counter(evaluation.errors.values()).most_common(1)
    remedy = "run the same command again" + (" without --fresh" if fresh else "")
    say = diagnostics.warn if allowed else diagnostics.error
    say(
        f"{missing} of {len(evaluation)} prompts have no verdict; {count} of them: {reason}\n"
        f"  verdicts received are cached: {remedy} to scan only the others"
    )
