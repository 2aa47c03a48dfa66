"""An author at the screen: what the hands do, and what the eyes see."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, TextArea

from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.domain.guardrail import REMOTE
from guardtui.domain.topic import Topic
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import MainScreen
from guardtui.tui.registry.actions import ACTIONS, RESULTS
from tests.journeys.story import Story, step
from tests.tui import settling
from tests.tui.frames_app import at_work
from tests.tui.tax_app import frame, main_screen

NO_SERVICE = RemoteOptions(environment={}, config=Path("/nonexistent/config.json"))
FIELDS = {"name": "#field-name", "description": "#field-description"}
FIELDS |= {f"example {number}": f"#field-example-{number}" for number in range(1, 6)}
PATIENCE = 60.0
"""Seconds for which eyes wait; nothing takes as long unless it never comes."""


class Author(Story):
    """Opens topics of a folder; every step waits until the screen shows what it did."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self._stack = AsyncExitStack()
        self._pilot: Pilot[int] | None = None
        self._told_before = 0

    # --- what a step looks at ---------------------------------------------------------------

    @property
    def pilot(self) -> Pilot[int]:
        assert self._pilot is not None, "no topic is open"
        return self._pilot

    @property
    def app(self) -> GuardtuiApp:
        app = self.pilot.app
        assert isinstance(app, GuardtuiApp)
        return app

    @property
    def main(self) -> MainScreen:
        return main_screen(self.app)

    @property
    def topic(self) -> Topic:
        return self.main.services.session.topic

    @property
    def coverage(self) -> float:
        assert self.main.state.evaluation is not None
        return self.main.state.evaluation.metrics.coverage

    @property
    def prompts(self) -> list[str]:
        """Those in the table, as they are sorted and filtered."""
        rows = self.main.rows.results
        assert rows is not None
        return [str(rows.prompts.prompts[int(row)]) for row in rows.order]

    @property
    def screen_text(self) -> str:
        """Everything on the screen, each run of blanks and frames as one blank."""
        return " ".join(frame(self.app).replace("│", " ").split())

    @property
    def told(self) -> list[str]:
        """Messages since the last step that read them."""
        return [one.message for one in self.app.said.messages][self._told_before :]

    def scene(self) -> str:
        return "" if self._pilot is None else f"{frame(self.app)}\ntold: {self.told}"

    async def ends(self) -> None:
        self._pilot = None
        await self._stack.aclose()

    # --- opening and leaving ----------------------------------------------------------------

    @step
    async def opens(
        self,
        name: str,
        *,
        size: tuple[int, int] = (120, 40),
        remote: RemoteOptions = NO_SERVICE,
        threshold: float | str | None = "built-in",
    ) -> None:
        """Open `name`.yaml of the folder in a new app; one that is open is closed."""
        await self.ends()
        workspace = Workspace.open(self.folder / f"{name}.yaml")
        app = GuardtuiApp.of(workspace, LocalScanner("static"), remote=remote, threshold=threshold)  # type: ignore[arg-type]
        self._pilot = await self._stack.enter_async_context(app.run_test(size=size))
        self._told_before = 0
        await self._rests()

    @step
    async def quits(self) -> None:
        """Leave by the key, and see the app end."""
        await self._act("quit")
        await self._until(lambda: self.app.return_code is not None)
        assert self.app.return_code == 0
        await self.ends()

    # --- hands --------------------------------------------------------------------------------

    @step
    async def presses(self, *keys: str) -> None:
        await self._press(*keys)

    @step
    async def types(self, text: str, into: str = "description") -> None:
        """Type at the end of a field of the definition."""
        await self._go_to(FIELDS[into])
        await self._press("ctrl+end", *text)

    @step
    async def writes(self, text: str, into: str = "description") -> None:
        """Have a field hold this instead of what it holds, as a paste over all of it does."""
        await self._go_to(FIELDS[into])
        field = self.app.screen.query_one(FIELDS[into], TextArea)
        field.select_all()
        field.replace(text, *field.selection)
        await self._rests()

    @step
    async def fills(self, **fields: str) -> None:
        """Go to fields of a dialog, by their ids, and write into them."""
        for name, text in fields.items():
            field = self.app.screen.query_one(f"#{name.replace('_', '-')}", Input)
            field.focus()
            field.value = text
        await self._rests()

    @step
    async def answers(self, *keys: str) -> None:
        """Answer the dialog in front, and see it close."""
        asked = self.app.screen
        assert asked is not self.main, "no dialog is open"
        await self._press(*keys)
        await self._until(lambda: self.app.screen is not asked)
        await self._rests()

    @step
    async def does(self, action: str, *answers: str) -> None:
        """Do an action by its key or, without one, in the menu; `answers` go to its dialog."""
        await self._act(action)
        if answers:
            await self._until(lambda: self.app.screen is not self.main)
            await self._press(*answers)

    @step
    async def chooses(self, entry: str) -> None:
        """Choose the entry of the list in front that begins so or has this id."""
        options = self.app.screen.query_one(OptionList)
        await self._until(lambda: options.option_count > 0)
        at = next(
            place
            for place, option in enumerate(options.options)
            if option.id == entry or entry in str(option.prompt)
        )
        options.focus()
        options.highlighted = at
        await self._rests()

    @step
    async def keeps(self) -> None:
        """Keep the definition, whatever is asked, and see it in the file."""
        await self._act("keep")
        await self._until(
            lambda: self.app.screen is not self.main or not self.main.services.workspace.unsaved
        )
        if self.app.screen is not self.main:
            await self._press("y")
        await self._until(lambda: not self.main.services.workspace.unsaved)
        await self._rests()

    @step
    async def discards(self) -> None:
        count = len(self.main.services.session.iterations)
        await self._act("discard")
        await self._until(lambda: len(self.main.services.session.iterations) > count)
        await self._rests()

    @step
    async def restores(self, number: int) -> None:
        """Restore an iteration from the list of the history."""
        await self._act("show_history")
        await self._until(lambda: self.app.screen is not self.main)
        count = len(self.main.services.session.iterations)
        await self._press("home")
        newest_first = "home" if f"#{number}" in self._row_in_front() else ""
        if not newest_first:
            await self._press(*["down"] * (count - 1 - number))
        await self._press("r")
        await self._until(lambda: self.app.screen is self.main)
        await self._rests()

    @step
    async def filters(self, line: str) -> None:
        """Type a line into the filter, and go to the rows it leaves."""
        await self._go_to("#table")
        await self._press("slash", "ctrl+a", "delete", *line, "enter")

    @step
    async def shows(self, group: str) -> None:
        """Show one group of the prompts, with the first in front."""
        await self._go_to("#table")
        await self._act(f"filter({group!r})")
        await self._until(lambda: self._shown_group() == group)
        await self._rests()
        await self._press("home")

    @step
    async def goes_to(self, prompt: str) -> None:
        """Go to the row of a prompt that has these words."""
        await self._go_to("#table")
        await self._press("home")
        at = next(place for place, text in enumerate(self.prompts) if prompt in text)
        await self._press(*["down"] * at)

    @step
    async def sorts(self, column: str) -> None:
        """Go on to the next column until the table is sorted by this one."""
        await self._go_to("#table")
        while self.main.panes.results.view.sort != column:
            await self._press("s")

    # --- eyes -----------------------------------------------------------------------------------

    @step
    async def sees(self, *texts: str) -> None:
        """See texts anywhere on the screen."""
        for text in texts:
            await self._until(lambda text=text: text in self.screen_text)  # type: ignore[misc]

    @step
    async def sees_no(self, *texts: str) -> None:
        await self._rests()
        assert [text for text in texts if text in self.screen_text] == []

    @step
    async def sees_history(self, count: int) -> None:
        """See so many iterations recorded."""
        await self._until(lambda: len(self.main.services.session.iterations) == count)

    @step
    async def sees_scans(self, count: int) -> None:
        """See so many iterations by a real guardrail, each prompt with a verdict."""

        def scans() -> list[int]:
            recorded = [one.evaluation for one in self.main.services.session.iterations]
            return [one.metrics.missing for one in recorded if one.settings.kind in REMOTE]

        await self._until(lambda: scans() == [0] * count)
        await self._rests()

    @step
    async def sees_definition(self, **values: Any) -> None:
        """See the definition with these values, in the fields as well."""
        await self._until(
            lambda: all(getattr(self.topic, name) == value for name, value in values.items())
        )
        assert self.main.panes.editor.typed == self.topic

    @step
    async def sees_prompts(self, *prompts: str) -> None:
        """See exactly these in the table, in this order."""
        await self._until(lambda: self.prompts == list(prompts))

    @step
    async def is_advised(self, idea: str) -> None:
        """Wait until ideas for the definition as it is were measured, and the best one is this."""
        self.main.services.ideas.pause = 0.0
        self.main.services.ideas.state_changed(
            replace(self.main.state, evaluation=None), self.main.state
        )
        await self._until(
            lambda: (
                (ideas := self.main.state.ideas) is not None
                and ideas.topic == self.topic
                and ideas.best is not None
                and idea in ideas.best.text
            )
        )

    @step
    async def sees_better_than(self, coverage: float) -> None:
        await self._until(lambda: self.coverage > coverage)

    @step
    async def sees_first(self, prompt: str, *, last: bool = False) -> None:
        """See a prompt at the top of the table, or at its end."""
        await self._until(lambda: self.prompts[-1 if last else 0] == prompt)

    @step
    async def counts(self, *, prompts: int) -> None:
        """Count the prompts of the set."""
        await self._until(lambda: len(self.main.state.prompts) == prompts)
        await self._rests()

    @step
    async def has_copied(self, text: str) -> None:
        await self._until(lambda: self.app.clipboard == text)

    @step
    async def sees_coverage(self, value: float) -> None:
        await self._until(lambda: self.coverage == pytest.approx(value))

    @step
    async def is_told(self, text: str) -> None:
        """Read a message that no step before has read."""
        await self._until(lambda: any(text in message for message in self.told))
        self._told_before = len(self.app.said.messages)

    @step
    async def finds(self, file: str, *texts: str) -> None:
        """Find texts in a file of the folder."""
        content = (self.folder / file).read_text("utf-8-sig")
        assert [text for text in texts if text not in content] == []

    # --- how ------------------------------------------------------------------------------------

    async def _press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self._rests()

    async def _act(self, name: str) -> None:
        action = {one.name: one for one in ACTIONS}[name]
        if action.scope == RESULTS:
            await self._go_to("#table")
        keys = [action.keys.split(",")[0]] if action.keys else ["ctrl+@", *action.menu.split()]
        for key in keys:
            await self._press(key)

    async def _go_to(self, selector: str) -> None:
        if selector == "#table" and self.main.panes.stacked:
            self.main.panes.show("results")
        widget = self.main.query_one(selector)

        def focused() -> bool:
            if not widget.has_focus:
                widget.focus()  # again: an app that has just opened moves the focus itself
            return widget.has_focus

        await self._until(focused)
        await self.pilot.pause()

    def _shown_group(self) -> str:
        rows = self.main.rows.results
        return "" if rows is None else rows.view.filter

    def _row_in_front(self) -> str:
        return next((line for line in frame(self.app).splitlines() if "▌" in line), "")

    async def _until(self, condition: Any) -> None:
        await settling.until(condition, PATIENCE)

    async def _rests(self) -> None:
        """Wait until the definition as it is was measured, and nothing else is under way."""

        def rests() -> bool:
            if self.app.return_code is not None or self.app.screen is not self.main:
                return True
            state, rows = self.main.state, self.main.rows.results
            return (
                state.evaluation is not None
                and state.evaluation.topic == self.topic
                and rows is not None
                and rows.evaluation is state.evaluation
                and rows.view == self.main.panes.results.view
                and not any(
                    at_work(worker) and worker.group != "explain" for worker in self.app.workers
                )
            )

        await self.pilot.pause()
        await self._until(rests)
        await settling.settle()
        await self.pilot.pause()
