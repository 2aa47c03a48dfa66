"""Keys and tokens: a type that never shows its text, and the headers that carry it."""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import quote, quote_plus

MASK = "•••"
LONGEST = 16_384
"""A longer text cannot be a key."""

_SENDABLE = re.compile(r"[\x21-\x7e]+")


class Secret:
    """A text that no repr, str, format, log or pickle shows; only `reveal` returns it.

    Surrounding white space is removed (files and shells leave line ends). Raises ValueError,
    without the text, if it is empty or not allowed in a header.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str, name: str = "the key") -> None:
        text = text.strip()
        if not text:
            raise ValueError(f"{name} is empty")
        if len(text) > LONGEST:
            raise ValueError(f"{name} is longer than {LONGEST} characters")
        if not _SENDABLE.fullmatch(text):
            raise ValueError(f"{name} holds a blank, a control or a non-ASCII character")
        self._text = text

    def reveal(self) -> str:
        """Return the text itself, only for sending."""
        return self._text

    def __repr__(self) -> str:
        return f"Secret({MASK})"

    def __str__(self) -> str:
        return MASK

    def __format__(self, spec: str) -> str:
        return format(MASK, spec)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._text, other._text)

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a secret cannot be pickled")


@dataclass(frozen=True, slots=True)
class Credential:
    """A header that authenticates the client."""

    header: str
    secret: Secret
    prefix: str = ""

    def reveal(self) -> tuple[str, str]:
        """Return name and value of the header."""
        return self.header, self.prefix + self.secret.reveal()


def bearer(secret: Secret) -> Credential:
    """Return `Authorization: Bearer …` (RFC 6750)."""
    return Credential("Authorization", secret, "Bearer ")


def basic(user: str, secret: Secret) -> Credential:
    """Return `Authorization: Basic …` (RFC 7617), as used by OAuth 2 clients."""
    pair = f"{user}:{secret.reveal()}".encode()
    return Credential("Authorization", Secret(base64.b64encode(pair).decode("ascii")), "Basic ")


def redacted(text: str, secrets: Iterable[Secret]) -> str:
    """Return the text without the secrets, including percent-encoded ones."""
    for secret in secrets:
        plain = secret.reveal()
        for form in {plain, quote(plain, safe=""), quote_plus(plain)}:
            text = text.replace(form, MASK)
    return text
