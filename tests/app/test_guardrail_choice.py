"""The offered guardrail with its origins, and the options of a choice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from guardtui.app.guardrail_choice import (
    BEFORE,
    SETTING,
    GuardrailChoice,
    GuardrailKind,
    GuardrailRequest,
    accounts_of,
    offer_of,
    read_choice,
    with_choice,
    with_writer,
    write_choice,
)
from guardtui.app.remote import RemoteOptions
from guardtui.domain.errors import GuardtuiError
from guardtui.http.secret import Secret
from guardtui.scanners.session_keys import KEYRING, TYPED
from tests.http.test_system_keyring import Backend, use

NO_FILE = Path("/nonexistent/config.json")
MODEL = "http://localhost:11434/v1#qwen3"
JUDGE = GuardrailChoice(GuardrailKind.JUDGE, models=MODEL)
AIRS = GuardrailChoice(GuardrailKind.AIRS, region="us", profile="prod")


@pytest.fixture(autouse=True)
def keyring(monkeypatch: pytest.MonkeyPatch) -> Backend:
    backend = Backend()
    use(monkeypatch, backend)
    return backend


def options(**variables: str) -> RemoteOptions:
    return RemoteOptions(environment=variables, config=NO_FILE)


def test_what_is_configured_is_offered_with_its_origin() -> None:
    configured = replace(
        options(PANW_AI_SEC_API_KEY="key", PANW_AI_SEC_API_ENDPOINT="https://airs.example"),
        flags={"profile": "prod"},
    )
    before = GuardrailChoice(GuardrailKind.JUDGE, profile="old", models=MODEL)
    offer = offer_of(configured, before, None, {"profile"})
    choice = offer.choice
    assert (choice.kind, choice.profile, choice.region) == (
        GuardrailKind.JUDGE,
        "prod",
        "https://airs.example",
    )
    assert offer.origins["profile"] == "--profile"
    assert offer_of(configured, before, None).origins["profile"] == BEFORE
    assert offer.origins["region"] == "PANW_AI_SEC_API_ENDPOINT"
    assert offer.origins["airs_key"] == "PANW_AI_SEC_API_KEY"
    assert (choice.models, offer.origins["models"]) == (MODEL, BEFORE)
    assert "judge_key" not in offer.origins


def test_a_file_that_cannot_be_read_is_told_and_the_rest_offered(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{", "utf-8")
    broken = replace(options(), config=tmp_path / "config.json")
    offer = offer_of(broken, JUDGE, None)
    assert "config.json" in offer.problem
    assert offer.choice.models == MODEL


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
    offer = offer_of(start, None, None)
    assert offer.tenants == ("one", "two")
    assert (offer.choice.tenant, offer.origins["tenant"]) == ("one", "airs-cli")
    request = GuardrailRequest(replace(offer.choice, tenant="two", profile="prod"))
    chosen = with_choice(start, request).settings()
    assert (chosen.tenant, chosen.api_key) == ("two", Secret("key-two"))


def test_a_typed_key_of_airs_is_used_and_belongs_to_its_address() -> None:
    chosen = with_choice(options(), GuardrailRequest(AIRS, "sk-1"))
    settings = chosen.settings()
    assert (settings.api_key, settings.profile) == (Secret("sk-1"), "prod")
    assert settings.origins["api_key"] == TYPED
    assert "sk-1" in chosen.secrets().values()
    assert "sk-1" not in repr(chosen) + repr(GuardrailRequest(AIRS, "sk-1"))
    # The same again without typing it, but not for another address.
    assert with_choice(chosen, GuardrailRequest(AIRS)).settings().api_key == Secret("sk-1")
    elsewhere = replace(AIRS, region="https://other.example")
    with pytest.raises(GuardtuiError, match="API key"):
        with_choice(chosen, GuardrailRequest(elsewhere))


def test_a_key_of_the_keyring_is_found_again(keyring: Backend) -> None:
    for choice in (AIRS, JUDGE):
        chosen = with_choice(options(), GuardrailRequest(choice, "sk-1"))
        (account,) = accounts_of(chosen, choice.kind)
        keyring.kept["guardtui", account] = f"sk-{choice.kind}"
    chosen = with_choice(options(), GuardrailRequest(AIRS))
    assert chosen.settings().api_key == Secret("sk-airs")
    assert offer_of(options(), AIRS, None).origins["airs_key"] == KEYRING
    judged = with_choice(options(), GuardrailRequest(JUDGE)).judge
    assert judged is not None
    assert judged.keys == (Secret("sk-judge"),)
    assert offer_of(options(), JUDGE, None).origins["judge_key"] == KEYRING


def test_a_judge_takes_the_key_that_was_typed_or_the_variable(tmp_path: Path) -> None:
    start = options(GUARDTUI_MODEL_KEY="sk-variable")
    judge = with_choice(start, GuardrailRequest(JUDGE)).judge
    assert judge is not None
    assert judge.keys == (Secret("sk-variable"),)
    typed = with_choice(start, GuardrailRequest(JUDGE, "sk-typed"))
    assert typed.judge is not None
    assert typed.judge.keys == (Secret("sk-typed"),)
    again = with_choice(typed, GuardrailRequest(JUDGE)).judge
    assert again is not None
    assert again.keys == (Secret("sk-typed"),)
    assert offer_of(typed, None, GuardrailKind.JUDGE).origins["judge_key"] == TYPED
    assert with_choice(typed, GuardrailRequest(AIRS, "sk-1")).judge is not None  # may be asked


@pytest.mark.parametrize(
    ("choice", "key", "problem"),
    [
        (GuardrailChoice(GuardrailKind.JUDGE), "", "Model: write URL#name"),
        (GuardrailChoice(GuardrailKind.JUDGE, models="nohash"), "", "has no model"),
        (GuardrailChoice(GuardrailKind.JUDGE, models="http://elsewhere.example#m"), "", "http://"),
        (replace(JUDGE, template="/nonexistent.txt"), "", "/nonexistent.txt"),
        (JUDGE, "two words", "holds a blank"),
        (replace(JUDGE, models=f"{MODEL} https://b.example#m"), "k", "at several"),
        (AIRS, "", "AIRS needs an API key"),
        (replace(AIRS, profile=""), "k", "Profile: write the name"),
        (replace(AIRS, region="http://airs.example"), "k", "http://"),
    ],
)
def test_what_cannot_be_used_is_said(choice: GuardrailChoice, key: str, problem: str) -> None:
    with pytest.raises(GuardtuiError, match=problem.replace("(", r"\(")):
        with_choice(options(), GuardrailRequest(choice, key))


def test_a_model_key_that_belongs_to_no_address_for_certain_is_told() -> None:
    several = replace(JUDGE, models=f"{MODEL} https://b.example#m")
    with pytest.raises(GuardtuiError, match="GUARDTUI_MODEL_KEY"):
        with_choice(options(GUARDTUI_MODEL_KEY="k"), GuardrailRequest(several))


def test_a_decision_model_takes_format_and_key_and_a_judge_takes_its_place() -> None:
    choice = GuardrailChoice(GuardrailKind.DECISION, region="us", models=MODEL, api="systemone")
    chosen = with_choice(options(), GuardrailRequest(choice, "typed-key"))
    assert chosen.decision is not None
    assert chosen.model is chosen.decision
    assert (chosen.decision.api, chosen.decision.model.full) == ("systemone", MODEL)
    assert "typed-key" in chosen.secrets().values()
    offer = offer_of(chosen, None, GuardrailKind.DECISION)
    assert offer.choice == choice
    assert offer.origins["decision_key"] == TYPED
    assert read_choice(write_choice(choice)[SETTING]) == choice
    judged = with_choice(chosen, GuardrailRequest(JUDGE))
    assert judged.model is judged.judge
    several = GuardrailRequest(replace(choice, models=f"{MODEL} {MODEL}-2"))
    with pytest.raises(GuardtuiError, match="one decision model answers"):
        with_choice(options(), several)


def test_what_is_remembered_holds_no_address_that_may_hold_a_secret() -> None:
    for choice in (AIRS, JUDGE, GuardrailChoice(GuardrailKind.ENGINE)):
        assert read_choice(write_choice(choice)[SETTING]) == choice
    kept = write_choice(replace(AIRS, region="https://evil.example"))[SETTING]
    assert kept["region"] == ""
    secret = replace(JUDGE, models="https://a.example/v1?api-key=sk-1#m")
    assert "sk-1" not in json.dumps(write_choice(secret))
    for value in (None, [], {"kind": "other"}, {"kind": "airs", "more": "x"}):
        assert read_choice(value) is None


def test_the_variable_of_a_single_address_belongs_to_the_first_that_uses_it() -> None:
    elsewhere = "https://writer.example/v1#m"
    start = with_writer(options(GUARDTUI_MODEL_KEY="sk-1"), elsewhere)
    assert start.writer is not None
    assert start.writer.keys == (Secret("sk-1"),)
    judged = with_choice(start, GuardrailRequest(JUDGE)).judge
    assert judged is not None
    assert judged.keys == ()
    # The other way round.
    judging = with_choice(options(GUARDTUI_MODEL_KEY="sk-1"), GuardrailRequest(JUDGE))
    writer = with_writer(judging, elsewhere).writer
    assert writer is not None
    assert writer.keys == ()
    # At the same address they share it.
    writer = with_writer(judging, f"{MODEL}-other").writer
    assert writer is not None
    assert writer.keys == (Secret("sk-1"),)


def test_a_writer_stays_when_the_guardrail_changes_and_the_judge_is_the_default() -> None:
    judging = with_choice(options(), GuardrailRequest(JUDGE))
    assert judging.wording_model == judging.judge
    assert with_writer(judging, MODEL) is judging
    writing = with_writer(judging, "https://writer.example/v1#m", "sk-2")
    assert writing.wording_model == writing.writer
    assert "sk-2" in writing.secrets().values()
    assert "sk-2" not in repr(writing)
    chosen = with_choice(
        writing, GuardrailRequest(GuardrailChoice(GuardrailKind.DECISION, models=MODEL))
    )
    assert chosen.writer == writing.writer
