"""Check of a guardrail: a harmless prompt to AIRS, or two plain prompts to a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from guardtui.app.guardrails.check_result import CheckResult
from guardtui.app.guardrails.remote import ModelOptions
from guardtui.domain.guardrail import remote_subject
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.verdicts import Triggered
from guardtui.http.errors import ServiceError
from guardtui.scanners.airs import probe
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.base import ScannerError
from guardtui.scanners.models.attacks import TOPIC, Attack, attacks

KEY = "key accepted"
"""Name of the check whether a key is accepted; it fails only if the key itself is refused."""

JUDGE_REMEDY = "check that the service is running, and the address, model name and key"

_USED_UP = ("quota", "exhaust", "used up", "licens", "exceed")
_ASK_OTHERS = (
    "the service does not say which; 'guardtui doctor --guardrail airs --all-regions' asks the "
    "other regions, whose hosts then see the key"
)


async def check_airs(settings: AirsSettings, *, everywhere: bool = False) -> CheckResult:
    """Scan one harmless prompt and return whether the key was accepted, how fast, and the verdict.

    `everywhere` says that the other regions are asked too, if the key is refused.
    """
    if not settings.profile:
        return CheckResult(KEY, "warning", "not asked: a scan needs a profile")
    try:
        answer = await probe.scan_probe(settings)
    except ServiceError as error:
        return refusal(error, everywhere=everywhere)
    took = "" if answer.seconds is None else f", a scan takes {answer.seconds * 1000:.0f} ms"
    if answer.decided:
        text = f"{took}; a harmless prompt is {'' if answer.triggered else 'not '}stopped"
    else:
        text = f"{took}; {answer.problem}"
    return CheckResult(KEY, "ok", f"by {settings.scan_endpoint.authority}{text}")


def refusal(error: ServiceError, *, everywhere: bool = False) -> CheckResult:
    """Return the result of a failed scan: whether the key or something else was refused."""
    message = error.message
    own = message.partition(" (")[0].lower()  # the rest of the message is a guess of ours
    if error.status == 429:
        remedy = "the key is valid: wait, or check its remaining quota"
        return CheckResult(KEY, "warning", f"a limit or the quota is used up: {message}", remedy)
    if error.status == 403 and any(word in own for word in _USED_UP):
        remedy = "the key is valid: wait for the next day or month, or have the quota raised"
        return CheckResult(KEY, "failed", f"its quota is used up: {message}", remedy)
    if error.status == 403:
        return CheckResult(KEY, "failed", message, "" if everywhere else _ASK_OTHERS)
    if error.status == 401:
        return CheckResult(
            KEY, "failed", message, "make a new key or token in Strata Cloud Manager"
        )
    if error.status in (400, 404):
        remedy = "the key was accepted: check that the profile exists in this tenant"
        return CheckResult("scan", "failed", message, remedy)
    return CheckResult("scan", "failed", message)


async def check_model(options: ModelOptions) -> CheckResult:
    """Have a model judge two plain prompts, without the cache."""
    name = remote_subject(options.scanner_name).removeprefix("The ")
    plain = [prompt for prompt in attacks() if not prompt.attack]
    try:
        verdicts = await options.scanner().scan(TOPIC, judged_prompts(plain), lambda _: None)
    except ScannerError as error:
        return CheckResult(name, "failed", str(error), JUDGE_REMEDY)
    right = 0
    for row, prompt in enumerate(plain):
        answer = Triggered(int(verdicts.triggered[row]))
        if answer < Triggered.NO:
            return CheckResult(name, "failed", verdicts.errors.get(row, "no verdict"), JUDGE_REMEDY)
        right += (answer is Triggered.YES) == prompt.belongs
    text = f"{options.title} answers; it judges {right} of {len(plain)} plain prompts rightly"
    if right < len(plain):
        return CheckResult(name, "warning", text, "choose another model, or another template")
    return CheckResult(name, "ok", text)


def judged_prompts(known: Sequence[Attack]) -> PromptSet:
    """Return the prompts of the check as a prompt set."""
    frame = pl.DataFrame(
        {
            "prompt": [prompt.prompt for prompt in known],
            "expected": [str(prompt.belongs).lower() for prompt in known],
            "intent": [TOPIC.intent.value] * len(known),
        }
    )
    return build_prompt_set(frame, np.arange(1, len(known) + 1, dtype=np.uint32), "attacks")
