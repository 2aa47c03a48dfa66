"""Findings on a prompt set, and advice on its definition by the engine."""

from __future__ import annotations

from pathlib import Path

from guardtui.advice.engine_scores import open_scores
from guardtui.advice.lint import lint
from guardtui.advice.prompt_set import Survey, survey
from guardtui.advice.text_lint import lint_text
from guardtui.app.advice.engine_findings import engine_findings
from guardtui.cli import diagnostics
from guardtui.cli.operating_point import settled_engine, show_progress
from guardtui.domain.operating_point import Wanted
from guardtui.domain.prompt_reading import AS_WRITTEN, Reading
from guardtui.domain.prompts import PromptSet, PromptSetError, check_prompt_set
from guardtui.domain.topic import Topic
from guardtui.files.inputs import agreed_topic, disagreement
from guardtui.files.prompt_files import load_prompts
from guardtui.files.topic_files import TopicFile
from guardtui.reports.check import Remark
from guardtui.scanners.local.scanner import LocalScanner


def measured(
    file: TopicFile,
    prompts_path: Path,
    reading: Reading | None,
    encoder: str | None,
    threshold: Wanted,
    *,
    surveys: bool,
) -> tuple[list[Remark], Survey | None]:
    """Return what is found about prompts and a definition, and with `surveys` their survey.

    Raises `FileError`, `OperatingPointError` and `ScannerError`.
    """
    try:
        # Read once: a pipe gives its content only once.
        prompts = load_prompts(prompts_path, file.topic.intent, reading or AS_WRITTEN)
    except PromptSetError as error:
        return _unreadable(file, prompts_path, error), None
    agreed = agreed_topic(file, prompts)
    topic = agreed or file.topic
    engine = settled_engine(encoder, threshold, topic, prompts)
    remarks = []
    if agreed is None:
        problem = str(disagreement(file, prompts))
        remarks.append(Remark(str(file.path), "error", "intent", problem, field="intent"))
    findings = check_prompt_set(prompts, topic)
    try:
        scores = open_scores(engine, prompts, show_progress)
        far = engine_findings(engine, prompts)
    finally:
        diagnostics.progress("")
    advised = lint(topic, prompts, scores)
    if any(advice.lines for advice in advised):  # equal prompts, with their effect on coverage
        findings = tuple(finding for finding in findings if finding.code != "leakage")
    path = str(prompts_path)
    remarks += [Remark.of(path, finding) for finding in (*findings, *far)]
    remarks += [Remark.advised(str(file.path), path, advice) for advice in advised]
    # A disagreement of the intents is among the remarks.
    return remarks, _survey(engine, topic, prompts) if surveys and agreed else None


def _survey(engine: LocalScanner, topic: Topic, prompts: PromptSet) -> Survey | None:
    evaluation = engine.evaluate_now(topic, prompts)
    return None if evaluation is None else survey(engine, prompts, evaluation)


def _unreadable(file: TopicFile, prompts_path: Path, error: PromptSetError) -> list[Remark]:
    """Return the errors in the rows of prompts, and advice by the text of the definition."""
    path = str(prompts_path)
    remarks = [Remark.of(path, finding) for finding in error.findings]
    if error.total > len(error.findings):
        more = f"{error.total - len(error.findings)} more errors are not listed"
        remarks.append(Remark(path, "error", "more", more))
    advised = lint_text(file.topic)
    return remarks + [Remark.advised(str(file.path), path, advice) for advice in advised]
