"""Keys and addresses of AIRS: flags before environment before ~/.prisma-airs/config.json."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from guardtui.domain.text import display_text
from guardtui.http.address import AddressError, Endpoint
from guardtui.http.secret import Credential, Secret, bearer
from guardtui.scanners.airs.errors import AirsError

REGIONS = {
    "us": "https://service.api.aisecurity.paloaltonetworks.com",
    "de": "https://service-de.api.aisecurity.paloaltonetworks.com",
    "in": "https://service-in.api.aisecurity.paloaltonetworks.com",
    "sg": "https://service-sg.api.aisecurity.paloaltonetworks.com",
}
"""Scan endpoints by the region in which the deployment profile was made."""
MANAGEMENT = "https://api.sase.paloaltonetworks.com/aisec"
TOKENS = "https://auth.apps.paloaltonetworks.com/oauth2/access_token"

LONGEST_CREDENTIAL = 2048
"""Characters of an API key or bearer token, as the service's own clients check it."""
_CONFIG_BYTES = 1024**2
_UNSET = "not set"
_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value may stand: its flag's name, its environment variable, its key in the file."""

    name: str
    variable: str = ""
    key: str = ""
    default: str = ""


SOURCES = (
    Source("api_key", "PANW_AI_SEC_API_KEY", "airsApiKey"),
    Source("api_token", "PANW_AI_SEC_API_TOKEN", "airsApiToken"),
    Source("scan_endpoint", "PANW_AI_SEC_API_ENDPOINT", "airsApiEndpoint", REGIONS["us"]),
    Source("client_id", "PANW_MGMT_CLIENT_ID", "mgmtClientId"),
    Source("client_secret", "PANW_MGMT_CLIENT_SECRET", "mgmtClientSecret"),
    Source("tsg_id", "PANW_MGMT_TSG_ID", "mgmtTsgId"),
    Source("management_endpoint", "PANW_MGMT_ENDPOINT", "mgmtEndpoint", MANAGEMENT),
    Source("token_endpoint", "PANW_MGMT_TOKEN_ENDPOINT", "mgmtTokenEndpoint", TOKENS),
    Source("profile", "PANW_AI_SEC_PROFILE_NAME"),
    Source("concurrency", "SCAN_CONCURRENCY", "scanConcurrency", "5"),
    Source("retries", "", "airsNumRetries", "5"),
)
"""All settings, with the names that `airs` has for them. `region` is a flag only."""
_BY_NAME = {source.name: source for source in SOURCES}
_SECRETS = ("api_key", "api_token", "client_secret")
_RANGES = {"concurrency": (1, 20), "retries": (0, 5)}


@dataclass(frozen=True, slots=True)
class Management:
    """What the management API needs."""

    endpoint: Endpoint
    token_endpoint: Endpoint
    client_id: str
    client_secret: Secret
    tsg_id: str


@dataclass(frozen=True, slots=True)
class AirsSettings:
    """Settings with their origins: a flag, a variable, a key of the file, "default", "not set".

    `retries` are repetitions of one call, `concurrency` calls at a time.
    """

    scan_endpoint: Endpoint
    management_endpoint: Endpoint
    token_endpoint: Endpoint
    api_key: Secret | None = None
    api_token: Secret | None = None
    client_id: str = ""
    client_secret: Secret | None = None
    tsg_id: str = ""
    profile: str = ""
    concurrency: int = 5
    retries: int = 5
    origins: Mapping[str, str] = field(default_factory=dict)
    prefer_token: bool = False
    """Whether the bearer token was given in a place that counts more than the API key's."""
    empty: tuple[str, ...] = ()
    """Variables that are set to nothing and would have counted, had they a value."""

    @classmethod
    def load(
        cls,
        flags: Mapping[str, str | int | None] | None = None,
        environment: Mapping[str, str] | None = None,
        config: Path | None = None,
    ) -> AirsSettings:
        """The settings of this moment. `flags` has names of `SOURCES`, and `region`.

        Texts that are empty or blank count as not given. Raises AirsError for a value that cannot
        be used, naming where it stands, and for a file that cannot be read: a region in it that
        went unnoticed would send prompts elsewhere.
        """
        given = {name: value for name, value in (flags or {}).items() if _text(value)}
        if unknown := given.keys() - _BY_NAME.keys() - {"region"}:
            raise AirsError(f"unknown setting of AIRS: {', '.join(sorted(unknown))}")
        if "region" in given:
            if "scan_endpoint" in given:
                raise AirsError("give a region or a scan endpoint, not both")
            given["scan_endpoint"] = _region(str(given.pop("region")))
        variables = os.environ if environment is None else environment
        path = config_path() if config is None else config
        file = _read(path) if path is not None else {}
        texts: dict[str, str] = {}
        origins: dict[str, str] = {}
        ranks: dict[str, int] = {}
        empty = []
        for source in SOURCES:
            unset = source.variable in variables and not _text(variables[source.variable])
            if unset and source.name not in given:
                empty.append(source.variable)
            places = (
                (given.get(source.name), _flag(source.name)),
                (variables.get(source.variable) if source.variable else None, source.variable),
                (file.get(source.key) if source.key else None, f"{path}: {source.key}"),
                (source.default, _DEFAULT),
            )
            for rank, (value, origin) in enumerate(places):
                if text := _text(value):
                    texts[source.name], origins[source.name] = text, origin
                    ranks[source.name] = rank
                    break
            else:
                origins[source.name] = _UNSET
        return replace(_checked(texts, origins, ranks), empty=tuple(empty))

    def scan_credential(self) -> Credential:
        """Who asks for scans; the API key, when both are given in the same place.

        Raises AirsError when there is none, saying where one may stand.
        """
        if self.api_token is not None and (self.prefer_token or self.api_key is None):
            return bearer(self.api_token)
        if self.api_key is None:
            raise AirsError(f"AIRS needs an API key: set {_places('api_key')}")
        return Credential("x-pan-token", self.api_key)

    def management(self) -> Management:
        """What topics and profiles are managed with. Raises AirsError naming what is missing."""
        missing = [
            name for name in ("client_id", "client_secret", "tsg_id") if not getattr(self, name)
        ]
        if missing or self.client_secret is None:
            wanted = "; ".join(_places(name) for name in missing)
            raise AirsError(f"AIRS needs a service account to change topics: set {wanted}")
        return Management(
            self.management_endpoint,
            self.token_endpoint,
            self.client_id,
            self.client_secret,
            self.tsg_id,
        )

    def notices(self) -> tuple[str, ...]:
        """A sentence for every address whose variable is empty: it is the one in its place."""
        return tuple(
            f"{source.variable} is set but empty, which counts as not set: "
            f"the address in use is {getattr(self, source.name)} "
            f"({display_text(self.origins.get(source.name, _DEFAULT))})"
            for source in SOURCES
            if source.name.endswith("_endpoint") and source.variable in self.empty
        )

    def shown(self) -> dict[str, tuple[str, str]]:
        """Each setting as text and its origin; secrets are masked, both safe to show."""
        shown = {}
        for source in SOURCES:
            value = getattr(self, source.name)
            text = "" if value is None else display_text(str(value))
            shown[source.name] = text, display_text(self.origins.get(source.name, _UNSET))
        return shown


