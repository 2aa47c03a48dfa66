"""The inbox of a prompt set: prompts that wait for a label, and the labels that people give them.

Commands, the app and other programs may work on one inbox at the same time. Whoever writes has its
lock, reads what others wrote first, and writes the prompt set before the inbox: a program that is
killed in between leaves a label without its reason, never a reason without its label.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from guardtui.domain.comparison import align
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.figures import count_text
from guardtui.domain.inbox import (
    InboxPrompt,
    InboxRecord,
    Production,
    State,
    WhyAsked,
    prompt_id,
)
from guardtui.domain.prompt_edit import text_problem
from guardtui.domain.prompts import PromptSet, prompt_keys
from guardtui.domain.text import display_text, spreadsheet_text
from guardtui.domain.topic import Intent
from guardtui.files.atomic import private_file
from guardtui.files.change_signature import Signature, change_signature
from guardtui.files.inbox_file import InboxFile, InboxWriter, inbox_path
from guardtui.files.label_edits import LabelEdit, LabelRows, read_labels, write_labels
from guardtui.files.labelled_tables import LabelledRow
from guardtui.files.problems import from_os_error
from guardtui.files.prompt_logs import LoggedPrompt
from guardtui.files.topic_files import load_topic
from guardtui.session.session_file import session_file
from guardtui.session.topic_places import UnknownPromptsError, usual_prompts
from guardtui.session.workspace import Workspace, now

_SHORTEST_ID = 4
_OF_INBOX = ("text", "filled", "why_asked")
"""Keys of the prompts of an inbox; of others it has labels that changed, and verdicts."""
_TAKEN = timedelta(minutes=10)
"""How long a prompt that was put to a person is put to nobody else."""


class InboxError(GuardtuiError):
    """What was asked of the inbox cannot be done; the message names the remedy."""

    exit_code = 2


class LabelledMeanwhileError(InboxError):
    """Someone else labelled the prompt, or set it aside, since it was read."""

    def __init__(self, prompt: InboxPrompt) -> None:
        self.prompt = prompt
        label = prompt.state.value if prompt.expected is None else str(prompt.expected).lower()
        super().__init__(
            f"{prompt.id}: someone else labelled this prompt meanwhile, {label}\n"
            "  label it again to change that"
        )


@dataclass(slots=True)
class Added:
    """Number of prompts that were added, and of those that were left out, by the reason."""

    added: int = 0
    repeated: int = 0
    in_inbox: int = 0
    in_set: int = 0
    unusable: int = 0

    def text(self, inbox: Path, without: int = 0) -> str:
        """Return the numbers in words; `without` entries of the log had no text of a user."""
        left_out = [
            f"{count:,} {what}"
            for count, what in (
                (self.repeated, "repeated"),
                (self.in_inbox, "in the inbox already"),
                (self.in_set, "in the prompt set already"),
                (self.unusable, "too long for a prompt or not text"),
                (without, "entries without a text of a user"),
            )
            if count
        ]
        more = f"; left out: {', '.join(left_out)}" if left_out else ""
        return f"{count_text(self.added, 'prompt')} added to {inbox}{more}"


@dataclass(slots=True)
class Imported:
    """Result of an import: numbers of labels, and rows that gave none.

    `contradicting` are rows with another label than their prompt, which is beside them.
    """

    labelled: int = 0
    same: int = 0
    empty: int = 0
    contradicting: list[tuple[LabelledRow, InboxPrompt]] = field(default_factory=list)
    unknown: list[LabelledRow] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Step:
    """A prompt before and after what this object did to it."""

    before: InboxPrompt
    after: InboxPrompt


class Inbox:
    """The prompts that wait for a label beside a prompt set, and what became of them.

    They are the prompts that were added to NAME.inbox.jsonl, and rows of the prompt set without a
    label. The prompt set decides on labels: one that it lost is none. `prompts` is what was read
    last. Calls raise FileError, PromptSetError and InboxError; nothing has changed then. Calls may
    come from any thread, one at a time.
    """

    def __init__(self, prompts: Path, intent: Intent, backups: Path | None = None) -> None:
        """Read the inbox of a prompt set; neither file need exist.

        `intent` is that of a new prompt set. Before the first change, the prompt set is
        copied into `backups`.
        """
        if str(prompts) == "-":
            problem = "labels cannot be written to standard input"
            raise InboxError(f"--prompts -: {problem}\n  save the prompts to a file and name that")
        self.set_path = prompts
        self.path = inbox_path(prompts)
        self._intent, self._backups = intent, backups
        self._file = InboxFile(self.path)
        self._records: dict[str, InboxRecord] = {}
        self._steps: list[_Step] = []
        self._asked: set[str] = set()
        self._changed: dict[str, None] = {}
        self._texts: dict[str, str] = {}
        self._rows = LabelRows(prompts, b"", {})
        self._signature: Signature = (0, 0, 0)  # of no file
        self.prompts: dict[str, InboxPrompt] = {}
        self.refresh()

    @classmethod
    def of_topic(cls, topic: Path, prompts: Path | None = None) -> Inbox:
        """Return the inbox of a prompt set, by default that of a topic file used last.

        Without any, the prompt set will be NAME.csv beside the topic file. Raises FileError.
        """
        intent = load_topic(topic).topic.intent
        if prompts is None:
            try:
                prompts = usual_prompts(topic)
            except UnknownPromptsError:
                prompts = topic.with_suffix(".csv")
        return cls(prompts, intent, session_file(topic).parent / "backups")

    @classmethod
    def of_workspace(cls, workspace: Workspace) -> Inbox:
        """Return the inbox of an opened topic's prompts.

        After each change, the workspace rereads its prompts.
        """
        return cls(workspace.prompts_path, workspace.prompts.intent, workspace.backups)

    def refresh(self) -> None:
        """Read what others wrote."""
        changed = self._changed  # kept, should a file be unreadable
        signature = change_signature(self.set_path)
        if signature is None or signature != self._signature:
            changed |= dict.fromkeys(self._read_set())
            self._signature = signature
        lines = self._file.new_lines()
        if self._file.replaced:
            changed |= dict.fromkeys(self._records)
            self._records.clear()
            lines = self._file.lines()
        for line in lines:
            name = line["id"]
            if "removed" in line:
                self._records.pop(name, None)
            else:
                self._records.setdefault(name, InboxRecord(name)).add(line)
            changed[name] = None
        for name in changed:
            prompt = self._prompt(name)
            if prompt is None:
                self.prompts.pop(name, None)
            else:
                self.prompts[name] = prompt
        changed.clear()

    def _read_set(self) -> list[str]:
        """Read the prompt set again; return the ids of the prompts whose label changed."""
        old, before = self._rows.labels, self._texts
        self._rows = read_labels(self.set_path)
        texts = list(self._rows.labels)
        names = (f"{key:016x}" for key in prompt_keys(texts).tolist())
        self._texts = dict(zip(names, texts, strict=True))
        now_there = self._rows.labels
        missing = object()
        changed = [name for name, text in before.items() if text not in now_there]
        changed += [
            name
            for name, text in self._texts.items()
            if old.get(text, missing) is not now_there[text]
        ]
        return changed

    def _prompt(self, name: str) -> InboxPrompt | None:
        """Return what is known of a prompt, or None if nobody knows its text any more."""
        record = self._records.get(name) or InboxRecord(name)
        text = self._texts.get(name, record.values.get("text"))
        if text is None:
            return None
        label = self._rows.labels.get(text)
        prompt = record.prompt(text, label, in_set=text in self._rows.labels)
        return prompt if prompt.origin else replace(prompt, origin=self.set_path.name)

    @property
    def own(self) -> list[InboxPrompt]:
        """The prompts of the inbox: those without a label, and those that had none once."""
        return [
            prompt
            for prompt in self.prompts.values()
            if prompt.expected is None or self._is_own(prompt.id)
        ]

    def _is_own(self, name: str) -> bool:
        """Return whether a prompt waited for a label once, or was asked as part of a log."""
        record = self._records.get(name)
        return record is not None and not record.values.keys().isdisjoint(_OF_INBOX)

    @property
    def counts(self) -> dict[State, int]:
        """Number of the prompts of the inbox in each state."""
        states = [prompt.state for prompt in self.own]
        return {state: states.count(state) for state in State}

    def find(self, word: str) -> InboxPrompt:
        """Return the prompt with an id, or with the only id that begins so."""
        if word in self.prompts:
            return self.prompts[word]
        names = [name for name in self.prompts if name.startswith(word.lower())]
        if len(names) == 1 and len(word) >= _SHORTEST_ID:
            return self.prompts[names[0]]
        problem = (
            f"{word} is not one id, give more of it" if names else f"no prompt has the id {word}"
        )
        raise InboxError(f"{self.path}: {problem}\n  guardtui inbox list names them")

    # --- what comes in --------------------------------------------------------------------

    def add(self, logged: Iterable[LoggedPrompt]) -> Added:
        """Add prompts of a log, each text once; what the prompt set has is left out.

        What guardrails said of a prompt in production is kept of all of them, and also where two
        entries contradict each other.

        The log is read before anything is written, with one prompt in memory at a time. A draft
        that a user wrote, too, is a prompt of the log from then on.
        """
        self.refresh()
        added = Added()
        known = {int(name, 16) for name in self._records if "text" in self._records[name].values}
        in_set = {int(name, 16) for name in self._texts}
        drafts = {int(name, 16) for name in self._records if self._is_draft(name)}
        seen: dict[int, tuple[Production, ...]] = {}
        time = now()
        temporary = self.path.with_name(f".{self.path.name[:100]}.{secrets.token_hex(8)}")
        try:
            with private_file(temporary) as file:
                for prompt in logged:
                    key = int(prompt_id(prompt.text), 16)
                    if text_problem(prompt.text):
                        added.unusable += key not in seen
                        added.repeated += key in seen
                        seen[key] = ()
                        continue
                    lines: list[dict[str, Any]] = []
                    if key in seen:
                        added.repeated += 1
                    elif key in drafts and not prompt.draft:
                        lines.append(_new_line(key, prompt, time) | {"draft": False})
                    elif key in in_set:
                        added.in_set += 1
                    elif key in known:
                        added.in_inbox += 1
                    else:
                        lines.append(_new_line(key, prompt, time))
                    said = seen[key] if key in seen else self._said_of(key)
                    for verdict in prompt.production:
                        if not any(known.covers(verdict) for known in said):
                            said = (*said, verdict)
                            line = {"id": f"{key:016x}", "production": verdict.as_json()}
                            lines = _with_line(lines, line)
                    seen[key] = said
                    file.writelines(json.dumps(line).encode() + b"\n" for line in lines)
                file.seek(0)
                if file.read(1):
                    file.seek(0)
                    with self._file.locked() as writer:
                        writer.append(self._not_added_meanwhile(file, added))
        except OSError as error:
            raise from_os_error(self.path, error) from error
        finally:
            with suppress(OSError):
                temporary.unlink()
        self.refresh()
        return added

    def _said_of(self, key: int) -> tuple[Production, ...]:
        """Return what is known already of what guardrails said of a prompt in production."""
        record = self._records.get(f"{key:016x}")
        return () if record is None else tuple(record.production.values())

    def _not_added_meanwhile(
        self, lines: Iterable[bytes], added: Added
    ) -> Iterator[Mapping[str, Any]]:
        file = copy(self._file)  # these lines are still new for `refresh`
        read = file.lines() if file.replaced else file.new_lines()
        meanwhile = set[str]()
        for new in read:
            if "removed" in new:
                meanwhile.discard(new["id"])
            elif "text" in new:
                meanwhile.add(new["id"])
        for text in lines:
            line = json.loads(text)
            if "text" in line:
                if line["id"] in meanwhile:
                    added.in_inbox += 1
                    continue
                added.added += 1
            yield line

    def ask(self, chances: Mapping[str, float | None], why: WhyAsked) -> tuple[str, ...]:
        """Take prompts to put to a person, by id: why, and with which chance, which is kept.

        Returns the ids of those that are free: nobody labelled one, set it aside, or took it to put
        it to somebody else in the last minutes. Others that an audit draws are part of it too, with
        the label that they have, and nobody is asked. An audit never has a draft, which no user
        wrote.
        """
        time = datetime.now(UTC)
        with self._file.locked() as writer:
            self.refresh()
            fitting = [
                name for name in chances if why is not WhyAsked.AUDIT or not self._is_draft(name)
            ]
            free = tuple(name for name in fitting if self._is_free(name, time))
            drawn = [
                name
                for name in fitting
                if name in free
                or (
                    why is WhyAsked.AUDIT
                    and name in self.prompts
                    and self.prompts[name].state is not State.UNLABELLED
                )
            ]
            writer.append(
                {"id": name, "why_asked": why.value}
                | ({"asked_at": time.isoformat(timespec="seconds")} if name in free else {})
                | ({} if chances[name] is None else {"chance": chances[name]})
                for name in drawn
            )
            self.refresh()
        self._asked.update(free)
        return free

    def _is_free(self, name: str, time: datetime) -> bool:
        prompt = self.prompts.get(name)
        if prompt is None or prompt.state is not State.UNLABELLED:
            return False
        if name in self._asked or not prompt.asked_at:
            return True
        try:
            return time - datetime.fromisoformat(prompt.asked_at) > _TAKEN
        except (ValueError, TypeError):  # written by hand
            return True

    def divide(self, strata: Mapping[str, int]) -> None:
        """Keep the stratum of each prompt, by id, within which an audit draws at random."""
        with self._file.locked() as writer:
            self.refresh()
            writer.append(
                {"id": name, "stratum": stratum}
                for name, stratum in strata.items()
                if name in self.prompts and self.prompts[name].stratum != stratum
            )
            self.refresh()

    # --- labels ---------------------------------------------------------------------------

    def label(self, name: str, expected: bool, reason: str = "") -> InboxPrompt:
        """Give a prompt a label, or another one; it becomes a row of the prompt set.

        Raises LabelledMeanwhileError if someone else did so since this inbox was read.
        """
        return self._change(name, State.LABELLED, expected, reason)

    def set_aside(self, name: str, reason: str = "") -> InboxPrompt:
        """Ask no more for a prompt; a label that it had is taken back."""
        return self._change(name, State.SET_ASIDE, None, reason)

    def take_back(self, name: str, reason: str = "") -> InboxPrompt:
        """Make a prompt unlabelled again."""
        return self._change(name, State.UNLABELLED, None, reason)

    def undo(self, name: str = "") -> InboxPrompt | None:
        """Undo the last change that this object made, of this prompt if named; None without one.

        Raises LabelledMeanwhileError if someone else changed the prompt since.
        """
        step = next((made for made in reversed(self._steps) if name in ("", made.before.id)), None)
        if step is None:
            return None
        before = step.before
        with self._file.locked() as writer:
            self.refresh()
            current = self._known(before.id)
            if _state(current) != _state(step.after):
                raise LabelledMeanwhileError(current)
            self._write(writer, {before.id: (before.state, before.expected, before.reason)})
        self._steps.remove(step)
        return self.prompts[before.id]

    def _change(self, name: str, state: State, expected: bool | None, reason: str) -> InboxPrompt:
        seen = self._known(name)
        with self._file.locked() as writer:
            self.refresh()
            before = self._known(name)
            if _state(before) not in (_state(seen), (state, expected)):
                raise LabelledMeanwhileError(before)
            self._write(writer, {name: (state, expected, reason)})
        after = self.prompts[name]
        self._steps.append(_Step(before, after))
        return after

    def _is_draft(self, name: str) -> bool:
        return name in self.prompts and self.prompts[name].draft

    def _known(self, name: str) -> InboxPrompt:
        if name not in self.prompts:
            raise InboxError(f"{self.path}: {name} is no longer there: someone else removed it")
        return self.prompts[name]

    def _write(
        self, writer: InboxWriter, changes: Mapping[str, tuple[State, bool | None, str]]
    ) -> None:
        """Write new states of prompts into the prompt set and the inbox, which were just read."""
        labels: dict[str, bool | None] = {}
        splits: dict[str, str] = {}
        removed = []
        lines: list[dict[str, Any]] = []
        time = now()
        for name, (state, expected, reason) in changes.items():
            prompt = self.prompts[name]
            record = self._records.get(name)
            line: dict[str, Any] = {"id": name, "state": state.value, "at": time}
            if expected is not None:
                line["expected"] = expected
                labels[prompt.text] = expected
                splits[prompt.text] = "" if record is None else str(record.values.get("split", ""))
                if prompt.expected is None:
                    line["filled"] = prompt.in_set
            elif prompt.expected is not None:
                if record is not None and record.appended:
                    removed.append(prompt.text)
                else:
                    labels[prompt.text] = None
            known = None if record is None else record.expected
            if prompt.expected is not None and known is not prompt.expected:
                lines.append(_label_line(name, prompt.expected, ""))  # as the set had it before
            lines.append(line | {"reason": reason})
        write_labels(
            self._rows,
            LabelEdit(labels, removed, splits),
            self._intent,
            backup_folder=self._backups,
        )
        self._backups = None
        writer.append(lines)
        self.refresh()

    def import_labels(self, rows: Sequence[LabelledRow], *, replace: bool = False) -> Imported:
        """Give the labels of a table to prompts with its ids, else with its texts.

        A label that contradicts the prompt's is written only with `replace`.
        """
        result = Imported()
        with self._file.locked() as writer:
            self.refresh()
            changes: dict[str, tuple[State, bool | None, str]] = {}
            # An export has the texts as they are safe to show.
            by_text = {spreadsheet_text(display_text(p.text)): p for p in self.prompts.values()}
            by_text |= {prompt.text: prompt for prompt in self.prompts.values()}
            for row in rows:
                prompt = self.prompts.get(row.id) or by_text.get(row.prompt)
                given = changes.get(prompt.id) if prompt is not None else None
                label = given[1] if given else None if prompt is None else prompt.expected
                if row.expected is None:
                    result.empty += 1
                elif prompt is None:
                    result.unknown.append(row)
                elif label is row.expected:
                    result.same += 1
                elif label is not None and (given or not replace):
                    result.contradicting.append((row, prompt))
                else:
                    changes[prompt.id] = (State.LABELLED, row.expected, row.reason)
            if changes:
                self._write(writer, changes)
            result.labelled = len(changes)
        return result

    def drop(self, names: Iterable[str]) -> int:
        """Remove prompts without a label from the inbox for good; return their number."""
        with self._file.locked() as writer:
            self.refresh()
            dropped = {name: self._known(name) for name in names}
            for prompt in dropped.values():
                if prompt.in_set:
                    where = f"a row of {self.set_path}"
                    raise InboxError(
                        f"{prompt.id}: the prompt is {where}: nothing was removed\n"
                        "  remove the row, or set the prompt aside"
                    )
            writer.remove(set(dropped))
        self.refresh()
        self._steps = [step for step in self._steps if step.before.id not in dropped]
        return len(dropped)


def _state(prompt: InboxPrompt) -> tuple[State, bool | None]:
    return prompt.state, prompt.expected


def keep_relabelled(path: Path, before: PromptSet, after: PromptSet) -> None:
    """Keep in the inbox of a prompt file which labels an edit has changed, and when.

    Raises FileError.
    """
    alignment = align(before.keys, after.keys)
    if alignment.index is None:
        then = before.expected
    else:
        then = np.where(alignment.index >= 0, before.expected[alignment.index], after.expected)
    rows = np.flatnonzero(then != after.expected)
    if not len(rows):
        return
    time, lines = now(), list[dict[str, Any]]()
    for key, label in zip(after.keys[rows].tolist(), after.expected[rows].tolist(), strict=True):
        name = f"{key:016x}"
        lines += (_label_line(name, not label, ""), _label_line(name, label, time))
    with InboxFile(inbox_path(path)).locked() as writer:
        writer.append(lines)


def _label_line(name: str, expected: bool, time: str) -> dict[str, Any]:
    return {"id": name, "state": State.LABELLED.value, "expected": expected, "at": time}


def _with_line(lines: list[dict[str, Any]], line: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the lines on a prompt with a further one, in its first line if there is room."""
    if lines and "production" not in lines[0]:
        return [lines[0] | line, *lines[1:]]
    return [*lines, line]


def _new_line(key: int, prompt: LoggedPrompt, time: str) -> dict[str, Any]:
    line = {
        "id": f"{key:016x}",
        "text": prompt.text,
        "origin": prompt.origin,
        "added_at": time,
    }
    known = {"draft": True} if prompt.draft else {}
    return line | known | ({"split": prompt.split} if prompt.split else {})
