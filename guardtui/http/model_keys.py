"""Keys of language models: each belongs to one origin (scheme, host and port)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.text import display_text
from guardtui.http.address import AddressError, Endpoint
from guardtui.http.secret import Secret

KEY_VARIABLE = "GUARDTUI_MODEL_KEY"
KEYS_VARIABLE = "GUARDTUI_MODEL_KEYS"
NO_KEY = "none"
"""Used in place of a variable for an origin that needs no key."""
OPENAI_VARIABLE = "OPENAI_API_KEY"
OPENAI_ORIGIN = "https://api.openai.com"

VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
"""Pattern of environment variable names; keys given by mistake have lower-case letters."""
_FORM = f"write {KEYS_VARIABLE}='https://host=VARIABLE http://localhost:8000={NO_KEY}'"
_SHOWN = 8


class ModelKeyError(GuardtuiError, ValueError):
    """A key is missing, or it is unclear which origin it belongs to. Never shows a key."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class ModelKey:
    """The key for an origin and its environment variable; None and "" if there is none."""

    secret: Secret | None = None
    variable: str = ""


class ModelKeys:
    """The keys of the models of one run, from the environment.

    `GUARDTUI_MODEL_KEYS` maps origins to the variables with their keys. `GUARDTUI_MODEL_KEY` is for
    runs whose models all have one origin, and `OPENAI_API_KEY` for https://api.openai.com. `urls`
    are those of all models known from the start. Raises ModelKeyError for an invalid mapping.
    """

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        urls: Iterable[str] = (),
    ) -> None:
        self._variables = os.environ if environment is None else environment
        self._mapped = _mapping(self._variables.get(KEYS_VARIABLE, ""))
        self._asking = dict.fromkeys(map(origin_of, urls))

    def find(self, url: str) -> ModelKey:
        """Return the key for a model at this URL, and add the URL to the run.

        Raises ModelKeyError if the key is missing or invalid, or if it is unclear to which of
        several origins `GUARDTUI_MODEL_KEY` belongs.
        """
        origin = origin_of(url)
        self._asking.setdefault(origin)
        if missing := self._unclear():
            raise ModelKeyError(_whose(missing, len(self._asking)))
        variable = self._variable(origin)
        if variable in ("", NO_KEY):
            return ModelKey()
        text = self._variables.get(variable, "").strip()
        if not text:
            raise ModelKeyError(
                f"{KEYS_VARIABLE} names {variable} for {origin}, which is not set\n"
                f"  export {variable}=…, or write {origin}={NO_KEY} if it needs no key"
            )
        try:
            return ModelKey(Secret(text, variable), variable)
        except ValueError as error:
            raise ModelKeyError(str(error)) from None

    def _has(self, variable: str) -> bool:
        return bool(self._variables.get(variable, "").strip())

    def _variable(self, origin: str) -> str:
        """Return the variable with the key of an origin, or ""."""
        if origin in self._mapped:
            return self._mapped[origin]
        if self._has(KEY_VARIABLE) and len(self._asking) == 1:
            return KEY_VARIABLE
        openai = origin == OPENAI_ORIGIN and self._has(OPENAI_VARIABLE)
        return OPENAI_VARIABLE if openai else ""

    def _unclear(self) -> list[str]:
        """Return the origins that `GUARDTUI_MODEL_KEY` may belong to, if there are several."""
        if not self._has(KEY_VARIABLE) or len(self._asking) == 1:
            return []
        return [origin for origin in self._asking if not self._variable(origin)]


def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL, without default ports. Raises AddressError."""
    return Endpoint.parse(url, allow_http=True).origin


def _whose(missing: list[str], count: int) -> str:
    shown = missing[:_SHOWN]
    lines = [
        f"{KEY_VARIABLE} is for models at one address, and these are at {count}: "
        "it is not sent to any of them",
        *(f"  {origin} has no key of its own" for origin in shown),
    ]
    if len(missing) > _SHOWN:
        lines.append(f"  and {len(missing) - _SHOWN} more")
    entries = " ".join(f"{origin}=VARIABLE" for origin in shown)
    lines += [
        f"  name the variable that holds each key, or {NO_KEY} where no key is needed:",
        f"  export {KEYS_VARIABLE}='{entries}'",
    ]
    return "\n".join(lines)


def _mapping(text: str) -> dict[str, str]:
    """Parse origins and variables. Raises ModelKeyError, which shows nothing after a "="."""
    mapped: dict[str, str] = {}
    for number, entry in enumerate(text.split(), start=1):
        url, sign, variable = entry.partition("=")
        where = f"{KEYS_VARIABLE}, entry {number}"
        if not sign or not url:
            raise ModelKeyError(f"{where}: not of the form ORIGIN=VARIABLE\n  {_FORM}")
        try:
            endpoint = Endpoint.parse(url, allow_http=True)
        except AddressError as error:
            raise ModelKeyError(f"{where}: {error}\n  {_FORM}") from None
        origin = endpoint.origin
        if endpoint.path or endpoint.query:
            raise ModelKeyError(
                f"{where}: a key belongs to a whole origin: write {display_text(origin)}=…"
            )
        if variable != NO_KEY and not VARIABLE.fullmatch(variable):
            raise ModelKeyError(
                f"{where}: what follows {origin}= is not the name of an environment variable\n"
                f"  put the key into a variable, and write its name, or {NO_KEY}"
            )
        if mapped.setdefault(origin, variable) != variable:
            raise ModelKeyError(f"{where}: {origin} has two variables\n  remove one of them")
    return mapped
