"""Other topics of the profile, measured together with this one: kept, read again, shown."""

from __future__ import annotations

import asyncio

from textual import work

from guardtui.session.companions import (
    Companions,
    load_companions,
    read_paths,
    write_paths,
)
from guardtui.tui.screens.companions import CompanionsDialog
from guardtui.tui.screens.files import FilesScreen


class TogetherScreen(FilesScreen):
    """A screen whose verdicts are those of a profile with several topics."""

    _companions: Companions | None = None

    def on_mount(self) -> None:
        # The handlers of the classes above are called as well.
        with self._told_problems():
            paths = read_paths(self.workspace.store.settings())
            if paths:
                self._take(
                    load_companions(self.workspace.topic_file.path, paths, self.session.topic)
                )

    @property
    def companions(self) -> tuple[str, ...]:
        """Names of the other topics."""
        known = self._companions
        return () if known is None else tuple(one.name for one in known.topics)

    def _take(self, companions: Companions) -> None:
        """Measure with these from now on, and say what is wrong with the others."""
        self._companions = companions
        self.measuring.use(companions.topics)
        for problem in companions.problems:
            self.notify(str(problem), severity="warning", markup=False, timeout=10)

    @work(exclusive=True, group="dialog")
    async def action_companions(self) -> None:
        path, topic = self.workspace.topic_file.path, self.session.topic
        known = self._companions or Companions(path)
        paths = await self.app.push_screen_wait(CompanionsDialog(known, topic))
        if paths is None:
            return
        self._remember(write_paths(paths))
        self._take(await asyncio.to_thread(load_companions, path, paths, topic))
        self._changed()

    async def _take_over(self) -> None:
        await super()._take_over()
        known = self._companions
        if known is not None and await asyncio.to_thread(lambda: known.changed):
            path, topic = self.workspace.topic_file.path, self.session.topic
            self._take(await asyncio.to_thread(load_companions, path, known.paths, topic))
            self.notify("A topic that is measured with this one was changed.")
            self._changed()
