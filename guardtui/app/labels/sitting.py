"""A person who labels the prompts of an inbox, one after the other: which is next, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from guardtui.advice.label_queue import LabelQueue
from guardtui.app.labels.audit import Audit, audit_queue, rates_of
from guardtui.app.labels.drift import changes_text
from guardtui.app.labels.inbox import Inbox, InboxError, LabelledMeanwhileError
from guardtui.app.labels.judged_log import ENGINE_NAME, JudgedLog, says_it_belongs
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.inbox import InboxPrompt, Production, State, WhyAsked
from guardtui.domain.topic import Intent
from guardtui.files.prompt_edits import PromptsChangedError

_ABOUT_EDIT = "to compare your edit with the baseline, by"


class Purpose(StrEnum):
    """What the next labels are for; the names of others are shown with their key."""

    AUDIT = "production"
    COMPARE = "your edit"
    CHOSEN = "for edits"


class Answer(StrEnum):
    """What a person says of a prompt."""

    BELONGS = "belongs"
    DOES_NOT_BELONG = "does not belong"
    SET_ASIDE = "set aside"

    @property
    def label(self) -> bool | None:
        """The label; None for a prompt that is set aside."""
        return {Answer.BELONGS: True, Answer.DOES_NOT_BELONG: False}.get(self)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a machine, `who`, says of a prompt: whether it belongs, None if it said both.

    `score` is the engine's. `definition` says with which one a guardrail of production answered.
    """

    who: str
    belongs: bool | None
    score: float | None = None
    definition: str = ""


@dataclass(frozen=True, slots=True)
class Given:
    """An answer to a prompt, with the verdicts of machines, which are shown only now."""

    prompt: InboxPrompt
    answer: Answer
    reason: str
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """State of the work on an inbox.

    `waiting` counts prompts without a label, `drift` says how many labels were changed lately.
    """

    waiting: int
    labelled: int
    drift: str


