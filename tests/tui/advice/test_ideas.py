"""Ideas on the screen: the line, the page, its search, and what is taken or discarded."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.text import Text
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from guardtui.advice.search import Search, SearchResult
from guardtui.app.advice import refinement
from guardtui.app.advice.edit_preview import EditPreview
from guardtui.app.advice.ideas import Idea, IdeaKind, Ideas
from guardtui.domain.topic import Topic
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.advice import ideas as ideas_page
from guardtui.tui.advice.edit_preview import EditPreviewPage
from guardtui.tui.advice.ideas import LATER, IdeasPage
from guardtui.tui.advice.running import RunningDialog
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.editor.next_line import NextLine
from guardtui.tui.kit.dialogs import ConfirmDialog, TextPage
from guardtui.tui.main.screen import MainScreen
from tests.guardrails import airs_settings
from tests.tui.tax_app import frame, ready, sample, settled, until

__all__ = ["sample"]


async def measured(pilot: Pilot[int], main: MainScreen) -> Ideas:
    """Return the steps of the current definition."""

    def steps() -> Ideas | None:
        result = main.state.ideas
        return result if result is not None and result.topic == main.state.topic else None

    await until(pilot, lambda: steps() is not None)
    result = steps()
    assert result is not None
    return result


PROVEN = """\
name: Tax advice
description: Personal tax advice
examples:
  - How do I deduct my home office?
  - When is my tax return due?
intent: block
"""
"""A definition of the sample's topic whose best edit is proven to help."""


@pytest.fixture
def poor(sample: Path) -> Path:
    sample.write_text(PROVEN, "utf-8")
    return sample


async def opened(pilot: Pilot[int], app: GuardtuiApp) -> tuple[MainScreen, Ideas]:
    """Return the main screen, with edits measured right after each preview."""
    main: MainScreen = await ready(pilot, app)
    main.services.ideas.pause = 0.0
    await pilot.press("end", "x")  # another definition, which is measured anew
    return main, await measured(pilot, main)


