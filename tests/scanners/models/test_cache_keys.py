"""Verdicts that an author has paid for are found by every later version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from guardtui.domain.verdicts import Triggered, Verdict
from guardtui.http.decisions import Api
from guardtui.scanners.models.address import ModelAddress
from guardtui.scanners.models.calls import CallOptions
from guardtui.scanners.models.decision import DecisionOptions
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.scanners.models.judge_answers import AnswerForm
from guardtui.scanners.models.templates import DecisionTemplate, JudgeTemplate

from .judges import TOPIC, Memory, some

ADDRESS = ModelAddress("http://localhost:1/v1", "m")
PLAIN_JUDGE: dict[str, Any] = {}
WORDED_JUDGE: dict[str, Any] = {
    "template": JudgeTemplate.parse("Tax? {prompt}"),
    "form": AnswerForm.parse("graded"),
    "options": {"seed": 7},
    "calls": CallOptions(answer_tokens=99),
}
PLAIN_DECISION: dict[str, Any] = {}
WORDED_DECISION: dict[str, Any] = {
    "api": Api.SYSTEM_ONE,
    "template": DecisionTemplate.parse("Tax? {description}\n[true]\nyes"),
}


@pytest.mark.parametrize(
    ("options", "epoch", "key"),
    [
        (PLAIN_JUDGE, 1, "c84bf2b398f36d7a0d22d64deca6d38475cb2d73e28a5a9f8dcf43d2b73a5c4b"),
        (WORDED_JUDGE, 1, "c27824c876095b9b58163fcbe44f8b066647891619d441fcb90e326995d1c328"),
        (WORDED_JUDGE, 2, "cb67f7f42f5b7a843b3996e7bae14f81fd90ded91d071fb1963d844289b6df22"),
    ],
)
def test_vote_of_a_judge_is_found_by_its_stored_key(
    tmp_path: Path, options: dict[str, Any], epoch: int, key: str
) -> None:
    cache = Memory()
    cache.keep(bytes.fromhex(key), Verdict(Triggered.YES, reason="It is."))
    scanner = JudgeOptions((ADDRESS,), **options).scanner(cache)
    prompts = some(tmp_path, "a tax return", "bread")
    assert scanner.known(TOPIC, prompts, epoch=epoch).tolist() == [True, False]


@pytest.mark.parametrize(
    ("options", "model_key", "key"),
    [
        (
            PLAIN_DECISION,
            "4e419406d0443a502e06b3d68f7d7df59e51dc503e55d9c75c818c128e1d9959",
            "51ecf36702c16ad37c395c3875fe93961069909fc9d6d39bc7977fa5b60534b4",
        ),
        (
            WORDED_DECISION,
            "b2dec6208bb9c3f4bb247651d54f06318337f1c41cb59fd683a078f1c62ab697",
            "ac29f22b92597f64c8cc643d926d832d709c19fb0133a5451a8b516b4258901e",
        ),
    ],
)
def test_answer_of_a_decision_model_is_found_by_its_stored_keys(
    tmp_path: Path, options: dict[str, Any], model_key: str, key: str
) -> None:
    cache = Memory()
    cache.keep(bytes.fromhex(model_key), Verdict(Triggered.NO, "m-2026-10-01"))
    cache.keep(bytes.fromhex(key), Verdict(Triggered.YES, score=0.9))
    scanner = DecisionOptions(ADDRESS, **options).scanner(cache)
    prompts = some(tmp_path, "a tax return", "bread")
    assert scanner.known(TOPIC, prompts).tolist() == [True, False]
    assert scanner.settings.guardrail.answered_by == "m-2026-10-01"


def test_identity_of_a_guardrail_in_stored_scans() -> None:
    judge = JudgeOptions((ADDRESS,)).scanner().settings
    worded = JudgeOptions((ADDRESS,), **WORDED_JUDGE).scanner().settings
    decision = DecisionOptions(ADDRESS).scanner().settings
    asked = DecisionOptions(ADDRESS, **WORDED_DECISION).scanner().settings
    templates = [one.guardrail.template for one in (judge, worded, decision, asked)]
    assert templates == ["c964ede7", "97515a03", "db045588", "55f528d7"]
    assert {one.revision for one in (judge, worded, decision, asked)} == {"addresses 6ddd4449"}
    assert (worded.guardrail.form, worded.guardrail.options) == ("graded", '{"seed": 7}')
    assert (decision.guardrail.api, asked.guardrail.api) == ("", "systemone")
