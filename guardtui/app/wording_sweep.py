"""Wordings to try on a decision model: those that are found, typed or written by a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np

from guardtui.advice.candidates import Kind, candidates, same
from guardtui.advice.engine_objective import EngineObjective
from guardtui.advice.engine_scores import open_scores
from guardtui.advice.measured_rows import MeasuredRows
from guardtui.advice.objective import Stopped, material_of, unchanged
from guardtui.advice.search import advise
from guardtui.advice.splits import Split
from guardtui.advice.suggest import read_proposals, request, shown_mistakes
from guardtui.advice.wordings import Wording
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic, describe_changes
from guardtui.files.problems import FileError
from guardtui.scanners.base import Report
from guardtui.scanners.decision.many import ManyQuestions
from guardtui.scanners.decision.scanner import DecisionScanner
from guardtui.scanners.local.scanner import LocalScanner

WORDINGS = 60
"""Wordings that are tried unless the author wants another number, with the one at hand."""

HERE = "the definition"
"""Origin of the wording at hand."""

_MOST = 2000
_LARGEST = 256 * 1024
_SHOWN = 60


def read_wordings(path: Path, topic: Topic) -> list[Wording]:
    """Descriptions that the author typed, one a line; blank lines and those from # on are none.

    Raises FileError naming the line.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise FileError(path, "too large for a list of wordings", "give at most 256 KiB")
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(path, "not UTF-8", "save it as UTF-8") from error
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        raise FileError(path, why, "name a text file with a description in each line") from error
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        description = line.strip()
        if not description or description.startswith("#"):
            continue
        edited = topic.model_copy(update={"description": description})
        change = f"Change the description to “{display_start(description, _SHOWN)}”"
        found.append(Wording(edited, change, f"line {number} of {path.name}"))
    if not found:
        raise FileError(path, "no wordings in it", "write a description in each line")
    return found


async def written_wordings(
    ask: Callable[[list[dict[str, str]]], Awaitable[str]],
    topic: Topic,
    evaluation: Evaluation,
    prompts: PromptSet,
    split: Split,
) -> list[Wording]:
    """Wordings that a language model writes after it was shown mistakes, none of held-out prompts.

    `ask` gives its answer to messages. `evaluation` is of these prompts, by any guardrail. Raises
    SuggestionError and what `ask` raises.
    """
    shown = shown_mistakes(evaluation, prompts, split.search_rows)
    answer = await ask(request(topic, shown))
    proposals, _ = read_proposals(answer, topic)
    return [
        Wording(one.topic, "; ".join(describe_changes(topic, one.topic)), "a language model")
        for one in proposals
    ]


def shortlist(
    engine: LocalScanner,
    topic: Topic,
    prompts: PromptSet,
    split: Split,
    count: int,
    report: Report = lambda progress: None,
    stopped: Stopped = lambda: False,
) -> list[Wording]:
    """At most `count` edits of a definition that the embedded engine holds for the best.

    Of each kind of edit in turn, since the guardrail may see them otherwise; a few edits in a row
    come first. Words and examples are taken of prompts that wordings are chosen on only. None when
    stopped. Blocks. Raises ScannerError.
    """
    scores = open_scores(engine, prompts, report, stopped)
    if scores is None or count <= 0:
        return []
    rows = split.search_rows
    objective = EngineObjective(scores, rows, fitted=True)
    here = objective.appraise(unchanged(topic), stopped)
    if here is None:
        return []
    found: list[Wording] = []
    several = advise(
        objective, topic, MeasuredRows(rows, np.zeros(0, np.intp), split.source), stopped
    )
    for proposal in several.proposals if several is not None else ():
        if len(proposal.kinds) > 1:
            taken = tuple(prompts.prompts.gather(proposal.left_out).to_list())
            found.append(Wording(proposal.topic, "; ".join(proposal.changes), "search", taken))
    single = candidates(topic, material_of(objective, here.matches), _MOST)
    values = objective.values(single, stopped)
    if values is None:
        return found[:count]
    kinds: dict[Kind, list[Wording]] = {}
    for index in np.argsort(-values, kind="stable").tolist():
        one = single[index]
        wording = Wording(one.topic, one.change, "search", one.sources)
        kinds.setdefault(one.kind, []).append(wording)
    in_turn = (one for turn in zip_longest(*kinds.values()) for one in turn if one is not None)
    return distinct([*found, *in_turn], ())[:count]


def distinct(wordings: Iterable[Wording], known: Sequence[Wording]) -> list[Wording]:
    """Those that are no wording of `known`, each once, in their order."""
    seen = {same(one.topic) for one in known}
    found = []
    for one in wordings:
        key = same(one.topic)
        if key not in seen:
            seen.add(key)
            found.append(one)
    return found


def gather_wordings(
    topic: Topic,
    typed: Sequence[Wording],
    written: Sequence[Wording],
    searched: Sequence[Wording],
    count: int,
) -> list[Wording]:
    """The wording at hand and at most `count` − 1 others; those of the author come first.

    What the author typed is never left out.
    """
    here = Wording(topic, "", HERE)
    own = distinct(typed, [here])
    others = distinct([*own, *written, *searched], [here])
    return [here, *others[: max(count - 1, len(own))]]


def questions_about(
    scanner: DecisionScanner, wordings: Sequence[Wording], prompts: PromptSet, at_once: int
) -> ManyQuestions:
    """What asks about every prompt by every wording, `at_once` questions in a request at most."""
    questions = [scanner.template.filled(one.topic) for one in wordings]
    return ManyQuestions(scanner, questions, prompts.prompts.to_list(), at_once)
