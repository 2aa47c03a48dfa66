"""Evaluations by name: a report, an iteration of a session, or JSON of `airs`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from guardtui.domain.errors import GuardtuiError
from guardtui.domain.evaluation import Evaluation
from guardtui.domain.metrics import Metrics
from guardtui.domain.prompts import PromptSet, prompt_keys
from guardtui.domain.series import BestOfSeries
from guardtui.domain.topic import Intent
from guardtui.session.prompt_file import load_prompts_of
from guardtui.session.report_reader import (
    RecordedError,
    evaluation_of_document,
    has_iterations,
    read_document,
)
from guardtui.session.series import series_of
from guardtui.session.session import Decision, Iteration, Session
from guardtui.session.store import SessionStore

SIGN = "@"
"""Separates a topic file from the iteration that is meant.

No shell treats it specially inside a word, and unlike ":" and "#" neither does Windows or zsh.
"""

CHOICES = ("best", "last", "kept", "pinned")
"""Allowed after the sign, besides the number of an iteration."""

_SESSION_ENDINGS = (".yaml", ".yml")
_REMEDY = (
    "name a JSON report, the JSON of 'airs runtime topics eval', or a topic file with a session:\n"
    f"  TOPIC.yaml, TOPIC.yaml{SIGN}3, "
    f"{', '.join(f'TOPIC.yaml{SIGN}{choice}' for choice in CHOICES)}"
)


@dataclass(frozen=True, eq=False)
class RecordedEvaluation:
    """A recorded evaluation; `name` describes its source in a few words.

    `prompts` are the texts if known; for a session, those of its current prompt file. `number` is
    that of an iteration. `notes` are sentences on what is missing. `series` is set if it was chosen
    as the best of several.
    """

    name: str
    evaluation: Evaluation
    prompts: PromptSet | None = None
    number: int | None = None
    profile: str = ""
    notes: tuple[str, ...] = ()
    series: BestOfSeries | None = None

    @property
    def metrics(self) -> Metrics:
        """Counts and rates over all prompts."""
        return self.evaluation.metrics


@dataclass(frozen=True, slots=True)
class Mistakes:
    """Content of the eval JSON of the `airs` CLI: counts, and the wrongly judged prompts.

    It contains neither the definition, the scanner, the correctly judged prompts, nor those without
    a verdict.
    """

    name: str
    topic: str
    intent: Intent
    metrics: Metrics
    false_positives: tuple[str, ...]
    false_negatives: tuple[str, ...]
    profile: str = ""
    notes: tuple[str, ...] = ()


def find_evaluation(word: str) -> RecordedEvaluation | Mistakes:
    """Return the evaluation named by FILE.json, TOPIC.yaml, TOPIC.yaml@N or TOPIC.yaml@last.

    TOPIC.yaml means its best kept iteration. The name of an existing file always means that file.
    Kinds of JSON are distinguished by content. Raises `RecordedError` and `StoreError`.
    """
    path = Path(word)
    if not _exists(path):
        name, sign, which = word.rpartition(SIGN)
        if sign and name:
            return of_session(Path(name), which)
        if _in_session(path):  # the topic file is gone, its session is not
            return of_session(path, "best")
    elif path.suffix.lower() in _SESSION_ENDINGS and path.is_file():
        return of_session(path, "best")
    try:
        document = read_document(path)
    except RecordedError as error:
        if _exists(path) and _in_session(path):
            return of_session(path, "best")
        raise RecordedError(f"{str(error).partition(chr(10))[0]}\n  {_REMEDY}") from error
    if isinstance(document, dict) and "schema_version" not in document:
        if "false_positives" in document and "metrics" in document:
            return _mistakes(path, document)
        if _in_session(path):  # a topic file may be JSON
            return of_session(path, "best")
    elif isinstance(document, dict) and "results" not in document:
        raise RecordedError(
            f"{path}: is JSON of guardtui, but not a report on prompts\n  {_REMEDY}"
        )
    evaluation = evaluation_of_document(path, document)
    profile = document.get("profile")
    return RecordedEvaluation(
        str(path),
        evaluation,
        _prompts_of_report(document, evaluation),
        profile=profile if isinstance(profile, str) else "",
    )


def find_baseline(word: str, topic: Path, kind: str = "") -> RecordedEvaluation:
    """Return the baseline named by `last` (kept), `best`, `pinned`, a number, or a file.

    `last` is the one kept last of this kind of guardrail, or without any, of all. The first four
    refer to the session of `topic`; for files see `find_evaluation`. Raises `RecordedError` and
    `StoreError`.
    """
    if is_of_session(word):
        return of_session(topic, "kept" if word == "last" else word, texts=False, kind=kind)
    evaluation = find_evaluation(word)
    if isinstance(evaluation, Mistakes):
        raise RecordedError(
            f"{evaluation.name}: lists only the wrongly judged prompts, "
            "so it cannot be a baseline\n"
            "  look at both with 'guardtui compare', or give a JSON report of guardtui"
        )
    return evaluation


def is_of_session(word: str) -> bool:
    """Return whether a baseline names an iteration of the topic's own session, not a file."""
    return word in ("last", "best", "pinned") or _is_number(word)


