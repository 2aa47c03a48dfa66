"""A session of `guardtui open --plain`, whose commands come from a pipe."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from guardtui.session.topic_places import sample_folder
from tests.cli.conftest import Result, Run

Plain = Callable[..., Result]

FILES = ("topic.yaml", "--prompts", "prompts.csv")

_DRAWN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2500-\u259f\u2800-\u28ff]")
"""Control characters but the line feed, boxes, blocks and braille."""


def require_plain(result: Result) -> Result:
    """Check that nothing but lines of text was written."""
    assert _DRAWN.findall(result.out + result.err) == []
    return result


@pytest.fixture
def plain(run: Run) -> Plain:
    """Run these lines as commands, in this process; `files` are the arguments of `open`."""

    def plain_(*lines: str, files: tuple[str, ...] = FILES, **variables: str) -> Result:
        words = ("open", "--plain", "--set", "encoder=static", *files)
        piped = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
        return require_plain(run(*words, piped=piped, **variables))

    return plain_


@pytest.fixture
def sample(folder: Path) -> tuple[str, ...]:
    """The sample of 200 prompts in the folder; the arguments that open it."""
    for name in ("tax-advice.yaml", "tax-advice.csv"):
        shutil.copy(sample_folder() / name, folder)
    return ("tax-advice.yaml",)
