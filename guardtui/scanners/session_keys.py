"""Keys of guardrails, typed or from a keyring, by account."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from guardtui.domain.errors import GuardtuiError
from guardtui.http.errors import inert
from guardtui.http.model_keys import origin_of
from guardtui.http.secret import Secret
from guardtui.http.system_keyring import find_key, keep_key, why_no_keyring
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.models.address import ModelAddress

KEYRING = "keyring of the system"
TYPED = "typed in here, until you quit"
"""Origins of keys, as shown to the author."""


class KeyTextError(GuardtuiError):
    """The typed text is not a key; the message does not contain it."""


def airs_account(settings: AirsSettings) -> str:
    """Return the account of an AIRS key: scan endpoint and tenant, if any."""
    tenant = f" tenant {inert(settings.tenant)}" if settings.tenant else ""
    return f"AIRS at {settings.scan_endpoint.origin}{tenant}"


def model_account(model: ModelAddress) -> str:
    """Return the account of a model's key: scheme, host and port."""
    return f"model at {origin_of(model.url)}"


@dataclass(frozen=True, slots=True)
class SessionKeys:
    """Keys with their origins, by account. A key is never sent to another account."""

    known: Mapping[str, tuple[Secret, str]] = field(default_factory=dict, repr=False)

    def with_typed(self, account: str, text: str) -> SessionKeys:
        """Add a typed key. Raises KeyTextError."""
        try:
            return SessionKeys({**self.known, account: (Secret(text), TYPED)})
        except ValueError as error:
            raise KeyTextError(f"Key: {error}") from None

    def with_keyring(self, account: str) -> SessionKeys:
        """Add the key of an account from the keyring, unless a key is known. Blocks."""
        key = None if account in self.known else find_key(account)
        return self if key is None else SessionKeys({**self.known, account: (key, KEYRING)})

    def keep(self, account: str) -> None:
        """Store a key in the keyring. Blocks. Raises KeyringError."""
        keep_key(account, self.known[account][0])

    def origin(self, account: str) -> str:
        """Return the origin of an account's key; "" if it is unknown."""
        return self.known[account][1] if account in self.known else ""

    def for_airs(self, settings: AirsSettings) -> AirsSettings:
        """Return the settings with the key of their account, which overrides their own."""
        account = airs_account(settings)
        if account not in self.known:
            return settings
        key, origin = self.known[account]
        origins = {**settings.origins, "api_key": origin}
        return replace(settings, api_key=key, prefer_token=False, origins=origins)

    def for_models(self, models: Iterable[ModelAddress]) -> tuple[ModelAddress, ...]:
        """Return the models with the keys of their accounts; others unchanged."""
        return tuple(map(self._for_model, models))

    def _for_model(self, model: ModelAddress) -> ModelAddress:
        account = model_account(model)
        if account not in self.known:
            return model
        return replace(model, key=self.known[account][0], key_variable="")

    def secrets(self) -> dict[str, str]:
        """Return all keys by name, for redaction."""
        return {f"the key of {name}": key.reveal() for name, (key, _) in self.known.items()}


__all__ = ["KEYRING", "TYPED", "SessionKeys", "airs_account", "model_account", "why_no_keyring"]
