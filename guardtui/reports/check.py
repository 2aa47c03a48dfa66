"""The report of `guardtui check`: findings on a definition and its prompts, as text and SARIF."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from guardtui.advice.lint_advice import Advice
from guardtui.domain.figures import count_text
from guardtui.domain.findings import Finding, located
from guardtui.domain.targets import ExportTarget, refusals
from guardtui.domain.text import display_text
from guardtui.domain.topic import Topic, line_breaks
from guardtui.reports.sarif_log import SarifResult, SarifRule, sarif_log


@dataclass(frozen=True, slots=True)
class CoverageChange:
    """Change of coverage without the cause of a finding, by the engine.

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

    @classmethod
    def of(cls, path: str, finding: Finding) -> Remark:
        """Return a finding on prompts."""
        lines = tuple(int(line) for line in finding.lines)
        return cls(path, str(finding.severity), finding.code, finding.message, lines)

    @classmethod
    def advised(cls, topic_path: str, prompts_path: str, advice: Advice) -> Remark:
        """Return advice on a definition; its lines, if any, are those of equal prompts."""
        effect = None
        if advice.removal is not None:
            removal, edits = advice.removal, advice.remedy is not None
            effect = CoverageChange(
                advice.action,
                removal.before.coverage,
                removal.after.coverage,
                removal.fixes if edits else None,
                removal.regressions if edits else None,
                removal.p_value if edits else None,
            )
        path = prompts_path if advice.lines else topic_path
        code = advice.code if advice.code == "leakage" else f"lint.{advice.code}"
        return cls(path, "warning", code, advice.line, advice.lines, effect, advice.field)


def definition_remarks(path: str, topic: Topic, target: ExportTarget) -> list[Remark]:
    """Return what a target would reject of a definition, and its line breaks."""
    return [
        Remark(path, "error", f"limit.{limit.field}", limit.message, field=limit.field)
        for limit in refusals(topic, target)
    ] + [
        Remark(path, "warning", f"line-break.{broken.field}", broken.message, field=broken.field)
        for broken in line_breaks(topic)
    ]


def check_table(remarks: Sequence[Remark]) -> str:
    """Return the findings as text, a line each, and their number."""
    if not remarks:
        return "nothing is wrong or doubtful\n"
    lines = []
    for remark in remarks:
        # A disagreement of two files names its places itself.
        text = remark.message
        if remark.code != "intent":
            text = located(remark.file, remark.message, remark.lines)
        lines.append(f"{remark.severity}: {display_text(text, newlines=True)}")
    errors = sum(remark.severity == "error" for remark in remarks)
    lines.append(f"{count_text(errors, 'error')}, {count_text(len(remarks) - errors, 'warning')}")
    return "\n".join(lines) + "\n"


# --- SARIF --------------------------------------------------------------------------------

_HELP = {
    "limit": "A definition that breaks a limit is never sent to AIRS. Make the text shorter, or "
    "give the number of examples that is asked for.",
    "line-break": "An editor of one line cannot hold a line break. Write the text in one line.",
    "lint": "Known to go wrong with definitions that are matched by meaning. The property "
    "`effect` says what coverage does without it, where that was measured.",
    "intent": "The topic file and the prompt set name different intents. Make the two agree.",
    "no-near-misses": "Prompts that have nothing in common with the topic are told apart by "
    "nearly any definition, so the rate at which they are rightly let through says little. Add "
    "prompts with the topic's own words and another intent.",
    "file": "The file cannot be read as a topic, or as guardrails. Correct it as the message says.",
}
_OTHERS = "A finding about the labelled prompts. The lines are those of the prompt file."


def check_sarif(
    remarks: Sequence[Remark], lines: Mapping[str, Mapping[str, int]], shown: Mapping[str, str]
) -> str:
    """Return all findings as one run, named by the checked files.

    `lines` are those of the fields of each topic file; `shown` are the names of all files.
    """
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
                path=shown.get(remark.file, remark.file),
                lines=positions or (() if remark.file.lower().endswith(".parquet") else (1,)),
                fingerprint=hashlib.sha256(subject.encode("utf-8", "replace")).hexdigest()[:16],
                properties={} if remark.effect is None else {"effect": asdict(remark.effect)},
            )
        )
    rules = [
        SarifRule(
            code,
            "".join(word.capitalize() for word in re.split(r"[^A-Za-z0-9]+", code)),
            code.replace(".", ": ").replace("-", " "),
            _HELP.get(code.partition(".")[0], _OTHERS),
            level,
        )
        for code, level in sorted(levels.items())
    ]
    checked = " ".join(shown.values())
    return sarif_log(rules, findings, run=f"check {checked}")
