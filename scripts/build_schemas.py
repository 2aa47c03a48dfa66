"""Make guardtui/schemas/*.schema.json from the code: python scripts/build_schemas.py

pydantic before 2.14 says less of dataclasses.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from guardtui.app.guardrails.check_result import CheckResults
from guardtui.app.guardrails.named import FILE, GUARDRAILS
from guardtui.cli.agent.spec import Spec
from guardtui.cli.guardrails import GuardrailList, KeyList
from guardtui.cli.topics.command import TopicList
from guardtui.config import SETTINGS, Setting
from guardtui.domain import topic
from guardtui.reports import brief
from guardtui.reports.audit_json import AuditData
from guardtui.reports.check_json import CheckData
from guardtui.reports.compared import MistakesData
from guardtui.reports.experiment import ExperimentData
from guardtui.reports.forecast import ForecastData, TrustData
from guardtui.reports.history import History
from guardtui.reports.inbox import DraftsData, InboxData
from guardtui.reports.json_report import EvaluationData
from guardtui.reports.refinement import RefinementData
from guardtui.reports.score_report import ScoresData
from guardtui.reports.thresholds import ThresholdsData
from guardtui.scanners.configuration import KINDS, Configuration
from guardtui.session.report_reader import SCHEMA_VERSION

FOLDER = Path(__file__).parent.parent / "guardtui" / "schemas"

DOCUMENTS: dict[str, tuple[str, type, str]] = {
    "report": ("evaluation", EvaluationData, "Report on an evaluation by guardtui"),
    "brief": (brief.KIND, brief.BriefData, "Brief report on an evaluation by guardtui"),
    "brief-page": (
        brief.PAGE_KIND,
        brief.BriefPage,
        "Page of a brief report by guardtui",
    ),
    "history": ("history", History, "Iterations of a session, by guardtui history"),
    "inbox": ("inbox", InboxData, "Prompts of an inbox, by guardtui inbox list"),
    "drafts": ("drafts", DraftsData, "Drafts of guardtui inbox draft"),
    "check": ("check", CheckData, "Findings of guardtui check"),
    "forecast": ("forecast", ForecastData, "Forecast of guardtui forecast"),
    "trust": ("trust", TrustData, "Scans against their forecasts, by guardtui forecast --trust"),
    "refinement": ("refinement", RefinementData, "Proposals of guardtui refine"),
    "experiment": ("experiment", ExperimentData, "Result of guardtui refine --experiment"),
    "thresholds": ("thresholds", ThresholdsData, "Thresholds by guardtui eval --thresholds"),
    "mistakes": ("mistakes", MistakesData, "Comparison of mistakes by guardtui compare"),
    "audit": ("audit", AuditData, "Report of guardtui audit"),
    "scores": ("scores", ScoresData, "Report of guardtui score"),
    "topics": ("topics", TopicList, "Topics of AIRS by guardtui topics list"),
    "guardrail-list": ("guardrails", GuardrailList, "Guardrails by guardtui guardrails"),
    "keys": ("keys", KeyList, "Keys of a guardrail by guardtui guardrails --keys"),
    "doctor": ("doctor", CheckResults, "Checks of guardtui doctor and guardtui guardrails check"),
    "spec": ("spec", Spec, "What guardtui offers to programs, by guardtui agent spec"),
}
"""Kind, content and title of the JSON that commands print, by the name of its schema."""

_OF_FILES = "http://json-schema.org/draft-07/schema#"
"""The version of JSON Schema that editors know."""


def schemas() -> dict[str, dict[str, Any]]:
    """All schemas by their names."""
    return {
        "topic": topic_schema(),
        "settings": settings_schema(),
        "guardrails": guardrails_schema(),
        **{name: document_schema(*document) for name, document in DOCUMENTS.items()},
    }


def text(schema: dict[str, Any]) -> str:
    """The content of the file of a schema."""
    return json.dumps(_without_titles(schema), indent=2, ensure_ascii=False) + "\n"


# --- files that an author writes -----------------------------------------------------------


def topic_schema() -> dict[str, Any]:
    """The schema of a topic file; its limits are exact for ASCII."""

    def limited(what: str, limit: int) -> dict[str, Any]:
        about = f"{what}: at most {limit} bytes of UTF-8, which a schema counts as characters."
        # A text of blanks is empty.
        return {"type": "string", "pattern": r"\S", "maxLength": limit, "description": about}

    return _file(
        "Topic file of guardtui",
        "The definition of a custom topic. Limits are bytes of UTF-8, and name, description and "
        f"examples have at most {topic.TOTAL_BYTES} together: 'guardtui check' counts them. Other "
        "keys are allowed, and kept.",
        required=["name", "description", "examples"],
        properties={
            "name": limited("Name of the topic", topic.NAME_BYTES),
            "description": limited("What belongs to the topic", topic.DESCRIPTION_BYTES),
            "examples": {
                "type": "array",
                "minItems": topic.EXAMPLES_AT_LEAST,
                "maxItems": topic.EXAMPLES_AT_MOST,
                "items": limited("A prompt that belongs to the topic", topic.EXAMPLE_BYTES),
            },
            "intent": {
                "enum": list(topic.Intent),
                "description": "What a profile stops: prompts that match (block, the default), or "
                "all others (allow).",
            },
        },
    )


def settings_schema() -> dict[str, Any]:
    """The schema of the file that 'guardtui config --path' names."""
    properties = {setting.key: _setting(setting) for setting in SETTINGS}
    schema = _file(
        "Settings of guardtui",
        "The settings file, whose path 'guardtui config --path' prints.",
        properties={**properties, GUARDRAILS: _named_guardrails()},
        additionalProperties=False,
    )
    return schema | {"$defs": _kinds()}


def guardrails_schema() -> dict[str, Any]:
    """The schema of the guardrails beside a topic."""
    about = f"The file {FILE} beside a topic. It holds no secrets."
    named = _named_guardrails() | {"description": about}
    return _file("Guardrails by name", **named) | {"$defs": _kinds()}


def _setting(setting: Setting[Any]) -> dict[str, Any]:
    said = {"description": setting.documentation, "default": setting.default}
    if isinstance(setting.default, int):
        return {"type": "integer", "minimum": setting.least, "maximum": setting.most, **said}
    if isinstance(setting.default, str):
        return {"type": "string", **({"enum": setting.choices} if setting.choices else {}), **said}
    return {"type": "object", "additionalProperties": {"type": "string"}, **said}


def _named_guardrails() -> dict[str, Any]:
    return {
        "description": "Guardrails by name; the keys of each depend on its kind.",
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "required": ["kind"],
            "properties": {"kind": {"enum": list(KINDS)}},
            "allOf": [
                {
                    "if": {"required": ["kind"], "properties": {"kind": {"const": kind}}},
                    "then": {"$ref": f"#/$defs/{kind}"},
                }
                for kind in KINDS
            ],
        },
    }


def _kinds() -> dict[str, Any]:
    """The keys of each kind of guardrail."""
    return {kind: _kind(configuration) for kind, configuration in KINDS.items()}


def _kind(configuration: type[Configuration]) -> dict[str, Any]:
    made = configuration.model_json_schema()
    kind = {"const": configuration.kind, "description": configuration.subject}
    return made | {
        "description": configuration.subject,
        "properties": {"kind": kind, **made["properties"]},
    }


def _file(title: str, description: str, **rest: Any) -> dict[str, Any]:
    head = {"$schema": _OF_FILES, "title": title, "description": description, "type": "object"}
    return head | rest


# --- what commands print -------------------------------------------------------------------


def document_schema(kind: str, shape: type, title: str) -> dict[str, Any]:
    """The schema of the documents of a kind, whose content is this shape."""
    made = TypeAdapter(shape).json_schema(mode="serialization")
    head = {
        "schema_version": {"const": SCHEMA_VERSION},
        "kind": {"const": kind},
        "generator": {
            "type": "object",
            "properties": {"name": {"const": "guardtui"}, "version": {"type": "string"}},
            "required": ["name", "version"],
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:guardtui:{kind}:{SCHEMA_VERSION}",
        "title": title,
        "description": inspect.getdoc(shape),
        "type": "object",
        "required": [*head, *made["required"]],
        "properties": {**head, **made["properties"]},
        **({"$defs": made["$defs"]} if "$defs" in made else {}),
    }


def _without_titles(value: Any) -> Any:
    """The schema without the titles that pydantic makes of names."""
    if isinstance(value, list):
        return [_without_titles(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_titles(item)
        for key, item in value.items()
        if not (key == "title" and isinstance(item, str) and "$schema" not in value)
    }


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, schema in schemas().items():
        path = FOLDER / f"{name}.schema.json"
        path.write_text(text(schema), "utf-8")
        print(path)


if __name__ == "__main__":
    main()
