"""The AIRS scanner as the command line names it: credentials, profile, cache, what is in effect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from guardtui.cli import diagnostics
from guardtui.cli.diagnostics import InputError

if TYPE_CHECKING:
    from guardtui.domain.evaluation import Evaluation
    from guardtui.domain.prompts import PromptSet
    from guardtui.domain.topic import Topic
    from guardtui.scanners.airs.credentials import AirsSettings
    from guardtui.scanners.airs.lifecycle import Plan
    from guardtui.scanners.airs.scanner import AirsScanner
    from guardtui.session.verdict_cache import SqliteVerdicts

_LISTED = 5


def load_settings(profile: str, concurrency: int | None) -> AirsSettings:
    """Settings that are enough to scan with. Raises `InputError` naming what is missing."""
    from guardtui.scanners.airs.credentials import AirsSettings
    from guardtui.scanners.airs.errors import AirsError
    from guardtui.scanners.airs.scans import ProfileChoice

    try:
        settings = AirsSettings.load({"profile": profile, "concurrency": concurrency})
        settings.scan_credential()
        if not settings.profile:
            raise InputError(
                "no security profile is named: give --profile NAME, or set PANW_AI_SEC_PROFILE_NAME"
            )
        ProfileChoice(settings.profile)
    except AirsError as error:
        raise InputError(str(error)) from error
    return settings


def require_sendable(topic: Topic) -> None:
    """Raise `InputError` for a definition that no profile can have."""
    from guardtui.domain.topic import violations

    if broken := violations(topic):
        told = "\n".join(f"  {one.message}" for one in broken)
        raise InputError(f"no profile can have this definition: correct it first\n{told}")


@contextmanager
def open_verdicts() -> Iterator[SqliteVerdicts]:
    """The cache of verdicts, closed at the end; a warning when it keeps none, or no longer does."""
    from guardtui.scanners.local.vectors import cache_folder
    from guardtui.session.verdict_cache import SqliteVerdicts

    def warn() -> None:
        diagnostics.warn(
            f"{cache.path}: cannot be used, so verdicts are not kept\n"
            "  make room, make the folder writable, or name another with GUARDTUI_CACHE"
        )

    cache = SqliteVerdicts(cache_folder())
    worked = cache.works
    if not worked:
        warn()
    try:
        yield cache
        if worked and not cache.works:
            warn()
    finally:
        cache.close()


async def make_scanner(
    settings: AirsSettings,
    topic: Topic,
    *,
    rate: float | None,
    cache: SqliteVerdicts,
    fresh: bool,
) -> AirsScanner:
    """The scanner, told which revision of the profile is the newest where that can be looked up.

    Warns when that is not the definition. Raises `InputError` and `ScannerError`.
    """
    from guardtui.scanners.airs.scanner import AirsScanner

    plan = await _in_effect(settings, topic)
    if plan is not None and plan.changes:
        diagnostics.warn(
            f"profile {settings.profile} does not have this definition: the verdicts are on what "
            "it has\n  to have it in effect: " + "; ".join(plan.changes)
        )
    return AirsScanner(
        settings.profile,
        airs=settings,
        revision="" if plan is None else plan.profile.profile_id,
        number=None if plan is None else plan.profile.revision,
        rate=rate,
        cache=cache,
        fresh=fresh,
    )


async def _in_effect(settings: AirsSettings, topic: Topic) -> Plan | None:
    """What the profile has and lacks; None without any credential of a service account."""
    from guardtui.http.errors import ServiceError
    from guardtui.scanners.airs.errors import AirsError
    from guardtui.scanners.airs.lifecycle import plan
    from guardtui.scanners.airs.management import ManagementClient

    if not (settings.client_id or settings.client_secret):
        return None
    try:
        async with ManagementClient(settings.management()) as client:
            return await plan(client, topic, settings.profile)
    except ServiceError as error:
        raise AirsError(
            f"the profile {settings.profile} could not be looked up: {error.message}\n"
            "  nothing was scanned; without PANW_MGMT_CLIENT_ID and its secret nothing is looked up"
        ) from error
    except AirsError as error:
        raise InputError(str(error)) from error


def say_notes(prompts: PromptSet, evaluation: Evaluation) -> None:
    """Warn of verdicts that are doubtful: the first, and how many more there are."""
    from guardtui.cli.inputs import located

    notes = evaluation.verdicts.notes
    lines = prompts.frame["line"]
    for row in sorted(notes)[:_LISTED]:
        diagnostics.warn(located(prompts.source, notes[row], [int(lines[row])]))
    if len(notes) > _LISTED:
        diagnostics.warn(f"{len(notes) - _LISTED} more verdicts are doubtful")


def say_incomplete(evaluation: Evaluation, *, fresh: bool, allowed: bool) -> None:
    """Say how many prompts have no verdict, the most frequent reason, and how to go on."""
    from collections import Counter

    errors = evaluation.verdicts.errors
    ((reason, count),) = Counter(errors.values()).most_common(1)
    again = "run the same command again" + (" without --fresh" if fresh else "")
    say = diagnostics.warn if allowed else diagnostics.error
    say(
        f"{len(errors)} of {len(evaluation.keys)} prompts have no verdict; {count} of them: "
        f"{reason}\n  verdicts that came are kept: {again} to ask for the others only"
    )
