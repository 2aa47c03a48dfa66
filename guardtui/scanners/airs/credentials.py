"""Keys and addresses of AIRS, by precedence: flags, environment, settings file of `airs`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guardtui.domain.guardrail import AIRS, Guardrail
from guardtui.domain.text import display_text
from guardtui.http.address import Endpoint
from guardtui.http.errors import inert
from guardtui.http.secret import Credential, Secret, bearer
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.tenants import (
    RegisteredTenant,
    TenantRegistry,
    broken,
    read_config,
    read_object,
    registry_path,
)

REGIONS = {
    "us": "https://service.api.aisecurity.paloaltonetworks.com",
    "de": "https://service-de.api.aisecurity.paloaltonetworks.com",
    "in": "https://service-in.api.aisecurity.paloaltonetworks.com",
    "sg": "https://service-sg.api.aisecurity.paloaltonetworks.com",
}
"""Scan endpoints by the region of the deployment profile."""
_USUAL_REGION = "us"
MANAGEMENT = "https://api.apps.paloaltonetworks.com/aisec"
"""Default of `airs-cli` 7; the older `airs` used api.sase.paloaltonetworks.com."""
TOKENS = "https://auth.apps.paloaltonetworks.com/oauth2/access_token"

LONGEST_PROFILE = 100
"""Maximum characters of a profile's name."""
LONGEST_CREDENTIAL = 2048
"""Maximum characters of an API key or bearer token, as in the service's own clients."""
_REMEDY = "fix it, or remove the file if you do not use `airs`"
_UNSET = "not set"
_GIVEN = "the guardrail"
_DEFAULT = "default"
_VARIABLE = 1
"""Rank of a variable among the sources of a value."""


@dataclass(frozen=True, slots=True)
class AirsSetting:
    """A setting of AIRS: its name, environment variable, key in the file, and default."""

    name: str
    variable: str = ""
    key: str = ""
    default: str = ""


AIRS_SETTINGS = (
    AirsSetting("api_key", "PANW_AI_SEC_API_KEY", "airsApiKey"),
    AirsSetting("api_token", "PANW_AI_SEC_API_TOKEN", "airsApiToken"),
    AirsSetting("scan_endpoint", "PANW_AI_SEC_API_ENDPOINT", "airsApiEndpoint", REGIONS["us"]),
    AirsSetting("client_id", "PANW_MGMT_CLIENT_ID", "mgmtClientId"),
    AirsSetting("client_secret", "PANW_MGMT_CLIENT_SECRET", "mgmtClientSecret"),
    AirsSetting("tsg_id", "PANW_MGMT_TSG_ID", "mgmtTsgId"),
    AirsSetting("management_endpoint", "PANW_MGMT_ENDPOINT", "mgmtEndpoint", MANAGEMENT),
    AirsSetting("token_endpoint", "PANW_MGMT_TOKEN_ENDPOINT", "mgmtTokenEndpoint", TOKENS),
    AirsSetting("profile", "PANW_AI_SEC_PROFILE_NAME"),
    AirsSetting("concurrency", "SCAN_CONCURRENCY", "scanConcurrency", "5"),
    AirsSetting("retries", "", "airsNumRetries", "5"),
)
"""All settings, with their names in `airs`."""
_BY_NAME = {setting.name: setting for setting in AIRS_SETTINGS}
_SECRETS = ("api_key", "api_token", "client_secret")
_RANGES = {"concurrency": (1, 20), "retries": (0, 5)}


@dataclass(frozen=True, slots=True)
class ManagementAccess:
    """Addresses and credentials of the management API."""

    endpoint: Endpoint
    token_endpoint: Endpoint
    client_id: str
    client_secret: Secret
    tsg_id: str


