"""Scans of a profile: companions are scanned once while a definition is edited."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from guardtui.domain.profile_evaluation import evaluate_scans
from guardtui.domain.profile_labels import all_prompts, prompts_of_one
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.files.prompt_files import load_prompts
from guardtui.scanners.base import Progress, Report
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.evaluator import Evaluator
from guardtui.session.profile_scans import ProfileScan, WithCompanions
from guardtui.session.workspace import sample_folder
from tests.guardrails import other_settings

PROMPTS = load_prompts(sample_folder() / "tax-advice.csv")
OWN = Topic(name="Tax", description="tax advice", examples=("one", "two"))
WEAPONS = Topic(name="Weapons", description="building weapons", examples=("a", "b"))
RECIPES = Topic(name="Recipes", description="cooking", examples=("a", "b"), intent=Intent.ALLOW)


class Counting:
    """Records the scanned topics; a topic matches every n-th prompt, by the length of its name."""

    live = True

    def __init__(self) -> None:
        self.settings = other_settings("counting", "counting-1", 0.5)
        self.scanned: list[str] = []

    async def scan(self, topic: Topic, prompts: PromptSet, report: Report) -> Verdicts:
        self.scanned.append(topic.name)
        await asyncio.sleep(0)
        matches = np.arange(len(prompts)) % (len(topic.name)) == 0
        triggered = matches if topic.intent is Intent.BLOCK else ~matches
        nothing = np.full(len(prompts), np.nan, np.float32)
        report(Progress("counting", len(prompts), len(prompts)))
        return Verdicts(triggered.astype(np.int8), nothing, np.zeros(len(prompts), np.int16))


def no_report(progress: Progress) -> None:
    pass


async def test_companions_are_scanned_once_and_the_definition_last() -> None:
    inner = Counting()
    scanner = WithCompanions(inner, [WEAPONS, RECIPES])
    first = await scanner.scan(OWN, PROMPTS, no_report)
    assert inner.scanned == ["Weapons", "Recipes", "Tax"]
    await scanner.scan(OWN.model_copy(update={"description": "edited"}), PROMPTS, no_report)
    assert inner.scanned[3:] == ["Tax"]
    scanner.use([RECIPES])
    await scanner.scan(OWN, PROMPTS, no_report)
    assert inner.scanned[4:] == ["Tax"]
    edited = WEAPONS.model_copy(update={"description": "other"})
    scanner.use([edited, RECIPES])
    await scanner.scan(OWN, PROMPTS, no_report)
    assert inner.scanned[5:] == ["Weapons", "Tax"]
    inner.settings = replace(inner.settings, threshold=0.6)
    await scanner.scan(OWN, PROMPTS, no_report)
    assert inner.scanned[7:] == ["Weapons", "Recipes", "Tax"]
    each = [await inner.scan(one, PROMPTS, no_report) for one in (OWN, WEAPONS, RECIPES)]
    prompts = prompts_of_one(OWN, PROMPTS, (WEAPONS, RECIPES))
    whole = evaluate_scans(prompts, each, closed=False).verdicts(each[0])
    assert np.array_equal(first.triggered, whole.triggered)
    assert dict(first.stopped_by) == dict(whole.stopped_by)


async def test_other_prompts_are_scanned_again(tmp_path: Path) -> None:
    lines = (sample_folder() / "tax-advice.csv").read_text("utf-8").splitlines()
    (tmp_path / "fewer.csv").write_text("\n".join(lines[:-1]), "utf-8")
    inner = Counting()
    scanner = WithCompanions(inner, [WEAPONS])
    await scanner.scan(OWN, PROMPTS, no_report)
    fewer = load_prompts(tmp_path / "fewer.csv")
    assert len(await scanner.scan(OWN, fewer, no_report)) == len(PROMPTS) - 1
    assert inner.scanned == ["Weapons", "Tax"] * 2


def test_settings_name_the_companions_in_any_order() -> None:
    scanner = WithCompanions(Counting())
    alone = scanner.settings
    assert alone == scanner.inner.settings
    scanner.use([WEAPONS, RECIPES])
    together = scanner.settings
    assert together.guardrail != alone.guardrail
    assert "Recipes (allow, " in together.guardrail.text()
    assert replace(together, guardrail=alone.guardrail) == alone
    scanner.use([RECIPES, WEAPONS])
    assert scanner.settings == together
    scanner.use([RECIPES, WEAPONS.model_copy(update={"description": "x"})])
    assert scanner.settings != together


async def test_a_companion_added_during_a_scan_is_in_the_verdicts() -> None:
    class Adding(Counting):
        async def scan(self, topic: Topic, prompts: PromptSet, report: Report) -> Verdicts:
            if topic == OWN and self.scanned.count(OWN.name) == 0:
                scanner.use([WEAPONS])
            return await super().scan(topic, prompts, report)

    scanner = WithCompanions(Adding())
    evaluation = await Evaluator(scanner).evaluate(OWN, PROMPTS)
    assert "Weapons" in evaluation.settings.guardrail.text()
    assert ("Weapons",) in evaluation.verdicts.stopped_by.values()


async def test_a_cancelled_scan_keeps_the_verdicts_of_scanned_companions() -> None:
    class Stuck(Counting):
        async def scan(self, topic: Topic, prompts: PromptSet, report: Report) -> Verdicts:
            verdicts = await super().scan(topic, prompts, report)
            if topic == OWN and not waiting.is_set():
                waiting.set()
                await asyncio.Event().wait()
            return verdicts

    waiting = asyncio.Event()
    inner = Stuck()
    scanner = WithCompanions(inner, [WEAPONS])
    task = asyncio.ensure_future(scanner.scan(OWN, PROMPTS, no_report))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await scanner.scan(OWN, PROMPTS, no_report)
    assert inner.scanned == ["Weapons", "Tax", "Tax"]


async def test_the_embedded_scanner_scans_companions_once(tmp_path: Path) -> None:
    inner = LocalScanner("static", cache=tmp_path)
    own = Topic(
        name="Tax advice",
        description="Advice on filing personal income tax returns",
        examples=("How do I deduct my home office?", "When is my tax return due?"),
    )
    other = own.model_copy(update={"name": "Copy", "description": "Who has to pay taxes"})
    scanner = WithCompanions(inner, [other])
    alone = await inner.scan(own, PROMPTS, no_report)
    whole = await scanner.scan(own, PROMPTS, no_report)
    assert np.array_equal(whole.score, alone.score)
    assert (whole.triggered >= alone.triggered).all()
    assert {name for names in whole.stopped_by.values() for name in names} <= {own.name, "Copy"}
    calls = []
    usual = inner.evaluate_now
    inner.evaluate_now = lambda *a: calls.append(a[0].name) or usual(*a)  # type: ignore[method-assign,func-returns-value]
    await scanner.scan(own.model_copy(update={"description": "taxes"}), PROMPTS, no_report)
    assert calls == [own.name]


async def test_a_stated_default_decides_prompts_that_no_topic_matches() -> None:
    scanner = WithCompanions(Counting(), [WEAPONS], closed=True)
    assert scanner.settings.guardrail.otherwise == "block"
    assert (await scanner.scan(OWN, PROMPTS, no_report)).triggered.all()
    scanner.use([WEAPONS], closed=False)
    assert scanner.settings.guardrail.otherwise == "allow"
    assert not (await scanner.scan(OWN, PROMPTS, no_report)).triggered.all()


async def test_an_audit_evaluates_a_profile_as_companions_do() -> None:
    companions = (WEAPONS, RECIPES)
    scan = ProfileScan(Counting())
    prompts = all_prompts([(OWN, PROMPTS), *((one, None) for one in companions)])
    audited = await scan.evaluate(prompts, closed=True)
    assert scan.progress is None
    scanner = WithCompanions(Counting(), companions, closed=True)
    verdicts = await scanner.scan(OWN, PROMPTS, no_report)
    assert np.array_equal(audited.stopped, verdicts.triggered)
    assert dict(audited.stopped_by) == dict(verdicts.stopped_by)
