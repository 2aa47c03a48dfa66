"""Companion topics: other topics of the profile, measured together with this one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from guardtui.app.context import Context
from guardtui.app.problems import problems_shown
from guardtui.session.companions import Companions, load_companions, read_paths, write_paths

PROBLEM_TIME = 10.0
"""Seconds for which a problem of a companion's file is shown."""


class CompanionTopics:
    """Loads companion topics, and reloads them when their files change."""

    def __init__(self, context: Context) -> None:
        self._store, self._workspace = context.store, context.workspace
        self._engine, self._author = context.engine, context.author

    @property
    def known(self) -> Companions:
        """The companions as last read."""
        return self._store.state.companions or Companions(self._workspace.topic_file.path)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the companion topics."""
        return tuple(topic.name for topic in self.known.topics)

    def restore(self) -> None:
        """Load the companions stored in the session."""
        with problems_shown(self._author):
            paths = read_paths(self._workspace.store.settings())
            if paths:
                self._take(self._load(paths))

    async def use(self, paths: Sequence[str]) -> None:
        """Measure with the topics of these files, and store the paths in the session."""
        with problems_shown(self._author):
            self._workspace.store.update_settings(write_paths(paths))
        self._take(await asyncio.to_thread(self._load, paths))

    async def reload_changed(self) -> bool:
        """Reload the files if one changed; return whether one did."""
        known = self._store.state.companions
        if known is None or not await asyncio.to_thread(lambda: known.changed):
            return False
        self._take(await asyncio.to_thread(self._load, known.paths))
        return True

    def _load(self, paths: Sequence[str]) -> Companions:
        workspace = self._workspace
        return load_companions(workspace.topic_file.path, paths, workspace.session.topic)

    def _take(self, companions: Companions) -> None:
        self._engine.measuring.use(companions.topics, companions.closed)
        self._store.publish(replace(self._store.state, companions=companions))
        for problem in companions.problems:
            self._author.notify(str(problem), severity="warning", seconds=PROBLEM_TIME)
