"""`guardtui topics revert`: what was before an apply again, one at a time or all at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from guardtui.cli import diagnostics
from guardtui.cli.airs_service import (
    agreed,
    agreement_options,
    connect,
    failures_told,
    load_settings,
    profile_option,
    revert_line,
    run_async,
    say_plan,
    warn_of_news,
)
from guardtui.cli.diagnostics import Exit, InputError
from guardtui.cli.options import FILE, address_options
from guardtui.cli.topics_wait import is_live, wait_options

if TYPE_CHECKING:
    from guardtui.domain.topic import Topic
    from guardtui.scanners.airs.connection import AirsConnection
    from guardtui.scanners.airs.lifecycle import Before, Reverted
    from guardtui.session.applied import AppliedLog, JournalEntry


@click.command("revert")
@click.argument("topic", type=FILE, metavar="TOPIC_FILE")
@profile_option
@click.option("--all", "everything", is_flag=True, help="Go back to before the first apply.")
@agreement_options
@wait_options
@address_options
def revert(
    topic: Path,
    profile: str | None,
    everything: bool,
    yes: bool,
    dry_run: bool,
    no_wait: bool,
    wait_limit: float,
    region: str | None,
    scan_endpoint: str | None,
    tenant: str | None,
) -> int:
    """Take back the newest apply of a file to a profile: the definition of before, and its pin.

    What others changed in the profile stays. A topic that the apply had made stays in the tenant,
    in no profile.
    """
    settings = load_settings(
        profile=profile, region=region, scan_endpoint=scan_endpoint, tenant=tenant
    )
    with failures_told():
        connection = connect(settings, scans=not (no_wait or dry_run))
    log = _log(topic, connection)
    entries = log.entries()
    left = [entry.id for entry in entries]
    runs = _runs(_ways(entries, topic, connection), everything)
    done = None
    for number, run in enumerate(runs):
        way = run[0]
        for later in run[1:]:
            way = way.then(later)
        with failures_told(_so_far(number)):
            shown = run_async(connection.look_back(way))
        title = f"profile {connection.place}, revision {shown.profile.revision}:"
        say_plan(title, shown.changes or ("is as it was before already",), shown.warnings)
        if dry_run:
            continue
        if shown.changes and not agreed("Go back?", yes):
            return Exit.INTERRUPTED
        done = _revert(connection, topic, way, _so_far(number))
        _forget(log, left[-len(run) :], run, done)
        del left[-len(run) :]
        if number + 1 < len(runs):
            runs[number + 1][-1] = runs[number + 1][-1].after(way, done)
        diagnostics.note(f"reverted: revision {done.profile.revision} of the profile")
        warn_of_news(done, shown)
    if done is None or no_wait:
        return Exit.DONE
    return is_live(connection, _probe(runs[-1][0]), done.profile, wait_limit, as_expected=False)


def _revert(connection: AirsConnection, path: Path, way: Before, so_far: str) -> Reverted:
    try:
        with failures_told(f"{so_far}; not all was taken back" if so_far else "not taken back"):
            return run_async(connection.revert(way))
    except KeyboardInterrupt:
        diagnostics.note(
            "broken off: the profile may be as before, and the topic's text not yet\n"
            f"  '{revert_line(path, connection)}' again takes back what is left"
        )
        raise


def _log(path: Path, connection: AirsConnection) -> AppliedLog:
    """What was applied by this file; looking makes no session."""
    from guardtui.session.applied import AppliedLog
    from guardtui.session.recorded import has_session
    from guardtui.session.store import SessionStore

    if not has_session(path):
        raise _nothing(path, connection)
    return AppliedLog(SessionStore(path), connection.key)


def _nothing(path: Path, connection: AirsConnection) -> InputError:
    return InputError(
        f"{path}: nothing of it was applied to profile {connection.place} that is not taken back\n"
        "  the ways back are kept beside the topic file: name the file and the profile of the "
        "apply;\n  to put an older definition into effect, write it into the file and apply it"
    )


def _ways(entries: list[JournalEntry], path: Path, connection: AirsConnection) -> list[Before]:
    from pydantic import ValidationError

    from guardtui.scanners.airs.lifecycle import Before

    try:
        ways = [Before.model_validate(entry.way) for entry in entries]
    except ValidationError as error:
        raise InputError(
            f"{path}: what was remembered of an apply cannot be read, so nothing was changed\n"
            "  put the definition of before into the file and apply it"
        ) from error
    if not ways:
        raise _nothing(path, connection)
    return ways


def _runs(ways: list[Before], everything: bool) -> list[list[Before]]:
    """The ways to go, newest first: each a run of changes of one topic in one place."""
    if not everything:
        return [ways[-1:]]
    runs: list[list[Before]] = []
    for way in reversed(ways):
        if runs and _spot(runs[-1][0]) == _spot(way):
            runs[-1].insert(0, way)
        else:
            runs.append([way])
    return runs


def _spot(way: Before) -> tuple[str, str, str]:
    return way.profile_name, way.topic_id, str(way.undo.place)


def _forget(log: AppliedLog, entry_ids: list[int], run: list[Before], done: Reverted) -> None:
    """Drop the ways that were gone; the one before learns what came of them."""
    from guardtui.scanners.airs.lifecycle import Before

    def amend(earlier: dict[str, Any]) -> dict[str, Any]:
        return Before.model_validate(earlier).after(run[0], done).model_dump(mode="json")

    log.drop(entry_ids, amend)


def _so_far(number: int) -> str:
    """What was done before something went wrong; "" for nothing."""
    return f"{number} of the steps back {'was' if number == 1 else 'were'} done" if number else ""


def _probe(way: Before) -> Topic:
    """A topic to probe with: the one that is back, or its name where there was none."""
    from guardtui.domain.topic import Topic

    before = way.topic or {}
    examples = before.get("examples") or ()
    return Topic(
        name=way.topic_name, description=way.topic_name, examples=tuple(map(str, examples))
    )
