"""Guardrails by name: files, precedence, errors with lines, and writing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from guardtui.app.guardrails.named import (
    FILE,
    GuardrailError,
    NamedGuardrail,
    find_guardrail,
    load_guardrails,
    save_guardrail,
)
from guardtui.config import ConfigError, load_config
from guardtui.scanners.configuration import configure

TEAM = """\
# team
prod:   # the real one
  kind: airs
  profile: prod # as deployed
  region: de

panel: {kind: judge, model: [http://localhost:1/v1#a, http://localhost:2/v1#b], template: t.txt}
"""
MINE = """\
# mine
theme: guardtui-light
guardrails:
  prod: {kind: airs, profile: other}
  local:
    kind: decision
    model: http://localhost:1/v1#d
"""


@pytest.fixture
def topic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "topics"
    folder.mkdir()
    monkeypatch.setenv("GUARDTUI_CONFIG", str(tmp_path / "config.yaml"))
    (tmp_path / "config.yaml").write_text(MINE, "utf-8")
    (folder / FILE).write_text(TEAM, "utf-8")
    return folder / "topic.yaml"


def team(topic: Path) -> Path:
    return topic.with_name(FILE)


def mine(topic: Path) -> Path:
    return topic.parent.with_name("config.yaml")


def test_the_nearer_file_wins_and_the_other_is_shadowed(topic: Path) -> None:
    known = load_guardrails(topic)
    assert [(each.name, each.path, each.line, each.shadowed) for each in known] == [
        ("prod", team(topic), 2, False),
        ("panel", team(topic), 7, False),
        ("prod", mine(topic), 4, True),
        ("local", mine(topic), 5, False),
    ]
    assert find_guardrail("prod", topic).configuration.given() == {
        "profile": "prod",
        "region": "de",
    }
    assert find_guardrail("prod").configuration.given() == {"profile": "other"}


def test_a_template_is_found_beside_its_file(topic: Path) -> None:
    panel = find_guardrail("panel", topic).configuration
    assert getattr(panel, "template", None) == topic.parent / "t.txt"


def test_the_section_is_no_unknown_setting(topic: Path) -> None:
    config = load_config(mine(topic))
    assert config.theme == "guardtui-light"
    config.set_value("theme", "guardtui-dark")
    assert mine(topic).read_text("utf-8") == MINE.replace("-light", "-dark")


def test_an_address_needs_no_file(topic: Path) -> None:
    team(topic).write_text("{", "utf-8")
    assert find_guardrail("airs:prod", topic).title == "airs:prod"


@pytest.mark.parametrize("name", ["PROD", "pro", "prod ", "p"])
def test_names_count_letter_by_letter(topic: Path, name: str) -> None:
    with pytest.raises(GuardrailError, match="there is no guardrail"):
        find_guardrail(name, topic)


def test_an_unknown_name_is_told_with_the_nearest_or_all(topic: Path) -> None:
    with pytest.raises(GuardrailError, match="did you mean 'prod'"):
        find_guardrail("prodd", topic)
    with pytest.raises(GuardrailError, match="there are: prod, panel, local"):
        find_guardrail("zzz", topic)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- a\n", f"{FILE}:1: these are no settings"),
        ("a: 3\n", f"{FILE}:1: a: its keys are missing"),
        ("a: {profile: p}\n", f"{FILE}:1: a: its kind is missing"),
        ("a:\n  kind: arys\n", f"{FILE}:2: a: kind: unknown kind 'arys'; did you mean 'airs'?"),
        ("a:\n  kind: airs\n  rate: x\n", f"{FILE}:3: a: rate: 'x' is not valid"),
        ("a:\n  kind: airs\n  raet: 1\n", "raet: unknown key of airs; did you mean 'rate'?"),
        ("a:\n  kind: airs\n  api-key: sk-1\n", f"{FILE}:3: a: api-key: this looks like a secret"),
        ("a: {kind: judge, model: 'https://h/v1?api-key=sk-1#m'}\n", "the URL holds a secret"),
        ("engine: {kind: engine}\n", f"{FILE}:1: engine: this is an address, not a name"),
        ("a:b: {kind: engine}\n", "this is an address, not a name"),
        ("a: {kind: engine}\na: {kind: airs}\n", "'a' is given twice"),
        ("1: {kind: engine}\n", "a name is a text"),
    ],
)
def test_an_invalid_file_is_named_with_line_and_remedy(topic: Path, text: str, told: str) -> None:
    team(topic).write_text(text, "utf-8")
    with pytest.raises(ConfigError) as caught:
        load_guardrails(topic)
    assert told in str(caught.value)
    assert "\n  " in str(caught.value)
    assert "sk-1" not in str(caught.value)


def test_an_edit_keeps_comments_order_and_the_other_guardrails(topic: Path) -> None:
    prod = find_guardrail("prod", topic)
    edited = replace(prod, configuration=configure("airs", {"profile": "p", "rate": "2"}))
    assert save_guardrail(edited) == edited
    expected = TEAM.replace("profile: prod #", "profile: p    #")
    expected = expected.replace("  region: de\n\n", "\n  rate: 2.0\n")
    assert team(topic).read_text("utf-8") == expected
    panel = find_guardrail("panel", topic)
    save_guardrail(replace(panel, configuration=panel.configuration.changed({"template": None})))
    assert "template" not in team(topic).read_text("utf-8")
    assert find_guardrail("prod", topic) == edited


def test_a_new_guardrail_goes_to_the_settings_which_may_not_exist(topic: Path) -> None:
    for content in (MINE, "# only a comment\n", None):
        if content is None:
            mine(topic).unlink()
        else:
            mine(topic).write_text(content, "utf-8")
        new = NamedGuardrail("new", configure("airs", {"profile": "n"}))
        saved = save_guardrail(new)
        assert (saved.path, saved.configuration) == (mine(topic), new.configuration)
        assert mine(topic).read_text("utf-8").startswith(content or "# Guardrails; ")
        assert load_config(mine(topic)).theme


@pytest.mark.parametrize(
    ("guardrail", "told"),
    [
        (NamedGuardrail("a:b", configure("engine", {})), "an address"),
        (NamedGuardrail("-x", configure("engine", {})), "does not begin with"),
        (NamedGuardrail("x\ty", configure("engine", {})), "printable"),
        (
            NamedGuardrail("j", configure("judge", {"model": "https://h/v1?token=sk-1#m"})),
            "holds a secret",
        ),
    ],
)
def test_what_cannot_be_written_is_refused_and_the_file_stays(
    topic: Path, guardrail: NamedGuardrail, told: str
) -> None:
    with pytest.raises(GuardrailError, match=told):
        save_guardrail(guardrail)
    assert mine(topic).read_text("utf-8") == MINE


def test_guardrails_in_one_line_are_changed_alone(topic: Path) -> None:
    team(topic).write_text("{a: {kind: airs, profile: p, rate: 1}, b: {kind: engine}}\n", "utf-8")
    save_guardrail(
        replace(find_guardrail("a", topic), configuration=configure("airs", {"profile": "q"}))
    )
    assert team(topic).read_text("utf-8") == ("{a: {kind: airs, profile: q}, b: {kind: engine}}\n")
