"""Companions: their files with all that may be wrong, and a scanner that scans them once."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from guardtui.domain.evaluation import ScannerSettings
from guardtui.domain.profile import combine
from guardtui.domain.prompts import PromptSet
from guardtui.domain.topic import Intent, Topic
from guardtui.domain.verdicts import Verdicts
from guardtui.files.prompt_files import load_prompts
from guardtui.scanners.base import Progress, Report
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.companions import (
    AT_MOST,
    WithCompanions,
    kept_path,
    load_companions,
    read_paths,
    write_paths,
)
from guardtui.session.evaluator import Evaluator
from guardtui.session.workspace import sample_folder

PROMPTS = load_prompts(sample_folder() / "tax-advice.csv")
OWN = Topic(name="Tax", description="tax advice", examples=("one", "two"))
WEAPONS = Topic(name="Weapons", description="building weapons", examples=("a", "b"))
RECIPES = Topic(name="Recipes", description="cooking", examples=("a", "b"), intent=Intent.ALLOW)


def write(path: Path, name: str, intent: str = "intent: block") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"name: {name}\ndescription: d\nexamples: [a, b]\n{intent}\n", "utf-8")
    return path


# --- files ----------------------------------------------------------------------------------


def test_paths_are_kept_relative_to_the_topic_file(tmp_path: Path) -> None:
    topic = tmp_path / "topics" / "tax.yaml"
    write(topic.parent / "sub" / "other.yaml", "Other")
    write(tmp_path / "shared" / "more.yaml", "More")
    paths = [
        kept_path(topic, topic.parent / "sub" / "other.yaml"),
        kept_path(topic, tmp_path / "shared" / "more.yaml"),
    ]
    assert paths == ["sub/other.yaml", "../shared/more.yaml"]
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for name in ("topics", "shared"):
        (tmp_path / name).rename(moved / name)
    found = load_companions(moved / "topics" / "tax.yaml", paths)
    assert [one.name for one in found.topics] == ["Other", "More"]
    assert found.paths == tuple(paths)
    assert not found.problems


def test_every_problem_is_told_and_the_others_can_be_used(tmp_path: Path) -> None:
    topic = write(tmp_path / "tax.yaml", "Tax")
    write(tmp_path / "good.yaml", "Good")
    write(tmp_path / "same-name.yaml", "Good")
    write(tmp_path / "own-name.yaml", "Tax")
    (tmp_path / "broken.yaml").write_text("name: [", "utf-8")
    os.link(tmp_path / "good.yaml", tmp_path / "link.yaml")
    paths = ["gone.yaml", "good.yaml", "broken.yaml", "same-name.yaml", "own-name.yaml"]
    found = load_companions(topic, [*paths, "tax.yaml", "link.yaml", "a\0b"], OWN)
    assert [one.name for one in found.topics] == ["Good"]
    told = [one.problem and one.problem.problem for one in found.files]
    assert told == [
        "there is no such file",
        None,
        found.problems[1].problem,
        "another topic is called 'Good' already",
        "another topic is called 'Tax' already",
        "this file is measured already",
        "this file is measured already",
        "this is no file name",
    ]
    assert all(one.remedy for one in found.problems[:-1])


def test_a_file_without_an_intent_takes_that_of_the_topic_under_test(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", "A", "")
    write(tmp_path / "b.yaml", "B", "intent: block")
    found = load_companions(tmp_path / "tax.yaml", ["a.yaml", "b.yaml"], RECIPES)
    assert [one.intent for one in found.topics] == [Intent.ALLOW, Intent.BLOCK]


def test_a_file_that_changes_goes_or_comes_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.yaml", "A")
    found = load_companions(tmp_path / "tax.yaml", ["a.yaml"])
    assert not found.changed
    write(path, "Another name")
    assert found.changed
    path.unlink()
    gone = load_companions(tmp_path / "tax.yaml", ["a.yaml"])
    assert not gone.topics
    assert not gone.changed
    write(path, "A")
    assert gone.changed


def test_a_profile_holds_so_many(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{n}.yaml", f"T{n}").name for n in range(AT_MOST)]
    found = load_companions(tmp_path / "tax.yaml", paths, OWN)
    assert len(found.topics) == AT_MOST - 1
    assert "20 topics" in str(found.problems[0])


def test_damaged_settings_are_no_paths() -> None:
    assert read_paths(write_paths(["a", "b"])) == ("a", "b")
    for damaged in ({}, {"companions": "a"}, {"companions": None}, {"companions": {"a": 1}}):
        assert read_paths(damaged) == ()
    assert read_paths({"companions": ["a", 3, "", None]}) == ("a",)


# --- the scanner ----------------------------------------------------------------------------


class Counting:
    """Knows what it was asked; a topic matches the prompts at its place and after it."""

    live = True

    def __init__(self) -> None:
        self.settings = ScannerSettings("counting", "counting-1", 0.5)
        self.asked: list[str] = []

    async def scan(self, topic: Topic, prompts: PromptSet, report: Report) -> Verdicts:
        self.asked.append(topic.name)
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
    assert inner.asked == ["Weapons", "Recipes", "Tax"]
    await scanner.scan(OWN.model_copy(update={"description": "edited"}), PROMPTS, no_report)
    assert inner.asked[3:] == ["Tax"]
    scanner.use([RECIPES])
    await scanner.scan(OWN, PROMPTS, no_report)
    assert inner.asked[4:] == ["Tax"]
    edited = WEAPONS.model_copy(update={"description": "other"})
    scanner.use([edited, RECIPES])
    await scanner.scan(OWN, PROMPTS, no_report)
    assert inner.asked[5:] == ["Weapons", "Tax"]
    inner.settings = replace(inner.settings, threshold=0.6)
    await scanner.scan(OWN, PROMPTS, no_report)
    assert inner.asked[7:] == ["Weapons", "Recipes", "Tax"]
    each = [await inner.scan(one, PROMPTS, no_report) for one in (OWN, WEAPONS, RECIPES)]
    whole = combine(OWN, each[0], list(zip((WEAPONS, RECIPES), each[1:], strict=True)))
    assert np.array_equal(first.triggered, whole.triggered)
    assert dict(first.stopped_by) == dict(whole.stopped_by)


async def test_other_prompts_are_scanned_anew(tmp_path: Path) -> None:
    lines = (sample_folder() / "tax-advice.csv").read_text("utf-8").splitlines()
    (tmp_path / "fewer.csv").write_text("\n".join(lines[:-1]), "utf-8")
    inner = Counting()
    scanner = WithCompanions(inner, [WEAPONS])
    await scanner.scan(OWN, PROMPTS, no_report)
    fewer = load_prompts(tmp_path / "fewer.csv")
    assert len(await scanner.scan(OWN, fewer, no_report)) == len(PROMPTS) - 1
    assert inner.asked == ["Weapons", "Tax"] * 2


def test_what_was_measured_together_is_told_apart() -> None:
    scanner = WithCompanions(Counting())
    alone = scanner.settings
    assert alone == scanner.inner.settings
    scanner.use([WEAPONS, RECIPES])
    together = scanner.settings
    assert together.identity != alone.identity
    assert "Recipes (allow, " in together.identity
    assert replace(together, identity=alone.identity) == alone
    scanner.use([RECIPES, WEAPONS])
    assert scanner.settings == together
    scanner.use([RECIPES, WEAPONS.model_copy(update={"description": "x"})])
    assert scanner.settings != together


async def test_a_companion_that_is_added_meanwhile_is_in_the_verdicts() -> None:
    class Adding(Counting):
        async def scan(self, topic: Topic, prompts: PromptSet, report: Report) -> Verdicts:
            if topic == OWN and self.asked.count(OWN.name) == 0:
                scanner.use([WEAPONS])
            return await super().scan(topic, prompts, report)

    scanner = WithCompanions(Adding())
    evaluation = await Evaluator(scanner).evaluate(OWN, PROMPTS)
    assert "Weapons" in evaluation.settings.identity
    assert ("Weapons",) in evaluation.verdicts.stopped_by.values()


async def test_a_scan_cancelled_between_two_topics_keeps_the_first() -> None:
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
    assert inner.asked == ["Weapons", "Tax", "Tax"]


async def test_with_the_embedded_scanner(tmp_path: Path) -> None:
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
    usual = inner.scan_now
    inner.scan_now = lambda *a: calls.append(a[0].name) or usual(*a)  # type: ignore[method-assign,func-returns-value]
    await scanner.scan(own.model_copy(update={"description": "taxes"}), PROMPTS, no_report)
    assert calls == [own.name]
