"""Keys of guardrails that an author typed or has in a keyring, by the account of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from guardtui.domain.errors import GuardtuiError
from guardtui.http.errors import inert
from guardtui.http.secret import Secret
from guardtui.http.system_keyring import find_key, keep_key, why_no_keyring
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.model_address import ModelAddress

KEYRING = "keyring of the system"
TYPED = "typed in here, until you quit"
"""Where a key is from, as an author reads it."""


class KeyTextError(GuardtuiError):
    """What was typed is no key; the message does not hold it."""


def airs_account(settings: AirsSettings) -> str:
    """Return what a key of AIRS belongs to: its scan endpoint, and the tenant if there are any."""
    tenant = f" tenant {inert(settings.tenant)}" if settings.tenant else ""
    return f"AIRS at {settings.scan_endpoint.origin}{tenant}"


def model_account(model: ModelAddress) -> str:
    """Return what the key of a model belongs to: scheme, host and port."""
    from guardtui.http.model_keys import origin_of

    return f"model at {origin_of(model.url)}"


@dataclass(frozen=True, slots=True)
class SessionKeys:
    """Keys by their account, each with where it is from. They are never sent to another one."""

    known: Mapping[str, tuple[Secret, str]] = field(default_factory=dict, repr=False)

    def with_typed(self, account: str, text: str) -> SessionKeys:
        """Add a key that was typed. Raises KeyTextError."""
        try:
            return SessionKeys({**self.known, account: (Secret(text), TYPED)})
        except ValueError as error:
            raise KeyTextError(f"Key: {error}") from None

    def with_keyring(self, account: str) -> SessionKeys:
        """Add the key that the keyring has for an account, unless one is known. Blocks."""
        key = None if account in self.known else find_key(account)
        return self if key is None else SessionKeys({**self.known, account: (key, KEYRING)})

    def keep(self, account: str) -> None:
        """Keep a key in the keyring. Blocks. Raises KeyringError."""
        keep_key(account, self.known[account][0])

    def origin(self, account: str) -> str:
        """Return where the key of an account is from; "" for one that is not known."""
        return self.known[account][1] if account in self.known else ""

    def for_airs(self, settings: AirsSettings) -> AirsSettings:
        """Return the settings with the key for their account, which counts more than theirs."""
        account = airs_account(settings)
        if account not in self.known:
            return settings
        key, origin = self.known[account]
        origins = {**settings.origins, "api_key": origin}
        return replace(settings, api_key=key, prefer_token=False, origins=origins)

    def for_models(self, models: Iterable[ModelAddress]) -> tuple[ModelAddress, ...]:
        """Return the models with the keys for their accounts; others as they are."""
        return tuple(map(self._for_model, models))

    def _for_model(self, model: ModelAddress) -> ModelAddress:
        account = model_account(model)
        if account not in self.known:
            return model
        return replace(model, key=self.known[account][0], key_variable="")

    def secrets(self) -> dict[str, str]:
        """Return all keys by name, for what must not show them."""
        return {f"the key of {name}": key.reveal() for name, (key, _) in self.known.items()}


__all__ = ["KEYRING", "TYPED", "SessionKeys", "airs_account", "model_account", "why_no_keyring"]
