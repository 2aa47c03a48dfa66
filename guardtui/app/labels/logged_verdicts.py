"""What guardrails said in production: whose verdicts they are, of which definition, as iterations.

A verdict counts only if guardrail and definition are known: the author stated them when the log was
added, or a recorded iteration has the definition or the revision that the log names. They are never
guessed.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guardtui.app.guardrails.choice import identity_of
from guardtui.app.guardrails.named import find_guardrail
from guardtui.app.labels.inbox import Added, Inbox, InboxError
from guardtui.app.labels.judged_log import Pairs, says_it_belongs
from guardtui.domain.comparison import compare, verdicts_for
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import change_interval_text, count_text
from guardtui.domain.guardrail import (
    AIRS,
    JUDGE,
    REMOTE,
    Guardrail,
    ScannerSettings,
    badge,
    guardrail_text,
    matches,
    revision_of,
)
from guardtui.domain.inbox import InboxPrompt, Production
from guardtui.domain.prompts import PromptSet, PromptSetError
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import (
    Triggered,
    Verdict,
    VerdictColumns,
    Verdicts,
    is_answered,
)
from guardtui.files.prompt_files import load_prompts
from guardtui.files.prompt_logs import LoggedPrompt
from guardtui.files.topic_files import load_topic
from guardtui.session.prompt_file import usual_reading
from guardtui.session.report_reader import has_iterations
from guardtui.session.session import Decision, Iteration, Recorder, Session
from guardtui.session.session_file import has_session
from guardtui.session.store import SessionStore
from guardtui.session.workspace import now

UNKNOWN = "which definition answered is not known"
THIS = "with this definition"

_SETTING = "log-verdicts"
"""Statements on verdicts of logs among the settings of a session: a list of objects."""

_KINDS = (AIRS, JUDGE)
_SHOWN = 60  # characters of a name
_REVISION = 12
_REMEDY = (
    "guardtui inbox add TOPIC LOG --guardrail NAME says which guardrail and definition they are of"
)


@dataclass(frozen=True, slots=True)
class VerdictSource:
    """The guardrail and the definition that verdicts of a log are of."""

    settings: ScannerSettings
    topic: Topic


class VerdictSources:
    """Finds the source of verdicts of a log, in the session of a topic file as it is now."""

    def __init__(self, topic: Path, inbox: Inbox, edited: Topic | None = None) -> None:
        """`edited` is a definition that is not saved. Raises FileError and StoreError."""
        self.topic_path = topic
        self._own = _definition(topic, inbox)
        self._edited = self._own if edited is None else edited
        self._stated: dict[tuple[str, str], VerdictSource] = {}
        iterations: list[Iteration] = []
        if has_session(topic):
            store = SessionStore(topic, reading=True)
            self._stated = _read(store.setting(_SETTING))
            iterations = store.iterations() if has_iterations(topic) else []
        self.iterations: Sequence[Iteration] = iterations
        """The iterations of the session."""
        self._remote = [
            iteration for iteration in iterations if iteration.evaluation.settings.kind in REMOTE
        ]
        self._known: dict[tuple[str, str], VerdictSource | None] = {}

    def of(self, production: Production) -> VerdictSource | None:
        """Return the source of a verdict, or None if it is not known."""
        judge = production.judge
        if judge not in self._known:
            self._known[judge] = self._stated.get(judge) or self._recorded(*judge)
        return self._known[judge]

    def _recorded(self, name: str, definition: str) -> VerdictSource | None:
        """Return the source that recorded iterations, or the topic file, have by these names."""
        guardrail = self.guardrail(name) if name and definition else None
        if guardrail is None:
            return None
        recorded = [
            VerdictSource(iteration.evaluation.settings, iteration.evaluation.topic)
            for iteration in self._remote
            if iteration.evaluation.settings.guardrail == guardrail
            and definition in _revisions(iteration.evaluation.settings)
        ]
        if recorded:
            same = all(source.topic == recorded[0].topic for source in recorded)
            return recorded[0] if same else None
        for topic in (
            self._own,
            self._edited,
            *(iteration.evaluation.topic for iteration in self.iterations),
        ):
            if topic.fingerprint == definition:
                return VerdictSource(ScannerSettings(guardrail), topic)
        return None

    def guardrail(self, name: str) -> Guardrail | None:
        """Return the guardrail of a name or an address, as it is recorded or would be.

        None if there is none, or if several are recorded by that name.
        """
        try:
            named = find_guardrail(name, self.topic_path)
        except GuardtuiError:
            return None
        if named.kind not in _KINDS or (named.kind == AIRS and not named.guardrail.profile):
            return None
        identity = None
        with contextlib.suppress(GuardtuiError):
            identity = identity_of(named)
        recorded = {iteration.evaluation.settings.guardrail: None for iteration in self._remote}
        found = matches(named.guardrail, recorded)
        # A sandbox on this machine is not the service that wrote the log.
        found = [
            guardrail
            for guardrail in found
            if identity is None or guardrail.sandbox == identity.sandbox
        ]
        if found:
            return found[0] if len(found) == 1 else None
        return identity

    def words(self, production: Production, topic: Topic) -> str:
        """Return the definition that answered, as it is called beside `topic`."""
        source = self.of(production)
        if source is None:
            return UNKNOWN
        if source.topic == topic:
            return THIS
        numbers = [
            iteration.number
            for iteration in self.iterations
            if iteration.evaluation.topic == source.topic
        ]
        return f"with the definition of #{numbers[0]}" if numbers else "with an earlier definition"

    def pairs(self, prompts: Sequence[InboxPrompt], before: Topic, after: Topic) -> Pairs | None:
        """Return what the guardrail that said most in production said by both definitions, or None.

        What it was asked of labelled prompts is not among it: in an audit, verdicts must be known
        without regard to which prompts have a label.
        """
        said: dict[Guardrail, dict[Topic, dict[int, Production]]] = {}
        for row, prompt in enumerate(prompts):
            for verdict in prompt.production:
                source = self.of(verdict)
                if source is not None and source.topic in (before, after):
                    by_topic = said.setdefault(source.settings.guardrail, {})
                    rows = by_topic.setdefault(source.topic, {})
                    rows[row] = rows[row].joined(verdict) if row in rows else verdict
        best: Pairs | None = None
        for guardrail, by_topic in said.items():
            both, belong = np.ones(len(prompts), bool), np.zeros((2, len(prompts)), bool)
            for index, topic in enumerate((before, after)):
                judged = np.zeros(len(prompts), bool)
                for row, verdict in by_topic.get(topic, {}).items():
                    judged[row] = verdict.triggered is not None
                    belong[index, row] = says_it_belongs(verdict, topic.intent)
                both &= judged
            if both.any() and (best is None or both.sum() > best.both.sum()):
                best = Pairs(guardrail.badge(), both, belong)
        return best

    def compared(self, prompts: Iterable[InboxPrompt], before: Topic, after: Topic) -> str:
        """Return how a guardrail's own verdicts on labelled prompts compare two definitions, or "".

        It is the one that answered last by the second of them, of those that answered by both.
        """
        labels = {
            int(prompt.id, 16): prompt.expected for prompt in prompts if prompt.expected is not None
        }
        keys, expected = np.array([*labels], np.uint64), np.array([*labels.values()], np.bool_)
        for newest in reversed(self._remote):
            settings = newest.evaluation.settings
            if newest.evaluation.topic != after:
                continue
            then, since = (self._answered(settings, topic, keys) for topic in (before, after))
            rows = is_answered(then.triggered) & is_answered(since.triggered)
            first, second = (
                Evaluation(topic, settings, "", keys[rows], expected[rows], _chosen(verdicts, rows))
                for topic, verdicts in ((before, then), (after, since))
            )
            comparison = compare(first, second)
            value = comparison.deltas["coverage"]
            change = comparison.significance.intervals["coverage"]
            if value is None or change is None:
                continue
            count = count_text(int(rows.sum()), "labelled prompt")
            figures = change_interval_text(value, change.low, change.high)
            return f"{badge(settings)}, on {count} that it judged by both: coverage {figures}"
        return ""

    def _answered(
        self, settings: ScannerSettings, topic: Topic, keys: NDArray[np.uint64]
    ) -> Verdicts:
        """Return all that a guardrail answered by a definition, the newer of two answers."""
        verdicts = VerdictColumns(len(keys)).verdicts()
        for recorded in self._remote:
            evaluation = recorded.evaluation
            same = evaluation.settings.guardrail == settings.guardrail
            if same and evaluation.topic == topic:
                verdicts = verdicts.completed(verdicts_for(evaluation, keys))
        return verdicts

    def state(self, name: str, iteration: int | None = None) -> LogStatement:
        """Return, and keep, the statement that a log has verdicts of a guardrail.

        Their definition is that of the topic file, or of an `iteration`. Raises InboxError, and
        GuardrailError or ConfigurationError for another name.
        """
        named = find_guardrail(name, self.topic_path)
        if named.kind not in _KINDS:
            problem = "only verdicts of AIRS and of judges are taken from a log"
            raise InboxError(f"{name}: {problem}\n  those of other guardrails have a score, too")
        topic = self._own
        if iteration is not None:
            chosen = [
                recorded.evaluation.topic
                for recorded in self.iterations
                if recorded.number == iteration
            ]
            if not chosen:
                problem = f"there is no iteration #{iteration}"
                raise InboxError(f"{self.topic_path}: {problem}\n  guardtui history lists them")
            topic = chosen[0]
        guardrail = self.guardrail(name) or identity_of(named)
        source = VerdictSource(ScannerSettings(guardrail), topic)
        key = (name, topic.fingerprint)
        before = self._stated.get(key, source)
        if before.settings.guardrail != guardrail:
            # Verdicts of an earlier log would become those of another guardrail.
            other = guardrail_text(before.settings)
            raise InboxError(
                f"{name}: an earlier log has verdicts by this name, of {other}\n"
                "  give this guardrail another name in guardrails.yaml"
            )
        if key not in self._stated:
            self._stated[key] = source
            self._known.clear()
            SessionStore(self.topic_path).change_setting(
                _SETTING, lambda before: _written(_read(before) | {key: source})
            )
        return LogStatement(self, name, source)

    def told(self, inbox: Inbox) -> list[str]:
        """Return for each guardrail and definition how many verdicts an inbox has, in words."""
        judges = Counter[tuple[Production, bool]]()
        for prompt in inbox.prompts.values():
            for verdict in prompt.production:
                key = Production(True, verdict.guardrail, verdict.definition)
                judges[key, verdict.triggered is None] += 1
        lines, unknown = [], False
        for (judge, both), count in judges.items():
            who = display_start(judge.guardrail or "a guardrail without a name", _SHOWN)
            if both:
                prompts = count_text(count, "prompt")
                lines.append(f"{who} gave both answers to {prompts}: used for nothing")
                continue
            words = self.words(judge, self._own)
            unknown |= words == UNKNOWN
            verdicts = f"{count_text(count, 'verdict')} of {who} in production"
            if words != UNKNOWN:
                lines.append(f"{verdicts} {words}")
                continue
            revision = display_start(judge.definition, _REVISION)
            lines.append(f"{verdicts}{revision and f' ({revision})'}, {UNKNOWN}")
        return [*lines, f"  {_REMEDY}"] if unknown else lines


@dataclass(slots=True)
class LogStatement:
    """The author's word that verdicts of a log are of a guardrail with a definition.

    It covers those without a name and those of this guardrail. `others` counts verdicts of other
    guardrails by name, and `definitions` those of a revision that is known to have another
    definition: both stay as the log has them. `revisions` counts verdicts of the others that the
    log names.
    """

    sources: VerdictSources
    name: str
    source: VerdictSource
    others: Counter[str] = field(default_factory=Counter)
    definitions: int = 0
    revisions: Counter[str] = field(default_factory=Counter)
    _same: dict[str, bool] = field(default_factory=dict)

    def applied(self, logged: Iterable[LoggedPrompt]) -> Iterator[LoggedPrompt]:
        """Yield the prompts, with what the statement says of their verdicts."""
        for prompt in logged:
            if prompt.production:
                said = tuple(map(self._applied, prompt.production))
                yield replace(prompt, production=said)
            else:
                yield prompt

    def _applied(self, production: Production) -> Production:
        if not self._is_meant(production.guardrail):
            self.others[production.guardrail] += 1
            return production
        known = self.sources.of(production)
        if known is not None and known.topic != self.source.topic:
            self.definitions += 1
            return production
        if known is None and production.definition:
            self.revisions[production.definition] += 1
        fingerprint = self.source.topic.fingerprint
        return replace(
            production, guardrail=self.name, definition=fingerprint, logged=production.judge
        )

    def _is_meant(self, name: str) -> bool:
        if name not in self._same:
            guardrail = self.source.settings.guardrail
            without_profile = name == AIRS == guardrail.kind
            same = name in ("", self.name) or without_profile
            self._same[name] = same or self.sources.guardrail(name) == guardrail
        return self._same[name]

    @property
    def problems(self) -> list[str]:
        """Sentences on verdicts that it does not cover, or covers only if the author is right."""
        sentences = []
        for name, count in self.others.items():
            who = display_start(name, _SHOWN)
            verdicts = count_text(count, "verdict")
            sentences.append(
                f"{verdicts} of {who}, not of {self.name}: left as the log has them (is it the "
                "same? name it so in guardrails.yaml)"
            )
        if self.definitions:
            verdicts = count_text(self.definitions, "verdict")
            sentences.append(f"{verdicts} of another definition, by their revision: left so")
        if self.revisions:
            names = ", ".join(display_start(name, _REVISION) for name in [*self.revisions][:3])
            verdicts = count_text(self.revisions.total(), "verdict")
            several = count_text(len(self.revisions), "revision")
            sentences.append(
                f"{verdicts} of {several} that no iteration has ({names}): taken as this definition"
            )
        return sentences


def add_logged(
    inbox: Inbox,
    topic: Path,
    logged: Iterable[LoggedPrompt],
    guardrail: str = "",
    iteration: int | None = None,
) -> tuple[Added, list[str]]:
    """Add prompts of logs to an inbox; return their numbers, and what is known of their verdicts.

    With a `guardrail`, verdicts are stated to be its own, as `VerdictSources.state`, which says
    what is raised.
    """
    sources = VerdictSources(topic, inbox)
    if not guardrail:
        return inbox.add(logged), sources.told(inbox)
    statement = sources.state(guardrail, iteration)
    added = inbox.add(statement.applied(logged))
    return added, [*statement.problems, *sources.told(inbox)]


def _chosen(verdicts: Verdicts, rows: NDArray[np.bool_]) -> Verdicts:
    """Return the answers of some rows (bool [N]), without what else is known of them."""
    return Verdicts(verdicts.triggered[rows], verdicts.score[rows], verdicts.matched[rows])


def _definition(path: Path, inbox: Inbox) -> Topic:
    """Return the definition of a topic file; without an intent it has that of the prompts."""
    file = load_topic(path)
    if not file.intent_given:
        with contextlib.suppress(GuardtuiError):
            reading = usual_reading(path, inbox.set_path)
            intent = load_prompts(inbox.set_path, file.topic.intent, reading).intent
            return file.topic.model_copy(update={"intent": intent})
    return file.topic


def _read(value: object) -> dict[tuple[str, str], VerdictSource]:
    """Return the statements of a setting; what nobody wrote is none."""
    stated = {}
    for entry in value if isinstance(value, list) else ():
        with contextlib.suppress(ValueError, TypeError, LookupError, AttributeError):
            topic = Topic.model_validate(entry["topic"])
            source = VerdictSource(ScannerSettings(Guardrail.from_json(entry["guardrail"])), topic)
            stated[str(entry["name"]), topic.fingerprint] = source
    return stated


def _written(stated: Mapping[tuple[str, str], VerdictSource]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "guardrail": source.settings.guardrail.to_json(),
            "topic": source.topic.model_dump(mode="json"),
        }
        for (name, _), source in stated.items()
    ]


def _revisions(settings: ScannerSettings) -> tuple[str, ...]:
    """Return the number and the id of the revision of a profile, if they are known."""
    if settings.kind != AIRS or not settings.revision:
        return ()
    identity = settings.revision.partition("(")[2].rstrip(")").strip()
    return tuple(filter(None, (revision_of(settings), identity)))


# --- as iterations ------------------------------------------------------------------------------


def record_logged(inbox: Inbox, topic: Path) -> tuple[Iteration, ...]:
    """Record the verdicts of known source on labelled prompts; return the changed iterations.

    Each guardrail and definition has one iteration by `Recorder.LOG`, which grows with the labels,
    until somebody decides on it or a scan completes it: other verdicts are another iteration then.
    Prompts without a verdict are open, and so are those whose label was taken back. A prompt with
    two answers has none. Blocks. Raises StoreError and FileError.
    """
    if not any(prompt.production for prompt in inbox.prompts.values()):
        return ()
    sources = VerdictSources(topic, inbox)
    answers: dict[VerdictSource, dict[str, Production]] = {}
    for prompt in inbox.prompts.values():
        if prompt.expected is None:
            continue
        for production in prompt.production:
            source = sources.of(production)
            if source is not None:
                said = answers.setdefault(_of_any_revision(source), {})
                before = said.get(prompt.id)
                said[prompt.id] = production if before is None else before.joined(production)
    for iteration in filter(is_growing, sources.iterations):
        # Without an answer its labels were taken back.
        if not any(_is_of(iteration, source) for source in answers) and _is_from(iteration, inbox):
            answers[VerdictSource(iteration.evaluation.settings, iteration.evaluation.topic)] = {}
    if not answers:
        return ()
    reading = usual_reading(topic, inbox.set_path)
    try:
        prompts = load_prompts(inbox.set_path, load_topic(topic).topic.intent, reading)
    except PromptSetError:  # labels of one class only, until more are labelled
        return ()
    store = SessionStore(topic)
    store.use_prompt_file(str(inbox.set_path.resolve()))
    recorded = (_record(store, source, said, prompts) for source, said in answers.items())
    return tuple(iteration for iteration in recorded if iteration is not None)


def _of_any_revision(source: VerdictSource) -> VerdictSource:
    return replace(source, settings=replace(source.settings, revision=""))


def _record(
    store: SessionStore, source: VerdictSource, said: Mapping[str, Production], prompts: PromptSet
) -> Iteration | None:
    """Record verdicts by the ids of their prompts; return the iteration if it is new or changed."""
    while True:
        iterations = store.iterations()
        same = [iteration for iteration in iterations if _is_of(iteration, source)]
        growing = [iteration for iteration in same if is_growing(iteration)]
        others = [iteration.evaluation for iteration in same if not is_growing(iteration)]
        evaluation = _evaluation(source, said, prompts, others)
        if not growing:
            if not evaluation.metrics.total:
                return None
            session = Session(source.topic, iterations)
            planned = session.next_iteration(evaluation, Decision.UNDECIDED, now())
            changed = store.add_planned(replace(planned, by=Recorder.LOG))
        elif _says(growing[-1].evaluation) == _says(evaluation):
            return None
        else:
            changed = store.replace_evaluation(replace(growing[-1], evaluation=evaluation))
        if changed is not None:
            return changed


def _is_of(iteration: Iteration, source: VerdictSource) -> bool:
    evaluation = iteration.evaluation
    same = evaluation.settings.guardrail == source.settings.guardrail
    return iteration.by.has_log and same and evaluation.topic == source.topic


def _is_from(iteration: Iteration, inbox: Inbox) -> bool:
    """Return whether the prompts with a verdict are in an inbox, and not in that of another set."""
    evaluation = iteration.evaluation
    keys = evaluation.keys[evaluation.verdicts.triggered >= Triggered.NO].tolist()
    return all(f"{key:016x}" in inbox.prompts for key in keys)


def is_growing(iteration: Iteration) -> bool:
    """Return whether an iteration has only verdicts of logs, and gets those of further labels."""
    return iteration.by is Recorder.LOG and iteration.decision is Decision.UNDECIDED


def _evaluation(
    source: VerdictSource,
    said: Mapping[str, Production],
    prompts: PromptSet,
    others: Sequence[Evaluation],
) -> Evaluation:
    """Return the verdicts on the prompts of a set, without those that `others` have already."""
    columns = VerdictColumns(len(prompts))
    answered = {
        int(key)
        for evaluation in others
        for key in evaluation.keys[evaluation.verdicts.triggered >= Triggered.NO].tolist()
    }
    for row, key in enumerate(prompts.keys.tolist()):
        verdict = said.get(f"{key:016x}")
        if verdict is not None and verdict.triggered is not None and key not in answered:
            columns.put([row], Verdict(Triggered(verdict.triggered), topics=verdict.topics))
    return Evaluation(
        source.topic,
        source.settings,
        prompts.fingerprint,
        prompts.keys,
        prompts.expected,
        columns.verdicts(),
    )


def _says(evaluation: Evaluation) -> tuple[object, ...]:
    """Return what is compared to see whether a log says something new."""
    triggered = evaluation.verdicts.triggered
    rows = np.flatnonzero(triggered >= Triggered.NO)
    columns = (evaluation.keys, evaluation.expected, triggered)
    return tuple(zip(*(column[rows].tolist() for column in columns), strict=True))
