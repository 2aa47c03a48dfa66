"""`guardtui doctor --judge`: whether a judge is steered by the prompts that it judges."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from guardtui.cli import diagnostics
from guardtui.cli.doctor import Fact
from guardtui.cli.judge_scans import JudgeFlags, endpoint_text, judge_options, say_out

if TYPE_CHECKING:
    from guardtui.domain.prompts import PromptSet
    from guardtui.domain.verdicts import Verdicts
    from guardtui.http.fleet import Member
    from guardtui.scanners.judge.attacks import Attack
    from guardtui.scanners.judge.scanner import JudgeScanner

_REMEDY = "see that the service runs, and that address, name of the model and key are right"


def examine_judge(flags: JudgeFlags) -> list[Fact]:
    """One fact for each key and attack, and what they come to. Raises as `judge_options`.

    Nothing is kept, and nothing that is kept is asked for: services change their models.
    """
    from guardtui.scanners.base import ScannerError
    from guardtui.scanners.judge.attacks import attacks

    options = judge_options(flags, retries=2)
    scanner = options.scanner(went_out=say_out)
    keys = [
        Fact(f"key for {address}", "ok", variable or "none is sent")
        for address, variable in options.key_variables.items()
    ]
    known = attacks()
    try:
        listed, verdicts = asyncio.run(_looked(scanner, known))
    except ScannerError as error:
        return [*keys, *_endpoints(scanner, {}), Fact("judge", "failed", str(error), _REMEDY)]
    finally:
        diagnostics.progress("")
    return [*keys, *_endpoints(scanner, listed), *_told(scanner, known, verdicts)]


async def _looked(
    scanner: JudgeScanner, known: tuple[Attack, ...]
) -> tuple[dict[Member, str], Verdicts]:
    """What is wrong with the models that each endpoint lists, and what the judge says."""
    told = await asyncio.gather(*(_listed(scanner, one) for one in scanner.members))
    return dict(zip(scanner.members, told, strict=True)), await _asked(scanner, known)


async def _listed(scanner: JudgeScanner, member: Member) -> str:
    from guardtui.domain.text import display_text
    from guardtui.http.chat_fleet import served_by
    from guardtui.http.errors import ServiceError

    try:
        names = await served_by(member)
    except ServiceError as error:
        return f"lists no models: {error.message}"
    missing = [one for one in scanner.names if names is not None and one not in names]
    return f"does not list {display_text(', '.join(missing))}" if missing else ""


def _endpoints(scanner: JudgeScanner, listed: dict[Member, str]) -> Iterator[Fact]:
    """One fact for each endpoint: those that do not work are no failure while others do."""
    for one in scanner.members:
        told = endpoint_text(one)
        if wrong := listed.get(one):
            told += f"; {wrong}"
        bad = bool(wrong or one.errors or one.out or one.refused)
        yield Fact(
            f"endpoint {one.endpoint}", "warning" if bad else "ok", told, _REMEDY if bad else ""
        )


async def _asked(scanner: JudgeScanner, known: tuple[Attack, ...]) -> Verdicts:
    """What the judge says of each. Raises ScannerError."""
    from guardtui.cli.judge_scans import progress_text
    from guardtui.scanners.base import Progress
    from guardtui.scanners.judge.attacks import TOPIC

    def report(now: Progress) -> None:
        diagnostics.progress(progress_text(now))

    return await scanner.scan(TOPIC, _prompts(known), report)


def _prompts(known: tuple[Attack, ...]) -> PromptSet:
    import numpy as np
    import polars as pl

    from guardtui.domain.prompts import build_prompt_set
    from guardtui.scanners.judge.attacks import TOPIC

    frame = pl.DataFrame(
        {
            "prompt": [one.prompt for one in known],
            "expected": [str(one.belongs).lower() for one in known],
            "intent": [TOPIC.intent.value] * len(known),
        }
    )
    return build_prompt_set(frame, np.arange(1, len(known) + 1, dtype=np.uint32), "attacks")


def _told(scanner: JudgeScanner, known: tuple[Attack, ...], verdicts: Verdicts) -> Iterator[Fact]:
    from guardtui.domain.verdicts import Triggered
    from guardtui.http.errors import inert
    from guardtui.reports.base import usage_text

    yield Fact("judge", "ok", scanner.settings.identity)
    right = {True: 0, False: 0}  # by whether it is an attack
    missing = 0
    for row, one in enumerate(known):
        said = Triggered(int(verdicts.triggered[row]))
        name = f"attack: {one.name}" if one.attack else one.name
        wanted = "yes" if one.belongs else "no"
        if said < Triggered.NO:
            missing += 1
            yield Fact(name, "warning", f"no verdict: {verdicts.errors.get(row, '')}")
        elif (said is Triggered.YES) == one.belongs:
            right[one.attack] += 1
            yield Fact(name, "ok", f"{'holds' if one.attack else 'right'}: says {wanted}")
        else:
            word = "no" if one.belongs else "yes"
            how = "steered" if one.attack else "wrong"
            reason = inert(verdicts.reasons.get(row, ""))
            yield Fact(name, "warning", f"{how}: is to say {wanted}, but says {reason or word}")
    yield from _counts(known, right, missing)
    if used := usage_text(verdicts.used):
        yield Fact("used", "ok", used)


def _counts(known: tuple[Attack, ...], right: dict[bool, int], missing: int) -> Iterator[Fact]:
    count = sum(one.attack for one in known)
    plain = len(known) - count
    if missing == len(known):
        yield Fact("asked", "failed", "no prompt got a verdict", _REMEDY)
        return
    if right[False] < plain:
        told = f"{right[False]} of {plain} plain prompts are judged rightly"
        yield Fact("plain prompts", "warning", told, "what attacks do to it cannot be told")
    held = f"{right[True]} of {count} attacks are withstood"
    if right[True] == count:
        yield Fact("attacks", "ok", held)
    else:
        remedy = "take a stronger model, have several vote, or see to the fence in your template"
        yield Fact("attacks", "warning", held, remedy)
