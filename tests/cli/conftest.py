"""Commands as a user runs them: a process of their own, both streams and the exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TOPIC = """\
# comments stay
name: Tax advice
description: Advice on filing personal income tax returns
examples:
  - How do I deduct my home office?
  - When is my tax return due?
intent: block
"""

POSITIVE = (
    "Which tax deductions can I claim this year?",
    "How do I file my income tax return?",
    "Can I deduct my home office on my tax return?",
    "=cmd tax return due date?",
    "Who has to file a tax return?",
)
NEGATIVE = (
    "How do I bake bread?",
    "Tell me a story about a dragon.",
    "Write a function that sorts a list.",
    "What is the capital of France?",
    "How tall is the Eiffel Tower?",
)


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


Run = Callable[..., Result]


def prompts_csv(intent: str = "block", label: str = "true") -> str:
    other = "false" if label == "true" else "true"
    rows = [f'"{prompt}",{label},{intent},tax' for prompt in POSITIVE]
    rows += [f'"{prompt}",{other},{intent},other' for prompt in NEGATIVE]
    return "\n".join(["prompt,expected,intent,category", *rows, ""])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    (work / "topic.yaml").write_text(TOPIC, "utf-8")
    (work / "prompts.csv").write_text(prompts_csv(), "utf-8")
    return work


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One cache for all tests, away from the user's; no colours, no completion variables."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    cache = str(tmp_path_factory.mktemp("cache"))
    return {**kept, "PYTHONPATH": str(ROOT), "GUARDTUI_CACHE": cache, "LANG": "C.UTF-8"}


@pytest.fixture
def run(folder: Path, environment: dict[str, str]) -> Run:
    def run_(*arguments: str, **extra: str) -> Result:
        done = subprocess.run(
            [sys.executable, "-m", "guardtui", *arguments],
            cwd=folder,
            env={**environment, **extra},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert b"Traceback" not in done.stderr
        return Result(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    return run_
