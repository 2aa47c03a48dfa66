"""Wordings of a definition: typed, or written by a language model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from guardtui.advice.candidates import Candidate, CandidateKind, same
from guardtui.advice.model_answers import SuggestionError
from guardtui.advice.model_wordings import Shown, read_proposals, request
from guardtui.app.advice.writer_call import WriterCall
from guardtui.domain.figures import count_text
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic, line_breaks, violations
from guardtui.files.json_rows import holds_lone_surrogate
from guardtui.files.problems import FileError
from guardtui.scanners.models.judge import JudgeOptions

_LARGEST = 256 * 1024
_SHOWN = 60
_TOLD = 5
"""Maximum number of problems in a message."""
_FORM = 'write [{"description": "…", "examples": ["…", "…"]}, "another description"]'


def read_wordings(path: Path, topic: Topic) -> list[Candidate]:
    """Read wordings from a file: a JSON list if it ends with `.json`, else a description a line.

    An entry of JSON is a description, or an object with it and `examples`. Raises FileError naming
    each line or entry that is invalid, beyond the limits, or repeated.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise FileError(path, "too large for a list of wordings", "give at most 256 KiB")
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(path, "not UTF-8", "save it as UTF-8") from error
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        raise FileError(path, why, "name a file with wordings") from error
    places: Mapping[str, Candidate | str] = _lines(text, topic)
    remedy = "write a description in each line"
    if path.suffix.lower() == ".json":
        places, remedy = _entries(path, text, topic), _FORM
    if not places:
        raise FileError(path, "no wordings in it", remedy)
    problems = _problems(places, topic)
    if problems:
        more = len(problems) - _TOLD
        told = [*problems[:_TOLD], *([f"and {more} more"] if more > 0 else [])]
        raise FileError(path, "; ".join(told), remedy)
    origins = ((f"{place} of {path.name}", wording) for place, wording in places.items())
    return [
        replace(wording, origin=origin)
        for origin, wording in origins
        if isinstance(wording, Candidate)
    ]


def _problems(places: Mapping[str, Candidate | str], topic: Topic) -> list[str]:
    """Return what is wrong with each wording, but not what is so with the definition at hand."""
    own = {violation.message for violation in violations(topic)}
    problems, seen = [], dict[object, str]()
    for place, wording in places.items():
        if isinstance(wording, str):
            problems.append(f"{place}: {wording}")
            continue
        broken = (*violations(wording.topic), *line_breaks(wording.topic))
        problems += [f"{place}: {each.message}" for each in broken if each.message not in own]
        first = seen.setdefault(same(wording.topic), place)
        if first != place:
            problems.append(f"{place}: the same as {first}")
    return problems


def _entries(path: Path, text: str, topic: Topic) -> dict[str, Candidate | str]:
    """Return the wording of each entry of a JSON list, or why it is none. Raises FileError."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise FileError(path, f"not JSON: {error.msg}", _FORM, error.lineno) from error
    except (ValueError, RecursionError) as error:  # a number beyond all limits, too many brackets
        raise FileError(path, "not JSON that can be read", _FORM) from error
    if not isinstance(data, list):
        raise FileError(path, "not a list", _FORM)
    return {f"entry {number}": _entry(value, topic) for number, value in enumerate(data, start=1)}


def _entry(value: object, topic: Topic) -> Candidate | str:
    known = {"description": value} if isinstance(value, str) else value
    if not isinstance(known, dict) or not isinstance(known.get("description"), str):
        return "not a description, nor an object with one"
    if other := sorted(known.keys() - {"description", "examples"}):
        return f"unknown key {display_start(other[0], _SHOWN)}"
    examples = known.get("examples", list(topic.examples))
    if not isinstance(examples, list) or not all(isinstance(text, str) for text in examples):
        return "its examples are not a list of texts"
    if holds_lone_surrogate("".join((known["description"], *examples))):
        return "it holds half of a surrogate pair, which is not a character: remove it"
    return _typed(topic, known["description"], examples)


def _typed(topic: Topic, description: str, examples: Sequence[str]) -> Candidate:
    texts = {"description": description.strip(), "examples": tuple(map(str.strip, examples))}
    return typed_wording(topic.model_copy(update=texts), "")


def typed_wordings(text: str, topic: Topic, source: str) -> list[Candidate]:
    """Return a wording for each description, one a line; blank lines and lines with # are skipped.

    Their origin is the number of the line and `source`.
    """
    return [
        replace(wording, origin=f"{place} {source}")
        for place, wording in _lines(text, topic).items()
    ]


def _lines(text: str, topic: Topic) -> dict[str, Candidate]:
    lines = enumerate(map(str.strip, text.splitlines()), start=1)
    return {
        f"line {number}": _typed(topic, line, topic.examples)
        for number, line in lines
        if line and not line.startswith("#")
    }


def typed_wording(wording: Topic, origin: str) -> Candidate:
    """Return a definition as a candidate; `origin` says where its words are from."""
    change = f"Change the description to “{display_start(wording.description, _SHOWN)}”"
    return Candidate(wording, CandidateKind.TYPED, change, origin=origin)


# --- by a language model ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WrittenWordings:
    """Valid wordings of an answer, the mistakes its writer was shown, why others are invalid."""

    wordings: tuple[Candidate, ...]
    shown: Shown
    invalid: tuple[str, ...] = ()


def wording_call(
    writer: JudgeOptions, topic: Topic, shown: Shown, *, fresh: bool = False
) -> WriterCall[WrittenWordings]:
    """Return a call for wordings of a definition; blocks."""

    def read(answer: str) -> WrittenWordings:
        wordings, invalid = read_proposals(answer, topic)
        if not wordings:
            raise SuggestionError("; ".join(invalid))
        origin = f"the model {display_start(writer.name, _SHOWN)}"
        known = tuple(replace(wording, origin=origin) for wording in wordings)
        return WrittenWordings(known, shown, tuple(invalid))

    sent = f"the definition and {count_text(shown.count, 'prompt')} it gets wrong"
    return WriterCall(writer, request(topic, shown), sent, read, fresh=fresh)
