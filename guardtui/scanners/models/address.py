"""Address of a model: URL, name at the service, and key."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from guardtui.http.address import without_queries
from guardtui.http.errors import inert
from guardtui.http.model_keys import KEY_VARIABLE, ModelKeys
from guardtui.http.openai import parse_model
from guardtui.http.secret import Secret


@dataclass(frozen=True, slots=True)
class ModelAddress:
    """URL of a model, its name at the service, its key and the variable that holds the key."""

    url: str
    name: str
    key: Secret | None = None
    key_variable: str = ""

    @classmethod
    def parse_all(
        cls,
        texts: Sequence[str],
        environment: Mapping[str, str] | None = None,
        *,
        allow_http: bool = False,
    ) -> list[ModelAddress]:
        """Parse all models of a run, each written as `URL#name`, with keys from the environment.

        Raises AddressError, and ModelKeyError (see `ModelKeys.find`).
        """
        models = [parse_model(text, allow_http=allow_http) for text in texts]
        keys = ModelKeys(environment, [url for url, _ in models])
        with_keys = [(url, name, keys.find(url)) for url, name in models]
        return [cls(url, name, key.secret, key.variable) for url, name, key in with_keys]

    @property
    def has_shared_key(self) -> bool:
        """Return whether the key comes from the variable for models at a single address."""
        return self.key_variable == KEY_VARIABLE

    @property
    def full(self) -> str:
        """`URL#name`."""
        return f"{self.url}#{self.name}"

    @property
    def shown(self) -> str:
        """Name and URL, inert and shortened; safe to show anywhere."""
        return f"{inert(self.name)[:60]} at {inert(without_queries(self.url))[:60]}"


def addresses_revision(models: Iterable[ModelAddress]) -> str:
    """Return a revision that identifies the addresses of models, which may contain a secret.

    Many services use the same model names.
    """
    addresses = "\n".join(model.full for model in models)
    return f"addresses {hashlib.blake2b(addresses.encode(), digest_size=4).hexdigest()}"


def without_shared_key(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without the key for models at a single address."""
    return {name: text for name, text in environment.items() if name != KEY_VARIABLE}


def keys_of(models: Iterable[ModelAddress]) -> tuple[Secret, ...]:
    """Return the keys of models, each once."""
    return tuple(dict.fromkeys(model.key for model in models if model.key is not None))
