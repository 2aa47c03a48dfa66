"""Tenants of `airs-cli`: which file counts, what wins over it, and what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from guardtui.scanners.airs.connection import AirsConnection
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.errors import AirsError

SECRET = "sk-of-the-tenant"


class Home:
    """A home folder with the files of both generations of the tool."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.registry = folder / ".local/state/prisma-airs/tenants.json"
        self.older = folder / ".prisma-airs/config.json"

    def write(self, path: Path, data: object) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = data if isinstance(data, str) else json.dumps(data)
        path.write_text(text, "utf-8")
        return path

    def tenant(self, name: str, **values: Any) -> dict[str, Any]:
        config = {"mgmtTsgId": "1", "airsApiKey": SECRET, **values}
        path = self.write(self.folder / f"{name}.json", config)
        return {"name": name, "configPath": str(path), "tsgId": "1"}

    def register(self, *tenants: dict[str, Any], active: str | None = None) -> None:
        data = {"version": 1, "active": active, "tenants": list(tenants)}
        self.write(self.registry, data)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    return Home(tmp_path)


def load(environment: dict[str, str] | None = None, **flags: str) -> AirsSettings:
    return AirsSettings.load(flags, environment or {})


def key_of(settings: AirsSettings) -> str | None:
    return None if settings.api_key is None else settings.api_key.reveal()


def test_active_tenant_replaces_the_older_file(home: Home) -> None:
    home.write(home.older, {"airsApiKey": "older", "mgmtClientId": "older"})
    assert key_of(load()) == "older"
    home.register(home.tenant("prod", airsApiEndpoint="https://scan.example"), active="prod")
    settings = load()
    assert (settings.tenant, key_of(settings)) == ("prod", SECRET)
    assert settings.scan_endpoint.url == "https://scan.example"
    assert settings.client_id == ""  # values of two tenants are not mixed
    origin = f"tenant prod, {home.folder}/prod.json: airsApiKey"
    assert settings.shown()["api_key"] == ("•••", origin)
    url, origin = settings.shown()["management_endpoint"]
    assert (url, origin) == ("https://api.apps.paloaltonetworks.com/aisec", "default")


def test_variables_and_flags_override_the_tenant(home: Home) -> None:
    home.register(home.tenant("prod", mgmtEndpoint="https://a.example"), active="prod")
    variables = {"PANW_AI_SEC_API_KEY": "mine", "PANW_MGMT_ENDPOINT": "https://b.example"}
    settings = load(variables)
    assert key_of(settings) == "mine"
    assert settings.management_endpoint.url == "https://b.example"
    assert settings.notices() == ()
    assert load(variables, tenant="prod").notices() == (
        "PANW_AI_SEC_API_KEY is set, and overrides the tenant prod",
        "PANW_MGMT_ENDPOINT is set, and overrides the tenant prod",
    )


def test_named_tenant_is_used(home: Home) -> None:
    home.register(home.tenant("prod"), home.tenant("dev", airsApiKey="dev"), active="prod")
    assert key_of(load(tenant="dev")) == "dev"
    with pytest.raises(
        AirsError, match=r"no tenant is named 'test' in .*tenants\.json; existing: prod, dev"
    ):
        load(tenant="test")


def test_older_file_is_used_without_an_active_tenant(home: Home) -> None:
    home.register(home.tenant("prod"))
    settings = load()
    assert (settings.tenant, key_of(settings)) == ("", None)
    with pytest.raises(AirsError, match=r"no tenant of airs-cli is active: give --set tenant=NAME"):
        settings.scan_credential()
    home.write(home.older, {"airsApiKey": "older"})
    assert key_of(load()) == "older"


def test_missing_setting_error_names_the_tenant_file(home: Home) -> None:
    home.register(home.tenant("prod", airsApiKey=""), active="prod")
    with pytest.raises(AirsError) as caught:
        load().scan_credential()
    assert str(caught.value) == (
        "AIRS needs an API key: set PANW_AI_SEC_API_KEY "
        f"(or airsApiKey in {home.folder}/prod.json of tenant prod)"
    )


def test_registry_path_equals_that_of_airs_cli(home: Home, tmp_path: Path) -> None:
    other = Home(tmp_path / "other")
    other.registry = tmp_path / "state/prisma-airs/tenants.json"
    other.register(other.tenant("there", airsApiKey="there"), active="there")
    assert key_of(load({"XDG_STATE_HOME": str(tmp_path / "state")})) == "there"
    assert key_of(load({"XDG_STATE_HOME": "state"})) is None
    assert key_of(load({"PRISMA_AIRS_TENANTS_PATH": str(other.registry)})) == "there"
    home.register(home.tenant("here", airsApiKey="here"), active="here")
    assert key_of(
        load({"PRISMA_AIRS_TENANTS_PATH": "~/.local/state/prisma-airs/tenants.json"})
    ) == ("here")


def test_equal_profile_names_of_two_tenants_are_distinguished(home: Home) -> None:
    other = {**home.tenant("dev", mgmtTsgId="2"), "tsgId": "2"}
    home.register(home.tenant("prod"), other, active="prod")
    keys = {AirsConnection(load(profile="mine", tenant=name)).key for name in ("prod", "dev")}
    assert len(keys) == 2


ROW = {"name": "a", "configPath": "/a.json", "tsgId": "1"}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "tenants.json:1: not JSON"),
        ("[]", "not a JSON object"),
        ({"version": 2}, "registry version 2 is not supported"),
        ({"version": 1, "active": None}, "tenants is not a list"),
        ({"version": 1, "active": "b", "tenants": [ROW]}, "the active tenant is not registered"),
        ({"version": 1, "active": ["a"], "tenants": [ROW]}, "the active tenant is not registered"),
        ({"version": 1, "active": None, "tenants": ["a"]}, "tenant 1 needs name, configPath"),
        (
            {"version": 1, "active": None, "tenants": [ROW, {**ROW, "configPath": "a"}]},
            "configPath of tenant 2 is not an absolute path",
        ),
    ],
)
def test_damaged_registry_is_reported(home: Home, content: object, told: str) -> None:
    home.write(home.registry, content)
    with pytest.raises(AirsError) as caught:
        load()
    assert told in str(caught.value)
    assert str(home.registry) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "no such file"),
        ("{\n{", "prod.json:2: not JSON"),
        ({"mgmtTsgId": "2", "airsApiKey": SECRET}, "its mgmtTsgId differs"),
        ({"airsApiKey": SECRET}, "its mgmtTsgId differs"),
        ({"mgmtTsgId": "1", "airsApiKey": [SECRET]}, "airsApiKey is not a text"),
        ({"mgmtTsgId": "1", "mgmtEndpoint": "ftp://x"}, "mgmtEndpoint: 'ftp://x' is not an https"),
    ],
)
def test_damaged_tenant_file_is_reported(home: Home, content: object, told: str) -> None:
    row = home.tenant("prod")
    path = Path(row["configPath"])
    if content is None:
        path.unlink()
    else:
        home.write(path, content)
    home.register(row, active="prod")
    with pytest.raises(AirsError) as caught:
        load()
    assert told in str(caught.value)
    assert str(path) in str(caught.value)
    assert SECRET not in str(caught.value)
