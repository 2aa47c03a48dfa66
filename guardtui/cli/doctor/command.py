"""`guardtui doctor`: check the installation and report problems."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import click

from guardtui import __version__
from guardtui.app.guardrails.check_result import BAD, CheckResult, CheckResults
from guardtui.cli.command_help import Command
from guardtui.cli.diagnostics import Exit
from guardtui.cli.guardrail_options import (
    AIRS,
    JUDGE,
    GuardrailFlags,
    guardrail_option,
)
from guardtui.cli.options import exits, json_option
from guardtui.cli.output import write
from guardtui.session.topic_places import data_folder


@click.command(
    "doctor",
    cls=Command,
    examples=(
        ("guardtui doctor", "This installation"),
        ("guardtui doctor --guardrail airs:prod", "Whether a guardrail is reached too"),
    ),
)
@json_option
@guardrail_option(
    "Check this guardrail instead, in depth: airs, airs:PROFILE, judge:URL#MODEL, "
    "decision:URL#MODEL, or a name."
)
@click.option(
    "--all-regions",
    is_flag=True,
    help="With AIRS: send a rejected key to the hosts of all regions.",
)
@exits({Exit.NOT_COMPLETED: "something that guardtui needs is missing or does not work"})
def command(as_json: bool, guardrail: GuardrailFlags, all_regions: bool) -> int:
    """Check the installation and report problems.

    With --guardrail: check credentials, addresses, clock, profile and topics of AIRS, or whether
    prompts can steer a judge (13 short prompts are sent).
    """
    checked = CheckResults.of(_facts(guardrail, all_regions=all_regions))
    if as_json:
        from guardtui.reports.json_data import encode

        write(encode("doctor", checked))
    else:
        write(_table(checked.facts))
    return Exit.DONE if checked.ok else Exit.NOT_COMPLETED


def _facts(flags: GuardrailFlags, *, all_regions: bool) -> Iterable[CheckResult]:
    """Return the results for a guardrail, or for the installation without one."""
    chosen = flags.select()
    if all_regions and chosen.kind != AIRS:
        raise click.UsageError("--all-regions is for AIRS: add --guardrail airs:PROFILE")
    if chosen.kind == AIRS:
        from guardtui.cli.airs_service import airs_configuration
        from guardtui.cli.doctor.airs import examine_airs

        return examine_airs(airs_configuration(flags), everywhere=all_regions)
    if chosen.kind == JUDGE:
        from guardtui.cli.doctor.judge import examine_judge

        return examine_judge(chosen)
    if flags.name is not None:
        from guardtui.cli.guardrails import check_guardrail

        return [check_guardrail(chosen)]
    return examine()


def examine() -> Iterator[CheckResult]:
    """Check everything; never fails and changes nothing."""
    yield from _versions()
    yield from _terminal()
    yield _settings()
    yield from _cache()
    yield CheckResult("data", "ok", str(data_folder()))
    yield from _encoders()
    yield _sample_data()
    yield _database()


def _versions() -> Iterator[CheckResult]:
    from importlib.metadata import PackageNotFoundError, requires, version

    yield CheckResult("guardtui", "ok", __version__)
    yield CheckResult("python", "ok", sys.version.split()[0])
    needed = [line for line in requires("guardtui") or () if ";" not in line]
    for name in sorted(re.split(r"[^\w.-]", line)[0] for line in needed):
        try:
            yield CheckResult(name, "ok", version(name))
        except PackageNotFoundError:
            yield CheckResult(name, "missing", "not installed", "reinstall guardtui")


def _terminal() -> Iterator[CheckResult]:
    term = os.environ.get("TERM", "")
    on_terminal = bool(sys.stdout and sys.stdout.isatty())
    yield CheckResult(
        "terminal", "ok", f"TERM={term or '(unset)'}{'' if on_terminal else ', output is piped'}"
    )
    if os.environ.get("NO_COLOR"):
        colour = "off (NO_COLOR)"
    elif term in ("", "dumb"):
        colour = "none"
    elif os.environ.get("COLORTERM", "") in ("truecolor", "24bit"):
        colour = "true colour"
    else:
        colour = "256 colours" if "256" in term else "16 colours, by TERM"
    yield CheckResult("colour", "ok", colour)
    size = shutil.get_terminal_size((0, 0))
    if not size.columns:
        yield CheckResult("size", "ok", "unknown")
    elif size.columns < 60 or size.lines < 20:
        yield CheckResult("size", "warning", f"{size.columns}×{size.lines}", "60×20 is the minimum")
    else:
        yield CheckResult("size", "ok", f"{size.columns}×{size.lines}")
    encoding = (sys.stdout and sys.stdout.encoding) or "unknown"
    if encoding.lower().replace("-", "").replace("_", "") == "utf8":
        yield CheckResult("encoding", "ok", encoding)
    else:
        yield CheckResult("encoding", "warning", encoding, "set LANG to a UTF-8 locale")


def _settings() -> CheckResult:
    from guardtui.config import ConfigError, config_path, load_config

    path = config_path()
    try:
        load_config(path)
    except ConfigError as problem:
        wrong = len(problem.problems)
        text = f"{path} ({wrong} mistake{'s' * (wrong != 1)})"
        return CheckResult("settings", "warning", text, "'guardtui config check' names them")
    return CheckResult("settings", "ok", f"{path}{'' if path.exists() else ' (missing: defaults)'}")


def _cache() -> Iterator[CheckResult]:
    try:
        from guardtui.scanners.local.vectors import cache_folder

        folder = cache_folder()
    except Exception as error:  # noqa: BLE001 - whatever is wrong is a fact to tell
        yield CheckResult("cache", "missing", type(error).__name__, "reinstall guardtui")
        return
    used = 0
    for path in folder.rglob("*"):
        try:
            used += path.stat().st_size
        except OSError:
            continue
    nearest = next(parent for parent in (folder, *folder.parents) if parent.exists())
    text = f"{folder} ({used / 1e6:.1f} MB)"
    if nearest.is_dir() and os.access(nearest, os.W_OK):
        yield CheckResult("cache", "ok", text)
    else:
        remedy = "make it writable, or name another folder in GUARDTUI_CACHE"
        yield CheckResult("cache", "warning", f"{text} cannot be written", remedy)


def _encoders() -> Iterator[CheckResult]:
    try:
        from guardtui.scanners.local.encoder import ENCODERS, load_encoder
    except Exception as error:  # noqa: BLE001 - whatever is wrong is a fact to tell
        yield CheckResult("encoders", "missing", type(error).__name__, "reinstall guardtui")
        return
    for name in ENCODERS:
        try:
            # Loading verifies the checksum of every file.
            yield CheckResult(f"encoder {name}", "ok", load_encoder(name).id)
        except Exception as error:  # noqa: BLE001 - the same
            detail = str(error) or type(error).__name__
            yield CheckResult(f"encoder {name}", "missing", detail, "reinstall guardtui")


def _sample_data() -> CheckResult:
    from guardtui.files.problems import FileError
    from guardtui.session.topic_places import sample_folder

    try:
        folder = sample_folder()
    except FileError as problem:
        return CheckResult("sample data", "warning", "not found", problem.remedy)
    return CheckResult("sample data", "ok", str(folder))


def _database() -> CheckResult:
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            closing(sqlite3.connect(Path(folder) / "probe.sqlite3")) as database,
        ):
            (mode,) = database.execute("PRAGMA journal_mode=WAL").fetchone()
            database.execute("CREATE TABLE probe(value)")
            database.commit()
    except (OSError, sqlite3.Error) as error:
        return CheckResult("sqlite", "missing", str(error), "sessions need a writable folder")
    if mode != "wal":
        return CheckResult(
            "sqlite", "warning", f"{sqlite3.sqlite_version}, mode {mode}", "no WAL here"
        )
    return CheckResult("sqlite", "ok", f"{sqlite3.sqlite_version}, WAL")


def _table(facts: Sequence[CheckResult]) -> str:
    from guardtui.domain.text import display_text

    width = max(len(fact.name) for fact in facts)
    lines = []
    for fact in facts:
        remedy = f" ({display_text(fact.remedy)})" if fact.remedy else ""
        lines.append(f"{fact.state:<7}  {fact.name:<{width}}  {display_text(fact.value)}{remedy}")
    named = {state: [fact.name for fact in facts if fact.state == state] for state in BAD}
    bad = [f"{state}: {', '.join(dict.fromkeys(names))}" for state, names in named.items() if names]
    lines.append("; ".join(bad) or "nothing is missing")
    return "\n".join(lines) + "\n"
