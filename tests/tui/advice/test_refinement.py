"""Measured edits from the screen: offered, explained, applied as one edit."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
from rich.text import Text
from textual.pilot import Pilot

from guardtui.advice.search import Search, SearchResult
from guardtui.domain.topic import Topic
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace, sample_folder
from guardtui.tui.advice import refinement
from guardtui.tui.advice.refinement import EffectList, ProposalList, SearchDialog
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.kit.dialogs import TextPage
from guardtui.tui.main.screen import MainScreen
from tests.tui.tax_app import frame, ready, until


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GUARDTUI_CACHE", str(tmp_path / "cache"))
    for name in ("tax-advice.yaml", "tax-advice.csv"):
        (tmp_path / name).write_bytes((sample_folder() / name).read_bytes())
    return tmp_path / "tax-advice.yaml"


async def advice(pilot: Pilot[int], letter: str) -> None:
    await pilot.press("ctrl+@", "a", letter)


async def test_a_measured_edit_is_explained_and_applied(sample: Path) -> None:
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main: MainScreen = await ready(pilot, app)
        before = main.services.session.topic
        await advice(pilot, "w")
        await until(pilot, lambda: isinstance(app.screen, ProposalList))
        await until(pilot, lambda: "expected on other prompts" in frame(app))
        shown = " ".join(frame(app).replace("│", " ").split())
        assert "only edits whose lower bound is positive are listed" in shown
        assert re.search(r"Coverage \+0\.\d{3} \[\+0\.\d{3}, \+0\.\d{3}\] expected", shown)
        assert "→" in shown
        await pilot.press("r")
        await until(pilot, lambda: isinstance(app.screen, TextPage))
        assert "Regressions" in frame(app)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ProposalList))
        await pilot.press("enter")
        await until(pilot, lambda: main.services.session.topic != before)
        main.services.session.undo()
        assert main.services.session.topic == before


async def test_the_effect_of_each_part_is_shown(sample: Path) -> None:
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot, app)
        await advice(pilot, "e")
        await until(pilot, lambda: isinstance(app.screen, EffectList))
        assert "without example 1" in frame(app)
        assert "without the description" in frame(app)


async def test_a_part_can_be_left_out_from_the_list_of_effects(sample: Path) -> None:
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main: MainScreen = await ready(pilot, app)
        before = main.services.session.topic
        await advice(pilot, "e")
        await until(pilot, lambda: isinstance(app.screen, EffectList))
        await pilot.press("end", "enter")
        await until(pilot, lambda: main.services.session.topic != before)
        assert main.services.session.topic.examples == before.examples[:-1]
        await pilot.press("ctrl+z")
        await until(pilot, lambda: main.services.session.topic == before)


class Held(Search):
    """A search that waits before it begins."""

    goes_on = threading.Event()

    def run(self) -> SearchResult | None:
        self.goes_on.wait(120)
        return super().run()


class HeldAfterAnEdit(Search):
    """A search that waits after its first edits."""

    has_edits = threading.Event()

    def _report_progress(self, width: int, edits: int) -> None:
        super()._report_progress(width, edits)
        if edits:
            self.has_edits.set()
            Held.goes_on.wait(120)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    monkeypatch.setattr(refinement, "Search", Held)
    Held.goes_on.clear()
    return Held.goes_on


async def test_a_search_is_ended_and_its_best_is_offered(
    sample: Path, held: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refinement, "Search", HeldAfterAnEdit)
    HeldAfterAnEdit.has_edits.clear()
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot, app)
        edit(main, description="Tax")
        before = main.services.session.topic
        await advice(pilot, "r")
        await until(pilot, HeldAfterAnEdit.has_edits.is_set)
        await pilot.press("escape")
        held.set()
        await until(pilot, lambda: isinstance(app.screen, ProposalList))
        assert "(stopped)" in " ".join(frame(app).split())
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        assert main.services.session.topic == before  # nothing is applied by itself


@pytest.mark.exhaustive
async def test_a_search_that_ends_below_the_help_is_shown_when_help_closes(
    sample: Path, held: threading.Event
) -> None:
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        main.perform("refine")
        await until(pilot, lambda: isinstance(app.screen, SearchDialog))
        search = app.screen
        assert isinstance(search, SearchDialog)
        above = TextPage("above", Text("help"))
        app.push_screen(above)
        await until(pilot, lambda: app.screen is above)
        search.action_stop()
        held.set()
        await until(pilot, lambda: not [worker for worker in app.workers if worker.node is search])
        await pilot.pause()
        assert app.screen is above
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, TextPage | SearchDialog))


def edit(main: MainScreen, **changes: str) -> Topic:
    """Change the definition from elsewhere."""
    topic = main.services.session.topic.model_copy(update=changes)
    main.services.editing.replace(topic)
    return topic


def told(app: GuardtuiApp) -> str:
    return "\n".join(message.message for message in app.said.messages)


@pytest.mark.exhaustive
async def test_a_proposal_after_an_external_change_says_so(sample: Path) -> None:
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        main.perform("what_if")
        await until(pilot, lambda: isinstance(app.screen, ProposalList))
        other = edit(main, description="From another program")
        await pilot.press("enter")
        await until(pilot, lambda: main.services.session.topic != other)
        assert "had changed meanwhile" in told(app)
        main.services.session.undo()
        assert main.services.session.topic == other


@pytest.mark.exhaustive
async def test_a_definition_without_possible_edits_is_reported(sample: Path) -> None:
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot, app)
        edit(main, name="x" * 300)
        for action in ("what_if", "refine"):
            app.said.messages.clear()
            main.perform(action)
            await until(pilot, lambda: "No edits to try" in told(app))


async def test_effects_need_no_split_and_count_every_prompt(sample: Path) -> None:
    path = sample.with_suffix(".csv")
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    # A split that nothing could be chosen by: what each part does is told all the same.
    kept = [line for line in lines if line.count('"') in (0, 2)][:60]
    path.write_text(
        "\n".join([f"{head},split", *(f"{line},other" for line in kept)]) + "\n", encoding="utf-8"
    )
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        main.perform("show_effects")
        await until(pilot, lambda: isinstance(app.screen, EffectList))
        await pilot.pause()
        shown = " ".join(frame(app).replace("│", " ").split())
        assert f"on all {len(main.state.prompts)} prompts" in shown
        assert "interval of the change contains 0" in shown


@pytest.mark.exhaustive
async def test_a_search_that_ends_by_itself_reports_it(sample: Path, held: threading.Event) -> None:
    held.set()
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        edit(main, description="Tax")
        main.perform("refine")
        await until(pilot, lambda: isinstance(app.screen, ProposalList))
        await pilot.pause()
        shown = " ".join(frame(app).replace("│", " ").split())
        assert "no other edit is worth its cost" in shown
        assert "all prompts" in shown
        screen = app.screen
        assert isinstance(screen, ProposalList)
        assert all(proposal.gain.low > 0 for proposal in screen.proposals)


@pytest.mark.exhaustive
async def test_a_search_ended_at_once_does_not_claim_that_nothing_can_be_tried(
    sample: Path, held: threading.Event
) -> None:
    app = GuardtuiApp(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot, app)
        main.perform("refine")
        await until(pilot, lambda: isinstance(app.screen, SearchDialog))
        await pilot.press("escape")
        held.set()
        await until(pilot, lambda: app.screen is main)
        assert "No edits to try" not in told(app)


PASTA = (
    "fresh pasta",
    "penne pasta",
    "pasta dough",
    "pasta in milk",
    "pasta and beans",
    "cold pasta",
)
TAX = ("a tax return", "tax deductions", "income tax", "the tax office", "tax refunds")
OTHERS = ("bread", "dragons", "sorted lists", "the Eiffel Tower", "a capital city")


@pytest.fixture
def misleading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write prompts where pasta belongs to the topic, except in the held-out rows."""
    monkeypatch.setenv("GUARDTUI_CACHE", str(tmp_path / "cache"))
    rows = ["prompt,expected,intent,split"]
    for split, pasta in (("train", "true"), ("test", "false")):
        for words, label in ((TAX, "true"), (PASTA, pasta), (OTHERS, "false")):
            rows += [f"tell me more of {word} for {split},{label},block,{split}" for word in words]
    (tmp_path / "tax.csv").write_text("\n".join([*rows, ""]), "utf-8")
    (tmp_path / "tax.yaml").write_text(
        "name: Tax advice\ndescription: Personal tax advice\nexamples:\n"
        "  - How can I pay less tax?\n  - When is my tax return due?\nintent: block\n",
        "utf-8",
    )
    return tmp_path / "tax.yaml"


@pytest.mark.parametrize("action", ["what_if", "refine"])
async def test_edits_not_better_on_held_out_prompts_are_not_offered(
    misleading: Path, action: str
) -> None:
    app = GuardtuiApp(Workspace.open(misleading), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        before = main.services.session.topic
        main.perform(action)
        await until(pilot, lambda: "not better on the held-out prompts" in told(app))
        assert not isinstance(app.screen, ProposalList)
        assert main.services.session.topic == before