class Sitting:
    """One person at an inbox.

    `draw` returns a prompt that nobody else is asked, `give` takes the answer, and `write` puts
    answers on disk: a failure loses none, the next call tries again. All but `give` read and write
    files. Calls may come from any thread, one at a time.
    """

    def __init__(
        self,
        inbox: Inbox,
        log: JudgedLog,
        intent: Intent,
        purpose: Purpose = Purpose.AUDIT,
        first: Sequence[str] = (),
        wanted: int = 0,
        definition_of: Callable[[Production], str] = lambda _: "",
        by_guardrail: str = "",
    ) -> None:
        """`first` are ids to ask before other chosen ones; `wanted` labels would decide an edit.

        `definition_of` says in words with which definition a guardrail of production answered, and
        `by_guardrail` how a guardrail that was asked judges the edit.
        """
        self._definition_of, self._by_guardrail = definition_of, by_guardrail
        self.inbox, self.purpose = inbox, purpose
        self._log, self._intent, self._wanted = log, intent, wanted
        self._first, self._again = list(first), list[str]()
        self._logged = {log.ids[row]: place for place, row in enumerate(log.logged)}
        self._taken: set[str] = set()
        self._unwritten: dict[str, Given] = {}
        self._divided: set[Purpose] = set()
        self.given: list[Given] = []
        """Answers of this sitting, without those that were undone."""

    @property
    def next_purpose(self) -> Purpose:
        """The purpose that comes after this one; two definitions only if their verdicts differ."""
        known = [
            purpose for purpose in Purpose if purpose is not Purpose.COMPARE or self._log.compared
        ]
        return known[(known.index(self.purpose) + 1) % len(known)]

    # --- the next prompt ------------------------------------------------------------------

    def draw(self) -> InboxPrompt | None:
        """Return the next prompt; None if there is none. Raises FileError."""
        while self._again:
            name = self._again.pop()
            if self._ask(name, None, WhyAsked.CHOSEN):
                return self.inbox.prompts[name]
        return self._chosen() if self.purpose is Purpose.CHOSEN else self._audited()

    def _audited(self) -> InboxPrompt | None:
        self._divide()
        for name in self._logged:  # drawn before, and not answered
            prompt = self.inbox.prompts.get(name)
            drawn = prompt is not None and prompt.why_asked is WhyAsked.AUDIT
            if drawn and self._is_open(name) and self._ask(name, None, WhyAsked.AUDIT):
                return self.inbox.prompts[name]
        names = [*self._logged]
        while True:
            queue = self._queue()
            pending = [self._logged[name] for name in self._taken if name in self._logged]
            question = queue.next_audited(pending)
            if queue.drawn:  # with a label that they have: nobody is asked
                self.inbox.ask(
                    {names[drawn.row]: drawn.chance for drawn in queue.drawn}, WhyAsked.AUDIT
                )
            if question is None:
                return None
            name = names[question.row]
            if self._ask(name, question.chance, WhyAsked.AUDIT):
                return self.inbox.prompts[name]

    def _divide(self) -> None:
        """Keep the strata before the first prompt is drawn from them."""
        if self.purpose not in self._divided:
            strata = self._queue().strata.tolist()
            self.inbox.divide(dict(zip(self._logged, strata, strict=True)))
            self._divided.add(self.purpose)

    def _chosen(self) -> InboxPrompt | None:
        while self._first:
            name = self._first.pop(0)
            if self._is_open(name) and self._ask(name, None, WhyAsked.CHOSEN):
                return self.inbox.prompts[name]
        log, unwritten = self._log, self._labels
        while True:
            queue = LabelQueue(log.scores, [log.belonging], vectors=log.vectors)
            for row, name in enumerate(log.ids):
                label = unwritten.get(name, self._label(name))
                if label is not None:
                    queue.choose(row, label)
                elif not self._is_open(name):
                    queue.set_aside(row)
            question = queue.next_chosen(log.cut)
            if question is None:
                return None
            name = log.ids[question.row]
            if self._ask(name, None, WhyAsked.CHOSEN):
                return self.inbox.prompts[name]

    def _ask(self, name: str, chance: float | None, why: WhyAsked) -> bool:
        """Take a prompt; return False if somebody else has it, or has answered."""
        free = bool(self.inbox.ask({name: chance}, why))
        if not free:
            self._taken.add(name)
        return free

    def _is_open(self, name: str) -> bool:
        """Return whether a prompt may be asked: it has no answer, and nobody else is asked."""
        prompt = self.inbox.prompts.get(name)
        return (
            prompt is not None
            and prompt.state is State.UNLABELLED
            and name not in self._unwritten
            and name not in self._taken
        )

    def _label(self, name: str) -> bool | None:
        prompt = self.inbox.prompts.get(name)
        return None if prompt is None else prompt.expected

    # --- answers --------------------------------------------------------------------------

    def give(self, prompt: InboxPrompt, answer: Answer, reason: str = "") -> Given:
        """Take an answer; `write` puts it on disk."""
        given = Given(prompt, answer, reason, self._verdicts(prompt))
        self.given.append(given)
        self._unwritten[prompt.id] = given
        return given

    def write(self) -> list[GuardtuiError]:
        """Write all answers that are not on disk; return why some are still not.

        An answer to a prompt that somebody else answered or removed meanwhile is given up, with an
        InboxError: theirs stands.
        """
        problems: list[GuardtuiError] = []
        for name, given in list(self._unwritten.items()):
            try:
                self._write(given)
            except InboxError as theirs:
                self.given.remove(given)
                problems.append(theirs)
            except GuardtuiError as problem:
                problems.append(problem)
                continue
            del self._unwritten[name]
        return problems

    def _write(self, given: Given) -> None:
        def write() -> None:
            theirs = self.inbox.prompts.get(given.prompt.id)
            is_answered = theirs is not None and theirs.state is not State.UNLABELLED
            if theirs is not None and is_answered and theirs.expected is not given.answer.label:
                raise LabelledMeanwhileError(theirs)  # read with others since it was shown
            if given.answer.label is None:
                self.inbox.set_aside(given.prompt.id, given.reason)
            else:
                self.inbox.label(given.prompt.id, given.answer.label, given.reason)

        try:
            write()
        except PromptsChangedError:  # while it was being written
            write()

    @property
    def unwritten(self) -> int:
        """Number of answers that are not on disk."""
        return len(self._unwritten)

    def put_back(self, prompt: InboxPrompt) -> None:
        """Ask a prompt again that was drawn and got no answer."""
        self._again.append(prompt.id)

    def undo(self) -> InboxPrompt | None:
        """Take back the last answer of this sitting; return its prompt, to be asked again.

        None if there is none. Raises FileError, and LabelledMeanwhileError if somebody else changed
        it since.
        """
        if not self.given:
            return None
        given = self.given[-1]
        if self._unwritten.pop(given.prompt.id, None) is None:
            self.inbox.undo(given.prompt.id)  # others may have been written after it
        self.given.pop()
        return self.inbox.prompts[given.prompt.id]

    def _verdicts(self, prompt: InboxPrompt) -> tuple[Verdict, ...]:
        row = self._log.ids.index(prompt.id)
        score = float(self._log.scores[row])
        logged = [
            Verdict(
                verdict.guardrail or "the guardrail",
                None if verdict.triggered is None else says_it_belongs(verdict, self._intent),
                definition=self._definition_of(verdict),
            )
            for verdict in prompt.production
        ]
        return (*logged, Verdict(ENGINE_NAME, bool(self._log.belonging[row]), score))

    # --- where it stands ------------------------------------------------------------------

    @property
    def standing(self) -> Standing:
        """Counts of the inbox, with answers that are not on disk yet."""
        own = self.inbox.own
        waiting = sum(self._is_waiting(prompt) for prompt in own)
        labelled = sum(prompt.state is State.LABELLED for prompt in own)
        return Standing(
            waiting, labelled, changes_text(self.inbox.prompts.values(), datetime.now(UTC))
        )

    def _is_waiting(self, prompt: InboxPrompt) -> bool:
        return prompt.state is State.UNLABELLED and prompt.id not in self._unwritten

    def line(self) -> str:
        """Return what the next labels are for, and when to stop, in two lines or three."""
        if self.purpose is Purpose.CHOSEN:
            return self._line_of_chosen()
        what, beside = f"{_ABOUT_EDIT} {self._log.compared_by}", self._by_guardrail
        if self.purpose is Purpose.AUDIT:
            what = f"to measure {self._log.who} in production, by a random sample of the log"
            beside = ""
        return "\n".join(filter(None, (what, self._queue().line, beside)))

    def _line_of_chosen(self) -> str:
        chosen = sum(given.prompt.why_asked is WhyAsked.CHOSEN for given in self.given)
        left = max(0, self._wanted - chosen)
        line = "to improve edits, by prompts that teach most; they do not count as production"
        if not self._wanted:
            return line
        if not left:
            return f"{line}\nenough"
        return f"{line}\nstop at any time; about {left} more would tell whether an edit helps"

    def audit(self) -> Audit | None:
        """Return the rates in production, or None before the first estimate."""
        return rates_of(audit_queue(self.inbox.prompts, self._log, self._labels), self._log)

    @property
    def _labels(self) -> dict[str, bool | None]:
        """Labels that are not on disk yet, by id; None is set aside."""
        return {name: given.answer.label for name, given in self._unwritten.items()}

    def _queue(self) -> LabelQueue:
        compare = self.purpose is Purpose.COMPARE
        return audit_queue(self.inbox.prompts, self._log, self._labels, compare=compare)
