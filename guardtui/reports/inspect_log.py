"""The report for inspect_ai: an evaluation as a log that `inspect view` opens."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from guardtui import __version__
from guardtui.domain.text import display_text
from guardtui.domain.verdicts import Outcome, Triggered, Usage
from guardtui.reports.base import GONE, ReportInput, ReportRow

SCORER = "guardrail"
"""Name of the scorer, and of its score in each sample."""

UNDATED = "1970-01-01T00:00:00+00:00"
"""`created` of an evaluation that was not recorded, since the format requires a time."""

_METRICS = {
    "coverage": "coverage",
    "tpr": "true_positive_rate",
    "tnr": "true_negative_rate",
    "accuracy": "accuracy",
    "precision": "precision",
    "f1": "f1",
}
"""Name of the rate in `Metrics` by name of the metric in the log; the first is the headline."""

_OURS = ("expected", "should_trigger", "intent", "line")
_LONE = re.compile("[\ud800-\udfff]")


def write(report: ReportInput) -> str:
    """Return a log in the JSON form of inspect_ai, version 2, one line per sample.

    Each prompt is a sample in each epoch; `id` is its number from 1. Target and output are `true`
    or `false`: whether the guardrail should trigger, and did. The score `guardrail` is C or I. A
    prompt without a verdict has an error and no score, so it counts in no metric. Metrics are
    those of all prompts; an undefined rate is omitted, and named in the metadata of the results.
    Ids are hashes of the evaluation and `created` is the time of the iteration, so that equal
    input gives an equal log. The text is ASCII with escapes, so it is inert on a terminal.

    Source: fields and their order as in `inspect_ai.log.EvalLog` of inspect_ai 0.3.285.
    """
    log = _Log(report)
    head = json.dumps(log.header(), indent=1)
    samples = ",\n".join(_line(sample) for sample in log.samples())
    reductions = _line(log.reductions())
    return f'{head[:-2]},\n "samples": [\n{samples}\n ],\n "reductions": {reductions}\n}}\n'


def _line(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _whole(text: str) -> str:
    """Return the text with U+FFFD for lone surrogates, which readers of JSON reject."""
    return _LONE.sub("\ufffd", text)


class _Log:
    """The parts of one log."""

    def __init__(self, report: ReportInput) -> None:
        self.report = report
        self.evaluation = report.evaluation
        self.repeats = self.evaluation.verdicts.repeats
        self.created = _created(report)
        self.seed = self._seed()
        self.model = f"guardtui/{_whole(self.evaluation.settings.kind)}"
        self.reducer = self._reducer()

    def _seed(self) -> bytes:
        """Seed of all ids: the evaluation and the time of its record."""
        evaluation, verdicts = self.evaluation, self.evaluation.verdicts
        digest = hashlib.sha256()
        for text in (
            evaluation.topic.fingerprint,
            repr(evaluation.settings),
            evaluation.prompt_set,
            self.report.profile,
            self.created,
        ):
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
        for column in (evaluation.keys, evaluation.expected, verdicts.triggered, verdicts.score):
            digest.update(column.tobytes())
        if self.repeats is not None:
            digest.update(self.repeats.tobytes())
        return digest.digest()

    def _id(self, *parts: object) -> str:
        """Return an id of 22 characters, as many as inspect_ai's have."""
        text = "\0".join(map(str, parts)).encode()
        return hashlib.sha256(self.seed + text).hexdigest()[:22]

    def _reducer(self) -> str | None:
        """Name of the reducer of epochs; if unknown, `mode` if that gives the same verdicts."""
        if self.repeats is None:
            return None
        if self.report.reducer:
            return self.report.reducer
        yes = (self.repeats == Triggered.YES).sum(axis=0)
        no = (self.repeats == Triggered.NO).sum(axis=0)
        triggered = self.evaluation.verdicts.triggered
        as_mode = ((yes > no) == (triggered == Triggered.YES)).all()
        as_mode &= ((no > yes) == (triggered == Triggered.NO)).all()
        return "mode" if as_mode else "unknown"

    def header(self) -> dict[str, Any]:
        """Return all but samples and reductions."""
        return {
            "version": 2,
            "status": "success",
            "eval": self._eval(),
            "plan": {"name": "plan", "steps": [{"solver": "guardtui/scan", "params": {}}]},
            "results": self._results(),
            "stats": {
                "started_at": self.created,
                "completed_at": self.created,
                "model_usage": self._usage(self.evaluation.verdicts.used),
            },
        }

    def _eval(self) -> dict[str, Any]:
        report, evaluation = self.report, self.evaluation
        settings, topic = evaluation.settings, report.topic
        count = len(evaluation.keys)
        epochs = 1 if self.repeats is None else len(self.repeats)
        definition = {
            "name": _whole(topic.name),
            "description": _whole(topic.description),
            "examples": [_whole(example) for example in topic.examples],
            "intent": topic.intent.value,
        }
        source = report.prompts.source if report.prompts is not None else ""
        return {
            "eval_id": self._id("eval"),
            "run_id": self._id("run"),
            "created": self.created,
            # Readers take the text before the first "/" for a package, and omit it.
            "task": f"guardtui/{display_text(topic.name) or '(no name)'}",
            "task_id": self._id("task"),
            "task_version": 0,
            "task_display_name": display_text(topic.name) or "(no name)",
            "task_description": display_text(topic.description),
            "task_args": definition,
            "task_args_passed": definition,
            "dataset": {
                "name": display_text(source.rpartition("/")[2]) or "prompts",
                "samples": count,
                "sample_ids": list(range(1, count + 1)),
                "shuffled": False,
            },
            "model": self.model,
            "config": {
                "epochs": epochs,
                "epochs_reducer": [self.reducer] if self.reducer else None,
                "fail_on_error": False,
                "log_samples": True,
            },
            "packages": {"guardtui": __version__},
            "metadata": {
                "profile": _whole(report.profile),
                "guardrail": settings.guardrail.to_json(),
                "guardrail_text": _whole(settings.guardrail.text(str)),
                "guardrail_revision": _whole(settings.revision),
                "threshold": settings.threshold,
                "threshold_source": settings.threshold_source,
                "intent": topic.intent.value,
                "topic_fingerprint": topic.fingerprint,
                "prompt_set_fingerprint": evaluation.prompt_set,
            },
            "scorers": [
                {"name": SCORER, "options": {}, "metrics": [{"name": name} for name in _METRICS]}
            ],
        }

    def _results(self) -> dict[str, Any]:
        metrics = self.evaluation.metrics
        rates = {name: getattr(metrics, rate) for name, rate in _METRICS.items()}
        known = {name: value for name, value in rates.items() if value is not None}
        results: dict[str, Any] = {
            "total_samples": metrics.prompts * (1 if self.repeats is None else len(self.repeats)),
            "completed_samples": sum(answer is not None for *_, answer in self._places()),
            "scores": [
                {
                    "name": SCORER,
                    "scorer": SCORER,
                    "reducer": self.reducer,
                    "scored_samples": metrics.total,
                    "unscored_samples": metrics.missing,
                    "params": {},
                    "metrics": {
                        name: {"name": name, "value": value, "params": {}}
                        for name, value in known.items()
                    },
                }
            ],
        }
        if known:
            results["headline"] = {
                "scorer": SCORER,
                "score": SCORER,
                "metric": next(iter(known)),
                "reducer": self.reducer,
            }
        results["metadata"] = {
            **{name: getattr(metrics, name) for name in ("tp", "tn", "fp", "fn", "errors", "open")},
            "undefined": [name for name in rates if name not in known],
            "cautions": list(self.report.cautions),
        }
        return results

    def _usage(self, used: Usage | None) -> dict[str, Any]:
        if used is None or not used.calls:
            return {}
        tokens = {
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "total_tokens": used.input_tokens + used.output_tokens,
        }
        return {self.model: tokens | ({"total_cost": used.cost} if used.cost else {})}

    def _places(self) -> Iterator[tuple[int, int, bool | None]]:
        """Yield row, epoch from 1 and answer of each requested sample, epoch by epoch."""
        verdicts = self.evaluation.verdicts
        answers = verdicts.triggered[None] if self.repeats is None else self.repeats
        for epoch, column in enumerate(answers.tolist(), start=1):
            for row, answer in enumerate(column):
                if answer != Triggered.NOT_ASKED:
                    yield row, epoch, None if answer == Triggered.NO_VERDICT else bool(answer)

    def samples(self) -> Iterator[dict[str, Any]]:
        """Yield a sample for each listed prompt and epoch."""
        rows = {row.number: row for row in self.report.rows()}
        for number, epoch, answer in self._places():
            if number in rows:
                yield self._sample(rows[number], epoch, answer)

    def _sample(self, row: ReportRow, epoch: int, answer: bool | None) -> dict[str, Any]:
        number = row.number + 1
        prompt = GONE if row.prompt is None else _whole(row.prompt)
        question = {
            "id": self._id("input", number, epoch),
            "content": prompt,
            "source": "input",
            "role": "user",
        }
        output: dict[str, Any] = {"model": self.model, "choices": [], "completion": ""}
        messages = [question]
        if answer is None:
            reason = display_text(row.error) if row.triggered is None else ""
            message = {"message": reason or "no verdict", "traceback": "", "traceback_ansi": ""}
            result: dict[str, Any] = {"error": message}
        else:
            answered = {
                "id": self._id("output", number, epoch),
                "content": _word(answer),
                "source": "generate",
                "role": "assistant",
                "model": self.model,
            }
            messages.append(answered)
            output["choices"] = [{"message": answered, "stop_reason": "stop"}]
            output["completion"] = _word(answer)
            result = {"scores": {SCORER: self._score(row, answer)}}
        # The request to the guardrail, which `inspect_ai.analysis.messages_df` reads.
        event = {
            "uuid": self._id("event", number, epoch),
            "timestamp": self.created,
            "working_start": 0.0,
            "event": "model",
            "model": self.model,
            "input": [question],
            "tools": [],
            "tool_choice": "none",
            "config": {},
            "output": output,
        }
        return {
            "id": number,
            "epoch": epoch,
            "input": prompt,
            "target": _word(row.should_trigger),
            "messages": messages,
            "output": output,
            "metadata": self._metadata(row),
            "uuid": self._id("sample", number, epoch),
            "events": [event],
        } | result

    def _metadata(self, row: ReportRow) -> dict[str, Any]:
        metadata: dict[str, Any] = {}
        for name, value in zip(self.report.extra_columns, row.extra, strict=True):
            name = _whole(name)
            while name in _OURS or name in metadata:
                name += " (prompt set)"
            metadata[name] = _whole(value) if isinstance(value, str) else value
        intent = self.report.topic.intent.value
        ours = (row.expected_label, row.should_trigger, intent, row.line)
        return metadata | dict(zip(_OURS, ours, strict=True))

    def _score(self, row: ReportRow, answer: bool) -> dict[str, Any]:
        """Return the score of one answer; details of the row are included if the answer is its."""
        outcome = _OUTCOMES[row.should_trigger, answer]
        agrees = row.triggered is answer
        parts = [outcome.name]
        if row.score is not None:
            parts.append(f"score {row.score:.3f}")
        if agrees and row.matched:
            parts.append(f"by {row.matched}")
        if row.stopped_by:
            parts.append(f"stopped by {', '.join(map(display_text, row.stopped_by))}")
        if agrees and row.reason:
            parts.append(f"reason: {display_text(row.reason)}")
        if row.note:
            parts.append(f"note: {display_text(row.note)}")
        metadata: dict[str, Any] = {
            "outcome": outcome.name,
            "expected": row.expected_label,
            "should_trigger": row.should_trigger,
            "triggered": answer,
            "score": row.score,
            "threshold": self.evaluation.settings.threshold,
            "matched": row.matched,
        }
        if row.was:
            metadata["was"] = row.was
        if row.change:
            metadata["change"] = row.change
        return {
            "value": "C" if outcome in (Outcome.TP, Outcome.TN) else "I",
            "answer": _word(answer),
            "explanation": "; ".join(parts),
            "metadata": metadata,
        }

    def reductions(self) -> list[dict[str, Any]]:
        """Return the score of each prompt with a verdict, all epochs together."""
        samples = [
            self._score(row, row.triggered) | {"sample_id": row.number + 1}
            for row in self.report.rows()
            if row.triggered is not None
        ]
        return [{"scorer": SCORER, "reducer": self.reducer, "samples": samples}]


_OUTCOMES = {
    (True, True): Outcome.TP,
    (False, False): Outcome.TN,
    (False, True): Outcome.FP,
    (True, False): Outcome.FN,
}
"""Outcome by should trigger and triggered."""


def _word(answer: bool) -> str:
    return "true" if answer else "false"


def _created(report: ReportInput) -> str:
    """Return the time of the record in the form of inspect_ai's."""
    for iteration in report.iterations:
        if iteration.evaluation is report.evaluation:
            try:
                moment = datetime.fromisoformat(iteration.created)
            except ValueError:
                break
            # Times without a zone are UTC, as everywhere in a session.
            moment = moment.replace(tzinfo=moment.tzinfo or UTC)
            return moment.astimezone(UTC).isoformat(timespec="seconds")
    return UNDATED
