"""Prompts on their way to a label: their states, what is known of each, and how labels changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from guardtui.domain.prompts import prompt_keys


class State(StrEnum):
    """State of a prompt: labelled, or without a label and thus in no rate."""

    UNLABELLED = "unlabelled"
    LABELLED = "labelled"
    SET_ASIDE = "set-aside"


class WhyAsked(StrEnum):
    """Why a prompt was put to a person.

    Only an audit, a sample with known chances, tells about the whole log.
    """

    AUDIT = "audit"
    CHOSEN = "chosen"


@dataclass(frozen=True, slots=True)
class Production:
    """What a guardrail said of a prompt in production; None if it gave both answers.

    `guardrail` and `definition` (a fingerprint or a revision) are "" where the log has none.
    `topics` are those that stopped the prompt, if the log names them. `logged` is how the log names
    its judge, if the author has said more.
    """

    triggered: bool | None
    guardrail: str = ""
    definition: str = ""
    topics: tuple[str, ...] = ()
    logged: tuple[str, str] | None = None

    @property
    def judge(self) -> tuple[str, str]:
        """Whose verdict it is: guardrail and definition, as the log names them."""
        return self.guardrail, self.definition

    def as_json(self) -> dict[str, Any]:
        """Return the values that are known."""
        known = {"guardrail": self.guardrail, "definition": self.definition}
        more = {"topics": list(self.topics)} if self.topics else {}
        if self.logged is not None:
            more["logged"] = list(self.logged)
        named = {name: text for name, text in known.items() if text}
        return {"triggered": self.triggered} | named | more

    @classmethod
    def of(cls, value: object) -> Production | None:
        """Return what `as_json` wrote, or None for another value."""
        if not isinstance(value, dict) or not isinstance(value.get("triggered"), bool):
            return None
        topics, logged = value.get("topics"), value.get("logged")
        names = tuple(map(str, logged)) if isinstance(logged, list) else ()
        return cls(
            value["triggered"],
            str(value.get("guardrail", "")),
            str(value.get("definition", "")),
            tuple(map(str, topics)) if isinstance(topics, list) else (),
            (names[0], names[1]) if len(names) == 2 else None,
        )

    def joined(self, other: Production) -> Production:
        """Return this verdict with another one of the same judge on the same prompt."""
        if self.triggered == other.triggered:
            return self
        return Production(None, self.guardrail, self.definition, logged=self.logged)

    def covers(self, other: Production) -> bool:
        """Return whether another verdict on the same prompt is this one, as the log names it."""
        same = other.judge in (self.judge, self.logged)
        return same and self.triggered in (other.triggered, None)


@dataclass(frozen=True, slots=True)
class LabelChange:
    """A label that was given, changed or taken back; None is no label, times are ISO 8601 UTC."""

    at: str
    before: bool | None
    after: bool | None
    reason: str = ""
    why_asked: WhyAsked | None = None


@dataclass(frozen=True, slots=True)
class InboxPrompt:
    """A prompt of the inbox, or one that came from there and has a label now.

    `origin` is where it came from, such as "app.log:12". `production` has one verdict for each
    guardrail and definition that judged it in production. `chance` is the probability, above 0,
    with which the audit that it is part of drew it. `asked_at` and `labelled_at` are the last
    times.
    `in_set` says whether it is a row of the prompt set, labelled or not, and `draft` whether
    no user wrote it, so that it is in no audit. `stratum` is the part of the log, from 0, within
    which the audit draws at random. `changes` are those of its label, oldest first.
    """

    id: str
    text: str
    origin: str = ""
    added_at: str = ""
    production: tuple[Production, ...] = ()
    state: State = State.UNLABELLED
    expected: bool | None = None
    reason: str = ""
    why_asked: WhyAsked | None = None
    chance: float | None = None
    asked_at: str = ""
    labelled_at: str = ""
    in_set: bool = False
    stratum: int | None = None
    draft: bool = False
    changes: tuple[LabelChange, ...] = ()


def prompt_id(text: str) -> str:
    """Return the id of a prompt: the key that a prompt set gives to its text, 16 hex digits."""
    return f"{prompt_keys([text])[0]:016x}"


@dataclass(slots=True)
class InboxRecord:
    """What the lines of an inbox file say of one prompt; later lines add to earlier ones."""

    id: str
    values: dict[str, Any] = field(default_factory=dict)
    changes: list[LabelChange] = field(default_factory=list)
    expected: bool | None = None
    production: dict[tuple[str, str], Production] = field(default_factory=dict)

    def add(self, line: Mapping[str, Any]) -> None:
        """Add what a line says; whatever was asked for an audit stays a part of it."""
        if self.why_asked is WhyAsked.AUDIT:
            line = {name: line[name] for name in line if name not in ("why_asked", "chance")}
        self.values |= line
        if (said := Production.of(line.get("production"))) is not None:
            for judge in [
                judge for judge in self.production if said.covers(self.production[judge])
            ]:
                del self.production[judge]
            before = self.production.get(said.judge)
            self.production[said.judge] = said if before is None else before.joined(said)
        if "state" not in line:
            return
        labelled = line["state"] == State.LABELLED
        after = line.get("expected") is True if labelled else None
        if after != self.expected:
            change = LabelChange(
                str(line.get("at", "")),
                self.expected,
                after,
                str(line.get("reason", "")),
                self.why_asked,
            )
            self.changes.append(change)
        self.expected = after

    @property
    def why_asked(self) -> WhyAsked | None:
        """Why it was asked."""
        word = self.values.get("why_asked")
        return WhyAsked(word) if word in list(WhyAsked) else None

    @property
    def appended(self) -> bool:
        """Return whether its label made it a row of the prompt set, where no cell waited for it."""
        return self.expected is not None and self.values.get("filled") is False

    def prompt(self, text: str, expected: bool | None, *, in_set: bool) -> InboxPrompt:
        """Return the prompt, with the label that the prompt set has for it now.

        The prompt set decides: a label that it lost is none, and one that was changed there is as
        it is there.
        """
        values = self.values
        state = State.UNLABELLED if expected is None else State.LABELLED
        if expected is None and values.get("state") == State.SET_ASIDE:
            state = State.SET_ASIDE
        changes = tuple(self.changes)
        if self.expected is not None and self.expected is not expected:
            changes += (LabelChange("", self.expected, expected),)
        chance, stratum = values.get("chance"), values.get("stratum")
        known = state is State.SET_ASIDE or expected is self.expected is not None
        return InboxPrompt(
            id=self.id,
            text=text,
            origin=str(values.get("origin", "")),
            added_at=str(values.get("added_at", "")),
            production=tuple(self.production.values()),
            state=state,
            expected=expected,
            reason=str(values.get("reason", "")) if known else "",
            why_asked=self.why_asked,
            chance=float(chance) if isinstance(chance, int | float) and 0 < chance <= 1 else None,
            asked_at=str(values.get("asked_at", "")),
            labelled_at=self.changes[-1].at if expected is not None and self.changes else "",
            in_set=in_set,
            stratum=stratum if isinstance(stratum, int) and stratum >= 0 else None,
            draft=values.get("draft") is True,
            changes=changes,
        )
