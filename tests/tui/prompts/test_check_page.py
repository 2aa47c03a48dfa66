"""The check of the data: findings and categories, and their prompts in the table."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from guardtui.advice.duplicates import Duplicates, PromptPair
from guardtui.advice.prompt_set import LabelSuggestion, Survey
from guardtui.domain.prompts import PromptSet, build_prompt_set
from guardtui.scanners.base import ScannerError
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.prompts.check_page import CheckPage
from guardtui.tui.prompts.check_text import survey_entries
from tests.tui.results_app import on_all, topic_path
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import TOPIC, drive, frame, until

__all__ = ["topic_path"]

MATTERS = {
    "how can i deduct my {} from my income tax": True,
    "give me a [b]recipe\x1b[31m for {} soup with onions": False,
    "book a cheap flight with {} to Rome": False,
    "how do i pay tax on my {} abroad": False,
}


def shown(main: MainScreen) -> list[str]:
    results = main.panes.results.results
    assert results is not None
    names = results.prompts.frame["Category"]
    return sorted(names[int(row)] or "(none)" for row in results.order)


async def check_page(pilot: Pilot[int], app: GuardtuiApp) -> OptionList:
    await pilot.press("f6")
    await until(pilot, lambda: isinstance(app.screen, CheckPage))
    return app.screen.query_one(".findings", OptionList)


async def chosen(pilot: Pilot[int], app: GuardtuiApp, text: str) -> None:
    """Choose the finding that contains the text."""
    findings = await check_page(pilot, app)
    entries = [str(findings.get_option_at_index(n).prompt) for n in range(findings.option_count)]
    index = next(n for n, entry in enumerate(entries) if text in entry)
    await pilot.press(*["down"] * index, "enter")
    await until(pilot, lambda: not isinstance(app.screen, CheckPage))


def picked(main: MainScreen) -> list[str]:
    """Return the prompts in the table, by their text."""
    results = main.panes.results.results
    assert results is not None
    return sorted(str(results.prompts.prompts[int(row)]) for row in results.order)


def prompts_of(texts: list[str], labels: list[bool]) -> PromptSet:
    rows = pl.DataFrame(
        {"prompt": texts, "expected": list(map(str, labels)), "intent": ["block"] * len(texts)}
    )
    return build_prompt_set(rows, np.arange(2, len(texts) + 2, dtype=np.uint32), "test.csv")


@pytest.fixture
def alike(tmp_path: Path) -> Path:
    """A topic whose prompts have near-duplicates, one with contradicting labels."""
    rows = [
        (sentence.format(thing), label)
        for sentence, label in MATTERS.items()
        for thing in ("car", "shoes", "lentils", "camera", "dog", "house")
    ]
    rows += [("How can I deduct my car from my income tax?", False)]
    path = tmp_path / "alike.yaml"
    path.write_text(TOPIC, "utf-8")
    with (tmp_path / "alike.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["prompt", "expected", "intent"])
        writer.writerows((prompt, label, "block") for prompt, label in rows)
    return path


async def test_a_contradicting_pair_is_first_of_its_kind_and_enter_shows_it(alike: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await check_page(pilot, app)
        text = frame(app)
        assert "the labels contradict: 1" in text
        assert text.index("! 0.9") < text.index("  0.9")
        await pilot.press("escape")
        await chosen(pilot, app, "! 0.9")
        pair = ["How can I deduct my car from my income tax?"]
        pair += ["how can i deduct my car from my income tax"]
        await until(pilot, lambda: picked(main) == pair)
        assert "only near-duplicates" in frame(app)
        assert main.focused is main.panes.results.table
        # Sorted, filtered and searched like all others.
        await pilot.press("slash", *"how can i", "enter")
        await until(pilot, lambda: main.panes.results.view.search != "")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: main.panes.results.view.picked is None)
        assert main.panes.results.view.filter == "mistakes"
        assert "only near-duplicates" not in frame(app)

    await drive(alike, run)


async def test_a_finding_with_lines_shows_their_prompts(topic_path: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await chosen(pilot, app, "line breaks")
        await until(pilot, lambda: picked(main) == ["keep more of my bonus\nfrom the state"])
        assert "only line break" in frame(app)

    await on_all(topic_path, run)


@pytest.mark.parametrize("size", first_is_fast((120, 40), (80, 24), (60, 20)))
async def test_findings_are_inert_at_each_size(alike: Path, size: tuple[int, int]) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        findings = await check_page(pilot, app)
        for _ in range(findings.option_count):
            assert "\x1b" not in frame(app)
            assert "Esc" in frame(app)
            await pilot.press("down")
        texts = [str(findings.get_option_at_index(n).prompt) for n in range(findings.option_count)]
        assert any("[b]recipe␛[31m" in text for text in texts)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        assert main.panes.results.view.picked is None

    await drive(alike, run, size)


async def test_before_the_first_evaluation_the_texts_alone_are_checked(alike: Path) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        main.services.store.publish(replace(main.state, evaluation=None))
        await check_page(pilot, app)
        assert "near-duplicates" not in frame(app)

    await drive(alike, run)


async def test_an_engine_that_fails_leaves_the_other_findings(
    topic_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object) -> None:
        raise ScannerError("the encoder is damaged")

    monkeypatch.setattr("guardtui.tui.prompts.check_page.engine_findings", damaged)

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await check_page(pilot, app)
        assert "line breaks" in frame(app)
        assert "near-duplicates" not in frame(app)

    await on_all(topic_path, run)


async def test_negatives_that_are_all_far_away_are_a_finding(tmp_path: Path) -> None:
    rows = [f"How do I file my {thing} tax return?,true,block" for thing in ("first", "late", "UK")]
    rows += ["How do I make onion soup?,false,block", "Why do cats purr?,false,block"]
    (tmp_path / "far.csv").write_text("\n".join(["prompt,expected,intent", *rows, ""]), "utf-8")
    (tmp_path / "far.yaml").write_text(TOPIC, "utf-8")

    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await check_page(pilot, app)
        shown = " ".join(frame(app).replace("│", " ").split())
        assert "no near misses: none of 2 prompts that do not belong" in shown
        assert "TNR is flattered" in shown
        await pilot.press("escape")
        await chosen(pilot, app, "no near misses")
        far = ["How do I make onion soup?", "Why do cats purr?"]
        await until(pilot, lambda: picked(main) == far)

    await drive(tmp_path / "far.yaml", run)


def test_a_place_to_label_names_the_rare_label_and_shows_its_prompts() -> None:
    prompts = prompts_of(["one \x1b[1m", "two", "three"], [True, False, False])
    spot = LabelSuggestion(0.25, (0, 2), 1.5, 0.25, 2, wanted=False)
    none = Duplicates((), 0, 0, 0.92, exact=True, among=3)
    (entry,) = survey_entries(Survey(prompts, cast("Any", None), none, (spot,)))
    assert entry.rows == (0, 2)
    lines = entry.text.plain.splitlines()
    assert "few labels here are false (by nearness true 1.5, false 0.2)" in lines[0]
    assert [line.split() for line in lines[1:]] == [["true", "one", "␛[1m"], ["false", "three"]]


@pytest.mark.parametrize(
    ("among", "exact", "said"),
    [(2, False, "compared: 2 of 3 prompts"), (3, False, "some pairs may be missed"), (3, True, "")],
)
def test_pairs_say_what_was_compared(among: int, exact: bool, said: str) -> None:
    prompts = prompts_of(["one", "two", "three"], [True, False, False])
    pairs = (PromptPair(0, 1, 0.95, contradicts=True), PromptPair(1, 2, 0.93, contradicts=False))
    duplicates = Duplicates(pairs, 7, 1, 0.92, exact=exact, among=among)
    total, *each = survey_entries(Survey(prompts, cast("Any", None), duplicates, ()))
    assert "7 pairs of near-duplicates" in total.text.plain
    assert said in total.text.plain
    assert total.rows == (0, 1, 2)
    assert [entry.rows for entry in each] == [(0, 1), (1, 2)]


async def test_enter_on_a_category_filters_the_table_and_escape_brings_the_group_back(
    topic_path: Path,
) -> None:
    async def run(pilot: Pilot[int], app: GuardtuiApp, main: MainScreen) -> None:
        await pilot.press("3")
        await until(pilot, lambda: main.panes.results.view.filter == "fn")
        await check_page(pilot, app)
        await pilot.press("tab", "down", "down", "enter")
        await until(pilot, lambda: app.screen is main)
        await until(pilot, lambda: shown(main) == ["plain"] * 3)
        assert "category: plain" in frame(app)
        assert main.focused is main.panes.results.table
        await pilot.press("escape")
        await until(pilot, lambda: main.panes.results.view.category is None)
        assert main.panes.results.view.filter == "fn"

    await on_all(topic_path, run)
