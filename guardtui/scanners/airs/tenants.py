"""Tenants as `airs-cli` 7 keeps them: a registry, and a config file for each tenant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guardtui.domain.text import display_text
from guardtui.scanners.airs.config_files import broken, read_object
from guardtui.scanners.airs.errors import AirsError

PATH_VARIABLE = "PRISMA_AIRS_TENANTS_PATH"
_VERSION = 1
_REMEDY = "see what 'airs-cli tenant list' says, or remove the file when airs-cli is not used here"
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Tenant:
    """A registered tenant: where its settings stand, and the TSG that they must be of."""

    name: str
    config: Path
    tsg_id: str


@dataclass(frozen=True, slots=True)
class Registry:
    """The tenants of a registry file, and the name of the active one; "" for none."""

    path: Path
    tenants: tuple[Tenant, ...] = ()
    active: str = ""

    @classmethod
    def load(cls, path: Path) -> Registry:
        """The registry of a file; without tenants when there is no file. Raises AirsError."""
        data = read_object(path, _REMEDY)
        if data is None:
            return cls(path)
        if data.get("version") != _VERSION:
            shown = display_text(repr(data.get("version"))[:20])
            raise broken(path, f"version {shown} of the registry is not known here", _REMEDY)
        rows = data.get("tenants")
        if not isinstance(rows, list):
            raise broken(path, "tenants is no list", _REMEDY)
        tenants = tuple(_tenant(path, number, row) for number, row in enumerate(rows, start=1))
        active = data.get("active")
        if active is not None and active not in [one.name for one in tenants]:
            raise broken(path, "the active tenant is not among its tenants", _REMEDY)
        return cls(path, tenants, active or "")

    def find(self, name: str) -> Tenant:
        """The tenant of a name. Raises AirsError naming those that there are."""
        for one in self.tenants:
            if one.name == name:
                return one
        shown = ", ".join(display_text(one.name) for one in self.tenants[:_SHOWN]) or "none"
        raise AirsError(
            f"there is no tenant {display_text(name[:64])!r} in {display_text(str(self.path))}; "
            f"there are: {shown}"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all tenants."""
        return tuple(one.name for one in self.tenants)


def registry_path(environment: Mapping[str, str]) -> Path | None:
    """Where `airs-cli` looks for its tenants; None where there is no home folder."""
    try:
        if given := environment.get(PATH_VARIABLE, ""):
            return Path(given).expanduser()
        # As the XDG specification has it, a relative path does not count.
        state = Path(environment.get("XDG_STATE_HOME", ""))
        folder = state if state.is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        return None
    return folder / "prisma-airs" / "tenants.json"


def read_config(tenant: Tenant) -> dict[str, Any]:
    """The settings of a tenant. Raises AirsError for a missing file, or one of another TSG."""
    remedy = f"correct it, or register the tenant {display_text(tenant.name)} anew with airs-cli"
    data = read_object(tenant.config, remedy)
    if data is None:
        raise broken(tenant.config, "there is no such file", remedy)
    if str(data.get("mgmtTsgId") or "") != tenant.tsg_id:
        raise broken(tenant.config, "its mgmtTsgId is not the one that is registered", remedy)
    return data


def _tenant(path: Path, number: int, row: object) -> Tenant:
    values = row if isinstance(row, dict) else {}
    name, config, tsg = (values.get(key) for key in ("name", "configPath", "tsgId"))
    if not (isinstance(name, str) and isinstance(config, str) and isinstance(tsg, str)):
        raise broken(path, f"tenant {number} needs name, configPath and tsgId", _REMEDY)
    if not name or not Path(config).is_absolute():
        raise broken(path, f"configPath of tenant {number} is no absolute path", _REMEDY)
    return Tenant(name, Path(config), tsg)
