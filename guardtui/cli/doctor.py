"""`guardtui doctor`: check the installation and report problems."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from guardtui import __version__
from guardtui.app.check_result import CheckResult
from guardtui.cli.diagnostics import Exit
from guardtui.cli.options import declared
from guardtui.cli.output import write
from guardtui.scanners.airs.command_options import REGIONS
from guardtui.scanners.judge.command_options import MODELS

BAD = ("missing", "failed")
"""States that prevent work."""

_DEPENDENCIES = (
    "click",
    "numpy",
    "onnxruntime",
    "platformdirs",
    "polars",
    "pydantic",
    "ruamel.yaml",
    "scipy",
    "textual",
    "tokenizers",
)


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--airs", is_flag=True, help="Check AIRS instead; sends one harmless prompt.")
@click.option("--profile", metavar="NAME", help="With --airs: the security profile.")
@click.option(
    "--region",
    type=click.Choice([*REGIONS, "all"]),
    help="With --airs: the region; 'all' sends a rejected key to the hosts of all regions.",
)
@click.option("--scan-endpoint", metavar="URL", help="With --airs: endpoint of scans.")
@click.option("--tenant", metavar="NAME", help="With --airs: the tenant of airs-cli.")
@click.option("--judge", is_flag=True, help="Have --model judge prompts that try to steer it.")
@declared(*MODELS)
def command(
    as_json: bool,
    airs: bool,
    profile: str | None,
    region: str | None,
    scan_endpoint: str | None,
    tenant: str | None,
    judge: bool,
    **of_judge: Any,
) -> int:
    """Check the installation and report problems.

    With --airs: check credentials, addresses, clock, profile and topics of AIRS. With --judge: test
    whether prompts can steer a judge (13 short prompts are sent).
    Exit code 3 if something that guardtui needs is missing or does not work.
    """
    if not judge and any(of_judge.values()):
        raise click.UsageError("options of a judge need --judge")
    of_airs = {
        "profile": profile,
        "region": region,
        "scan_endpoint": scan_endpoint,
        "tenant": tenant,
    }
    if judge and (airs or any(of_airs.values())):
        raise click.UsageError("--judge cannot be combined with options of AIRS")
    if judge:
        from guardtui.cli.doctor_judge import examine_judge

        facts = examine_judge(of_judge)
    elif airs:
        from guardtui.cli.doctor_airs import examine_airs

        facts = list(examine_airs(**of_airs))
    elif any(of_airs.values()):
        raise click.UsageError("--profile, --region, --scan-endpoint and --tenant need --airs")
    else:
        facts = list(examine())
    missing = any(fact.state in BAD for fact in facts)
    if as_json:
        from guardtui.reports.json_data import encode

        write(encode("doctor", {"ok": not missing, "facts": facts}))
    else:
        write(_table(facts))
    return Exit.NOT_COMPLETED if missing else Exit.DONE


def examine() -> Iterator[CheckResult]:
    """Check everything; never fails and changes nothing."""
    yield from _versions()
    yield from _terminal()
    yield _settings()
    yield from _cache()
    yield from _encoders()
    yield _sample_data()
    yield _database()


def _versions() -> Iterator[CheckResult]:
    from importlib.metadata import PackageNotFoundError, version

    yield CheckResult("guardtui", "ok", __version__)
    yield CheckResult("python", "ok", sys.version.split()[0])
    for name in _DEPENDENCIES:
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
    from guardtui.session.workspace import sample_folder

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


def _table(facts: list[CheckResult]) -> str:
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
