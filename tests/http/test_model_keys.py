"""Keys of models: each for one origin, and never for another."""

from __future__ import annotations

import pytest

from guardtui.http.model_keys import ModelKeyError, ModelKeys, origin_of

ONE, OTHER = "https://one.example/v1", "https://other.example:8443/v1"


def found(url: str, variables: dict[str, str], *urls: str) -> tuple[str | None, str]:
    key = ModelKeys(variables, urls).find(url)
    return None if key.secret is None else key.secret.reveal(), key.variable


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://HOST.example:443/v1", "https://host.example"),
        ("https://host.example./v1?x=1", "https://host.example"),
        ("http://127.0.0.1:80/", "http://127.0.0.1"),
        ("http://host.example:443", "http://host.example:443"),
        ("https://[::1]:8443/v1", "https://[::1]:8443"),
    ],
)
def test_origin_is_scheme_host_and_port(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize(
    ("url", "variables", "key"),
    [
        (ONE, {}, None),
        (ONE, {"GUARDTUI_MODEL_KEY": " own "}, "own"),
        (ONE, {"OPENAI_API_KEY": "oa"}, None),
        ("https://api.openai.com/v1", {"OPENAI_API_KEY": "oa"}, "oa"),
        ("https://API.openai.com/v1", {"OPENAI_API_KEY": "oa"}, "oa"),
        ("https://api.openai.com/v1", {"OPENAI_API_KEY": "oa", "GUARDTUI_MODEL_KEY": "own"}, "own"),
        ("https://api.openai.com/v1", {"OPENAI_API_KEY": "oa", "GUARDTUI_MODEL_KEY": " "}, "oa"),
        ("http://api.openai.com/v1", {"OPENAI_API_KEY": "oa"}, None),
        ("https://api.openai.com.evil.example/v1", {"OPENAI_API_KEY": "oa"}, None),
        ("https://evil.example/api.openai.com", {"OPENAI_API_KEY": "oa"}, None),
        (ONE, {"GUARDTUI_MODEL_KEYS": "https://one.example:443=A", "A": "a"}, "a"),
        (ONE, {"GUARDTUI_MODEL_KEYS": "http://one.example=A", "A": "a"}, None),
        (
            ONE,
            {"GUARDTUI_MODEL_KEYS": "https://one.example=none", "GUARDTUI_MODEL_KEY": "own"},
            None,
        ),
    ],
)
def test_key_is_sent_only_to_its_origin(
    url: str, variables: dict[str, str], key: str | None
) -> None:
    assert found(url, variables)[0] == key


def test_models_at_one_origin_share_the_key() -> None:
    same = ("https://one.example:443/v1", "https://one.example/v2")
    assert found(ONE, {"GUARDTUI_MODEL_KEY": "own"}, *same) == ("own", "GUARDTUI_MODEL_KEY")


def test_key_for_one_origin_is_not_sent_to_several() -> None:
    with pytest.raises(ModelKeyError) as caught:
        found(ONE, {"GUARDTUI_MODEL_KEY": "own"}, ONE, OTHER)
    assert str(caught.value) == (
        "GUARDTUI_MODEL_KEY is for models at one address, and these are at 2: "
        "it is not sent to any of them\n"
        "  https://one.example has no key of its own\n"
        "  https://other.example:8443 has no key of its own\n"
        "  name the variable that holds each key, or none where no key is needed:\n"
        "  export GUARDTUI_MODEL_KEYS='https://one.example=VARIABLE "
        "https://other.example:8443=VARIABLE'"
    )


def test_later_second_origin_is_rejected_too() -> None:
    keys = ModelKeys({"GUARDTUI_MODEL_KEY": "own"})
    assert keys.find(ONE).secret is not None
    with pytest.raises(ModelKeyError, match=r"other\.example:8443 has no key"):
        keys.find(OTHER)


def test_each_origin_has_its_own_key() -> None:
    variables = {
        "GUARDTUI_MODEL_KEY": "own",
        "GUARDTUI_MODEL_KEYS": "https://one.example=A\n https://other.example:8443=none",
        "A": "a",
        "OPENAI_API_KEY": "oa",
    }
    every = (ONE, OTHER, "https://api.openai.com/v1")
    assert [found(one, variables, *every) for one in every] == [
        ("a", "A"), (None, ""), ("oa", "OPENAI_API_KEY"),
    ]  # fmt: skip
    # Without a key for one origin, those that are not named get none.
    del variables["GUARDTUI_MODEL_KEY"]
    assert found("http://localhost:1/v1", variables, *every) == (None, "")


@pytest.mark.parametrize(
    ("mapping", "told"),
    [
        ("sk-secret", "entry 1: not of the form ORIGIN=VARIABLE"),
        ("https://one.example=A =sk-secret", "entry 2: not of the form"),
        ("https://one.example=sk-secret", "https://one.example= is not the name of an environment"),
        ("https://one.example=", "is not the name of an environment variable"),
        ("https://one.example/v1=A", "belongs to a whole origin: write https://one.example="),
        ("https://sk-secret@one.example=A", "contains user or password"),
        ("https://one.example=A https://one.example:443=B", "has two variables"),
        ("https://one.example=A", "names A for https://one.example, which is not set"),
    ],
)
def test_invalid_key_mapping_is_reported(mapping: str, told: str) -> None:
    with pytest.raises(ModelKeyError) as caught:
        found(ONE, {"GUARDTUI_MODEL_KEYS": mapping})
    assert told in str(caught.value)
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["GUARDTUI_MODEL_KEY", "MINE"])
def test_invalid_key_error_names_the_variable(name: str) -> None:
    variables = {name: "two words"}
    if name == "MINE":
        variables["GUARDTUI_MODEL_KEYS"] = "https://one.example=MINE"
    with pytest.raises(ModelKeyError, match=name) as caught:
        found(ONE, variables)
    assert "two words" not in str(caught.value)
