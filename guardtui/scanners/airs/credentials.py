"""Keys and addresses of AIRS: flags before environment before a tenant or config file of `airs`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from guardtui.domain.text import display_text
from guardtui.http.address import Endpoint
from guardtui.http.secret import Credential, Secret, bearer
from guardtui.scanners.airs.config_files import broken, read_object
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.tenants import Registry, Tenant, read_config, registry_path

REGIONS = {
    "us": "https://service.api.aisecurity.paloaltonetworks.com",
    "de": "https://service-de.api.aisecurity.paloaltonetworks.com",
    "in": "https://service-in.api.aisecurity.paloaltonetworks.com",
    "sg": "https://service-sg.api.aisecurity.paloaltonetworks.com",
}
"""Scan endpoints by the region in which the deployment profile was made."""
MANAGEMENT = "https://api.apps.paloaltonetworks.com/aisec"
"""The default of `airs-cli` 7; that of the older `airs` was api.sase.paloaltonetworks.com."""
TOKENS = "https://auth.apps.paloaltonetworks.com/oauth2/access_token"

LONGEST_CREDENTIAL = 2048
"""Characters of an API key or bearer token, as the service's own clients check it."""
_REMEDY = "correct it, or remove the file when `airs` is not used here"
_UNSET = "not set"
_DEFAULT = "default"
_VARIABLE = 1
"""Rank of a variable among the places of a value."""


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
"""All settings, with the names that `airs` has for them. `region` and `tenant` are flags only."""
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
    tenant: str = ""
    """Name of the tenant of `airs-cli` whose file counts; "" where none does."""
    tenant_file: str = ""
    """Path of that file."""
    overridden: tuple[str, ...] = ()
    """Variables that win over what the file of the tenant says."""
    unselected: tuple[str, ...] = ()
    """Names of tenants that are registered, where none of them is active or named."""

    @classmethod
    def load(
        cls,
        flags: Mapping[str, str | int | None] | None = None,
        environment: Mapping[str, str] | None = None,
        config: Path | None = None,
    ) -> AirsSettings:
        """The settings of this moment. `flags` has names of `SOURCES`, `region` and `tenant`.

        The file is that of the tenant that is named, else of the active one, else
        ~/.prisma-airs/config.json; `config` stands in the place of them all. Only one file counts,
        as values of two tenants must not be mixed. Texts that are empty or blank count as not
        given. Raises AirsError for a value that cannot
        be used, naming where it stands, and for a file that cannot be read: a region in it that
        went unnoticed would send prompts elsewhere.
        """
        given = {name: value for name, value in (flags or {}).items() if _text(value)}
        if unknown := given.keys() - _BY_NAME.keys() - {"region", "tenant"}:
            raise AirsError(f"unknown setting of AIRS: {', '.join(sorted(unknown))}")
        if "region" in given:
            if "scan_endpoint" in given:
                raise AirsError("give a region or a scan endpoint, not both")
            given["scan_endpoint"] = _region(str(given.pop("region")))
        variables = os.environ if environment is None else environment
        chosen = _File.choose(str(given.pop("tenant", "")).strip(), variables, config)
        path, file = chosen.path, chosen.values
        texts: dict[str, str] = {}
        origins: dict[str, str] = {}
        ranks: dict[str, int] = {}
        empty, overridden = [], []
        for source in SOURCES:
            unset = source.variable in variables and not _text(variables[source.variable])
            if unset and source.name not in given:
                empty.append(source.variable)
            places = (
                (given.get(source.name), _flag(source.name)),
                (variables.get(source.variable) if source.variable else None, source.variable),
                (file.get(source.key) if source.key else None, f"{chosen.label}: {source.key}"),
                (source.default, _DEFAULT),
            )
            for rank, (value, origin) in enumerate(places):
                if text := _text(value):
                    texts[source.name], origins[source.name] = text, origin
                    ranks[source.name] = rank
                    if rank == _VARIABLE and source.key and _text(file.get(source.key)):
                        overridden.append(source.variable)
                    break
            else:
                origins[source.name] = _UNSET
        tenant = chosen.tenant
        return replace(
            _checked(texts, origins, ranks),
            empty=tuple(empty),
            tenant="" if tenant is None else tenant.name,
            tenant_file="" if tenant is None else str(path),
            overridden=tuple(overridden) if chosen.named else (),
            unselected=chosen.unselected,
        )

    def scan_credential(self) -> Credential:
        """Who asks for scans; the API key, when both are given in the same place.

        Raises AirsError when there is none, saying where one may stand.
        """
        if self.api_token is not None and (self.prefer_token or self.api_key is None):
            return bearer(self.api_token)
        if self.api_key is None:
            raise AirsError(f"AIRS needs an API key: set {self._places('api_key')}{self._hint()}")
        return Credential("x-pan-token", self.api_key)

    def management(self) -> Management:
        """What topics and profiles are managed with. Raises AirsError naming what is missing."""
        missing = [
            name for name in ("client_id", "client_secret", "tsg_id") if not getattr(self, name)
        ]
        if missing or self.client_secret is None:
            wanted = "; ".join(self._places(name) for name in missing)
            raise AirsError(
                f"AIRS needs a service account to change topics: set {wanted}{self._hint()}"
            )
        return Management(
            self.management_endpoint,
            self.token_endpoint,
            self.client_id,
            self.client_secret,
            self.tsg_id,
        )

    def notices(self) -> tuple[str, ...]:
        """A sentence for every address whose variable is empty, and for variables that win over

        the tenant that was named.
        """
        notices = [
            f"{name} is set, and wins over the tenant {display_text(self.tenant)}"
            for name in self.overridden
        ]
        notices += [
            f"{source.variable} is set but empty, which counts as not set: "
            f"the address in use is {getattr(self, source.name)} "
            f"({display_text(self.origins.get(source.name, _DEFAULT))})"
            for source in SOURCES
            if source.name.endswith("_endpoint") and source.variable in self.empty
        ]
        return tuple(notices)

    def _places(self, name: str) -> str:
        """Where a value may stand."""
        source = _BY_NAME[name]
        file = display_text(self.tenant_file) or "~/.prisma-airs/config.json"
        of = f" of tenant {display_text(self.tenant)}" if self.tenant else ""
        return f"{source.variable} (or {source.key} in {file}{of})"

    def _hint(self) -> str:
        """What to do where tenants are registered, and none is active."""
        if not self.unselected:
            return ""
        names = ", ".join(map(display_text, self.unselected[:5]))
        return f"; no tenant of airs-cli is active: give --tenant NAME (there are: {names})"

    def shown(self) -> dict[str, tuple[str, str]]:
        """Each setting as text and its origin; secrets are masked, both safe to show."""
        shown = {}
        for source in SOURCES:
            value = getattr(self, source.name)
            text = "" if value is None else display_text(str(value))
            shown[source.name] = text, display_text(self.origins.get(source.name, _UNSET))
        return shown


