"""Retries after almost no wait, for tests of what is retried."""

from __future__ import annotations

from typing import Any

import pytest

from guardtui.http.retries import Retries


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries after a thousandth of the time."""
    usual = Retries.wait

    def wait(self: Retries, *arguments: Any) -> float | None:
        seconds = usual(self, *arguments)
        return None if seconds is None else seconds / 1000

    monkeypatch.setattr(Retries, "wait", wait)
