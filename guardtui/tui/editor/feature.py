"""The definition on the main screen: edits, undo, differences, the external editor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from textual.app import SuspendNotSupported

from guardtui.advice.lint_advice import Advice
from guardtui.app.services import Services
from guardtui.app.state import AppState, EditKind
from guardtui.domain.topic import Topic
from guardtui.files.problems import FileError
from guardtui.tui.main.feature import ActionMethod
from guardtui.tui.main.window import Window
from guardtui.tui.messages import TopicEdited
from guardtui.tui.registry.actions import first_key
from guardtui.tui.system.external_editor import edit_in_editor


def worth_showing(advice: Sequence[Advice]) -> list[Advice]:
    """Return the advice to show in the editor: none that would lower coverage if followed."""
    return [item for item in advice if item.removal is None or (item.removal.change or 0.0) >= 0.0]


class DefinitionFeature:
    """Shows the definition in the editor and edits it."""

    follows = ("topic", "comparison", "advice")

    def __init__(self, services: Services, window: Window) -> None:
        self._services, self._window = services, window
        self._editor = window.panes.editor
        self.actions: Mapping[str, ActionMethod] = {
            "undo": self.undo,
            "redo": self.redo,
            "show_difference": self.show_difference,
            "open_editor": window.action(self.open_editor),
        }

    def state_changed(self, old: AppState, new: AppState) -> None:
        """Show a definition that was not typed, the baseline, and the advice."""
        if new.topic != old.topic and new.edit is not EditKind.TYPED:
            self._editor.show(new.topic, follow=new.edit is EditKind.STEPPED)
        if self._editor.shows_difference and new.comparison is not old.comparison:
            self._editor.show_baseline(self._origin)
        if self._window.is_running and new.advice is not old.advice:
            keys = first_key("show_lint", self._window.keymap)
            self._editor.lint.show(worth_showing(new.advice), keys)

    @property
    def _origin(self) -> Topic:
        """The definition that differences are computed from."""
        baseline = self._services.session.baseline
        return baseline.evaluation.topic if baseline else self._services.workspace.topic_file.topic

    def edited(self, event: TopicEdited) -> None:
        """Store what was typed."""
        self._services.editing.type(event.topic, event.group, ends_group=event.ends_group)

    def add_examples(self, prompts: Sequence[str]) -> None:
        """Add prompts to the examples, and offer to take them out of the measured set."""
        before = self._editor.typed
        problem = ""
        for prompt in prompts:
            problem = self._editor.add_example(prompt) or problem
        self._window.notify(problem or "Added to the examples; Undo removes it.", seconds=3)
        after = self._editor.typed
        if after != before:
            offer = self._services.sync.offer_to_take_out(before, after)
            self._window.start(offer, group="dialog")

    def undo(self) -> None:
        """Undo the last step."""
        self._step("Undone", self._services.editing.undo, "Nothing to undo.")

    def redo(self) -> None:
        """Redo what was undone."""
        self._step("Redone", self._services.editing.redo, "Nothing to redo.")

    def _step(self, verb: str, step: Callable[[], tuple[str, ...]], nothing: str) -> None:
        before = self._services.session.topic
        if changes := step():
            self._window.notify(f"{verb}: {', '.join(changes)}", seconds=2)
            self._window.start(self._services.sync.follow(before), group="prompts")
        else:
            self._window.notify(nothing)

    def show_difference(self) -> None:
        """Show the difference to the baseline word by word, or hide it."""
        if self._editor.shows_difference:
            self._editor.show_baseline(None)
            return
        self._editor.show_baseline(self._origin)
        panes = self._window.panes
        if not panes.side_by_side:  # otherwise it is visible, and the focus stays
            panes.show("editor", keep_focus=True)
        baseline = self._services.session.baseline
        name = f"#{baseline.number}" if baseline else "the file"
        changes = ", ".join(self._services.workspace.changes) or "nothing differs"
        self._window.notify(f"Against {name}: {changes}", seconds=4)

    async def open_editor(self) -> None:
        """Edit the definition in $VISUAL or $EDITOR."""
        before = topic = await self._services.editing.finish_typing()
        problem: FileError | None = None
        try:
            with self._window.app.suspend():
                # Caught inside: an error that left the block would leave the app suspended.
                try:
                    topic = edit_in_editor(topic)
                except FileError as error:
                    problem = error
        except SuspendNotSupported:
            self._window.notify(
                "This terminal does not support suspending the app.", severity="warning"
            )
            return
        if problem is not None:
            self._window.notify(str(problem), severity="error", seconds=15)
            return
        if topic == before:
            self._window.notify("Nothing was changed.")
        self._services.editing.replace(topic)
