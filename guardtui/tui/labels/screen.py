"""The queue: one prompt of the inbox at a time, and a key for each answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input

from guardtui.app.labels.inbox import InboxError
from guardtui.app.labels.sitting import Answer, Given, Sitting, Standing
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.figures import count_text
from guardtui.domain.inbox import InboxPrompt
from guardtui.domain.text import display_start, display_text
from guardtui.domain.topic import Topic
from guardtui.scanners.base import Progress, Report
from guardtui.tui.inputs.fields import LineInput
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.kit.inert import Static
from guardtui.tui.kit.modal import Modal
from guardtui.tui.kit.styled_text import themed

Result = TypeVar("Result")

_KEYS = (
    "t belongs · f does not · s set aside · u undo · r reason · c {other} · Esc leaves",
    "t belongs · f not · s aside · u undo · r reason · c {other} · Esc",
    "t belongs · f not · s aside · u undo · ? help · Esc",
    "t f s u · ? help · Esc",
)
_SHOWN = 40  # characters of names and reasons
_FRAME = 8  # cells beside the keys
_READING = "Reading the inbox …"
_POLL_EVERY = 0.1
_DONE = "No prompt is left here."


class LabelScreen(Modal[None]):
    """Puts the prompts of an inbox to a person; what machines say of one is shown afterwards.

    The next prompt comes first, then the answer is written. `sitting` is None until it has begun,
    and if no prompt waits.
    """

    BINDINGS = [
        ("t", "answer('BELONGS')", "It belongs"),
        ("f", "answer('DOES_NOT_BELONG')", "It does not belong"),
        ("s", "answer('SET_ASIDE')", "Set it aside"),
        ("u", "undo", "Undo the last answer"),
        ("r", "reason", "A reason"),
        ("c", "other", "Another purpose"),
        ("enter", "again", "Try again"),
    ]

    help_pane = "label"

    def __init__(self, topic: Topic, begin: Callable[[Report], Awaitable[Sitting | None]]) -> None:
        """`begin` opens the inbox, reports how far that is, and raises GuardtuiError."""
        super().__init__()
        self._topic, self._begin_sitting = topic, begin
        self._progress: Progress | None = None
        self.sitting: Sitting | None = None
        self.prompt: InboxPrompt | None = None
        """The prompt that is shown and waits for an answer."""
        self._standing: Standing | None = None
        self._purpose = ""
        self._is_stuck = False  # no prompt could be taken
        self._in_turn = ThreadPoolExecutor(1)  # what is left of a cancelled worker goes on in it
        self._page = Vertical(classes="page")
        self._line = Static("", id="label-line")
        self._scroll = VerticalScroll(id="label-prompt")
        self._shown = Static(_READING)
        self._reason = LineInput(placeholder="why; Enter goes back to the prompt", compact=True)
        self._problem = Static("", id="problem")
        self._before = Static("", id="label-before")

    def compose(self) -> ComposeResult:
        self._page.border_title = Content(f"Label: {display_start(self._topic.name, 40)}")
        with self._page:
            yield self._line
            with self._scroll:
                yield self._shown
            yield self._reason
            yield self._problem
            yield self._before

    def on_mount(self) -> None:
        self._reason.display = self._problem.display = False
        self._scroll.focus()
        self._begin()

    async def on_unmount(self) -> None:
        await self._write()  # however the app ends
        self._in_turn.shutdown(wait=False)

    # --- the next prompt ------------------------------------------------------------------

    def _hear(self, progress: Progress) -> None:
        self._progress = progress  # in another thread

    def _show_progress(self) -> None:
        if (now := self._progress) is not None:
            self._shown.update(f"{_READING} {now.phase}: {now.done:,} of {now.total:,}")

    @work(group="label")
    async def _begin(self) -> None:
        self._show_line("")
        timer = self.set_interval(_POLL_EVERY, self._show_progress)
        try:
            self.sitting = await self._begin_sitting(self._hear)
        except GuardtuiError as problem:
            self._shown.update("")
            self._say(str(problem))
            return
        finally:
            timer.stop()
        if self.sitting is None:
            self.dismiss_when_active(None)
            return
        await self._advance(self.sitting)

    async def _advance(self, sitting: Sitting) -> None:
        """Show the next prompt, then write the answer to the one before."""
        await self._draw(sitting)
        await self._write()
        await self._draw_line(sitting)

    async def _turn(self, call: Callable[[], Result]) -> Result:
        """Run a call of the sitting in its thread, in turn."""
        return await asyncio.get_running_loop().run_in_executor(self._in_turn, call)

    async def _draw(self, sitting: Sitting) -> None:
        try:
            prompt, self._standing = await self._turn(lambda: (sitting.draw(), sitting.standing))
        except GuardtuiError as problem:
            self._shown.update("")
            self._say(f"{problem}\nEnter tries again.")
            self._is_stuck = True
            return
        self._is_stuck = False
        self._show(prompt)

    def _show(self, prompt: InboxPrompt | None) -> None:
        self.prompt = prompt
        text = Text(_DONE, "$text-muted")
        if prompt is not None:
            text = Text(display_text(prompt.text, newlines=True))
        self._shown.update(themed(text))
        self._scroll.scroll_home(animate=False)
        self._draw_frame()

    async def _draw_line(self, sitting: Sitting) -> None:
        """Show what the next labels are for."""
        self._show_line(await self._turn(sitting.line))

    def _show_line(self, line: str) -> None:
        """Show the topic, and what the labels are for."""
        self._purpose = line
        room = self.size.width - 2 * _FRAME
        text = Text("topic  ", "$text-muted")
        text.append(display_start(self._topic.description, room)).append("\n")
        text.append(display_text(line, newlines=True), "bold")
        if self._standing is not None and self._standing.drift:
            text.append(f"\n{self._standing.drift}", "$text-warning")
        self._line.update(themed(text))

    def _draw_frame(self) -> None:
        sitting, standing = self.sitting, self._standing
        if sitting is None or standing is None:
            return
        name = display_start(self._topic.name, max(10, self.size.width - 60))
        given = f"{len(sitting.given):,} given now"
        self._page.border_title = Content(
            f"Label: {name} · {standing.waiting:,} wait · {standing.labelled:,} labelled · {given}"
        )
        keys = [line.format(other=sitting.next_purpose.value) for line in _KEYS]
        room = self.size.width - _FRAME
        self._page.border_subtitle = next((line for line in keys if len(line) <= room), keys[-1])

    def on_resize(self) -> None:
        self._draw_frame()
        self._show_line(self._purpose)

    # --- answers --------------------------------------------------------------------------

    def action_answer(self, name: str) -> None:
        """Take the answer to the prompt that is shown."""
        sitting, prompt = self.sitting, self.prompt
        if sitting is None or prompt is None:
            return  # a key that was meant for the prompt before
        given = sitting.give(prompt, Answer[name], self._reason.value.strip())
        self.prompt = None
        self._leave_reason("")
        self._show_given(given)
        self._go_on()

    @work(group="label")
    async def _go_on(self) -> None:
        if self.sitting is not None:
            await self._advance(self.sitting)

    def _show_given(self, given: Given | None) -> None:
        room = max(_SHOWN // 2, self.size.width - 3 * _FRAME)
        self._before.update("" if given is None else themed(_given_text(given, room)))

    def action_undo(self) -> None:
        """Take back the last answer, and ask for its prompt again."""
        self._undo()

    @work(group="label")
    async def _undo(self) -> None:
        sitting, shown = self.sitting, self.prompt
        if sitting is None or (shown is None and not sitting.given):
            return
        self.prompt = None
        try:
            prompt = await self._turn(sitting.undo)
        except GuardtuiError as problem:
            self.prompt = shown
            self._say(str(problem))
            return
        if prompt is None:
            self.prompt = shown
            self.notify("Nothing was answered in this sitting.")
            return
        if shown is not None:
            sitting.put_back(shown)
        last = sitting.given[-1] if sitting.given else None
        self._show_given(last)
        self._standing = await self._turn(lambda: sitting.standing)
        self._show(prompt)
        await self._draw_line(sitting)

    def action_reason(self) -> None:
        """Write why, before the answer."""
        if self.prompt is not None:
            self._reason.display = True
            self._reason.focus()

    @on(Input.Submitted)
    def reason_given(self) -> None:
        self._scroll.focus()
        self._reason.display = bool(self._reason.value.strip())

    def _leave_reason(self, value: str) -> None:
        self._reason.value = value
        self._reason.display = False
        self._scroll.focus()

    def action_other(self) -> None:
        """Go on with labels for another purpose."""
        sitting = self.sitting
        if sitting is not None:
            sitting.purpose = sitting.next_purpose
            self.prompt = None
            self._go_on()

    def action_again(self) -> None:
        """Try again what failed."""
        if self.sitting is None or self._problem.display:
            self._say("")
            if self.sitting is None:
                self._shown.update(_READING)
                self._begin()
            elif self.prompt is None:
                self._go_on()
            else:
                self._write_soon()

    # --- writing --------------------------------------------------------------------------

    @work(group="label")
    async def _write_soon(self) -> None:
        await self._write()

    async def _write(self) -> None:
        """Write the answers; what cannot be written is kept and said."""
        sitting = self.sitting
        if sitting is None:
            return
        problems, self._standing = await self._turn(lambda: (sitting.write(), sitting.standing))
        if not self.is_attached:
            return
        for problem in problems:
            if isinstance(problem, InboxError):
                self.notify(str(problem), severity="warning")
        kept = [problem for problem in problems if not isinstance(problem, InboxError)]
        if kept:
            count = count_text(sitting.unwritten, "answer")
            self._say(
                f"{count} not on disk yet: {kept[0]}\n"
                "Enter tries again, and so does the next answer."
            )
        elif not self._is_stuck:
            self._say("")
        self._draw_frame()

    def _say(self, problem: str) -> None:
        self._problem.display = bool(problem)
        self._problem.update(themed(Text(display_text(problem, newlines=True))))

    # --- leaving --------------------------------------------------------------------------

    def action_close(self) -> None:
        """Leave the reason, or the queue once all answers are written."""
        if self._reason.has_focus:
            self._leave_reason("")
        else:
            self._leave()

    @work(group="label-leave", exclusive=True)
    async def _leave(self) -> None:
        await self._write()
        left = 0 if self.sitting is None else self.sitting.unwritten
        if left:
            question = f"{count_text(left, 'answer')} cannot be written and would be lost."
            if not await self.app.push_screen_wait(ConfirmDialog(question, "Leave", "Stay")):
                return
        self.dismiss_when_active(None)


def _given_text(given: Given, characters: int) -> Text:
    """Return the answer before, with what machines say of that prompt, of which a part is shown."""
    text = Text("before  ", "$text-muted")
    text.append(display_start(given.prompt.text, characters))
    text.append("\n        you said ", "$text-muted").append(given.answer.value, "bold")
    if given.reason:
        text.append(f" ({display_start(given.reason, _SHOWN)})", "$text-muted")
    for verdict in given.verdicts:
        text.append(f"\n        {display_start(verdict.who, _SHOWN)} said ", "$text-muted")
        if verdict.belongs is None:
            text.append("both, on different occasions")
        else:
            said = Answer.BELONGS if verdict.belongs else Answer.DOES_NOT_BELONG
            text.append(said.value)
        if verdict.score is not None:
            text.append(f", score {verdict.score:.2f}", "$text-muted")
        if given.answer.label is not None and verdict.belongs is not None:
            right = given.answer.label is verdict.belongs
            text.append(*((" ✓", "$text-success") if right else (" ✗", "$text-error")))
        if verdict.definition:
            text.append(f" ({verdict.definition})", "$text-muted")
    return text
