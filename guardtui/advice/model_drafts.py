"""Drafts of near misses and rephrasings that a writer model makes: the request, and the answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from guardtui.advice.drafts import CHARACTERS, Draft, DraftKind, Source, Unknown
from guardtui.advice.model_answers import (
    SHOWN_CHARACTERS,
    SuggestionError,
    answered_rows,
    as_data,
    single_line,
)
from guardtui.domain.prompt_edit import text_problem
from guardtui.domain.text import display_start, hidden_characters
from guardtui.domain.topic import Topic

SHOWN_AT_MOST = 12
"""Maximum number of prompts of each sort that are shown to a model."""
DRAFTS_AT_MOST = 50
"""Maximum number of drafts that a model is asked for."""
_QUOTED = 60

_RULES = """\
You help to test the definition of a topic for a guardrail. You draft prompts as users of a chat \
assistant would type them; a person labels each of them afterwards. Write in the languages and in \
the style of the shown prompts. Keep requests for harm as general as the shown ones, and add no \
method. Two sorts are needed:
- Near misses have the words of the topic and another intent, so they do not belong to it. Kinds:
  "same subject, other wish", "advice into fact" (what is the same for everybody), \
"same request, other subject", "same word, other meaning", "the protector's side" (of a harm).
- Rephrasings of a prompt mean the same. Kinds: "question or wish" (one into the other), \
"formal", "casual", "shorter", "context before it"."""


@dataclass(frozen=True, slots=True)
class WrittenDrafts:
    """Drafts of an answer, how many of it exist already, and why others are invalid."""

    drafts: tuple[Draft, ...] = ()
    left_out: int = 0
    invalid: tuple[str, ...] = ()


def shown_sources(
    belonging: Sequence[Source], missed: Sequence[Source]
) -> tuple[tuple[Source, ...], tuple[Source, ...]]:
    """Return the prompts to show: some that belong, and some to rephrase, spread over each list."""
    first = tuple(missed[:: -(-len(missed) // SHOWN_AT_MOST) or 1])
    texts = {source.text for source in first}
    rest = [source for source in belonging if source.text not in texts]
    return tuple(rest[:: -(-len(rest) // SHOWN_AT_MOST) or 1]), first


def request(
    topic: Topic, belonging: Sequence[Source], missed: Sequence[Source], number: int
) -> list[dict[str, str]]:
    """Return the messages that ask for so many drafts; definition and prompts are data."""
    prompts = as_data(
        "The definition, and prompts that belong to the topic, by number",
        {
            "definition": {
                "name": topic.name,
                "description": topic.description,
                "examples": topic.examples,
            },
            "prompts": {
                "belong to the topic": _numbered(belonging, 1),
                "belong, and are to be rephrased": _numbered(missed, 1 + len(belonging)),
            },
        },
    )
    asked = (
        f"Draft {number} prompts, about half of them near misses, of all kinds that fit. Answer "
        "with JSON only, in this form:\n"
        '{"drafts": [{"kind": "advice into fact", "from": 3, "prompt": "…"}]}'
    )
    return [
        {"role": "system", "content": _RULES},
        {"role": "user", "content": f"{prompts}\n\n{asked}"},
    ]


def _numbered(sources: Sequence[Source], start: int) -> dict[str, str]:
    return {
        str(number): source.text[:SHOWN_CHARACTERS] for number, source in enumerate(sources, start)
    }


def read_drafts(
    text: str, shown: Sequence[Source], known: Iterable[str], number: int
) -> WrittenDrafts:
    """Return at most so many drafts of an answer, and why others are none.

    `shown` are the numbered prompts. Drafts with the words of a text in `known` are left out.
    Raises SuggestionError for an answer without valid drafts.
    """
    rows = answered_rows(text, "drafts")
    unknown = Unknown(known)
    drafts: list[Draft] = []
    invalid: list[str] = []
    for index, row in enumerate(rows[:number], start=1):
        try:
            draft = _read(row, shown)
        except (KeyError, TypeError, ValueError) as error:
            problem = str(error) if type(error) is ValueError else "it has no kind and prompt"
            invalid.append(f"draft {index}: {problem}")
            continue
        if unknown.takes(draft.text):
            drafts.append(draft)
    if len(rows) > number:
        invalid.append(f"{len(rows):,} drafts: only the first {number} are read")
    if not drafts and not unknown.left_out:
        raise SuggestionError("; ".join(invalid))
    return WrittenDrafts(tuple(drafts), unknown.left_out, tuple(invalid))


def _read(row: object, shown: Sequence[Source]) -> Draft:
    """Return one draft. Raises ValueError with the problem, KeyError and TypeError."""
    if not isinstance(row, dict):
        raise TypeError
    prompt, name = single_line(row["prompt"]), single_line(row["kind"])
    if not prompt:
        raise ValueError("it is empty")
    if len(prompt) > CHARACTERS:
        raise ValueError(f"it has {len(prompt):,} characters, more than {CHARACTERS}")
    if hidden_characters(prompt) or text_problem(prompt):
        raise ValueError("it has control or invisible characters")
    try:
        kind = DraftKind(name)
    except ValueError:
        quoted = display_start(name, _QUOTED)
        raise ValueError(f"“{quoted}” is no kind of draft") from None
    number = row.get("from")
    if isinstance(number, int) and 1 <= number <= len(shown):
        source = shown[number - 1]
        return Draft(prompt, kind, source.origin, source.split)
    return Draft(prompt, kind)
