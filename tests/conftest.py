"""Every test has its own cache and data folder, so that none sees the author's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is.
settings.register_profile("guardtui", deadline=None)
settings.load_profile("guardtui")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: those of archives hold the time at which they were made, and
    workers that collect tests at different seconds must give them the same names.
    """
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def nothing_is_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """An app takes what stands in memory when it starts for its own; here many apps start."""
    monkeypatch.setattr("gc.freeze", lambda: None)


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("guardtui")
    monkeypatch.setenv("GUARDTUI_CACHE", str(folder / "cache"))
    monkeypatch.setenv("GUARDTUI_DATA", str(folder / "data"))
    monkeypatch.setenv("GUARDTUI_CONFIG", str(folder / "config.yaml"))
    return folder