def read_files(word: str) -> tuple[Path, ...]:
    """Return the files read for this name, which no output may overwrite."""
    path = Path(word)
    name, sign, _ = word.rpartition(SIGN)
    return (path, Path(name)) if sign and name else (path,)


def of_session(
    topic: Path, which: str, *, texts: bool = True, kind: str = ""
) -> RecordedEvaluation:
    """Return an iteration of a topic file's session: a number, or one of `CHOICES`.

    `kept` is the latest kept iteration, of this `kind` of guardrail if there is one. With `texts`,
    the session's prompt file is read for the texts of the prompts. Raises `RecordedError` and
    `StoreError`.
    """
    if which not in CHOICES and not _is_number(which):
        raise RecordedError(
            f"{topic}: {which!r:.40} names no iteration\n"
            f"  write {SIGN}N with a number, or {SIGN}{f', {SIGN}'.join(CHOICES)}"
        )
    in_session = _in_session(topic)
    if not in_session and not _exists(topic):
        raise RecordedError(f"{topic}: no such file\n  {_REMEDY}")
    store = SessionStore(topic, reading=True) if in_session else None
    iterations = store.iterations() if store else []
    pinned = store.pinned() if store else None
    chosen = _chosen(iterations, pinned, which, kind)
    if chosen is None or store is None:
        raise RecordedError(_none_such(topic, iterations, which))
    prompts, notes = _session_prompts(store, topic) if texts else (None, ())
    name = f"{topic}, iteration {chosen.number} ({chosen.decision.value})"
    series = series_of(iterations, chosen) if which == "best" else None
    return RecordedEvaluation(
        name, chosen.evaluation, prompts, chosen.number, notes=notes, series=series
    )


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 10


