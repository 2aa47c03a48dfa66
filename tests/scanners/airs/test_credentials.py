"""Where keys and addresses come from, which place wins, and what is told of a bad one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from guardtui.domain.guardrail import AIRS, Guardrail
from guardtui.http.secret import Secret
from guardtui.scanners.airs.credentials import MANAGEMENT, REGIONS, TOKENS, AirsSettings
from guardtui.scanners.airs.errors import AirsError


def config(folder: Path, **values: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(values))
    return path


def load(
    flags: dict[str, Any] | None = None, path: Path | None = None, **environment: str
) -> AirsSettings:
    return AirsSettings.load(flags, environment, path or Path("/nonexistent/config.json"))


def test_settings_without_any_source_have_defaults() -> None:
    settings = load()
    assert settings.api_key is None
    assert settings.scan_endpoint.url == REGIONS["us"]
    assert settings.management_endpoint.url == MANAGEMENT
    assert settings.token_endpoint.url == TOKENS
    assert (settings.concurrency, settings.retries) == (5, 5)
    assert settings.origins["api_key"] == "not set"
    assert settings.origins["scan_endpoint"] == "default"
    with pytest.raises(AirsError, match=r"PANW_AI_SEC_API_KEY.*airsApiKey"):
        settings.scan_credential()
    with pytest.raises(AirsError) as caught:
        settings.management()
    for name in ("PANW_MGMT_CLIENT_ID", "PANW_MGMT_CLIENT_SECRET", "PANW_MGMT_TSG_ID"):
        assert name in str(caught.value)


def test_flags_override_environment_and_file(tmp_path: Path) -> None:
    path = config(tmp_path, airsApiKey="from-file", mgmtClientId="file-id", mgmtTsgId=1234)
    settings = load({"api_key": "from-flag"}, path, PANW_AI_SEC_API_KEY="from-environment")
    assert settings.api_key == Secret("from-flag")
    assert settings.origins["api_key"] == "the guardrail"
    settings = load({}, path, PANW_AI_SEC_API_KEY="from-environment")
    assert settings.api_key == Secret("from-environment")
    assert settings.origins["api_key"] == "PANW_AI_SEC_API_KEY"
    settings = load({}, path)
    assert settings.api_key == Secret("from-file")
    assert settings.origins["api_key"] == f"{path}: airsApiKey"
    assert (settings.client_id, settings.tsg_id) == ("file-id", "1234")


@pytest.mark.parametrize("empty", ["", "   ", None])
def test_empty_counts_as_unset(tmp_path: Path, empty: str | None) -> None:
    path = config(tmp_path, airsApiKey="from-file", airsApiToken=None, mgmtClientId="")
    settings = load({"api_key": empty}, path, PANW_AI_SEC_API_KEY=empty or "")
    assert settings.api_key == Secret("from-file")
    assert settings.api_token is None
    assert settings.client_id == ""


def test_regions_map_to_endpoints() -> None:
    for region in ("us", "de", "in", "sg"):
        settings = load({"region": region}, PANW_AI_SEC_API_ENDPOINT="https://other.example")
        assert settings.scan_endpoint.url == REGIONS[region]
    assert load(PANW_AI_SEC_API_ENDPOINT="https://a.example/").scan_endpoint.url == (
        "https://a.example"
    )
    assert load({"scan_endpoint": "http://127.0.0.1:8000"}).scan_endpoint.loopback


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("PANW_AI_SEC_API_ENDPOINT", "http://service.example", "https://"),
        ("PANW_AI_SEC_API_ENDPOINT", "https://user:pass@a.example", "user or password"),
        ("PANW_MGMT_ENDPOINT", "ftp://a.example", "https"),
        ("PANW_AI_SEC_API_KEY", "two words", "blank"),
        ("PANW_AI_SEC_API_KEY", "k" * 2049, "2048"),
        ("PANW_AI_SEC_API_TOKEN", "k" * 2049, "2048"),
        ("PANW_MGMT_TSG_ID", "12a", "digits"),
        ("PANW_MGMT_TSG_ID", "1/../2", "digits"),
        ("PANW_MGMT_CLIENT_ID", "a:b", "client id"),
        ("SCAN_CONCURRENCY", "21", "from 1 to 20"),
        ("SCAN_CONCURRENCY", "\u0663", "from 1 to 20"),
        ("SCAN_CONCURRENCY", "9" * 5000, "from 1 to 20"),
    ],
)
def test_invalid_value_error_names_its_source(variable: str, value: str, told: str) -> None:
    with pytest.raises(AirsError) as caught:
        load(**{variable: value})
    text = str(caught.value)
    assert text.startswith(variable)
    assert told in text
    assert "two words" not in text
    assert "pass" not in text.replace("password", "")


def test_overridden_invalid_value_is_ignored(tmp_path: Path) -> None:
    path = config(tmp_path, airsApiKey="two words")
    assert load({"api_key": "good"}, path).api_key == Secret("good")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{\n"a": 1,\n', ":3: not JSON"),
        (b"[1]", "not a JSON object"),
        (b"", "the file is empty"),
        (b"\xff{}", "not UTF-8"),
        (b"[" * 100_000, "cannot be read"),
        (b'{"airsApiKey": ["x"]}', "airsApiKey is not a text"),
        (b'{"airsApiKey": true}', "airsApiKey is not a text"),
    ],
)
def test_broken_file_is_reported(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(AirsError) as caught:
        load(path=path)
    assert told in str(caught.value)
    assert str(path) in str(caught.value)


def test_folder_at_the_path_is_reported(tmp_path: Path) -> None:
    with pytest.raises(AirsError, match="is a folder"):
        load(path=tmp_path)


def test_key_has_precedence_over_a_token_of_the_same_source() -> None:
    both = load(PANW_AI_SEC_API_KEY="key", PANW_AI_SEC_API_TOKEN="token")
    assert both.scan_credential().reveal() == ("x-pan-token", "key")
    token = load(PANW_AI_SEC_API_TOKEN="token")
    assert token.scan_credential().reveal() == ("Authorization", "Bearer token")
    nearer = load({"api_token": "token"}, PANW_AI_SEC_API_KEY="key")
    assert nearer.scan_credential().reveal() == ("Authorization", "Bearer token")


def test_secrets_are_not_shown() -> None:
    settings = load(PANW_AI_SEC_API_KEY="the-key", PANW_MGMT_CLIENT_SECRET="the-secret")
    for text in (repr(settings), str(settings.shown())):
        assert "the-key" not in text
        assert "the-secret" not in text
    assert settings.shown()["api_key"] == ("•••", "PANW_AI_SEC_API_KEY")
    assert settings.shown()["tsg_id"] == ("", "not set")


def test_empty_variable_is_reported(tmp_path: Path) -> None:
    variables = {"PANW_AI_SEC_API_ENDPOINT": " ", "PANW_MGMT_TSG_ID": ""}
    settings = AirsSettings.load({}, variables, tmp_path / "none.json")
    assert settings.empty == ("PANW_AI_SEC_API_ENDPOINT", "PANW_MGMT_TSG_ID")
    (notice,) = settings.notices()
    assert notice == (
        "PANW_AI_SEC_API_ENDPOINT is set but empty, which counts as not set: the address in use is "
        "https://service.api.aisecurity.paloaltonetworks.com (default)"
    )
    chosen = AirsSettings.load({"region": "de"}, variables, tmp_path / "none.json")
    assert chosen.notices() == ()


@pytest.mark.parametrize(
    ("endpoint", "guardrail"),
    [
        (REGIONS["us"], Guardrail(AIRS, profile="prod")),
        (REGIONS["de"], Guardrail(AIRS, profile="prod", region="de")),
        (f"{REGIONS['de']}/", Guardrail(AIRS, profile="prod", region="de")),
        (
            "https://airs.example/v1?key=secret",
            Guardrail(AIRS, profile="prod", region="https://airs.example/v1"),
        ),
        ("http://127.0.0.1:9/x", Guardrail(AIRS, profile="prod", sandbox=True)),
        ("http://localhost:8000", Guardrail(AIRS, profile="prod", sandbox=True)),
    ],
)
def test_a_guardrail_is_a_profile_of_a_region_or_address(
    endpoint: str, guardrail: Guardrail
) -> None:
    assert load({"scan_endpoint": endpoint, "profile": "prod"}).guardrail == guardrail


def test_a_guardrail_names_the_tenant_that_it_is_of() -> None:
    settings = replace(load({"profile": "prod"}), tenant="acme\x1b")
    assert settings.guardrail == Guardrail(AIRS, profile="prod", tenant="acme␛")
