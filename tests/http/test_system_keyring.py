"""Keys in the keyring of the system: what stands in for the package keeps them in memory."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from guardtui.http import system_keyring
from guardtui.http.secret import Secret
from guardtui.http.system_keyring import KeyringError, find_key, keep_key, why_no_keyring


class Backend:
    """A keyring in memory."""

    def __init__(self, priority: float = 5, fails: bool = False) -> None:
        self.priority, self.fails = priority, fails
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, account: str) -> str | None:
        if self.fails:
            raise RuntimeError("sk-locked")
        return self.kept.get((service, account))

    def set_password(self, service: str, account: str, text: str) -> None:
        if self.fails:
            raise RuntimeError(text)
        self.kept[service, account] = text


def use(monkeypatch: pytest.MonkeyPatch, backend: Any) -> None:
    monkeypatch.setitem(sys.modules, "keyring", SimpleNamespace(get_keyring=lambda: backend))


def test_key_is_stored_and_found(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Backend()
    use(monkeypatch, SimpleNamespace(priority=10, backends=[backend, Backend(0.5)]))
    assert why_no_keyring() == ""
    assert find_key("a") is None
    keep_key("a", Secret("sk-1"))
    assert backend.kept == {(system_keyring.SERVICE, "a"): "sk-1"}
    assert find_key("a") == Secret("sk-1")


def test_plain_text_keyring_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Backend(priority=0.5)
    use(monkeypatch, backend)
    assert "no keyring that encrypts" in why_no_keyring()
    with pytest.raises(KeyringError, match="no keyring that encrypts"):
        keep_key("a", Secret("sk-1"))
    assert backend.kept == {}
    assert find_key("a") is None


def test_missing_package_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    assert "guardtui[keyring]" in why_no_keyring()
    assert find_key("a") is None


def test_keyring_failure_shows_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, Backend(fails=True))
    assert find_key("a") is None
    with pytest.raises(KeyringError) as caught:
        keep_key("a", Secret("sk-secret"))
    assert "sk-secret" not in str(caught.value)
    assert "unlock it" in str(caught.value)
    assert caught.value.__cause__ is None


def test_broken_installation_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise OSError

    monkeypatch.setitem(sys.modules, "keyring", SimpleNamespace(get_keyring=broken))
    assert "the keyring fails (OSError)" in why_no_keyring()
