"""The guardrails that are offered, the options of a chosen one, and what a session remembers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from guardtui.app.guardrails.choice import (
    SETTING,
    GuardrailRequest,
    accounts_of,
    key_origin,
    offer_of,
    read_choice,
    with_guardrail,
    with_writer,
    write_choice,
)
from guardtui.app.guardrails.named import FILE, NamedGuardrail
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.domain.errors import GuardtuiError
from guardtui.http.secret import Secret
from guardtui.scanners.configuration import configure
from guardtui.scanners.models.decision import DecisionOptions
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.scanners.session_keys import KEYRING, TYPED
from tests.http.test_system_keyring import Backend, use

NO_FILE = Path("/nonexistent/config.json")
MODEL = "http://localhost:11434/v1#qwen3"


def unnamed(kind: str, **values: object) -> NamedGuardrail:
    """Return a guardrail without a name; `_` in a key stands for `-`."""
    return NamedGuardrail(
        "", configure(kind, {key.replace("_", "-"): value for key, value in values.items()})
    )


JUDGE = unnamed("judge", model=MODEL)
AIRS = unnamed("airs", region="us", profile="prod")
ENGINE = unnamed("engine")


@pytest.fixture(autouse=True)
def keyring(monkeypatch: pytest.MonkeyPatch) -> Backend:
    backend = Backend()
    use(monkeypatch, backend)
    return backend


def options(**variables: str) -> RemoteOptions:
    return RemoteOptions(environment=variables, config=NO_FILE)


def test_engine_airs_and_those_with_a_name_are_offered_and_the_one_in_use_is_chosen(
    tmp_path: Path,
) -> None:
    topic = tmp_path / "topic.yaml"
    (tmp_path / FILE).write_text("prod: {kind: airs, profile: prod}\n", "utf-8")
    offer = offer_of(options(), topic, None, None)
    assert [each.title for each in offer.guardrails] == ["engine", "airs", "prod"]
    assert offer.guardrails[offer.chosen].title == "airs"
    assert offer.guardrails[2].path == tmp_path / FILE
    named = offer.guardrails[2]
    assert offer_of(options(), topic, named, JUDGE).guardrails == (
        offer.guardrails[0], JUDGE, *offer.guardrails[1:]
    )  # fmt: skip
    remembered = offer_of(options(), topic, None, JUDGE)
    assert remembered.guardrails[remembered.chosen] == JUDGE


@pytest.mark.parametrize("broken", [FILE, "config.json"])
def test_a_file_that_cannot_be_read_is_told_and_the_rest_offered(
    tmp_path: Path, broken: str
) -> None:
    (tmp_path / broken).write_text("{", "utf-8")
    start = replace(options(), config=tmp_path / "config.json")
    offer = offer_of(start, tmp_path / "topic.yaml", JUDGE, None)
    assert broken in offer.problem
    assert offer.guardrails[offer.chosen] == JUDGE


def test_tenants_are_those_of_the_registry(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(
            json.dumps({"mgmtTsgId": "1", "airsApiKey": f"key-{name}"}), "utf-8"
        )
    rows = [
        {"name": name, "configPath": str(tmp_path / f"{name}.json"), "tsgId": "1"}
        for name in ("one", "two")
    ]
    registry = tmp_path / "tenants.json"
    registry.write_text(json.dumps({"version": 1, "tenants": rows, "active": "one"}), "utf-8")
    start = RemoteOptions(environment={"PRISMA_AIRS_TENANTS_PATH": str(registry)})
    assert offer_of(start, tmp_path / "topic.yaml", None, None).tenants == ("one", "two")
    chosen = with_guardrail(start, unnamed("airs", tenant="two", profile="prod")).settings()
    assert (chosen.tenant, chosen.api_key) == ("two", Secret("key-two"))


def test_the_values_of_a_guardrail_win_over_variables_and_missing_ones_are_theirs() -> None:
    start = options(PANW_AI_SEC_API_KEY="k", PANW_AI_SEC_PROFILE_NAME="other", SCAN_CONCURRENCY="7")
    chosen = with_guardrail(start, unnamed("airs", profile="prod", region="de", batch="true"))
    settings = chosen.settings()
    assert (settings.profile, settings.concurrency, chosen.airs.batch) == ("prod", 7, True)
    assert settings.scan_endpoint.host.startswith("service-de.")
    assert with_guardrail(start, unnamed("airs")).settings().profile == "other"


def test_a_typed_key_of_airs_is_used_and_belongs_to_its_address() -> None:
    chosen = with_guardrail(options(), AIRS, "sk-1")
    settings = chosen.settings()
    assert (settings.api_key, settings.profile) == (Secret("sk-1"), "prod")
    assert settings.origins["api_key"] == TYPED
    assert "sk-1" in chosen.secrets().values()
    assert "sk-1" not in repr(chosen) + repr(GuardrailRequest(AIRS, "sk-1"))
    # The same again without typing it, but not for another address.
    assert with_guardrail(chosen, AIRS).settings().api_key == Secret("sk-1")
    elsewhere = unnamed("airs", profile="prod", scan_endpoint="https://other.example")
    with pytest.raises(GuardtuiError, match="API key"):
        with_guardrail(chosen, elsewhere)


def test_a_key_of_the_keyring_is_found_again(keyring: Backend) -> None:
    for choice in (AIRS, JUDGE):
        chosen = with_guardrail(options(), choice, "sk-1")
        (account,) = accounts_of(chosen, choice.kind)
        keyring.kept["guardtui", account] = f"sk-{choice.kind}"
    chosen = with_guardrail(options(), AIRS)
    assert chosen.settings().api_key == Secret("sk-airs")
    assert key_origin(options(), AIRS) == KEYRING
    judged = with_guardrail(options(), JUDGE).model
    assert judged is not None
    assert judged.keys == (Secret("sk-judge"),)
    assert key_origin(options(), JUDGE) == KEYRING


def test_a_judge_takes_the_key_that_was_typed_or_the_variable(tmp_path: Path) -> None:
    start = options(GUARDTUI_MODEL_KEY="sk-variable")
    judge = with_guardrail(start, JUDGE).model
    assert judge is not None
    assert judge.keys == (Secret("sk-variable"),)
    typed = with_guardrail(start, JUDGE, "sk-typed")
    assert typed.model is not None
    assert typed.model.keys == (Secret("sk-typed"),)
    again = with_guardrail(typed, JUDGE).model
    assert again is not None
    assert again.keys == (Secret("sk-typed"),)
    assert key_origin(typed, JUDGE) == TYPED
    assert key_origin(start, JUDGE) == "GUARDTUI_MODEL_KEY"
    assert with_guardrail(typed, AIRS, "sk-1").model is not None  # may be asked


@pytest.mark.parametrize(
    ("choice", "key", "problem"),
    [
        (unnamed("judge"), "", "model: write its URL, # and its name"),
        (unnamed("judge", model="http://elsewhere.example#m"), "", "http://"),
        (unnamed("judge", model=MODEL, template="/nonexistent.txt"), "", "/nonexistent.txt"),
        (JUDGE, "two words", "holds a blank"),
        (unnamed("judge", model=f"{MODEL} https://b.example#m"), "k", "at several"),
        (AIRS, "", "AIRS needs an API key"),
        (unnamed("airs"), "k", "profile: write the name"),
    ],
)
def test_what_cannot_be_used_is_said(choice: NamedGuardrail, key: str, problem: str) -> None:
    with pytest.raises(GuardtuiError, match=problem.replace("(", r"\(")):
        with_guardrail(options(), choice, key)


def test_a_model_key_that_belongs_to_no_address_for_certain_is_told() -> None:
    several = unnamed("judge", model=f"{MODEL} https://b.example#m")
    with pytest.raises(GuardtuiError, match="GUARDTUI_MODEL_KEY"):
        with_guardrail(options(GUARDTUI_MODEL_KEY="k"), several)


def test_a_decision_model_takes_format_and_key_and_a_judge_takes_its_place() -> None:
    choice = unnamed("decision", model=MODEL, api="systemone", retries="1")
    chosen = with_guardrail(options(), choice, "typed-key")
    assert isinstance(chosen.model, DecisionOptions)
    assert (chosen.model.api, chosen.model.model.full) == ("systemone", MODEL)
    assert chosen.model.calls.retries == 1
    assert "typed-key" in chosen.secrets().values()
    assert key_origin(chosen, choice) == TYPED
    judged = with_guardrail(chosen, JUDGE)
    assert isinstance(judged.model, JudgeOptions)
    # The judge still writes wordings for a decision model.
    assert with_guardrail(judged, choice).writer == judged.wording_model


def test_a_model_has_the_limits_of_its_guardrail() -> None:
    limits = {"budget": "2", "max-tokens": "1000", "price-in": "1"}
    for kind in ("judge", "decision"):
        model = with_guardrail(options(), unnamed(kind, model=MODEL, **limits)).model
        assert model is not None
        assert (model.calls.most_tokens, model.calls.most_cost) == (1000, 2.0)


def test_what_is_remembered_holds_no_address_that_may_hold_a_secret(tmp_path: Path) -> None:
    topic = tmp_path / "topic.yaml"
    for choice in (AIRS, JUDGE, ENGINE):
        assert read_choice(write_choice(choice)[SETTING], topic) == choice
    elsewhere = unnamed("airs", profile="prod", scan_endpoint="https://evil.example")
    assert write_choice(elsewhere)[SETTING] == {"kind": "airs", "profile": "prod"}
    secret = unnamed("judge", model="https://a.example/v1?api-key=sk-1#m")
    assert "sk-1" not in json.dumps(write_choice(secret))
    unreadable: tuple[object, ...] = (None, [], {"kind": "other"}, {"kind": 3})
    for value in unreadable:
        assert read_choice(value, topic) is None


def test_a_guardrail_with_a_name_is_remembered_by_it(tmp_path: Path) -> None:
    topic = tmp_path / "topic.yaml"
    setting = write_choice(replace(AIRS, name="prod"))[SETTING]
    assert setting == {"name": "prod"}
    with pytest.raises(GuardtuiError, match="there is no guardrail 'prod'"):
        read_choice(setting, topic)
    (tmp_path / FILE).write_text("prod: {kind: airs, profile: new}\n", "utf-8")
    found = read_choice(setting, topic)
    assert found is not None
    assert found.configuration.given() == {"profile": "new"}


def test_the_choice_of_an_older_session_is_read(tmp_path: Path) -> None:
    older = {"region": "de", "profile": "p", "tenant": "", "models": MODEL, "template": ""}
    topic = tmp_path / "topic.yaml"
    assert read_choice({**older, "kind": "airs", "api": ""}, topic) == unnamed(
        "airs", region="de", profile="p"
    )
    assert read_choice({**older, "kind": "judge", "api": "systemone"}, topic) == JUDGE
    assert read_choice({**older, "kind": "engine"}, topic) == ENGINE


def test_the_variable_of_a_single_address_belongs_to_the_first_that_uses_it() -> None:
    elsewhere = "https://writer.example/v1#m"
    start = with_writer(options(GUARDTUI_MODEL_KEY="sk-1"), elsewhere)
    assert start.writer is not None
    assert start.writer.keys == (Secret("sk-1"),)
    judged = with_guardrail(start, JUDGE).model
    assert judged is not None
    assert judged.keys == ()
    # The other way round.
    judging = with_guardrail(options(GUARDTUI_MODEL_KEY="sk-1"), JUDGE)
    writer = with_writer(judging, elsewhere).writer
    assert writer is not None
    assert writer.keys == ()
    # At the same address they share it.
    writer = with_writer(judging, f"{MODEL}-other").writer
    assert writer is not None
    assert writer.keys == (Secret("sk-1"),)


def test_a_writer_stays_when_the_guardrail_changes_and_the_judge_is_the_default() -> None:
    judging = with_guardrail(options(), JUDGE)
    assert judging.wording_model == judging.model
    assert with_writer(judging, MODEL) is judging
    writing = with_writer(judging, "https://writer.example/v1#m", "sk-2")
    assert writing.wording_model == writing.writer
    assert "sk-2" in writing.secrets().values()
    assert "sk-2" not in repr(writing)
    chosen = with_guardrail(writing, unnamed("decision", model=MODEL))
    assert chosen.writer == writing.writer
