"""The JSON Schemas of the package: fresh, and what they accept and refuse of real files."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pydantic
import pytest
from jsonschema import Draft7Validator, Draft202012Validator
from ruamel.yaml import YAML

from guardtui.config import SETTINGS, Config
from guardtui.domain.topic import Intent, Topic, violations
from guardtui.scanners.configuration import KINDS

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "guardtui" / "schemas"
SCHEMAS = {
    path.name.removesuffix(".schema.json"): json.loads(path.read_text("utf-8"))
    for path in FOLDER.iterdir()
}
WRITTEN_BY_HAND = ("topic", "settings", "guardrails")
EXAMPLES = ["How do I deduct my desk?", "When is my tax return due?"]
TOPIC = {"name": "Tax", "description": "Tax advice", "examples": EXAMPLES, "intent": "block"}


def schema_of(name: str) -> Draft7Validator:
    return Draft7Validator(SCHEMAS[name])


def yaml(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)  # as guardtui does: that in C reads less


def known_to_all(texts: Mapping[str, str]) -> dict[str, Any]:
    """The schemas without what pydantic says of dataclasses only from 2.14 on."""
    newer = {"description", "required", "additionalProperties"}

    def without_newer(schema: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in schema.items() if name not in newer}

    return {name: json.loads(text, object_hook=without_newer) for name, text in texts.items()}


def test_files_are_made_from_the_code() -> None:
    """To accept a change: `python scripts/build_schemas.py`."""
    path = ROOT / "scripts" / "build_schemas.py"
    spec = importlib.util.spec_from_file_location("build_schemas", path)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    texts = {f"{name}.schema.json": script.text(made) for name, made in script.schemas().items()}
    files = {path.name: path.read_text("utf-8") for path in FOLDER.iterdir()}
    if tuple(map(int, pydantic.VERSION.split(".")[:2])) >= (2, 14):
        assert files == texts
    # Older ones suffice to write the documents, and know the same fields.
    assert known_to_all(files) == known_to_all(texts)


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_valid(name: str) -> None:
    validator = Draft7Validator if name in WRITTEN_BY_HAND else Draft202012Validator
    validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("name", ["tax-advice", "airline-service", "harm-intent"])
def test_samples_are_topics(name: str) -> None:
    schema_of("topic").validate(yaml((ROOT / "sample_data" / f"{name}.yaml").read_text("utf-8")))


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"owner": "legal"},
        {"examples": EXAMPLES * 2},
        {"name": "x" * 100, "description": "y" * 250},
        {"intent": "allow"},
    ],
)
def test_topics_within_the_limits_are_accepted(change: dict[str, Any]) -> None:
    topic = TOPIC | change
    schema_of("topic").validate(topic)
    fields = {name: topic[name] for name in Topic.model_fields}
    assert not violations(Topic(**{**fields, "intent": Intent(topic["intent"])}))


@pytest.mark.parametrize(
    "change",
    [
        {"name": 7},
        {"name": ""},
        {"name": None},
        {"name": "x" * 101},
        {"description": ["Tax"]},
        {"description": "  \n"},
        {"description": "y" * 251},
        {"examples": EXAMPLES[:1]},
        {"examples": EXAMPLES * 3},
        {"examples": "How do I deduct my desk?"},
        {"examples": [*EXAMPLES, 7]},
        {"examples": [*EXAMPLES, ""]},
        {"examples": [*EXAMPLES, "z" * 251]},
        {"intent": "maybe"},
        {"intent": True},
    ],
)
def test_bad_topics_are_refused(change: dict[str, Any]) -> None:
    assert not schema_of("topic").is_valid(TOPIC | change)


@pytest.mark.parametrize("missing", ["name", "description", "examples"])
def test_a_topic_without_a_field_is_refused(missing: str) -> None:
    assert not schema_of("topic").is_valid({k: v for k, v in TOPIC.items() if k != missing})


def test_a_settings_file_as_it_is_written_is_accepted(tmp_path: Path) -> None:
    config = Config(tmp_path / "config.yaml")
    for setting in SETTINGS:
        config.set_value(setting.key, setting.default)
    config.set_value("keys", {"screen.keep": "f13,ctrl+g"})
    written = yaml((tmp_path / "config.yaml").read_text("utf-8"))
    assert set(written) == {setting.key for setting in SETTINGS}
    schema_of("settings").validate(written)


GUARDRAILS = """
engine: {kind: engine, encoder: static}
prod: {kind: airs, profile: production, region: de, retries: 3}
panel:
  kind: judge
  model: [https://one.example/v1#a, https://two.example/v1#b]
  template: judge.txt
  price-in: 0.15
  model-option: {seed: 7}
dome: {kind: decision, model: https://one.example/v1#a}
"""


def test_guardrails_are_accepted_in_both_files() -> None:
    named = yaml(GUARDRAILS)
    assert {guardrail["kind"] for guardrail in named.values()} == set(KINDS)
    schema_of("guardrails").validate(named)
    schema_of("settings").validate({"theme": "nord", "guardrails": named})


@pytest.mark.parametrize(
    "guardrail",
    [
        "{profile: production}",
        "{kind: aris}",
        "{kind: airs, profil: production}",
        "{kind: airs, region: fr}",
        "{kind: airs, concurrency: 21}",
        "{kind: engine, profile: production}",
        "{kind: judge, model: 7}",
        "{kind: judge, price-in: cheap}",
        "airs:production",
    ],
)
def test_bad_guardrails_are_refused(guardrail: str) -> None:
    named = yaml(f"prod: {guardrail}")
    assert not schema_of("guardrails").is_valid(named)
    assert not schema_of("settings").is_valid({"guardrails": named})


@pytest.mark.parametrize(
    "settings",
    ["thme: nord", "encoder: large", "preview_pause: 5", "tour: often", "keys: f13", "- theme"],
)
def test_bad_settings_are_refused(settings: str) -> None:
    assert not schema_of("settings").is_valid(yaml(settings))
