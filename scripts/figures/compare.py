"""Run the same command lines with two versions of guardtui, and compare the values they give.

    python scripts/figures/compare.py OLD/bin/guardtui NEW/bin/guardtui

The lines, in the spelling of each version, and the fields that were renamed are in
command_lines.yaml. Exit code 0: all values are the same. 1: a line differs or cannot be run.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

from scripts.figures.model_service import model_service  # noqa: E402
from scripts.figures.values import Fields, Values, differences, values_of  # noqa: E402

LINES = HERE / "command_lines.yaml"
SESSIONS = HERE / "sessions.sql"
SHOWN = 6
"""Differences that are printed for a line."""
_LIMIT = 300.0
"""Seconds after which a command is ended."""
_EXPORT = re.compile(r"export (\w+)='(.*)'")
_OWN_VARIABLES = ("GUARDTUI_", "PANW_", "GITHUB_", "PYTHONPATH")


class NotRunnableError(Exception):
    """A version does not run a command line; the message says what it answered."""


@dataclass(frozen=True)
class Line:
    """One command line in both spellings: commands to run one after the other in one folder.

    Compared are the exit code and the output of the last command, the gates it reported, and the
    `writes`, names of files. `files` are written first, `session` says whether a session with
    recorded iterations is there, and `sandbox` whether one is started. `renamed_fields` are those
    that this line's report has at another place than all others.
    """

    name: str
    old: str
    new: str
    writes: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    session: bool = False
    sandbox: bool = False
    renamed_fields: Mapping[str, str | None] = field(default_factory=dict)


def load_lines(path: Path) -> tuple[list[Line], Fields]:
    """Return the command lines of a file, and what it says of fields. Raises ValueError."""
    document = YAML(typ="safe").load(path)
    lines = []
    for entry in document["lines"]:
        values: dict[str, Any] = {"new": entry["old"], **entry}
        lines.append(Line(**{**values, "writes": tuple(values.get("writes", ()))}))
    names = [line.name for line in lines]
    if len(set(names)) < len(names):
        raise ValueError(f"{path}: two lines have one name")
    fields = Fields(
        document["renamed_fields"] or {},
        document.get("renamed_values") or {},
        frozenset(document["left_out"]),
        frozenset(document["sentences"]),
    )
    return lines, fields


@dataclass(frozen=True)
class Version:
    """A guardtui to run, and the cache of its vectors, which all lines share."""

    program: Path
    cache: Path
    models: str
    fields: Fields

    def run(self, line: Line, spelling: str, folder: Path) -> dict[str, Values]:
        """Return the values in each output of a line, run in a fresh folder.

        Raises NotRunnableError.
        """
        shutil.rmtree(folder, ignore_errors=True)
        work = folder / "work"
        shutil.copytree(ROOT / "sample_data", work)
        (work / "large.csv").write_text(_large_set(), "utf-8")
        for name, text in line.files.items():
            (work / name).write_text(text, "utf-8")
        if line.session:
            _write_session(work / ".guardtui")
        with self._environment(line, folder) as environment:
            for command in spelling.strip().splitlines():
                words = shlex.split(command.replace("{MODELS}", self.models))
                done = self._call(words, work, environment)
        named = {name: (work / name).read_bytes() for name in line.writes if (work / name).exists()}
        gates = [text for text in done.stderr.splitlines() if text.startswith(b"gate")]
        outputs = {"stdout": done.stdout, "gates": b"\n".join(gates), **named}
        values = {"exit": Values(code=done.returncode)}
        for name, content in outputs.items():
            content = content.replace(os.fsencode(folder), b"").replace(self.models.encode(), b"")
            try:
                values[name] = values_of(name, content, self.fields)
            except (ValueError, SyntaxError) as error:
                raise NotRunnableError(f"{name} cannot be read: {error}") from error
        return values

    def _call(
        self, words: Sequence[str], work: Path, environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[bytes]:
        shown = shlex.join(["guardtui", *words])
        try:
            done = subprocess.run(
                [self.program, *words],
                cwd=work,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_LIMIT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotRunnableError(f"{shown}: {error}") from error
        refused = done.returncode == 2 and not done.stdout
        if refused or b"Traceback (most recent" in done.stderr:
            answer = done.stderr.decode("utf-8", "replace").strip()
            raise NotRunnableError(f"{shown}\n    {answer[-600:]}")
        return done

    @contextlib.contextmanager
    def _environment(self, line: Line, folder: Path) -> Iterator[dict[str, str]]:
        """Yield variables for a line: its own folders, and a sandbox if it needs one.

        Verdicts of services are cached too, so lines that ask one have their own cache.
        """
        asks = line.sandbox or "{MODELS}" in line.old
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(_OWN_VARIABLES)
        } | {
            "HOME": str(folder / "home"),
            "GUARDTUI_CACHE": str(folder / "cache" if asks else self.cache),
            "GUARDTUI_DATA": str(folder / "data"),
            "GUARDTUI_CONFIG": str(folder / "config.yaml"),
            "GUARDTUI_MODEL_KEY": "key",
            "COLUMNS": "120",
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
        }
        if not line.sandbox:
            yield environment
            return
        state = str(folder / "sandbox.json")
        command = [str(self.program), "sandbox", "--port", "0", "--state", state]
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            try:
                assert process.stdout is not None
                told: dict[str, str] = {}
                for text in process.stdout:
                    if match := _EXPORT.match(text):
                        told[match[1]] = match[2]
                    if match and match[1] == "PANW_AI_SEC_PROFILE_NAME":
                        break  # the last of them
                else:
                    raise NotRunnableError("guardtui sandbox does not start")
                yield environment | told
            finally:
                process.terminate()


def _large_set() -> str:
    """Return 3000 labelled prompts."""
    asks = ("How do I", "Should I", "When must I", "Can my friend", "Why would one", "Tell me to")
    does = ("declare", "deduct", "paint", "book", "file", "return", "bake", "pay tax on", "refund")
    things = ("a desk", "my income", "the train", "bread", "shares", "a gift", "rent", "a dragon")
    rows = []
    for number in range(3000):
        ask, do = asks[number % 6], does[number // 6 % 9]
        text = f"{ask} {do} {things[number // 54 % 8]} in {1600 + number // 432}, no. {number}?"
        label = str(do in ("declare", "deduct", "file", "pay tax on")).lower()
        rows.append(f'"{text}",{label},block,{do}')
    return "\n".join(["prompt,expected,intent,category", *rows, ""])


def _write_session(folder: Path) -> None:
    """Write the session of tax-advice.yaml: see the head of its script."""
    folder.mkdir()
    with contextlib.closing(sqlite3.connect(folder / "sessions.sqlite3")) as database:
        database.executescript(SESSIONS.read_text("utf-8"))


def compare_line(
    line: Line, old: Version, new: Version, folder: Path, *, same: bool
) -> tuple[str, list[str]]:
    """Return what the old version gives on a line, and how the new one differs.

    Raises NotRunnableError.

    With `same`, the new version is given the old spelling too. Both run at the same path, so that
    no path in their output differs.
    """
    before = old.run(line, line.old, folder)
    after = new.run(line, line.old if same else line.new, folder)
    count = sum(map(len, before.values())) - 1
    fields = replace(old.fields, renamed={**old.fields.renamed, **line.renamed_fields})
    found = [
        f"{name}: {difference}"
        for name, values in before.items()
        for difference in differences(values, after.get(name, {}), fields)
    ]
    return f"{count} values, exit code {before['exit']['code']}", found


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare two versions, print a verdict on each line, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("old", type=Path, metavar="OLD", help="path of the old guardtui")
    parser.add_argument("new", type=Path, metavar="NEW", help="path of the new guardtui")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this line")
    parser.add_argument("--with-old-spelling", action="store_true", help="for both versions")
    parser.add_argument("--lines", type=Path, default=LINES, metavar="FILE", help="command lines")
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="lines run at a time")
    chosen = parser.parse_args(arguments)
    lines, fields = load_lines(chosen.lines)
    if unknown := set(chosen.only or ()) - {line.name for line in lines}:
        parser.error(f"no line is named {', '.join(sorted(unknown))}")
    lines = [line for line in lines if not chosen.only or line.name in chosen.only]
    counts = {"same": 0, "different": 0, "not runnable": 0}
    with (
        tempfile.TemporaryDirectory(prefix="figures-") as folder,
        model_service() as models,
        ThreadPoolExecutor(chosen.at_once) as pool,
    ):
        place = Path(folder)
        old = Version(chosen.old.absolute(), place / "cache of old", models, fields)
        new = Version(chosen.new.absolute(), place / "cache of new", models, fields)
        running = [
            pool.submit(
                compare_line, line, old, new, place / line.name, same=chosen.with_old_spelling
            )
            for line in lines
        ]
        for line, result in zip(lines, running, strict=True):
            try:
                summary, found = result.result()
                verdict = "different" if found else "same"
            except NotRunnableError as error:
                summary, found, verdict = "", [str(error)], "not runnable"
            counts[verdict] += 1
            print(f"{verdict:12}  {line.name:24}  {summary}".rstrip(), flush=True)
            for difference in found[:SHOWN]:
                print(f"    {difference}")
            if len(found) > SHOWN:
                print(f"    and {len(found) - SHOWN} more")
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return 0 if counts["same"] == len(lines) else 1


if __name__ == "__main__":
    sys.exit(main())
