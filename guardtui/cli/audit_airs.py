"""An audit of a profile as it stands in AIRS: every prompt asked once for all topics."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from guardtui.cli import diagnostics
from guardtui.cli.airs_scans import AirsRun, open_verdicts, say_work
from guardtui.cli.airs_service import known_revisions
from guardtui.cli.diagnostics import InputError
from guardtui.cli.progress import watched
from guardtui.domain.audit import Audit
from guardtui.domain.evaluation import ScannerSettings
from guardtui.domain.profile_answers import matches_told, seems_closed
from guardtui.domain.topic import Intent, Topic
from guardtui.http.errors import ServiceError, inert
from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.profile_scanner import ProfileScanner, split_names
from guardtui.scanners.airs.standing import Standing, standing
from guardtui.session.audit import Source, made, members_of, put_together
from guardtui.session.evaluator import RemoteEvaluator
from guardtui.session.verdict_cache import SqliteVerdicts


@dataclass(frozen=True, eq=False)
class Audited:
    """What came of it; `notices` say what is not in the profile as the files have it."""

    audit: Audit
    settings: ScannerSettings
    notices: tuple[str, ...] = ()


def audit_profile(
    sources: Sequence[Source],
    airs: AirsRun,
    *,
    closed: bool | None,
) -> Audited:
    """Ask AIRS about all prompts. `closed` is what the author says of the profile's default.

    Raises `InputError` and `ScannerError`.
    """
    with open_verdicts() as cache:

        async def ask() -> Audited:
            connection = AirsConnection(airs.settings, rate=airs.rate, revisions=known_revisions())
            there = await _look(connection)
            scanner = _scanner(connection, there, cache, airs)
            return await _asked(sources, scanner, there, airs, closed=closed)

        return asyncio.run(ask())


async def _look(connection: AirsConnection) -> Standing | None:
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
    airs: AirsRun,
) -> ProfileScanner:
    now = None if there is None else there.now
    return ProfileScanner(
        connection.profile,
        airs=connection.settings,
        revision="" if now is None else now.profile.profile_id,
        number=None if now is None else now.profile.revision,
        effect="" if now is None else now.effect,
        rate=connection.rate,
        cache=cache,
        fresh=airs.fresh,
        batches=airs.batches,
    )


async def _asked(
    sources: Sequence[Source],
    scanner: ProfileScanner,
    there: Standing | None,
    airs: AirsRun,
    *,
    closed: bool | None,
) -> Audited:
    together = put_together(sources)
    whole = Topic()  # no topic: the profile is asked
    say_work(
        scanner,
        whole,
        together.prompts,
        rate=airs.rate,
        fresh=airs.fresh,
        batches=airs.batches,
    )
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
    missing = audit.error_count + audit.open_count
    ((reason, count),) = Counter(audit.errors.values()).most_common(1)
    again = "run the same command again" + (" without --fresh" if fresh else "")
    say = diagnostics.warn if allowed else diagnostics.error
    say(
        f"{missing} of {len(audit)} prompts have no verdict; {count} of them: {reason}\n"
        f"  verdicts that came are kept: {again} to ask for the others only"
    )
