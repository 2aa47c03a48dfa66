"""A shell in the author's folder: commands, what they print, and what they leave."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, Self

import pytest

from tests.cli.conftest import Result, run_here

ENGINE = ("--set", "encoder=static", "--threshold", "built-in")
"""Options with which a command measures what the author's screen shows."""


class Shell:
    """Runs one command after the other: `shell.runs("check", …).exits(0).prints(…)`."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, {**environment}
        self._result = Result(0, "", "")

    @property
    def code(self) -> int:
        """The exit code of the last command."""
        return self._result.code

    @property
    def out(self) -> str:
        """What the last command printed on standard output."""
        return self._result.out

    def runs(self, *arguments: str, **variables: str) -> Self:
        loop = asyncio._get_running_loop()
        task = None if loop is None else asyncio.current_task(loop)
        # A command runs a loop of its own, as in a process of its own.
        if loop is not None and task is not None:
            asyncio.tasks._leave_task(loop, task)
        asyncio._set_running_loop(None)
        try:
            self._result = run_here(arguments, self.folder, {**self.environment, **variables})
        finally:
            asyncio._set_running_loop(loop)
            if loop is not None and task is not None:
                asyncio.tasks._enter_task(loop, task)
        return self

    def measures(self, name: str, *options: str) -> Self:
        """Evaluate a topic of the folder as its screen does."""
        prompts = ("--prompts", f"{name}.csv")
        return self.runs("eval", f"{name}.yaml", *prompts, *ENGINE, "--format", "json", *options)

    def exits(self, code: int) -> Self:
        assert self._result.code == code, self._result
        return self

    def prints(self, *texts: str) -> Self:
        """Texts are in what was written, each run of blanks being one."""
        written = " ".join(f"{self._result.out} {self._result.err}".split())
        assert [text for text in texts if text not in written] == [], written
        return self

    def reports(self, *path: str | int, value: object) -> Self:
        """A value of the printed JSON, by the names that lead to it."""
        found: Any = json.loads(self._result.out)
        for part in path:
            found = found[part]
        assert found == (pytest.approx(value) if isinstance(value, float) else value)
        return self

    def finds(self, file: str, *texts: str) -> Self:
        """Find texts in a file of the folder."""
        content = (self.folder / file).read_text("utf-8-sig")
        assert [text for text in texts if text not in content] == []
        return self
