"""Keys of guardrails: each kind's values, addresses, `--set`, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from guardtui.cli.guardrails import _KINDS
from guardtui.http.decisions import Api
from guardtui.scanners.airs import credentials
from guardtui.scanners.configuration import (
    KINDS,
    ConfigurationError,
    configure,
    keys_of,
    parse_address,
    parse_settings,
)
from guardtui.scanners.local import encoder

JUDGE = "http://localhost:1/v1#m"
VALUES = {
    "encoder": "static",
    "profile": "prod",
    "region": "de",
    "scan-endpoint": "https://airs.example",
    "tenant": "mine",
    "batch": "true",
    "model": JUDGE,
    "api": "systemone",
    "template": "t.txt",
    "form": "graded",
    "model-option": {"seed": 7},
    "allow-http": "true",
    "price-in": "0.5",
    "price-out": "0",
    "answer-tokens": "64",
    "concurrency": "20",
    "rate": "0.5",
    "retries": "0",
}
"""A valid value of every key."""


def test_choices_are_those_of_what_uses_them() -> None:
    choices = {key.name: key.choices for kind in KINDS for key in keys_of(kind)}
    assert choices["encoder"] == encoder.ENCODERS
    assert choices["region"] == tuple(credentials.REGIONS)
    assert choices["api"] == tuple(api.value for api in Api)
    assert tuple(KINDS) == _KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_has_help_and_values_and_is_read_back_as_given(kind: str) -> None:
    for key in keys_of(kind):
        assert key.help.endswith(".")
        assert key.values
        given = configure(kind, {key.name: VALUES[key.name]}).given()
        assert list(given) == [key.name]
        assert configure(kind, given).given() == given


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("engine", "encoder", "big"),
        ("airs", "region", "mars"),
        ("airs", "concurrency", "21"),
        ("airs", "concurrency", "0"),
        ("airs", "rate", "nan"),
        ("airs", "rate", "0"),
        ("airs", "rate", "10001"),
        ("airs", "retries", "6"),
        ("airs", "retries", "1.5"),
        ("airs", "batch", "perhaps"),
        ("airs", "scan-endpoint", "http://airs.example"),
        ("judge", "concurrency", "513"),
        ("judge", "price-in", "-1"),
        ("judge", "price-in", "inf"),
        ("judge", "answer-tokens", "0"),
        ("judge", "model", "no-hash"),
        ("judge", "model", "https://user:secret@host/v1"),
        ("judge", "model-option", {"a b": 1}),
        ("decision", "model", f"{JUDGE} {JUDGE}"),
        ("decision", "api", "openai"),
    ],
)
def test_an_invalid_value_names_its_key_and_the_valid_values(
    kind: str, key: str, value: object
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        configure(kind, {key: value})
    (problem,) = caught.value.problems
    assert problem.key == key
    assert problem.remedy.startswith("values: ")
    assert "secret" not in str(caught.value)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        configure("airs", {"retries": "9", "rate": "x"})
    assert [problem.key for problem in caught.value.problems] == ["rate", "retries"]


@pytest.mark.parametrize(
    ("kind", "key", "told"),
    [
        ("engine", "encodr", "did you mean 'encoder'"),
        ("engine", "retries", "(a key of airs, judge, decision)"),
        ("airs", "model", "(a key of judge, decision)"),
        ("judge", "zzz", "unknown key of judge"),
    ],
)
def test_an_unknown_key_is_explained(kind: str, key: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=key) as caught:
        configure(kind, {key: "x"})
    assert told in str(caught.value)
    assert f"guardrails --keys {kind}" in str(caught.value)


@pytest.mark.parametrize("key", ["api-key", "apiKey", "token", "client_secret", "PASSWORD"])
def test_a_secret_is_refused_and_never_shown(key: str) -> None:
    for kind in KINDS:
        with pytest.raises(ConfigurationError) as caught:
            configure(kind, {key: "sk-123"})
        assert "GUARDTUI_MODEL_KEY" in str(caught.value)
        assert "sk-123" not in str(caught.value)
    with pytest.raises(ConfigurationError, match="keyring"):
        configure("judge", {"model-option": {key.replace("-", "_"): "sk-123"}})


def test_a_region_and_an_endpoint_exclude_each_other() -> None:
    with pytest.raises(ConfigurationError, match="exclude each other"):
        configure("airs", {"region": "us", "scan-endpoint": "https://airs.example"})


@pytest.mark.parametrize(
    ("text", "kind", "given"),
    [
        ("engine", "engine", {}),
        ("airs", "airs", {}),
        ("airs:prod, eu", "airs", {"profile": "prod, eu"}),
        (f"judge:{JUDGE}", "judge", {"model": JUDGE}),
        (f"judge:{JUDGE},n:7b", "judge", {"model": [JUDGE, "http://localhost:1/v1#n:7b"]}),
        (f"decision:{JUDGE}", "decision", {"model": JUDGE}),
    ],
)
def test_an_address_is_read_and_written(text: str, kind: str, given: dict[str, object]) -> None:
    configuration = parse_address(text)
    assert configuration is not None
    assert (configuration.kind, configuration.given()) == (kind, given)
    assert configuration.address == text


@pytest.mark.parametrize("text", ["judge", "decision", "judge:", "airs:", "engine:x", "airs: "])
def test_a_broken_address_is_an_error_and_another_word_is_a_name(text: str) -> None:
    with pytest.raises(ConfigurationError, match="write engine, airs:PROFILE"):
        parse_address(text)
    assert parse_address(f"x{text}") is None


def test_a_panel_at_several_services_has_no_address() -> None:
    panel = configure("judge", {"model": f"{JUDGE} http://localhost:2/v1#n"})
    assert panel.address == ""


def test_settings_are_read_and_change_a_guardrail() -> None:
    values = parse_settings(
        ["retries=3", "template= t.txt ", 'model-option.effort="low"', "model-option.seed=7"]
    )
    judge = configure("judge", {"model": JUDGE, "rate": "2", "model-option": {"top_p": 1}})
    changed = judge.changed(values)
    assert changed.given() == {
        "model": JUDGE,
        "rate": 2.0,
        "retries": 3,
        "template": "t.txt",
        "model-option": {"top_p": 1, "effort": "low", "seed": 7},
    }
    assert changed.changed({}) == changed
    assert getattr(changed, "template", None) == Path("t.txt")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["retries"], "'retries' is not of the form KEY=VALUE"),
        (["=3"], "is not of the form"),
        (["rate=1", "rate=2"], "rate: given twice"),
        (["model-option.x=1", "model-option.x=2"], "model-option.x: given twice"),
        (["model-option.x=low"], "x needs JSON"),
    ],
)
def test_an_invalid_setting_is_explained(settings: list[str], told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_settings(settings)
    assert told in str(caught.value)
