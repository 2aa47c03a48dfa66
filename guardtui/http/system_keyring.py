"""Keys in the system's keyring, through the optional package keyring."""

from __future__ import annotations

from typing import Any

from guardtui.domain.errors import GuardtuiError
from guardtui.http.errors import inert
from guardtui.http.secret import Secret

SERVICE = "guardtui"
"""Name of our entries in the keyring."""

_RECOMMENDED = 1.0
"""Backends with at least this priority store keys encrypted; others use plain text files."""


class KeyringError(GuardtuiError):
    """The keyring cannot store or return a key; the message never shows one."""


def why_no_keyring() -> str:
    """Return why keys cannot be stored in a keyring, or "". May block."""
    try:
        return "" if _backend() is not None else "this system has no keyring that encrypts"
    except ImportError:
        return "to store it: pip install 'guardtui[keyring]'"
    except Exception as error:  # noqa: BLE001 - backends raise what they like
        return f"the keyring fails ({inert(type(error).__name__)})"


def find_key(account: str) -> Secret | None:
    """Return the key of an account; None without a key or a keyring. May block."""
    try:
        backend = _backend()
        text = None if backend is None else backend.get_password(SERVICE, account)
        return Secret(text) if text else None
    except Exception:  # noqa: BLE001 - a locked or broken keyring provides no key
        return None


def keep_key(account: str, key: Secret) -> None:
    """Store the key of an account in the keyring. May block. Raises KeyringError."""
    try:
        backend = _backend()
        if backend is None:
            raise KeyringError(why_no_keyring())
        backend.set_password(SERVICE, account, key.reveal())
    except KeyringError:
        raise
    except Exception as error:  # noqa: BLE001 - backends raise what they like
        reason = inert(type(error).__name__)
        raise KeyringError(
            f"the keyring rejected the key ({reason})\n"
            "  unlock it, or use the key without storing it"
        ) from None


def _backend() -> Any:
    """Return the backend in use; None if it does not encrypt. Raises ImportError."""
    import keyring

    backend = keyring.get_keyring()
    # A chain of backends writes to the first one and reads from any.
    backend = next(iter(getattr(backend, "backends", ())), backend)
    return backend if float(backend.priority) >= _RECOMMENDED else None
