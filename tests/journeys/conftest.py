"""The people of the journeys, and a folder with two topics for them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from guardtui.session.topic_places import sample_folder
from tests.cli.conftest import environment as environment
from tests.cli.sandbox_server import account_variables
from tests.journeys.author import Author
from tests.journeys.shell import Shell
from tests.tui.conftest import pytest_configure as pytest_configure  # and what it sets
from tests.tui.frames_app import freeze
from tests.tui.tax_app import ROWS, TOPIC


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`tax-advice`, the sample of hundreds of prompts, and `tax`, a topic of eight."""
    freeze(monkeypatch)
    monkeypatch.chdir(tmp_path)
    for ending in ("yaml", "csv"):
        shutil.copy(sample_folder() / f"tax-advice.{ending}", tmp_path)
    (tmp_path / "tax.yaml").write_text(TOPIC, "utf-8")
    rows = "".join(f'"{prompt}",{str(label).lower()},block\n' for prompt, label in ROWS)
    (tmp_path / "tax.csv").write_text("prompt,expected,intent\n" + rows, "utf-8")
    return tmp_path


def profile_variables(url: str) -> dict[str, str]:
    """Return the environment of an author whose profile is that of a sandbox."""
    more = {"PANW_AI_SEC_PROFILE_NAME": "sandbox", "GUARDTUI_CACHE": os.environ["GUARDTUI_CACHE"]}
    return account_variables(url) | more


@pytest.fixture
def author(folder: Path) -> Author:
    return Author(folder)


@pytest.fixture
def shell(folder: Path, environment: dict[str, str]) -> Shell:
    return Shell(folder, environment)
