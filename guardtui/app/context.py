"""The parts of one workspace that its services share: state, engine, edits, author, jobs."""

from __future__ import annotations

from dataclasses import dataclass

from guardtui.app.editing.edits import Editing
from guardtui.app.editing.engine import Engine
from guardtui.app.ports import Author, Jobs
from guardtui.app.state import AppState, Store, with_session
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.session import Session
from guardtui.session.workspace import Workspace


@dataclass(frozen=True, eq=False)
class Context:
    """A workspace with the ports to its author; every service gets it first."""

    workspace: Workspace
    store: Store
    engine: Engine
    editing: Editing
    author: Author
    jobs: Jobs

    @classmethod
    def of(cls, workspace: Workspace, scanner: LocalScanner, author: Author, jobs: Jobs) -> Context:
        """Return the context of a workspace, with its first state."""
        session = workspace.session
        store = Store(with_session(AppState(session.topic, workspace.prompts), workspace))
        editing = Editing(store, session, author)
        return cls(workspace, store, Engine(scanner, author), editing, author, jobs)

    @property
    def session(self) -> Session:
        """The session of the workspace."""
        return self.workspace.session
