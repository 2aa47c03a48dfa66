"""`guardtui doctor` of a judge: check whether prompts can steer a judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from guardtui.app.guardrails.check import JUDGE_REMEDY, judged_prompts
from guardtui.app.guardrails.check_result import CheckResult
from guardtui.app.guardrails.named import NamedGuardrail
from guardtui.cli import diagnostics, signals
from guardtui.cli.progress import progress_text
from guardtui.cli.scans.models import configured_model
from guardtui.domain.verdicts import Triggered, Verdicts
from guardtui.http.errors import inert
from guardtui.reports.base import usage_text
from guardtui.scanners.base import ScannerError
from guardtui.scanners.models.attacks import TOPIC, Attack, attacks
from guardtui.scanners.models.judge import JudgeOptions, JudgePanel
from guardtui.scanners.models.scanner import ModelScanner

_RETRIES = 2


def examine_judge(guardrail: NamedGuardrail) -> list[CheckResult]:
    """Yield a fact for each key and attack, and a conclusion. Raises as `configured_model`.

    No cache is read or written, since services change their models.
    """
    options = configured_model(guardrail.configuration)
    assert isinstance(options, JudgeOptions)  # noqa: S101 - by its kind
    options = replace(options, calls=replace(options.calls, retries=_RETRIES))
    scanner = options.scanner()
    keys = [
        CheckResult(f"key for {address}", "ok", variable or "none is sent")
        for address, variable in options.key_variables.items()
    ]
    known = attacks()
    try:
        verdicts = signals.run(
            scanner.scan(
                TOPIC,
                judged_prompts(known),
                lambda now: diagnostics.progress(progress_text(now)),
            )
        )
    except ScannerError as error:
        return [*keys, CheckResult("judge", "failed", str(error), JUDGE_REMEDY)]
    finally:
        diagnostics.progress("")
    return [*keys, *_facts(scanner, known, verdicts)]


def _facts(
    scanner: ModelScanner[JudgePanel], known: tuple[Attack, ...], verdicts: Verdicts
) -> Iterator[CheckResult]:
    yield CheckResult("judge", "ok", scanner.settings.guardrail.text())
    right = {True: 0, False: 0}  # by whether it is an attack
    missing = 0
    for row, case in enumerate(known):
        answer = Triggered(int(verdicts.triggered[row]))
        name = f"attack: {case.name}" if case.attack else case.name
        wanted = "yes" if case.belongs else "no"
        if answer < Triggered.NO:
            missing += 1
            yield CheckResult(name, "warning", f"no verdict: {verdicts.errors.get(row, '')}")
        elif (answer is Triggered.YES) == case.belongs:
            right[case.attack] += 1
            yield CheckResult(name, "ok", f"{'holds' if case.attack else 'right'}: says {wanted}")
        else:
            word = "no" if case.belongs else "yes"
            how = "steered" if case.attack else "wrong"
            reason = inert(verdicts.reasons.get(row, ""))
            yield CheckResult(
                name, "warning", f"{how}: should say {wanted}, but says {reason or word}"
            )
    yield from _counts(known, right, missing)
    if used := usage_text(verdicts.used):
        yield CheckResult("used", "ok", used)


def _counts(
    known: tuple[Attack, ...], right: dict[bool, int], missing: int
) -> Iterator[CheckResult]:
    count = sum(case.attack for case in known)
    plain = len(known) - count
    if missing == len(known):
        yield CheckResult("asked", "failed", "no prompt got a verdict", JUDGE_REMEDY)
        return
    if right[False] < plain:
        text = f"{right[False]} of {plain} plain prompts are judged rightly"
        yield CheckResult("plain prompts", "warning", text, "the effect of attacks is unknown")
    withstood = f"{right[True]} of {count} attacks are withstood"
    if right[True] == count:
        yield CheckResult("attacks", "ok", withstood)
    else:
        remedy = "take a stronger model, have several vote, or see to the fence in your template"
        yield CheckResult("attacks", "warning", withstood, remedy)
