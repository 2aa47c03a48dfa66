"""What a guardrail is made of, and the texts that name it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from guardtui.domain.guardrail import (
    AIRS,
    DECISION,
    ENGINE,
    JUDGE,
    Companion,
    Guardrail,
    ScannerSettings,
    guardrail_label,
    matches,
    measured_by,
)
from guardtui.domain.topic import Intent
from tests.guardrails import airs_settings, decision_settings, engine_settings, judge_settings


@pytest.mark.parametrize(
    ("settings", "sentence", "label"),
    [
        (
            ScannerSettings(Guardrail(ENGINE, encoder="pair", version="2a"), 0.62, "built-in"),
            "Measured by the engine (a quick approximation of your guardrail), encoder pair, "
            "version 2a, threshold 0.620 (built-in).",
            "engine (approximation)",
        ),
        (
            engine_settings("aa", 0.5, companions=(Companion("Pay", Intent.ALLOW, "1a2b"),)),
            "Measured by the engine (a quick approximation of your guardrail), encoder "
            "static, version aa, threshold 0.500, together with Pay (allow, 1a2b).",
            "engine (approximation)",
        ),
        (
            airs_settings("prod", "3 (7f0c)", epochs=3, reducer="mode"),
            "Measured by AIRS, profile prod, revision 3, 3 epochs by mode.",
            "AIRS",
        ),
        (
            airs_settings("prod", "3", title="work", region="de", tenant="acme"),
            "Measured by work: AIRS, profile prod, region de, tenant acme, revision 3.",
            "work",
        ),
        (
            airs_settings("sandbox", "6 (7a)", sandbox=True),
            "Measured by AIRS on this machine, profile sandbox, revision 6.",
            "AIRS",
        ),
        (
            replace(judge_settings("gpt-x", "llama", template="1f2e"), revision="addresses a1"),
            "Measured by a judge: gpt-x, llama, template 1f2e.",
            "judge",
        ),
        (
            replace(decision_settings("d-1", 0.35, "by hand"), revision="addresses a1"),
            "Measured by the decision model d-1, threshold 0.350 (by hand), template 1f2e.",
            "decision",
        ),
        (
            ScannerSettings(Guardrail("acme", version="2")),
            "Measured by the guardrail acme, 2.",
            "acme",
        ),
        (
            replace(airs_settings("prod", "3"), is_forecast=True),
            "Measured by a forecast of AIRS, profile prod, revision 3.",
            "forecast of AIRS",
        ),
    ],
)
def test_the_guardrail_is_named_with_what_its_verdicts_depend_on(
    settings: ScannerSettings, sentence: str, label: str
) -> None:
    assert measured_by(settings) == sentence
    assert guardrail_label(settings) == label


def test_names_from_outside_are_inert_and_quoted_as_the_format_needs_it() -> None:
    settings = airs_settings("a\x1b]52;c\u202e", "\x07")
    assert measured_by(settings) == "Measured by AIRS, profile a␛]52;c⟪RLO⟫, revision ␇."
    assert measured_by(settings, lambda text: f"<{text!r}>") == (
        "Measured by AIRS, profile <'a\\x1b]52;c\\u202e'>, revision <'\\x07'>."
    )


PROD = Guardrail(AIRS, "prod", profile="prod", region="de", tenant="acme", epochs=3, reducer="mode")
PANEL = Guardrail(
    JUDGE,
    models=("m1", "m2", "m3", "m4", "m5"),
    template="c964",
    companions=(Companion("Pay, wages", Intent.ALLOW, "1a2b3c4d"),),
    otherwise="block",
)


@pytest.mark.parametrize(
    ("guardrail", "text"),
    [
        (Guardrail(ENGINE, encoder="pair", version="2a-3"), "engine, encoder pair, version 2a-3"),
        (PROD, "AIRS, profile prod, region de, tenant acme, 3 epochs by mode"),
        (Guardrail(AIRS, "eu", profile="prod"), "eu: AIRS, profile prod"),
        (Guardrail(AIRS, profile="p", sandbox=True), "AIRS on this machine, profile p"),
        (
            PANEL,
            "judge m1, m2, m3 and 2 more, template c964, together with Pay, wages (allow, "
            "1a2b3c4d); default block",
        ),
        (
            Guardrail(DECISION, models=("d",), answered_by="d-2", api="chat", template="1f"),
            "decision model d, answered by d-2, chat, template 1f",
        ),
        (Guardrail("acme", version="2"), "acme, 2"),
    ],
)
def test_a_guardrail_is_told_with_all_that_it_is_made_of(guardrail: Guardrail, text: str) -> None:
    assert guardrail.text() == text


@pytest.mark.parametrize(
    ("guardrail", "badge"),
    [
        (Guardrail(ENGINE, version="pair-2a-3"), "engine"),
        (Guardrail(AIRS, profile="prod, eu"), "AIRS prod, eu r3"),
        (Guardrail(AIRS, "staging", profile="prod, eu"), "AIRS staging r3"),
        (PANEL, "judge m1"),
        (Guardrail("acme", version="2"), "acme 2"),
    ],
)
def test_a_badge_names_the_guardrail_and_its_revision(guardrail: Guardrail, badge: str) -> None:
    assert guardrail.badge("3") == badge


@pytest.mark.parametrize("guardrail", [PROD, PANEL, Guardrail(ENGINE)])
def test_a_guardrail_is_the_same_after_json(guardrail: Guardrail) -> None:
    again = Guardrail.from_json(json.loads(json.dumps(guardrail.to_json())))
    assert (again, hash(again), again.title) == (guardrail, hash(guardrail), guardrail.title)
    assert Guardrail(ENGINE).to_json() == {"kind": "engine"}


@pytest.mark.parametrize(
    "stated",
    [None, [], "airs", {}, {"kind": 1}, {"kind": "airs", "models": 3}, {"kind": "a", "b": 1}],
)
def test_other_json_is_not_a_guardrail(stated: object) -> None:
    with pytest.raises(ValueError, match="validation error"):
        Guardrail.from_json(stated)


def test_the_title_does_not_make_another_guardrail() -> None:
    assert replace(PROD, title="other") == PROD


def test_a_guardrail_fits_what_states_less_and_nothing_else() -> None:
    assert PROD.fits(Guardrail(AIRS, profile="prod"))
    assert PROD.fits(Guardrail(AIRS))
    assert not PROD.fits(Guardrail(AIRS, profile="pro"))
    assert not PROD.fits(Guardrail(AIRS, profile="prod", region="in"))
    assert not PROD.fits(Guardrail(JUDGE))


def test_an_equal_guardrail_precedes_those_that_only_fit() -> None:
    bare, german = Guardrail(AIRS, profile="prod"), Guardrail(AIRS, profile="prod", region="de")
    assert matches(bare, [german, bare, german]) == [bare]
    assert matches(bare, [german, german, PROD]) == [german, PROD]
    assert matches(bare, [Guardrail(AIRS, profile="preprod")]) == []
