"""An audit of a profile as it stands in AIRS: every prompt asked once for all topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guardtui.cli import diagnostics
from guardtui.cli.diagnostics import InputError

if TYPE_CHECKING:
    from guardtui.domain.audit import Audit
    from guardtui.domain.evaluation import ScannerSettings
    from guardtui.scanners.airs.connection import AirsConnection
    from guardtui.scanners.airs.credentials import AirsSettings
    from guardtui.scanners.airs.profile_scanner import ProfileScanner
    from guardtui.scanners.airs.standing import Standing
    from guardtui.session.audit import Source
    from guardtui.session.verdict_cache import SqliteVerdicts


@dataclass(frozen=True, eq=False)
class Audited:
    """What came of it; `notices` say what is not in the profile as the files have it."""

    audit: Audit
    settings: ScannerSettings
    notices: tuple[str, ...] = ()


def audit_profile(
    sources: Sequence[Source],
    airs: AirsSettings,
    *,
    closed: bool | None,
    rate: float | None,
    fresh: bool,
    batches: bool,
) -> Audited:
    """Ask AIRS about all prompts. `closed` is what the author says of the profile's default.

    Raises `InputError` and `ScannerError`.
    """
    import asyncio

    from guardtui.cli.airs_scans import open_verdicts
    from guardtui.cli.airs_service import known_revisions
    from guardtui.scanners.airs.connection import AirsConnection

    with open_verdicts() as cache:

        async def ask() -> Audited:
            connection = AirsConnection(airs, rate=rate, revisions=known_revisions())
            there = await _look(connection)
            scanner = _scanner(connection, there, cache, fresh=fresh, batches=batches)
            return await _asked(
                sources, scanner, there, closed=closed, rate=rate, fresh=fresh, batches=batches
            )

        return asyncio.run(ask())


async def _look(connection: AirsConnection) -> Standing | None:
    from guardtui.http.errors import ServiceError, inert
    from guardtui.scanners.airs.errors import AirsError
    from guardtui.scanners.airs.standing import standing

    try:
        return await standing(connection)
    except ServiceError as error:
        raise AirsError(
            f"the profile {inert(connection.profile)[:60]} could not be looked up: "
            f"{error.message}\n  nothing was scanned; without PANW_MGMT_CLIENT_ID and its secret "
            "nothing is looked up"
        ) from error
    except AirsError as error:
        raise InputError(str(error)) from error


def _scanner(
    connection: AirsConnection,
    there: Standing | None,
    cache: SqliteVerdicts,
    *,
    fresh: bool,
    batches: bool,
) -> ProfileScanner:
    from guardtui.scanners.airs.profile_scanner import ProfileScanner

    now = None if there is None else there.now
    return ProfileScanner(
        connection.profile,
        airs=connection.settings,
        revision="" if now is None else now.profile.profile_id,
        number=None if now is None else now.profile.revision,
        effect="" if now is None else now.effect,
        rate=connection.rate,
        cache=cache,
        fresh=fresh,
        batches=batches,
    )


async def _asked(
    sources: Sequence[Source],
    scanner: ProfileScanner,
    there: Standing | None,
    *,
    closed: bool | None,
    rate: float | None,
    fresh: bool,
    batches: bool,
) -> Audited:
    from guardtui.cli.airs_scans import say_work
    from guardtui.cli.audit_progress import watched
    from guardtui.domain.profile_answers import matches_told, seems_closed
    from guardtui.domain.topic import Intent, Topic
    from guardtui.scanners.airs.profile_scanner import split_names
    from guardtui.session.audit import Source, made, members_of, put_together
    from guardtui.session.evaluator import RemoteEvaluator

    together = put_together(sources)
    whole = Topic()  # no topic: the profile is asked
    say_work(scanner, whole, together.prompts, rate=rate, fresh=fresh, batches=batches)
    evaluator = RemoteEvaluator(scanner)
    evaluation = await watched(
        evaluator.evaluate_rows(whole, together.prompts), lambda: evaluator.progress
    )
    verdicts = evaluation.verdicts
    blocked, allowed = split_names(verdicts.stopped_by)
    notices: list[str] = []
    if there is not None:
        notices += there.differences([one.topic for one in sources])
    known = {one.topic.name for one in sources}
    others = {
        name: intent
        for names, intent in ((blocked, Intent.BLOCK), (allowed, Intent.ALLOW))
        for told in names.values()
        for name in told
        if name not in known
    }
    if there is not None:
        others |= {one.name: one.intent for one in there.topics if one.name not in known}
    # Sorted, so that the answers' order does not show.
    found = [Source(Topic(name=name, intent=others[name]), given=False) for name in sorted(others)]
    everyone = [*sources, *found]
    topics = [one.topic for one in everyone]
    if closed is None and there is not None:
        closed = there.closed
    if closed is None:
        closed = seems_closed(verdicts.triggered, blocked)
        notices.append(
            "the default of the profile was not looked up: it is taken from the verdicts"
        )
    matches = matches_told(topics, verdicts.triggered, blocked, allowed, closed=closed)
    together = put_together(everyone)  # the same prompts, with no rows for topics found there
    members = members_of(everyone, together, matches)
    audit = made(
        together,
        members,
        verdicts.triggered,
        closed=closed,
        errors=verdicts.errors,
        notes=verdicts.notes,
    )
    return Audited(audit, evaluation.settings, tuple(notices))


def say_incomplete(audit: Audit, *, fresh: bool, allowed: bool) -> None:
    """Say how many prompts have no verdict, the most frequent reason, and how to go on."""
    from collections import Counter

    missing = audit.error_count + audit.open_count
    ((reason, count),) = Counter(audit.errors.values()).most_common(1)
    again = "run the same command again" + (" without --fresh" if fresh else "")
    say = diagnostics.warn if allowed else diagnostics.error
    say(
        f"{missing} of {len(audit)} prompts have no verdict; {count} of them: {reason}\n"
        f"  verdicts that came are kept: {again} to ask for the others only"
    )
