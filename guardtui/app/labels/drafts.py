"""Drafts of near misses and rephrasings for the inbox of a topic, by rules or by a writer model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from guardtui.advice.drafts import Draft, Source, drafts_by_rules, examples_of
from guardtui.advice.model_drafts import WrittenDrafts, read_drafts, request, shown_sources
from guardtui.app.advice.writer_call import WriterCall
from guardtui.app.labels.inbox import Inbox
from guardtui.domain.figures import count_text
from guardtui.domain.guardrail import badge
from guardtui.domain.inbox import InboxPrompt, prompt_id
from guardtui.domain.prompts import split_column
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic
from guardtui.domain.verdicts import is_wrong
from guardtui.files.prompt_files import load_prompts
from guardtui.files.prompt_logs import LoggedPrompt
from guardtui.scanners.models.judge import JudgeOptions
from guardtui.session.report_reader import recorded_topics
from guardtui.session.store import SessionStore

DRAFTS = 20
"""Usual number of drafts."""
NO_DRAFT = "no new draft: the rules know English sentences such as “How do I …?”"
_SHOWN = 60


@dataclass(frozen=True)
class DraftMaterial:
    """What drafts for an inbox are made from.

    `belonging` are the topic's examples and the prompts that belong to it, `missed` those of the
    prompts that were not matched in the newest iteration, by the guardrail `missed_by`: without
    any, all prompts that belong, and "".
    """

    inbox: Inbox
    topic: Topic
    belonging: tuple[Source, ...]
    missed: tuple[Source, ...]
    missed_by: str = ""

    @classmethod
    def of(cls, topic: Topic, topic_path: Path, inbox: Inbox) -> DraftMaterial:
        """Return the material of a topic, with the session of its file.

        Raises FileError, PromptSetError and StoreError.
        """
        prompts = _belonging(topic, inbox)
        examples = examples_of(topic)
        keys, guardrail = _missed(topic_path)
        missed = tuple(prompt for prompt in prompts if prompt_id(prompt.text) in keys)
        belonging = (*examples, *prompts)
        if not missed:
            return cls(inbox, topic, belonging, tuple(prompts) or belonging)
        return cls(inbox, topic, belonging, missed, guardrail)

    @property
    def known(self) -> list[str]:
        """The texts that a draft must not repeat: of the set, the inbox, and the topic."""
        return [*self.topic.examples, *(prompt.text for prompt in self.inbox.prompts.values())]

    def by_rules(self, number: int) -> list[Draft]:
        """Return at most so many drafts by rules, which are for English."""
        return drafts_by_rules(self.topic, self.belonging, self.missed, self.known, number)

    def call(self, writer: JudgeOptions, number: int) -> WriterCall[WrittenDrafts]:
        """Return a call to a writer for so many drafts; blocks.

        A cached answer of which all is known already is not used again.
        """
        belonging, missed = shown_sources(self.belonging, self.missed)
        shown = (*belonging, *missed)
        known = self.known
        messages = request(self.topic, belonging, missed, number)
        sent = f"the definition and {count_text(len(shown), 'prompt')} that belong to the topic"

        def read(answer: str) -> WrittenDrafts:
            return read_drafts(answer, shown, known, number)

        call = WriterCall(writer, messages, sent, read)
        is_spent = call.cached is not None and not call.cached.drafts
        return WriterCall(writer, messages, sent, read, fresh=True) if is_spent else call

    def told(self, added: Sequence[tuple[Draft, InboxPrompt]]) -> str:
        """Return how many drafts were added, and what was rephrased."""
        count = count_text(len(added), "draft")
        text = f"{count} added to {self.inbox.path.name}, in no figure until labelled"
        if not any(made.kind.is_rephrasing for made, _ in added):
            return text
        which = "prompts that belong, since the newest iteration missed none"
        if self.missed_by:
            which = f"{count_text(len(self.missed), 'missed prompt')} ({self.missed_by})"
        return f"{text}\nrephrased: {which}"

    def add(self, drafts: Sequence[Draft], model: str = "") -> list[tuple[Draft, InboxPrompt]]:
        """Put drafts into the inbox, unlabelled; return those that nobody put there meanwhile."""
        start = f"draft by {display_start(model, _SHOWN)}" if model else "draft"
        before = set(self.inbox.prompts)
        self.inbox.add(
            LoggedPrompt(draft.text, f"{start}: {draft.origin}", draft=True, split=draft.split)
            for draft in drafts
        )
        self.inbox.refresh()
        ids = {prompt_id(draft.text): draft for draft in drafts}
        return [
            (draft, self.inbox.prompts[name])
            for name, draft in ids.items()
            if name not in before and name in self.inbox.prompts
        ]


def _belonging(topic: Topic, inbox: Inbox) -> list[Source]:
    if not any(prompt.expected for prompt in inbox.prompts.values()):
        return []
    prompts = load_prompts(inbox.set_path, topic.intent)
    rows = np.flatnonzero(prompts.expected)
    lines = prompts.frame["line"].gather(rows).to_list()
    texts = prompts.prompts.gather(rows).to_list()
    column = split_column(prompts.extra_columns)
    splits = [""] * len(texts)
    if column is not None:
        splits = prompts.frame[column].gather(rows).cast(pl.String).fill_null("").to_list()
    return [
        Source(text, f"line {line}", split)
        for text, line, split in zip(texts, lines, splits, strict=True)
    ]


def _missed(topic_path: Path) -> tuple[frozenset[str], str]:
    """Return ids of prompts that belong and were not matched in the newest iteration, and by whom.

    The guardrail is "" without an iteration.
    """
    if topic_path.name not in recorded_topics(topic_path.parent):
        return frozenset(), ""
    newest = SessionStore(topic_path, reading=True).newest_iteration()
    if newest is None:
        return frozenset(), ""
    evaluation = newest.evaluation
    keys = evaluation.keys[is_wrong(evaluation.codes) & evaluation.expected]
    ids = frozenset(f"{key:016x}" for key in keys.tolist())
    return ids, badge(evaluation.settings)
