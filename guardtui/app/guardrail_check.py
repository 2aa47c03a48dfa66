"""Whether a guardrail answers: a harmless prompt to AIRS, or two plain prompts to a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from guardtui.app.facts import Fact
from guardtui.app.remote import ModelOptions
from guardtui.domain.guardrail import remote_subject
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.domain.verdicts import Triggered, Verdict
from guardtui.http.errors import ServiceError
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.probe import scan_probe
from guardtui.scanners.base import ScannerError
from guardtui.scanners.judge.attacks import TOPIC, Attack, attacks

JUDGE_REMEDY = "see that the service runs, and that address, name of the model and key are right"

_USED_UP = ("quota", "exhaust", "used up", "licens", "exceed")
_ASK_OTHERS = (
    "the service does not say which; 'guardtui doctor --airs --region all' asks the other regions, "
    "whose hosts then see the key"
)


async def check_airs(settings: AirsSettings) -> Fact:
    """Scan one harmless prompt and return what that says of the key."""
    if not settings.profile:
        return Fact("key accepted", "warning", "not asked: a scan needs a profile")
    try:
        answer = await scan_probe(settings)
    except ServiceError as error:
        return refusal(error)
    return accepted(settings, answer)


def accepted(settings: AirsSettings, answer: Verdict) -> Fact:
    """Return that the key was accepted, how long a scan took and what it said."""
    took = "" if answer.seconds is None else f", a scan takes {answer.seconds * 1000:.0f} ms"
    if answer.decided:
        told = f"{took}; a harmless prompt is {'' if answer.triggered else 'not '}stopped"
    else:
        told = f"{took}; {answer.problem}"
    return Fact("key accepted", "ok", f"by {settings.scan_endpoint.authority}{told}")


def refusal(error: ServiceError, *, everywhere: bool = False) -> Fact:
    """Return what a refused scan says of the key, as far as the service lets one tell."""
    name, said = "key accepted", error.message
    own = said.partition(" (")[0].lower()  # what stands behind is a guess of ours
    if error.status == 429:
        remedy = "the key is known: wait, or see what is left of its quota"
        return Fact(name, "warning", f"a limit or the quota is used up: {said}", remedy)
    if error.status == 403 and any(word in own for word in _USED_UP):
        remedy = "the key is known: wait for the next day or month, or have the quota raised"
        return Fact(name, "failed", f"its quota is used up: {said}", remedy)
    if error.status == 403:
        return Fact(name, "failed", said, "" if everywhere else _ASK_OTHERS)
    if error.status == 401:
        return Fact(name, "failed", said, "make a new key or token in Strata Cloud Manager")
    if error.status in (400, 404):
        remedy = "the key was not refused: check the profile's name, and that it is of this tenant"
        return Fact("scan", "failed", said, remedy)
    return Fact("scan", "failed", said)


async def check_model(options: ModelOptions) -> Fact:
    """Have a model judge two plain prompts; nothing is read from the cache or written to it."""
    name = remote_subject(options.scanner_name).removeprefix("The ")
    plain = [prompt for prompt in attacks() if not prompt.attack]
    try:
        verdicts = await options.scanner().scan(TOPIC, judged_prompts(plain), lambda _: None)
    except ScannerError as error:
        return Fact(name, "failed", str(error), JUDGE_REMEDY)
    right = 0
    for row, prompt in enumerate(plain):
        answer = Triggered(int(verdicts.triggered[row]))
        if answer < Triggered.NO:
            return Fact(name, "failed", verdicts.errors.get(row, "no verdict"), JUDGE_REMEDY)
        right += (answer is Triggered.YES) == prompt.belongs
    text = f"{options.place} answers; it judges {right} of {len(plain)} plain prompts rightly"
    if right < len(plain):
        return Fact(name, "warning", text, "choose another model, or another template")
    return Fact(name, "ok", text)


def judged_prompts(known: Sequence[Attack]) -> PromptSet:
    """Return prompts of the check as a prompt set about its topic."""
    frame = pl.DataFrame(
        {
            "prompt": [prompt.prompt for prompt in known],
            "expected": [str(prompt.belongs).lower() for prompt in known],
            "intent": [TOPIC.intent.value] * len(known),
        }
    )
    return build_prompt_set(frame, np.arange(1, len(known) + 1, dtype=np.uint32), "attacks")