async def test_the_line_shows_the_step_and_the_menu_takes_it(poor: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(poor), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main, steps = await opened(pilot, app)
        best = steps.best
        assert best is not None
        assert best.proposal is not None
        proposed = best.proposal.topic
        line = main.query_one(NextLine)
        await until(pilot, lambda: line.text == best.line)
        await until(pilot, lambda: best.short[:30] in frame(app) or best.text in frame(app))
        assert "^Space y take" in frame(app)
        before = main.services.session.topic
        await pilot.press("ctrl+@", "y")
        await previewed(pilot, app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        assert main.services.session.topic == before
        await pilot.press("ctrl+@", "y")
        await previewed(pilot, app)
        await pilot.press("enter")
        await until(pilot, lambda: main.services.session.topic == proposed)
        await until(pilot, lambda: app.screen is main)
        await pilot.press("ctrl+z")
        await until(pilot, lambda: main.services.session.topic != proposed)


async def test_an_edit_that_is_measured_while_the_author_edits_is_not_previewed(
    poor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = GuardtuiApp.of(Workspace.open(poor), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main, _ = await opened(pilot, app)
        measure, edited = main.services.previews.measure, Topic(name="Edited meanwhile")

        async def measured_slowly(topic: Topic) -> EditPreview:
            preview = await measure(topic)
            main.services.editing.replace(edited)
            return preview

        monkeypatch.setattr(main.services.previews, "measure", measured_slowly)
        await pilot.press("ctrl+@", "y")
        await until(pilot, lambda: any("ask again" in one.message for one in app.said.messages))
        assert app.screen is main
        assert main.services.session.topic == edited


async def previewed(pilot: Pilot[int], app: GuardtuiApp) -> str:
    """Return the preview of an edit as it is shown."""
    await until(pilot, lambda: isinstance(app.screen, EditPreviewPage) and app.screen.is_mounted)
    await until(pilot, lambda: "against the definition in the editor" in frame(app))
    return frame(app)


async def test_the_figures_of_a_preview_are_those_of_the_screen_once_it_is_taken(
    poor: Path,
) -> None:
    app = GuardtuiApp.of(Workspace.open(poor), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main: MainScreen = await ready(pilot, app)
        main.services.ideas.pause = 0.0
        main.services.preview.request()
        await measured(pilot, main)
        await pilot.press("ctrl+@", "y")
        shown = await previewed(pilot, app)
        rates = re.findall(r"(?:coverage|TPR|TNR) 0\.\d{3} → (0\.\d{3})", shown)
        counts = re.search(r"\d+ fixed · \d+ broke", shown)
        assert len(rates) == 3
        assert counts is not None
        assert "{+" in shown  # the difference, with signs
        rows = len(re.findall(r"✗ broke|✓ fixed", shown))
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is main and settled(main))
        await until(pilot, lambda: f"{counts[0]} since #" in frame(app))
        after = re.findall(r"(?:coverage|TPR|TNR) (0\.\d{3})", frame(app))
        assert after[:3] == rates
        assert rows


async def test_the_focused_line_opens_the_ideas_and_previews(poor: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(poor), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main, _ = await opened(pilot, app)
        main.query_one(NextLine).focus()
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, IdeasPage))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        for key in ("p", "right"):
            await pilot.press(key)
            await previewed(pilot, app)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is main)
        await pilot.click(NextLine)
        await until(pilot, lambda: isinstance(app.screen, IdeasPage))


async def test_a_step_that_is_no_edit_has_no_preview_and_is_taken_by_enter_only(
    poor: Path,
) -> None:
    app = GuardtuiApp.of(Workspace.open(poor), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main, _ = await opened(pilot, app)
        main.query_one(NextLine).focus()
        await until(pilot, lambda: "Preview" in frame(app).splitlines()[-1])
        keep = Ideas(main.state.topic, (Idea(IdeaKind.KEEP, "Keep it"),))
        main.services.store.publish(replace(main.state, ideas=keep))
        await until(pilot, lambda: "Preview" not in frame(app).splitlines()[-1])
        recorded = len(main.services.session.iterations)
        for key in ("p", "right"):
            app.said.messages.clear()
            await pilot.press(key)
            await until(pilot, lambda: "Enter shows what it does" in told(app))
        await pilot.press("enter")
        await page(pilot, app)
        assert "Enter takes it" in frame(app)
        for key in ("p", "right"):
            app.said.messages.clear()
            await pilot.press(key)
            await until(pilot, lambda: "Enter takes it" in told(app))
        assert isinstance(app.screen, IdeasPage)
        assert len(main.services.session.iterations) == recorded
        await pilot.press("enter")  # as F2: it is not better, so it is asked
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))


async def test_alternatives_are_listed_and_can_be_taken(sample: Path) -> None:
    text = sample.read_text("utf-8")
    sample.write_text(re.sub("description: .*", "description: Tax", text), "utf-8")
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main, steps = await opened(pilot, app)
        index, second = next(
            (index, idea.proposal)
            for index, idea in enumerate(steps.ranked)
            if idea.proposal is not None
        )
        await pilot.press("ctrl+@", "full_stop")
        await until(pilot, lambda: isinstance(app.screen, IdeasPage))
        await pilot.press(*["down"] * index)
        shown = " ".join(frame(app).replace("│", " ").split())
        assert "The engine tried" in shown
        assert "what prompts show that had no part in choosing the edit" in shown
        assert re.search(r"best guess \+0\.\d{3}", shown)
        await pilot.press("enter")
        await previewed(pilot, app)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, IdeasPage))
        await pilot.press(*["down"] * index, "enter")
        await previewed(pilot, app)
        await pilot.press("enter")
        await until(pilot, lambda: main.services.session.topic == second.topic)


