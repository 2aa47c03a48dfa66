"""JSON files of the `airs` command-line tools: settings, and the registry of tenants."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guardtui.domain.text import display_text
from guardtui.files.problems import FileError, decode, json_error, read_bytes
from guardtui.scanners.airs.errors import AirsError

PATH_VARIABLE = "PRISMA_AIRS_TENANTS_PATH"
_VERSION = 1
_REMEDY = "see 'airs-cli tenant list', or remove the file if you do not use airs-cli"
_SHOWN = 10


def read_object(path: Path, remedy: str) -> dict[str, Any] | None:
    """Return the JSON object in a file; None if the file does not exist.

    Raises AirsError with `remedy` for a file that cannot be read or has other content.
    """
    if not os.path.lexists(path):
        return None
    try:
        data = json.loads(decode(path, read_bytes(path)))
    except FileError as error:
        raise broken(path, error.problem, remedy, error.line) from None
    except (RecursionError, ValueError) as error:
        found = json_error(path, error, remedy, "not JSON")
        raise broken(path, found.problem, remedy, found.line) from None
    if not isinstance(data, dict):
        raise broken(path, "not a JSON object", remedy)
    return data


def broken(path: Path, problem: str, remedy: str, line: int | None = None) -> AirsError:
    """Return an error about a file."""
    location = display_text(str(path)) + (f":{line}" if line is not None else "")
    return AirsError(f"{location}: {problem}; {remedy}")


@dataclass(frozen=True, slots=True)
class RegisteredTenant:
    """A registered tenant: path of its settings, and the TSG that they must belong to."""

    name: str
    config: Path
    tsg_id: str


@dataclass(frozen=True, slots=True)
class TenantRegistry:
    """The tenants of a registry file, and the name of the active tenant or ""."""

    path: Path
    tenants: tuple[RegisteredTenant, ...] = ()
    active: str = ""

    @classmethod
    def load(cls, path: Path) -> TenantRegistry:
        """Read a registry; without tenants if the file does not exist. Raises AirsError."""
        data = read_object(path, _REMEDY)
        if data is None:
            return cls(path)
        if data.get("version") != _VERSION:
            shown = display_text(repr(data.get("version"))[:20])
            raise broken(path, f"registry version {shown} is not supported", _REMEDY)
        rows = data.get("tenants")
        if not isinstance(rows, list):
            raise broken(path, "tenants is not a list", _REMEDY)
        tenants = tuple(_tenant(path, number, row) for number, row in enumerate(rows, start=1))
        active = data.get("active")
        if active is not None and active not in [tenant.name for tenant in tenants]:
            raise broken(path, "the active tenant is not registered", _REMEDY)
        return cls(path, tenants, active or "")

    def find(self, name: str) -> RegisteredTenant:
        """Return the tenant with this name. Raises AirsError naming the existing tenants."""
        for tenant in self.tenants:
            if tenant.name == name:
                return tenant
        shown = ", ".join(display_text(tenant.name) for tenant in self.tenants[:_SHOWN]) or "none"
        raise AirsError(
            f"no tenant is named {display_text(name[:64])!r} in {display_text(str(self.path))}; "
            f"existing: {shown}"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all tenants."""
        return tuple(tenant.name for tenant in self.tenants)


def registry_path(environment: Mapping[str, str]) -> Path | None:
    """Return the path of the registry of `airs-cli`; None without a home folder."""
    try:
        if given := environment.get(PATH_VARIABLE, ""):
            return Path(given).expanduser()
        # The XDG specification says to ignore relative paths.
        state = Path(environment.get("XDG_STATE_HOME", ""))
        folder = state if state.is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        return None
    return folder / "prisma-airs" / "tenants.json"


def read_config(tenant: RegisteredTenant) -> dict[str, Any]:
    """Read the settings of a tenant. Raises AirsError if they are missing or of another TSG."""
    remedy = f"fix it, or register the tenant {display_text(tenant.name)} again with airs-cli"
    data = read_object(tenant.config, remedy)
    if data is None:
        raise broken(tenant.config, "no such file", remedy)
    if str(data.get("mgmtTsgId") or "") != tenant.tsg_id:
        raise broken(tenant.config, "its mgmtTsgId differs from the registered one", remedy)
    return data


def _tenant(path: Path, number: int, row: object) -> RegisteredTenant:
    values = row if isinstance(row, dict) else {}
    name, config, tsg = (values.get(key) for key in ("name", "configPath", "tsgId"))
    if not (isinstance(name, str) and isinstance(config, str) and isinstance(tsg, str)):
        raise broken(path, f"tenant {number} needs name, configPath and tsgId", _REMEDY)
    if not name or not Path(config).is_absolute():
        raise broken(path, f"configPath of tenant {number} is not an absolute path", _REMEDY)
    return RegisteredTenant(name, Path(config), tsg)