def config_path() -> Path | None:
    """The file that `airs` has its settings in; None where there is no home folder."""
    try:
        return Path.home() / ".prisma-airs" / "config.json"
    except RuntimeError:
        return None


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _places(name: str) -> str:
    source = _BY_NAME[name]
    return f"{source.variable} (or {source.key} in ~/.prisma-airs/config.json)"


def _text(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return ""
    return str(value).strip()


def _region(text: str) -> str:
    name = text.strip().lower()
    url = REGIONS.get("de" if name == "eu" else name)
    if url is None:
        shown = display_text(text[:40])
        raise AirsError(f"unknown region {shown!r}: choose one of {', '.join(REGIONS)}")
    return url


def _read(path: Path) -> dict[str, Any]:
    """The values of the file; none when there is no file. Raises AirsError."""
    if not os.path.lexists(path):
        return {}
    try:
        if not path.is_file():
            raise _broken(path, "this is no file")
        if path.stat().st_size > _CONFIG_BYTES:
            raise _broken(path, "the file is too large")
        text = path.read_bytes().decode("utf-8-sig")
        data = json.loads(text)
    except OSError as error:
        raise _broken(path, (error.strerror or type(error).__name__).lower()) from None
    except UnicodeDecodeError:
        raise _broken(path, "this is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise _broken(path, f"this is no JSON: {error.msg}", error.lineno) from None
    except (RecursionError, ValueError):
        raise _broken(path, "this JSON cannot be read") from None
    if not isinstance(data, dict):
        raise _broken(path, "this is no JSON object")
    for source in SOURCES:
        value = data.get(source.key) if source.key else None
        if value is not None and (isinstance(value, bool) or not isinstance(value, str | int)):
            raise _broken(path, f"{source.key} is no text")
    return data


def _broken(path: Path, problem: str, line: int | None = None) -> AirsError:
    where = display_text(str(path)) + (f":{line}" if line is not None else "")
    return AirsError(
        f"{where}: {problem}; correct it, or remove the file when `airs` is not used here"
    )


def _checked(
    texts: Mapping[str, str], origins: Mapping[str, str], ranks: Mapping[str, int]
) -> AirsSettings:
    values: dict[str, Any] = {}
    for name, text in texts.items():
        try:
            values[name] = _parsed(name, text)
        except (AddressError, ValueError) as error:
            where = display_text(origins[name])
            raise AirsError(f"{where}: {error}") from None
    values["prefer_token"] = ranks.get("api_token", 9) < ranks.get("api_key", 9)
    return AirsSettings(**values, origins=dict(origins))


def _parsed(name: str, text: str) -> Any:
    if name in _SECRETS:
        if name != "client_secret" and len(text) > LONGEST_CREDENTIAL:
            raise ValueError(f"longer than {LONGEST_CREDENTIAL} characters: this is no key")
        return Secret(text, "the value")
    if name.endswith("_endpoint"):
        return Endpoint.parse(text)
    if name in _RANGES:
        least, most = _RANGES[name]
        if not (text.isascii() and text.isdecimal()) or not least <= int(text[:9]) <= most:
            shown = display_text(text[:40])
            raise ValueError(f"{shown!r} is no whole number from {least} to {most}")
        return int(text)
    if name == "tsg_id" and not (text.isascii() and text.isdecimal() and len(text) <= 40):
        raise ValueError(f"{display_text(text[:40])!r} is no TSG id, which has digits only")
    if name == "client_id" and (len(text) > 512 or not text.isprintable() or ":" in text):
        # A colon ends the name in a Basic header (RFC 7617).
        raise ValueError("this is no client id")
    return text