async def test_an_edit_removes_the_old_steps(sample: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main, _ = await opened(pilot, app)
        main.services.ideas.pause = 86_400.0
        await pilot.press("y")
        await until(pilot, lambda: "measuring edits" in frame(app))
        await pilot.press("ctrl+@", "y")
        await until(
            pilot,
            lambda: any("still being measured" in message.message for message in app.said.messages),
        )
        assert not isinstance(app.screen, ConfirmDialog)


async def test_a_narrow_screen_shortens_the_keys_before_the_step(poor: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(poor), LocalScanner("static"))
    async with app.run_test(size=(80, 24)) as pilot:
        _, steps = await opened(pilot, app)
        assert steps.best is not None
        start = steps.best.short[:30]
        await until(pilot, lambda: start in frame(app))
        line = next(line for line in frame(app).splitlines() if start in line)
        assert line.rstrip().endswith("^Space y take")


class _Line(App[None]):
    """Shows a line alone."""

    def __init__(self, line: NextLine) -> None:
        super().__init__()
        self._line = line

    def compose(self) -> ComposeResult:
        yield self._line


@pytest.mark.parametrize("rows", [1, 2])
async def test_a_step_in_a_row_is_its_first_sentence_and_in_two_rows_all_of_it(rows: int) -> None:
    line, step = NextLine(), "Keep it: better than #2. Keep saves it to a file, for a comparison"
    app = _Line(line)
    async with app.run_test(size=(70, 3)) as pilot:
        line.styles.height = rows
        line.show(Ideas(Topic(), (Idea(IdeaKind.KEEP, step),)), ("^Space y take",))
        await pilot.pause()
        shown = [" ".join(text.split()) for text in frame(app).splitlines()[:rows]]
        first, second = "Next Keep it: better than #2. Keep saves it to a file, for a", "comparison"
        keys = "^Space y take"
        whole = [first, f"{second} {keys}"]
        assert shown == (whole if rows > 1 else [f"Next Keep it: better than #2 {keys}"])


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (60, "Next Keep it, or edit on. May be chance ^Space y"),
        (50, "Next Keep it, or edit on ^Space y"),
    ],
)
async def test_a_narrow_line_ends_with_a_whole_sentence(columns: int, shown: str) -> None:
    line, step = NextLine(), "Keep it, or edit on. May be chance. Keep saves it to a file"
    app = _Line(line)
    async with app.run_test(size=(columns, 3)) as pilot:
        line.show(Ideas(Topic(), (Idea(IdeaKind.KEEP, step),)), ("^Space y take", "^Space y"))
        await pilot.pause()
        assert " ".join(frame(app).splitlines()[0].split()) == shown


async def test_a_note_without_room_ends_in_an_ellipsis() -> None:
    line = NextLine()
    app = _Line(line)
    async with app.run_test(size=(40, 3)) as pilot:
        line.show(None, (), LATER)
        await pilot.pause()
        shown = frame(app).splitlines()[0].strip()
        assert re.fullmatch(r"Next  [-\\|/] edits are measured once the…", shown)
        app.animation_level = "none"  # nothing turns
        line.refresh()
        await pilot.pause()
        assert frame(app).splitlines()[0].strip() == "Next  edits are measured once the p…"


