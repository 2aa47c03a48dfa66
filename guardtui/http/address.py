"""Addresses of services: https anywhere, http only on this machine or if allowed."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.text import display_text

_LONGEST = 2048
_DEFAULT_PORTS = {"https": 443, "http": 80}
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?")
# Only characters of RFC 3986, so that no two parsers of a URL see different hosts.
_SPELLING = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]*")
_PATH = re.compile(r"[A-Za-z0-9._~:/@!$&'()*+,;=%-]*")
_DOTS = re.compile(r"(?:\.|%2e){1,2}", re.IGNORECASE)


def without_queries(text: str) -> str:
    """Return text without the queries of its URLs, which may hold a secret."""
    return re.sub(r"(://[^?#]*)\?[^#]*", r"\1?…", text)


class AddressError(GuardtuiError, ValueError):
    """A text that is not an allowed URL; the message says what is. Never contains credentials."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The base URL of a service; `query` is sent with every request and never shown."""

    scheme: str
    host: str
    port: int | None
    path: str
    query: str = ""
    loopback: bool = False

    @classmethod
    def parse(cls, text: str, *, allow_http: bool = False) -> Endpoint:
        """Parse a URL. Raises AddressError.

        The default scheme is https. http is allowed for loopback (`localhost`, 127.0.0.0/8, `::1`),
        and with `allow_http` for any host: keys and prompts are then readable on the network.
        """
        text = text.strip()
        shown = display_text(without_queries(text)[:80])
        if not text or len(text) > _LONGEST:
            raise AddressError("no URL" if not text else "the URL is too long")
        if "@" in text:
            # Not shown: the part before the sign may be a password.
            raise AddressError("the URL contains user or password: give the key separately")
        if not _SPELLING.fullmatch(text):
            raise AddressError(f"{shown!r} contains a character that is invalid in a URL")
        if "://" not in text:
            text = f"https://{text}"
        try:
            parts = urlsplit(text)
            host, port = (parts.hostname or "").lower(), parts.port
        except ValueError:
            raise AddressError(f"{shown!r} is not a URL: write https://host/path") from None
        if parts.scheme not in ("http", "https"):
            raise AddressError(f"{shown!r} is not an https:// URL")
        if parts.fragment or text.endswith("#"):
            raise AddressError(f"{shown!r} has a fragment (#), which is never sent")
        loopback = _is_loopback(host, shown)
        if parts.scheme == "http" and not loopback and not allow_http:
            raise AddressError(
                f"http://{host} would send key and prompts unencrypted: "
                "write https://, or allow http (allow-http)"
            )
        path = parts.path.rstrip("/")
        _check_path(path)
        return cls(parts.scheme, host, port, path, parts.query, loopback)

    @property
    def authority(self) -> str:
        """Host and port, as written in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port (RFC 6454), without a default port or a dot after the host."""
        host = self.host.rstrip(".")
        host = f"[{host}]" if ":" in host else host
        port = None if self.port == _DEFAULT_PORTS[self.scheme] else self.port
        return f"{self.scheme}://{host}" + (f":{port}" if port is not None else "")

    @property
    def url(self) -> str:
        """The base URL without query and without a trailing slash."""
        return f"{self.scheme}://{self.authority}{self.path}"

    def join(self, path: str) -> str:
        """Return the URL of a path below the base URL. Raises AddressError for paths outside."""
        _check_path(path)
        slash = "" if not path or path.startswith("/") else "/"
        return f"{self.url}{slash}{path}" + (f"?{self.query}" if self.query else "")

    def __str__(self) -> str:
        return self.url


def _check_path(path: str) -> None:
    if not _PATH.fullmatch(path) or path.startswith("//"):
        raise AddressError(f"{display_text(path[:80])!r} is not a URL path")
    if any(_DOTS.fullmatch(segment) for segment in path.split("/")):
        raise AddressError(f"{display_text(path[:80])!r} leaves the base URL")


def _is_loopback(host: str, shown: str) -> bool:
    """Return whether a host is this machine. Raises AddressError for an invalid host."""
    if ":" in host:
        try:
            return ipaddress.IPv6Address(host).is_loopback
        except ValueError:
            raise AddressError(f"{shown!r} has no host: write https://[::1]/path") from None
    if not _HOST.fullmatch(host):
        raise AddressError(f"{shown!r} has no host: write https://host/path")
    if host.rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.IPv4Address(host).is_loopback
    except ValueError:
        return False
