"""The guardrail's configuration for LiteLLM: question, action, threshold and model."""

from __future__ import annotations

import re
from collections.abc import Iterator

from guardtui.domain.guardrail import DECISION, measured_by
from guardtui.domain.text import display_text
from guardtui.domain.topic import Intent
from guardtui.reports.base import ReportError, ReportInput
from guardtui.reports.json_text import dumps
from guardtui.scanners.models.templates import DecisionTemplate

DEFAULT_THRESHOLD = 0.7
"""LiteLLM's own default threshold of a check."""
NO_MODEL = "NAME-OF-YOUR-DECISION-MODEL"

_PAIR = re.compile(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})")
_HALF = re.compile(r"(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}")


def write(report: ReportInput) -> str:
    """Return the part `guardrails` of a config.yaml.

    `decision_model` is the name of the model in LiteLLM's `model_list`. Raises ReportError for an
    allow topic, for which LiteLLM has no action, and if the question of the evaluation is no longer
    known.
    """
    if report.topic.intent is Intent.ALLOW:
        raise ReportError(
            "LiteLLM's guardrail blocks what matches, so it cannot hold an allow topic\n"
            "  write a block topic for what is to be stopped"
        )
    return "\n".join([*_lines(report), ""])


def _lines(report: ReportInput) -> Iterator[str]:
    settings, topic = report.evaluation.settings, report.topic
    decided = settings.kind == DECISION
    yield f"# {display_text(measured_by(settings))}"
    model, threshold = NO_MODEL, DEFAULT_THRESHOLD
    if decided and settings.threshold is not None:
        model, threshold = settings.guardrail.model, settings.threshold
    else:
        yield "# Not measured by a decision model: name yours, and fit the threshold to it."
    question = _template(report).filled(topic)
    yield "guardrails:"
    yield f"  - guardrail_name: {_scalar(topic.name)}"
    yield "    litellm_params:"
    yield "      guardrail: decision_model"
    yield "      mode: pre_call"
    yield f"      decision_model: {_scalar(model)}"
    yield "      checks:"
    yield f"        - name: {_scalar(topic.name)}"
    yield f"          instructions: {_scalar(question.whole)}"
    yield "          action: block"
    yield f"          threshold: {threshold:.6g}"


def _template(report: ReportInput) -> DecisionTemplate:
    """Return the template of the evaluation's question, or the built-in one."""
    settings, built_in = report.evaluation.settings, DecisionTemplate.built_in()
    used = settings.guardrail.template if settings.kind == DECISION else built_in.id
    known = [built_in, *([DecisionTemplate.parse(report.template)] if report.template else [])]
    for template in known:
        if used == template.id:
            return template
    raise ReportError(
        f"the question of the template {used[:8]} is not kept in the session\n"
        "  scan again with the key template, and write the report of that"
    )


def _scalar(text: str) -> str:
    """Return a YAML scalar in double quotes, with invisible characters escaped."""
    quoted = _PAIR.sub(_astral, dumps(text))
    # YAML does not allow lone surrogates.
    return _HALF.sub(r"\1\\ufffd", quoted)


def _astral(match: re.Match[str]) -> str:
    """Return one escape for a character that JSON writes as two."""
    high, low = (int(half, 16) for half in match.groups())
    return f"\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"