async def test_the_step_of_labels_leads_to_its_prompts(sample: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main, _ = await opened(pilot, app)
        main.services.ideas.pause = 86_400.0  # no other steps come
        await pilot.press("y")
        await until(pilot, lambda: settled(main))
        keys = tuple(main.state.prompts.keys[:6].tolist())
        text = "Label more prompts whose verdicts are unsure. With 40 labels a gain under 0.06"
        text += " may be chance"
        step = Idea(IdeaKind.LABEL, text, detail="With 40 labels …", keys=keys)
        main.services.store.publish(replace(main.state, ideas=Ideas(main.state.topic, (step,))))
        await until(pilot, lambda: text[:40] in frame(app))
        await pilot.press("ctrl+@", "full_stop")
        await until(pilot, lambda: isinstance(app.screen, IdeasPage))
        await until(pilot, lambda: "With 40 labels" in frame(app))
        await pilot.press("enter")
        pane = main.panes.results
        await until(pilot, lambda: pane.results is not None and len(pane.results) == 6)
        assert pane.results is not None
        assert set(pane.results.row_ids.tolist()) == set(keys)
        assert any("I one like" in message.message for message in app.said.messages)
        await pilot.press("escape")
        await until(pilot, lambda: pane.results is not None and len(pane.results) > 6)


@pytest.mark.exhaustive
async def test_a_gain_names_the_engine_and_is_not_shown_beside_a_scan_under_way(
    poor: Path,
) -> None:
    app = GuardtuiApp.of(Workspace.open(poor), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main, steps = await opened(pilot, app)
        assert steps.best is not None
        await until(pilot, lambda: "Next  " in frame(app))
        assert "for the engine: " in frame(app)
        state = main.state
        assert state.evaluation is not None
        airs = airs_settings("prod", "3")
        shown = replace(state.evaluation, settings=airs)
        verdicts = shown.verdicts
        open_rows = np.where(np.arange(len(verdicts.triggered)) < 9, -2, verdicts.triggered)
        partial = replace(
            shown, verdicts=replace(verdicts, triggered=open_rows.astype(np.int8), errors={})
        )
        assert partial.metrics.open == 9
        main.services.store.publish(replace(main.state, evaluation=partial, ideas=None))
        await until(pilot, lambda: "Scan 9 prompts that have no verdict" in frame(app))
        assert "for the engine: " not in frame(app)


async def page(pilot: Pilot[int], app: GuardtuiApp) -> IdeasPage:
    """Return the page of ideas, drawn."""
    await until(pilot, lambda: isinstance(app.screen, IdeasPage) and app.screen.is_mounted)
    await until(pilot, lambda: "Ideas" in frame(app))
    assert isinstance(app.screen, IdeasPage)
    return app.screen


def edit(main: MainScreen, **changes: str) -> Topic:
    """Change the definition from elsewhere."""
    topic = main.services.session.topic.model_copy(update=changes)
    main.services.editing.replace(topic)
    return topic


def next_line(app: GuardtuiApp) -> str:
    (line,) = [line for line in frame(app).splitlines() if "Next  " in line]
    return line


def told(app: GuardtuiApp) -> str:
    return "\n".join(message.message for message in app.said.messages)


async def test_an_idea_is_explained_with_its_prompts_and_discarded(poor: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(poor), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main, known = await opened(pilot, app)
        main.perform("ideas")
        await page(pilot, app)
        await until(pilot, lambda: ") on new prompts" in frame(app))
        shown = " ".join(frame(app).replace("│", " ").split())
        assert re.search(r"Coverage for the engine: (likely )?\+0\.\d{3} \(.0\.\d{3} to \+0", shown)
        assert "Better scores: separation +0." in shown
        assert "→" in shown
        first = await page(pilot, app)
        await pilot.press("d")
        await until(pilot, lambda: app.screen is not first)
        await page(pilot, app)
        left = main.state.ideas
        assert left is not None
        assert known.best is not None
        assert known.best.text not in [idea.text for idea in left.ranked]
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        assert main.services.session.topic == known.topic


@pytest.mark.exhaustive
async def test_an_idea_after_an_external_change_says_so(poor: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(poor), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main, _ = await opened(pilot, app)
        main.perform("ideas")
        await page(pilot, app)
        await pilot.press("enter")
        await previewed(pilot, app)
        other = edit(main, description="From another program")
        await pilot.press("enter")
        await until(pilot, lambda: main.services.session.topic != other)
        assert "had changed meanwhile" in told(app)
        main.services.session.undo()
        assert main.services.session.topic == other


async def test_an_invalid_definition_is_brought_within_the_limits_first(sample: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot, app)
        main.services.ideas.pause = 0.0
        edit(main, name="x" * 300)
        await until(pilot, lambda: "Bring the definition within" in frame(app))
        main.panes.show("results")
        await pilot.press("ctrl+@", "y")
        await until(pilot, lambda: main.panes.editor.has_focus_within)
        main.perform("ideas")
        await page(pilot, app)
        await until(pilot, lambda: "Name has 300 bytes" in frame(app))


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


async def test_a_search_is_ended_and_its_best_joins_the_ideas(
    sample: Path, held: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refinement, "Search", HeldAfterAnEdit)
    HeldAfterAnEdit.has_edits.clear()
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(80, 24)) as pilot:
        main = await ready(pilot, app)
        before = edit(main, description="Tax")
        main.perform("ideas")
        await page(pilot, app)
        await pilot.press("s")
        await until(pilot, HeldAfterAnEdit.has_edits.is_set)
        await until(pilot, lambda: "definitions measured, 1 edits deep" in frame(app))
        await pilot.press("escape")
        held.set()
        await page(pilot, app)
        assert "until it was stopped" in " ".join(frame(app).replace("│", " ").split())
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main)
        assert main.services.session.topic == before  # nothing is applied by itself


class Fruitless(Search):
    """A search that proposes nothing."""

    def run(self) -> SearchResult | None:
        found = super().run()
        return None if found is None else replace(found, proposals=())


async def test_a_search_that_proposes_nothing_says_why(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        main.perform("ideas")
        await page(pilot, app)
        monkeypatch.setattr(refinement, "Search", Fruitless)
        monkeypatch.setattr(ideas_page, "BUDGET", 0.5)
        await pilot.press("s")
        await until(pilot, lambda: "The search found nothing to propose: no edit" in told(app))
        assert "was on the prompts that chose the edits" in told(app)


async def test_a_search_does_not_name_an_edit_that_was_left_out(
    poor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = GuardtuiApp.of(Workspace.open(poor), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main, known = await opened(pilot, app)
        assert known.best is not None
        assert known.best.proposal is not None
        best = known.best.proposal
        guess = replace(best, gain=best.gain.guess(0.0))

        class Guesses(Search):
            def run(self) -> SearchResult | None:
                found = super().run()
                return None if found is None else replace(found, proposals=(guess,))

        monkeypatch.setattr(refinement, "Search", Guesses)
        monkeypatch.setattr(ideas_page, "BUDGET", 0.5)
        main.perform("ideas")
        for key in ("s", "d", "s"):
            first = await page(pilot, app)
            await pilot.press(key)
            await until(pilot, lambda shown=first: app.screen is not shown)  # type: ignore[misc]
        await until(pilot, lambda: "Edits that you left out do not count" in told(app))
        after, before = told(app).split("The search found nothing")[1:]  # the newest first
        assert best.changes[0] in before
        assert best.changes[0] not in after


@pytest.mark.exhaustive
async def test_a_search_that_ends_below_the_help_is_shown_when_help_closes(
    sample: Path, held: threading.Event
) -> None:
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        main.perform("ideas")
        await page(pilot, app)
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, RunningDialog))
        search = app.screen
        assert isinstance(search, RunningDialog)
        above = TextPage("above", Text("help"))
        app.push_screen(above)
        await until(pilot, lambda: app.screen is above)
        search.action_stop()
        held.set()
        await until(pilot, lambda: not [worker for worker in app.workers if worker.node is search])
        await pilot.pause()
        assert app.screen is above
        await pilot.press("escape")
        await page(pilot, app)


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


async def test_edits_not_better_on_held_out_prompts_are_no_ideas(misleading: Path) -> None:
    app = GuardtuiApp.of(Workspace.open(misleading), LocalScanner("static"))
    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        before = main.services.session.topic
        main.perform("ideas")
        for key in ("s", "escape"):
            await page(pilot, app)
            await until(pilot, lambda: "better on the held-out prompts" in frame(app))
            await pilot.press(key)
        assert main.services.session.topic == before
