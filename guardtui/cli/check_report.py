"""The findings of `guardtui check`: as a table, JSON, and SARIF for code scanning."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from guardtui.advice.prompt_set import Survey
from guardtui.cli.inputs import path_from_here
from guardtui.domain.figures import count_text
from guardtui.domain.prompts import located
from guardtui.domain.text import display_text
from guardtui.files.problems import FileError
from guardtui.files.topic_files import load_topics
from guardtui.reports.formats import render
from guardtui.reports.json_data import encode
from guardtui.reports.sarif_log import SarifResult, SarifRule, sarif_log
from guardtui.reports.survey_document import survey_document, survey_json


@dataclass(frozen=True, slots=True)
class CoverageChange:
    """Change of coverage without the cause of a finding, by the embedded engine.

    `fixes` and `regressions` count prompts; they and `p_value` are None if the cause is prompts.
    """

    action: str
    coverage_before: float | None
    coverage_after: float | None
    fixes: int | None
    regressions: int | None
    p_value: float | None


@dataclass(frozen=True, slots=True)
class Remark:
    """A finding in a file: `severity` is `error` or `warning`; `lines` are those of the file.

    `effect` is None if it was not measured. `field` is the part of the definition, such as
    `examples.2`, or "".
    """

    file: str
    severity: str
    code: str
    message: str
    lines: tuple[int, ...] = ()
    effect: CoverageChange | None = None
    field: str = ""


# --- SARIF --------------------------------------------------------------------------------

_HELP = {
    "limit": "A definition that breaks a limit is never sent to AIRS. Make the text shorter, or "
    "give the number of examples that is asked for.",
    "line-break": "An editor of one line cannot hold a line break. Write the text in one line.",
    "lint": "Known to go wrong with definitions that are matched by meaning. The property "
    "`effect` says what coverage does without it, where that was measured.",
    "intent": "The topic file and the prompt set name different intents. Make the two agree.",
    "no-near-misses": "Negatives that have nothing in common with the topic are told apart by "
    "nearly any definition, so the rate at which they are rightly let through says little. Add "
    "prompts with the topic's own words and another intent.",
    "file": "The file cannot be read as a topic. Correct it as the message says.",
}
_OTHERS = "A finding about the labelled prompts. The lines are those of the prompt file."


def sarif(remarks: Sequence[Remark], files: Sequence[Path]) -> str:
    """Return all findings as one run, named by the checked files."""
    lines = {str(path): _field_lines(path) for path in files}
    levels: dict[str, str] = {}
    findings = []
    for remark in remarks:
        rule = re.sub(r"\.\d+$", "", remark.code)
        level = "error" if remark.severity == "error" else "warning"
        levels.setdefault(rule, level)
        positions = remark.lines
        # Findings on prompts have lines; the line of a field is that of the definition.
        known = lines.get(remark.file, {})
        if not positions and remark.field:
            line = known.get(remark.field) or known.get(remark.field.partition(".")[0])
            positions = () if line is None else (line,)
        # Measured figures change with every edit, and are part of messages about a field.
        subject = f"{remark.code}\n{remark.field or remark.message}"
        findings.append(
            SarifResult(
                rule=rule,
                level=level,
                message=remark.message,
                path=path_from_here(Path(remark.file)),
                lines=positions or (() if _has_no_lines(remark.file) else (1,)),
                fingerprint=hashlib.sha256(subject.encode("utf-8", "replace")).hexdigest()[:16],
                properties={} if remark.effect is None else {"effect": asdict(remark.effect)},
            )
        )
    rules = [
        SarifRule(
            code, _name(code), f"{code.replace('.', ': ').replace('-', ' ')}", _help(code), level
        )
        for code, level in sorted(levels.items())
    ]
    checked = " ".join(path_from_here(path) for path in files)
    return sarif_log(rules, findings, run=f"check {checked}")


def _has_no_lines(file: str) -> bool:
    return file.lower().endswith(".parquet")


def _field_lines(path: Path) -> Mapping[str, int]:
    """Return the lines of the fields of a topic file; {} for any other file."""
    try:
        files = load_topics(path)
    except FileError:
        return {}
    return files[0].lines if len(files) == 1 else {}


def _name(code: str) -> str:
    return "".join(word.capitalize() for word in re.split(r"[^A-Za-z0-9]+", code))


def _help(code: str) -> str:
    return _HELP.get(code.partition(".")[0], _OTHERS)


# --- the others ---------------------------------------------------------------------------


def as_json(remarks: Sequence[Remark], surveyed: Survey | None) -> str:
    """Return the findings, and what was found in the prompt set, as JSON."""
    data: dict[str, object] = {
        "errors": sum(remark.severity == "error" for remark in remarks),
        "warnings": sum(remark.severity != "error" for remark in remarks),
        "findings": remarks,
    }
    if surveyed is not None:
        data |= survey_json(surveyed)
    return encode("check", data)


def as_table(remarks: Sequence[Remark], surveyed: Survey | None) -> str:
    """Return the findings as text, a line each, and their number."""
    document = None if surveyed is None else survey_document(surveyed)
    more = "" if document is None else f"\n{render(document, 'table')}"
    if not remarks:
        return f"nothing is wrong or doubtful\n{more}"
    lines = []
    for remark in remarks:
        # A disagreement of two files names its places itself.
        text = remark.message
        if remark.code != "intent":
            text = located(remark.file, remark.message, remark.lines)
        lines.append(f"{remark.severity}: {display_text(text, newlines=True)}")
    errors = sum(remark.severity == "error" for remark in remarks)
    lines.append(f"{count_text(errors, 'error')}, {count_text(len(remarks) - errors, 'warning')}")
    return "\n".join(lines) + "\n" + more
