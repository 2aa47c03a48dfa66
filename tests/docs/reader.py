"""A reader who types what a page says: commands, servers, the app, and answers to questions."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.cli.conftest import Result, run_here
from tests.cli.terminal import Terminal
from tests.docs.blocks import Block

QUIT = "\x11"
DIALOGUES: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (r"guardtui new$", tuple(("> ", f"{text}\r") for text in ("Tea", "Tea", "block"))
     + tuple(("> ", f"{text}\r") for text in ("Green tea?", "Black tea?", ""))),
    (r"guardtui inbox label \S+$", (("Label: ", "\x1b"),)),
    (r"guardtui refine .*--writer", (("[y/N]", "y\r"), ("[y/N]", "y\r"))),
    (r"guardtui (topics (apply|revert|delete)|refine .*--experiment)(?!.*(--yes|--dry-run))",
     (("[y/N]", "y\r"),)),
    (r"guardtui( open(?! --plain).*| [\w-]+\.(yaml|csv).*)?$", (("coverage", QUIT),)),
)  # fmt: skip
"""Lines that need a terminal: what is awaited there, and typed then."""

SERVERS = re.compile(r"guardtui (sandbox|serve)\b")
_SHELL = re.compile(r"[|<>&;*$]")


class Reader:
    """Does what a page says in a folder, with services that stand for those that it names."""

    def __init__(self, folder: Path, environment: dict[str, str], service: str, cloud: str) -> None:
        self.folder, self.environment = folder, environment
        self._service, self._cloud = service, cloud
        self._names: dict[str, Any] = {"__name__": "page"}

    def write(self, blocks: Iterable[Block]) -> None:
        """Write the files of a page."""
        for block in blocks:
            if block.file is not None:
                path = self.folder / block.file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(self._here(block.text), "utf-8")

    def follow(self, block: Block, codes: dict[str, int]) -> list[str]:
        """Run a program, or the lines of a shell; return what is not as the page says.

        `codes` has the exit codes that are not 0, by the beginnings of their lines.
        """
        wrong: list[str] = []
        if block.language == "python":
            with contextlib.chdir(self.folder):
                program = compile(
                    block.text, f"{block.page}:{block.line}", "exec", dont_inherit=True
                )
                exec(program, self._names)
        else:
            for line, printed in block.steps:
                done = self.run(line)
                if printed is not None:
                    wrong += _differences(line, printed, done)
                    continue
                code = next((code for start, code in codes.items() if line.startswith(start)), 0)
                if done.code != code:
                    wrong.append(f"{line}\nexit code {done.code}, not {code}\n{done.out}{done.err}")
        return wrong

    def run(self, line: str) -> Result:
        """Run one line of a shell."""
        here = self._here(line)
        dialogue = next((told for form, told in DIALOGUES if re.match(form, line)), None)
        if SERVERS.match(line):
            return self._serve(here)
        if dialogue is not None:
            return self._talk(here, dialogue)
        if here.startswith("guardtui ") and not _SHELL.search(
            re.sub(r"'[^']*'|\"[^\"]*\"", "", here)
        ):
            return run_here(shlex.split(here)[1:], self.folder, self.environment)
        done = subprocess.run(
            ["bash", "-c", here], cwd=self.folder, env=self.environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return Result(done.returncode, done.stdout, done.stderr)

    def _here(self, text: str) -> str:
        """Return a text with the addresses of the services here, and ports that are free."""

        def address(match: re.Match[str]) -> str:
            writer, kind = match["writer"] or "", match["kind"] or ""
            return writer + kind + (self._cloud if kind == "decision:" else self._service)

        text = re.sub(
            r"(?P<writer>--writer \"?)?(?P<kind>decision:)?https?://[\w.:-]+/v1\b", address, text
        )
        return re.sub(r"--port \d+", "--port 0", text)

    def _serve(self, line: str) -> Result:
        """Start a server, and interrupt it once it has said where it is."""
        port = () if "--port" in line else ("--port", "0")
        with subprocess.Popen(
            [sys.executable, "-m", *shlex.split(line), *port], cwd=self.folder,
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            said = process.stdout.readline()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
            assert "http://127.0.0.1:" in said + err
            return Result(0 if process.returncode == 130 else 1, said + out, err)

    def _talk(self, line: str, dialogue: tuple[tuple[str, str], ...]) -> Result:
        words = shlex.split(line)[1:]
        terminal = Terminal(self.folder, self.environment, *words)
        try:
            with contextlib.suppress(OSError):  # it has ended without a question
                for awaited, typed in dialogue:
                    terminal.expect(awaited)
                    os.write(terminal.handle, typed.encode())
            said = terminal.rest()
        finally:
            terminal.close()
        return Result(terminal.process.returncode, said, "")


def _differences(line: str, printed: list[str], done: Result) -> list[str]:
    """Return the printed lines of a page that are not in the output; `…` is any rest of a line."""
    lines = [" ".join(text.split()) for text in f"{done.out}{done.err}".splitlines()]
    if done.code:
        lines.append(f"[exit code {done.code}]")
    wrong = []
    for text in (" ".join(text.split()) for text in printed):
        start = text.removesuffix("…")
        if not any(one.startswith(start) if start != text else one == text for one in lines):
            wrong.append(f"{line}\nnot printed: {text}\n{done.out}{done.err}")
    if done.code and lines[-1] not in printed:
        wrong.append(f"{line}\n{lines[-1]}\n{done.err}")
    return wrong
