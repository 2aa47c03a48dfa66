"""Experiments on AIRS whose process was killed: their candidate is still in the profile."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import ValidationError

from guardtui.app.airs.profile_changes import ProfileChanges
from guardtui.app.airs.revert_steps import RevertStep
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.app.ports import Author, Confirm
from guardtui.app.problems import problems_shown
from guardtui.http.errors import inert
from guardtui.scanners.airs.errors import AirsError
from guardtui.scanners.airs.undo_journal import ExperimentMark, Reverted, UndoRecord
from guardtui.session.applied import open_entries
from guardtui.session.draft_lock import forget, is_held
from guardtui.session.store import SessionStore

_CALM = 1.0
"""Seconds for which the question ignores keys: the author may be typing already."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """An experiment that did not revert its changes of the profile with the key `place`."""

    place: str
    step: RevertStep
    mark: ExperimentMark

    @property
    def shown_profile(self) -> str:
        """Name of the profile, inert."""
        return inert(self.step.way.profile_name, characters=60)

    @property
    def text(self) -> str:
        """What happened, in a sentence without its end."""
        what = f"candidate {self.mark.number}" if self.mark.number else "its current definition"
        return (
            f"An experiment on profile {self.shown_profile} was interrupted; the profile still has "
            f"{what}"
        )


def interrupted(store: SessionStore) -> list[Interrupted]:
    """Return the experiments of a topic whose process has ended. Raises StoreError."""
    found = []
    for place, entry in open_entries(store):
        if not entry.way.get("experiment"):
            continue
        try:
            way = UndoRecord.model_validate(entry.way)
            if way.experiment is None or is_held(store.folder, way.experiment.owner):
                continue
        except (ValidationError, ValueError):
            continue  # `topics revert` reports it
        found.append(Interrupted(place, RevertStep((entry.id,), (way,)), way.experiment))
    return found


async def offer_reverts(
    store: SessionStore, options: RemoteOptions, changes: ProfileChanges, author: Author
) -> None:
    """Ask for each interrupted experiment of a topic whether to revert it, and do so."""
    with problems_shown(author):
        for found in interrupted(store):
            question = Confirm(f"{found.text}.\nRevert it?", "Revert", "Later", calm=_CALM)
            if await author.ask(question):
                done = await revert_interrupted(found, options, changes, store)
                for warning in done.warnings:
                    author.notify(warning, severity="warning")
                author.notify(f"Profile {found.shown_profile} is as before the experiment.")


async def revert_interrupted(
    found: Interrupted, options: RemoteOptions, changes: ProfileChanges, store: SessionStore
) -> Reverted:
    """Restore the state before an interrupted experiment; `options` have the account.

    Raises AirsError, ServiceError and StoreError.
    """
    connection = options.connect(options.configured(), found.step.way.profile_name)
    if connection.key != found.place:
        raise AirsError(
            f"{found.text}, of another tenant or service than the one that is configured: choose "
            "that one, and try again"
        )
    done = await changes.revert(connection, found.step)
    forget(store.folder, found.mark.owner)
    return done