@dataclass(frozen=True, slots=True)
class _File:
    """The one file of settings that counts, and the tenant that it is of; `named` by a flag."""

    path: Path | None
    values: Mapping[str, Any]
    tenant: Tenant | None = None
    named: bool = False
    unselected: tuple[str, ...] = ()

    @classmethod
    def choose(cls, name: str, environment: Mapping[str, str], config: Path | None) -> _File:
        """The file of a tenant, or the older one. Raises AirsError."""
        path, registry = config or config_path(), None
        if config is None and (registered := registry_path(environment)) is not None:
            registry = Registry.load(registered)
        if registry is not None and (wanted := name or registry.active):
            tenant = registry.find(wanted)
            values = _values(read_config(tenant), tenant.config)
            return cls(tenant.config, values, tenant, named=bool(name))
        if name:
            raise AirsError("--tenant does not fit here: the settings are given otherwise")
        values = {} if path is None else _values(read_object(path, _REMEDY) or {}, path)
        return cls(path, values, unselected=registry.names if registry is not None else ())

    @property
    def label(self) -> str:
        """What the origin of a value is called."""
        tenant = "" if self.tenant is None else f"tenant {self.tenant.name}, "
        return f"{tenant}{self.path}"


def config_path() -> Path | None:
    """The file that the older `airs` has its settings in; None where there is no home folder."""
    try:
        return Path.home() / ".prisma-airs" / "config.json"
    except RuntimeError:
        return None


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


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


def _values(data: dict[str, Any], path: Path) -> dict[str, Any]:
    """The values of a file. Raises AirsError for one that is no text or number."""
    for source in SOURCES:
        value = data.get(source.key) if source.key else None
        if value is not None and (isinstance(value, bool) or not isinstance(value, str | int)):
            raise broken(path, f"{source.key} is no text", _REMEDY)
    return data


def _checked(
    texts: Mapping[str, str], origins: Mapping[str, str], ranks: Mapping[str, int]
) -> AirsSettings:
    values: dict[str, Any] = {}
    for name, text in texts.items():
        try:
            values[name] = _parsed(name, text)
        except ValueError as error:
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
