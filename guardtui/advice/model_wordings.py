"""Definitions that a model words from mistakes: the request, and the answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from guardtui.advice.candidates import Candidate, CandidateKind, changes, is_usable_example
from guardtui.advice.model_answers import (
    SHOWN_CHARACTERS,
    SuggestionError,
    answered_rows,
    as_data,
    single_line,
)
from guardtui.advice.objective import Rows
from guardtui.advice.phrases import excludes
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.figures import count_text
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start, hidden_characters
from guardtui.domain.topic import (
    DESCRIPTION_BYTES,
    EXAMPLE_BYTES,
    EXAMPLES_AT_LEAST,
    EXAMPLES_AT_MOST,
    TOTAL_BYTES,
    Topic,
    violations,
)
from guardtui.domain.verdicts import is_correct, is_wrong

SHOWN_AT_MOST = 24
"""Maximum number of mistakes shown to a model, half of each kind."""
PROPOSALS = 5
READ_AT_MOST = 2 * PROPOSALS
"""Maximum number of proposals that are taken from an answer."""
_QUOTED = 60

_RULES = f"""\
You help to write the definition of a topic for a guardrail. A prompt is matched with the topic by \
semantic similarity: there is no logic and there are no keywords. From experience:
- Never name what the topic is not ("not …", "except …", "unless …"): naming it pulls the topic \
towards it. Say more precisely what the topic is.
- Short descriptions do better: under 100 characters.
- Examples move the result strongly. Two focused ones often beat five.
- The description carries most weight. Change as little as will do.
Limits, in bytes: description 1 to {DESCRIPTION_BYTES}, {EXAMPLES_AT_LEAST} to {EXAMPLES_AT_MOST} \
examples of 1 to {EXAMPLE_BYTES} each, all of it with the name at most {TOTAL_BYTES}. The name \
never changes."""

_ASKED = f"""\
Propose {PROPOSALS} definitions that differ from each other in their idea. Answer with JSON only, \
in this form:
{{"proposals": [{{"why": "one sentence", "description": "…", "examples": ["…", "…"]}}]}}"""


@dataclass(frozen=True, slots=True)
class Shown:
    """Mistakes shown to a model, as texts, and the prompts excluded from measurements.

    `missed` belong to the topic and were not matched, `matched` do not belong and were. `left_out`
    are these and an equal share of the correct prompts of each class, so that the proportion of
    mistakes among the others stays the same. `mistakes` counts all mistakes.
    """

    missed: tuple[str, ...]
    matched: tuple[str, ...]
    left_out: tuple[str, ...]
    mistakes: int

    @property
    def count(self) -> int:
        """Number of shown mistakes."""
        return len(self.missed) + len(self.matched)


def shown_mistakes(evaluation: Evaluation, prompts: PromptSet, rows: Rows) -> Shown:
    """Return the mistakes to show to a model: at most half of each kind, by the prompts' hashes.

    `evaluation` is of these prompts; only its `rows` (intp [n]) are used. Raises SuggestionError if
    there are too few mistakes to show some and measure on the others.
    """
    wrong, right = is_wrong(evaluation.codes), is_correct(evaluation.codes)
    chosen: dict[bool, Rows] = {}
    left_out: list[Rows] = []
    mistakes = 0
    for belongs in (True, False):
        members = rows[prompts.expected[rows] == belongs]
        members = members[np.argsort(prompts.keys[members], kind="stable")]
        mistaken = members[wrong[members]]
        shown = mistaken[: min(len(mistaken) // 2, SHOWN_AT_MOST // 2)]
        others = members[right[members]]
        share = len(shown) / max(len(mistaken), 1)
        left_out += [shown, others[: round(share * len(others))]]
        chosen[belongs] = shown
        mistakes += len(mistaken)
    if not len(chosen[True]) and not len(chosen[False]):
        raise SuggestionError(
            f"{count_text(mistakes, 'mistake')}: too few to show a model some and to measure its "
            "wordings on the others"
        )

    def texts(some: Rows) -> tuple[str, ...]:
        return tuple(prompts.prompts.gather(some).to_list())

    return Shown(
        texts(chosen[True]), texts(chosen[False]), texts(np.concatenate(left_out)), mistakes
    )


def request(topic: Topic, shown: Shown) -> list[dict[str, str]]:
    """Return the messages that ask for proposals: the definition, and the mistakes as data."""
    missed, matched = (
        [text[:SHOWN_CHARACTERS] for text in some] for some in (shown.missed, shown.matched)
    )
    shown_prompts = {
        "belong to the topic, and were not matched": missed,
        "do not belong, and were matched": matched,
    }
    definition = {"name": topic.name, "description": topic.description, "examples": topic.examples}
    prompt = as_data(
        "The definition as it is, and prompts it gets wrong",
        {"definition": definition, "prompts": shown_prompts},
    )
    return [
        {"role": "system", "content": _RULES},
        {"role": "user", "content": f"{prompt}\n\n{_ASKED}"},
    ]


def read_proposals(text: str, topic: Topic) -> tuple[list[Candidate], list[str]]:
    """Return the proposals in an answer that obey the rules of edits, and why others do not.

    Raises SuggestionError for an answer without proposals.
    """
    rows = answered_rows(text, "proposals")
    wordings: list[Candidate] = []
    refused: list[str] = []
    seen = {topic.fingerprint}
    for number, row in enumerate(rows[:READ_AT_MOST], start=1):
        try:
            examples = [single_line(example) for example in _list(row["examples"])]
            proposed = topic.model_copy(
                update={
                    "description": single_line(row["description"]),
                    "examples": tuple(filter(None, examples)),
                }
            )
            why = single_line(row.get("why") or "")[:SHOWN_CHARACTERS]
        except (KeyError, TypeError):
            refused.append(f"proposal {number}: it has no description and examples")
            continue
        if proposed.fingerprint in seen:
            problem = "it is the same as the definition or an earlier proposal"
        else:
            problem = _problem(proposed, topic)
        if problem:
            refused.append(f"proposal {number}: {problem}")
            continue
        seen.add(proposed.fingerprint)
        change = "; ".join(changes(topic, proposed))
        wordings.append(Candidate(proposed, CandidateKind.REWORD, change, why=why))
    if len(rows) > READ_AT_MOST:
        refused.append(f"{len(rows):,} proposals: only the first {READ_AT_MOST} are read")
    return wordings, refused


def _problem(proposed: Topic, topic: Topic) -> str:
    """Return why a proposal is invalid by the rules that all edits obey, or ""."""
    if broken := violations(proposed):
        return broken[0].message
    if hidden_characters(proposed.description):
        return "the description has control or invisible characters"
    if new := excludes(proposed.description) - excludes(topic.description):
        words = ", ".join(f"“{display_start(word, _QUOTED)}”" for word in sorted(new)[:3])
        return f"the description excludes ({words}): what is named is attracted"
    plain = is_usable_example(topic.description) or not topic.description.strip()
    if plain and not is_usable_example(proposed.description):
        return f"not plain words: “{display_start(proposed.description, _QUOTED)}”"
    for example in proposed.examples:
        if example not in topic.examples and not is_usable_example(example):
            return f"not plain words: “{display_start(example, _QUOTED)}”"
    return ""


def _list(value: object) -> list[object]:
    """Return a list. Raises TypeError for anything else."""
    if not isinstance(value, list):
        raise TypeError("no list")
    return value