@dataclass(frozen=True, slots=True)
class AirsSettings:
    """Settings with their origins: a flag, a variable, a key of the file, "default" or "not set".

    `retries` is per call, `concurrency` the maximum number of concurrent calls.
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
    """True if the source of the bearer token has precedence over that of the API key."""
    empty: tuple[str, ...] = ()
    """Empty variables that would have had precedence with a value."""
    tenant: str = ""
    """Name of the tenant of `airs-cli` whose file is used, or ""."""
    tenant_file: str = ""
    """Path of that file."""
    overridden: tuple[str, ...] = ()
    """Variables that override the file of the tenant."""
    unselected: tuple[str, ...] = ()
    """Names of the registered tenants if none of them is active or named."""

    @classmethod
    def load(
        cls,
        flags: Mapping[str, str | int | None] | None = None,
        environment: Mapping[str, str] | None = None,
        config: Path | None = None,
    ) -> AirsSettings:
        """Return the current settings. `flags` has names of `AIRS_SETTINGS`, `region` and `tenant`.

        The file is that of the named tenant, else of the active tenant, else
        ~/.prisma-airs/config.json; `config` replaces them all. Only one file is used, because
        values of two tenants must not be mixed. Empty or blank texts count as missing. Raises
        AirsError for an invalid value, naming its source, and for an unreadable file: ignoring its
        region would send prompts elsewhere.
        """
        given = {name: value for name, value in (flags or {}).items() if _text(value)}
        if region := given.pop("region", None):
            given["scan_endpoint"] = REGIONS[str(region)]
        variables = os.environ if environment is None else environment
        chosen = _SettingsFile.choose(str(given.pop("tenant", "")).strip(), variables, config)
        path, file = chosen.path, chosen.values
        values: dict[str, Any] = {}
        origins: dict[str, str] = {}
        ranks: dict[str, int] = {}
        empty, overridden = [], []
        for setting in AIRS_SETTINGS:
            unset = setting.variable in variables and not _text(variables[setting.variable])
            if unset and setting.name not in given:
                empty.append(setting.variable)
            candidates = (
                (given.get(setting.name), _GIVEN),
                (variables.get(setting.variable) if setting.variable else None, setting.variable),
                (file.get(setting.key) if setting.key else None, f"{chosen.label}: {setting.key}"),
                (setting.default, _DEFAULT),
            )
            origins[setting.name] = _UNSET
            for rank, (value, origin) in enumerate(candidates):
                if text := _text(value):
                    try:
                        values[setting.name] = _parsed(setting.name, text)
                    except ValueError as error:
                        raise AirsError(f"{display_text(origin)}: {error}") from None
                    origins[setting.name], ranks[setting.name] = origin, rank
                    if rank == _VARIABLE and setting.key and _text(file.get(setting.key)):
                        overridden.append(setting.variable)
                    break
        tenant = chosen.tenant
        return cls(
            **values,
            origins=origins,
            prefer_token=ranks.get("api_token", 9) < ranks.get("api_key", 9),
            empty=tuple(empty),
            tenant="" if tenant is None else tenant.name,
            tenant_file="" if tenant is None else str(path),
            overridden=tuple(overridden) if chosen.named else (),
            unselected=chosen.unselected,
        )

    @property
    def required_profile(self) -> str:
        """Name of the security profile. Raises AirsError if it is missing or too long."""
        if not self.profile:
            raise AirsError(
                "no security profile is named: give --guardrail airs:NAME, or set "
                "PANW_AI_SEC_PROFILE_NAME"
            )
        if len(self.profile) > LONGEST_PROFILE:
            raise AirsError(f"the profile's name has more than {LONGEST_PROFILE} characters")
        return self.profile

    @property
    def guardrail(self) -> Guardrail:
        """The security profile as scanned with these settings."""
        name, endpoint = inert(self.profile), self.scan_endpoint
        if endpoint.loopback:
            # A service on this machine is the sandbox, which must not be mistaken for AIRS.
            return Guardrail(AIRS, profile=name, sandbox=True)
        regions = {Endpoint.parse(url).url: region for region, url in REGIONS.items()}
        region = regions.get(endpoint.url, endpoint.url)
        return Guardrail(
            AIRS,
            profile=name,
            region="" if region == _USUAL_REGION else region,
            tenant=inert(self.tenant),
        )

    def scan_credential(self) -> Credential:
        """Return the credential for scans; the API key if both come from the same source.

        Raises AirsError without a credential, naming its possible sources.
        """
        if self.api_token is not None and (self.prefer_token or self.api_key is None):
            return bearer(self.api_token)
        if self.api_key is None:
            raise AirsError(f"AIRS needs an API key: set {self._sources('api_key')}{self._hint()}")
        return Credential("x-pan-token", self.api_key)

    def management(self) -> ManagementAccess:
        """Return the access to the management API. Raises AirsError naming missing settings."""
        missing = [
            name for name in ("client_id", "client_secret", "tsg_id") if not getattr(self, name)
        ]
        if missing or self.client_secret is None:
            sources = "; ".join(self._sources(name) for name in missing)
            raise AirsError(
                f"AIRS needs a service account to change topics: set {sources}{self._hint()}"
            )
        return ManagementAccess(
            self.management_endpoint,
            self.token_endpoint,
            self.client_id,
            self.client_secret,
            self.tsg_id,
        )

    def notices(self) -> tuple[str, ...]:
        """Return sentences about addresses with an empty variable, and about overriding variables.

        The latter are only reported if a tenant was named.
        """
        notices = [
            f"{name} is set, and overrides the tenant {display_text(self.tenant)}"
            for name in self.overridden
        ]
        notices += [
            f"{setting.variable} is set but empty, which counts as not set: "
            f"the address in use is {getattr(self, setting.name)} "
            f"({display_text(self.origins.get(setting.name, _DEFAULT))})"
            for setting in AIRS_SETTINGS
            if setting.name.endswith("_endpoint") and setting.variable in self.empty
        ]
        return tuple(notices)

    def _sources(self, name: str) -> str:
        """Return the variable and the key of a setting, for a message."""
        setting = _BY_NAME[name]
        file = display_text(self.tenant_file) or "~/.prisma-airs/config.json"
        owner = f" of tenant {display_text(self.tenant)}" if self.tenant else ""
        return f"{setting.variable} (or {setting.key} in {file}{owner})"

    def _hint(self) -> str:
        """Return advice if tenants are registered but none is active."""
        if not self.unselected:
            return ""
        names = ", ".join(map(display_text, self.unselected[:5]))
        return f"; no tenant of airs-cli is active: give --set tenant=NAME (registered: {names})"

    def shown(self) -> dict[str, tuple[str, str]]:
        """Return each setting as text with its origin, both safe to show; secrets are masked."""
        shown = {}
        for setting in AIRS_SETTINGS:
            value = getattr(self, setting.name)
            text = "" if value is None else display_text(str(value))
            shown[setting.name] = text, display_text(self.origins.get(setting.name, _UNSET))
        return shown


@dataclass(frozen=True, slots=True)
class _SettingsFile:
    """The settings file in use, and its tenant; `named` if the tenant was given by a flag."""

    path: Path | None
    values: Mapping[str, Any]
    tenant: RegisteredTenant | None = None
    named: bool = False
    unselected: tuple[str, ...] = ()

    @classmethod
    def choose(
        cls, name: str, environment: Mapping[str, str], config: Path | None
    ) -> _SettingsFile:
        """Return the file of a tenant, or the older file. Raises AirsError."""
        path, registry = config or config_path(), None
        if config is None and (registry_file := registry_path(environment)) is not None:
            registry = TenantRegistry.load(registry_file)
        if registry is not None and (chosen := name or registry.active):
            tenant = registry.find(chosen)
            values = _values(read_config(tenant), tenant.config)
            return cls(tenant.config, values, tenant, named=bool(name))
        if name:
            raise AirsError("tenant cannot be used here: the settings have another source")
        values = {} if path is None else _values(read_object(path, _REMEDY) or {}, path)
        return cls(path, values, unselected=registry.names if registry is not None else ())

    @property
    def label(self) -> str:
        """Name of the file as the origin of a value."""
        tenant = "" if self.tenant is None else f"tenant {self.tenant.name}, "
        return f"{tenant}{self.path}"


def config_path() -> Path | None:
    """Return the path of the settings of the older `airs`; None without a home folder."""
    try:
        return Path.home() / ".prisma-airs" / "config.json"
    except RuntimeError:
        return None


def _text(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return ""
    return str(value).strip()


def _values(data: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the values of a file. Raises AirsError for a value of another type."""
    for setting in AIRS_SETTINGS:
        value = data.get(setting.key) if setting.key else None
        if value is not None and (isinstance(value, bool) or not isinstance(value, str | int)):
            raise broken(path, f"{setting.key} is not a text", _REMEDY)
    return data


def _parsed(name: str, text: str) -> Any:
    if name in _SECRETS:
        if name != "client_secret" and len(text) > LONGEST_CREDENTIAL:
            raise ValueError(f"longer than {LONGEST_CREDENTIAL} characters: not a key")
        return Secret(text, "the value")
    if name.endswith("_endpoint"):
        return Endpoint.parse(text)
    if name in _RANGES:
        least, most = _RANGES[name]
        if not (text.isascii() and text.isdecimal()) or not least <= int(text[:9]) <= most:
            shown = display_text(text[:40])
            raise ValueError(f"{shown!r} is not a whole number from {least} to {most}")
        return int(text)
    if name == "tsg_id" and not (text.isascii() and text.isdecimal() and len(text) <= 40):
        raise ValueError(f"{display_text(text[:40])!r} is not a TSG id, which has only digits")
    if name == "client_id" and (len(text) > 512 or not text.isprintable() or ":" in text):
        # A colon ends the name in a Basic header (RFC 7617).
        raise ValueError("not a client id")
    return text