def _exists(path: Path) -> bool:
    """Return whether the file exists; False for an invalid name."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _in_session(topic: Path) -> bool:
    """Return whether the topic file has iterations, without creating files if it has none."""
    try:
        return has_iterations(topic)
    except (OSError, ValueError):
        return False


def _chosen(
    iterations: list[Iteration], pinned: int | None, which: str, kind: str
) -> Iteration | None:
    if not iterations:
        return None
    session = Session(iterations[-1].evaluation.topic, iterations, pinned)
    if which == "best":
        return session.best
    if which == "last":
        return iterations[-1]
    if which == "kept":
        kept = [iteration for iteration in iterations if iteration.decision is Decision.KEEP]
        same = [iteration for iteration in kept if iteration.evaluation.settings.kind == kind]
        return (same or kept)[-1] if kept else None
    number = pinned if which == "pinned" else int(which)
    return next((iteration for iteration in iterations if iteration.number == number), None)


def _none_such(topic: Path, iterations: list[Iteration], which: str) -> str:
    what = {
        "best": "kept iteration",
        "kept": "kept iteration",
        "pinned": "pinned iteration",
        "last": "iteration",
    }.get(which, f"iteration {which}")
    problem = f"{topic}: no {what} to compare with"
    if not iterations:
        return (
            f"{problem}\n"
            f"  record one ('guardtui eval {topic} --prompts FILE --record'), or give a report"
        )
    numbers = ", ".join(str(iteration.number) for iteration in iterations[-20:])
    return f"{problem}\n  existing: {numbers}"


def _session_prompts(store: SessionStore, topic: Path) -> tuple[PromptSet | None, tuple[str, ...]]:
    """Return the session's prompts, or notes on why there are none."""
    if not store.prompt_file():
        return None, (f"{topic}: the session has no prompt file, so its texts are missing",)
    try:
        return load_prompts_of(topic, store), ()
    except GuardtuiError as error:
        problem = str(error).partition("\n")[0]
        return None, (f"{problem}: the texts of the prompts are missing",)


def _prompts_of_report(document: Mapping[str, Any], evaluation: Evaluation) -> PromptSet:
    """Return texts and lines of a report that was read already. Raises `RecordedError`."""
    results = document["results"]
    lines = [result.get("line") for result in results]
    # A report on another tool's file may have no lines.
    lines = [line if type(line) is int and 0 < line < 2**32 else 0 for line in lines]
    # Polars rejects lone surrogates; the keys are those of the unchanged texts.
    texts = [result["prompt"].encode("utf-8", "replace").decode() for result in results]
    frame = pl.DataFrame(
        {
            "key": pl.Series(evaluation.keys, dtype=pl.UInt64),
            "line": pl.Series(lines, dtype=pl.UInt32),
            "prompt": pl.Series(texts, dtype=pl.String),
            "expected": pl.Series(evaluation.expected, dtype=pl.Boolean),
        }
    )
    # The lines are those of a prompt file that is not known.
    return PromptSet(frame, evaluation.topic.intent, "")


def _mistakes(path: Path, document: Mapping[str, Any]) -> Mistakes:
    """Read the eval JSON of the `airs` CLI; rates are not read, they follow from the counts."""
    try:
        counts = document["metrics"]
        metrics = Metrics(*(_whole(counts[name]) for name in ("tp", "tn", "fp", "fn")))
        lists = [
            tuple(_text(entry["prompt"]) for entry in document[name])
            for name in ("false_positives", "false_negatives")
        ]
        mistakes = Mistakes(
            str(path),
            _text(document["topic"]),
            Intent(_text(document["intent"])),
            metrics,
            lists[0],
            lists[1],
            profile=_text(document.get("profile", "")),
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise RecordedError(
            f"{path}: is damaged or was edited ({type(error).__name__})\n"
            "  make it with 'airs runtime topics eval … --format json'"
        ) from error
    if (metrics.fp, metrics.fn) != tuple(map(len, lists)):
        raise RecordedError(
            f"{path}: counts {metrics.fp} false positives and {metrics.fn} false negatives, "
            f"but lists {len(lists[0])} and {len(lists[1])}\n  it was cut or edited: make it again"
        )
    return mistakes


def mistake_keys(mistakes: Mistakes) -> dict[int, tuple[str, str]]:
    """Return the wrongly judged prompts by key: outcome (FP or FN) and text."""
    texts = [*mistakes.false_positives, *mistakes.false_negatives]
    kinds = ["FP"] * len(mistakes.false_positives) + ["FN"] * len(mistakes.false_negatives)
    keys = prompt_keys(texts).tolist()
    return dict(zip(keys, zip(kinds, texts, strict=True), strict=True))


def _whole(value: object) -> int:
    if type(value) is not int or not 0 <= value < 2**32:
        raise ValueError("not a count")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value
