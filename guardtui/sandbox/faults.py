"""Faults on demand: a seed and the content of requests determine which requests are affected."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from guardtui.domain.errors import GuardtuiError
from guardtui.sandbox.routes import ENDPOINTS, GROUPS

WIRE = {
    "429": "429, with the three retry hints in turn",
    "429-header": "429 with Retry-After in seconds",
    "429-date": "429 with Retry-After as an HTTP date",
    "429-body": "429 with error.retry_after in the body",
    "429-top": "429 with retry_after at the top of the body",
    "429-none": "429 without a hint",
    "reset": "the connection is reset",
    "timeout": "no response is sent",
    "slow": "the response is delayed by --slow",
    "truncated": "the JSON is truncated",
    "cut": "the connection is closed in the middle of the body",
    "html": "200 with a page of HTML",
    "html-503": "503 with a page of HTML",
    "empty": "200 without a body",
}
"""Faults of a whole response, besides any status from 400 to 599."""

VERDICTS = {
    "flag-timeout": "timeout is true",
    "flag-error": "error is true",
    "category-timeout": "the category is timeout",
    "category-error": "the category is error",
    "topic-timeout": "errors reports that topic_violation timed out",
    "topic-error": "errors reports that topic_violation failed",
    "dlp-error": "errors reports that dlp failed; the topic has its verdict",
    "no-detected": "prompt_detected is missing",
    "row-failed": "the row of a batch has the status FAILED",
}
"""Faults of a verdict with status 200."""

ANSWERS = {
    "rounded": "probabilities have two decimals",
    "refused": "the model refuses to answer",
    "missing": "the last question has no answer",
    "doubled": "the first question has two answers",
    "out-of-range": "probabilities are above 1",
    "other-model": "another model answers",
    "newer-model": "a dated version of the model answers",
}
"""Faults of the answers to questions, with status 200."""

_SPEC = re.compile(r"(?P<kind>[a-z0-9-]+?)(?:@(?P<where>[a-z-]+))?=(?P<amount>[a-z0-9.:]+)")
_AFTER = re.compile(r"(?:[45]\d\d(?:-\w+)?|reset)-after")


class FaultError(GuardtuiError, ValueError):
    """The text of a fault is invalid; the message describes valid texts."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of some `kind` for requests to `where` (an endpoint or a group of endpoints).

    `mode` is `share` (of the requests, from 0 to 1), `first` (n requests), `every` (nth request)
    or `after` (all after n requests); `amount` is that number. With `after_work` the request is
    processed, and only its response is lost.
    """

    text: str
    kind: str
    where: str
    mode: str
    amount: float
    after_work: bool = False

    @property
    def layer(self) -> str:
        """Group of its effect: `wire`, `slow`, `verdict`, or `answer` (of questions)."""
        if self.kind in VERDICTS:
            return "verdict"
        if self.kind in ANSWERS:
            return "answer"
        return "slow" if self.kind == "slow" else "wire"

    @property
    def is_status(self) -> bool:
        """Return whether the response is that of a status."""
        return self.kind[0].isdigit()

    @property
    def needs_work(self) -> bool:
        """Return whether the request is processed, at least to have a response to spoil."""
        return self.after_work or self.kind in ("truncated", "cut")

    def affects(self, endpoint: str) -> bool:
        """Return whether it can affect requests to this endpoint."""
        return self.where == endpoint or endpoint in GROUPS.get(self.where, ())


@dataclass(frozen=True, slots=True)
class DrawnFault:
    """A fault that affects a request; `number` varies its form (the hints of a 429)."""

    fault: Fault
    number: int


def parse_fault(text: str) -> Fault:
    """Parse KIND[@WHERE]=AMOUNT. Raises `FaultError`.

    For example `429=0.2`, `500@sync=first:3`, `reset-after@async=every:10`, `403=after:100`.
    """
    match = _SPEC.fullmatch(text.strip().lower())
    if match is None:
        raise FaultError(
            f"{text!r} is not a fault: write KIND=SHARE or KIND@WHERE=SHARE, such as 429=0.2"
        )
    written = match["kind"]
    after_work = bool(_AFTER.fullmatch(written))
    kind = written.removesuffix("-after") if after_work else written
    status = kind.isdigit() and len(kind) == 3 and 400 <= int(kind) <= 599
    if not (status or kind in WIRE or kind in VERDICTS or kind in ANSWERS):
        known = ", ".join([*WIRE, *VERDICTS, *ANSWERS])
        raise FaultError(
            f"unknown fault {written!r}: choose a status from 400 to 599 or one of {known}"
        )
    default = "verdicts" if kind in VERDICTS else "answers" if kind in ANSWERS else "scan"
    part = match["where"] or default
    if part not in GROUPS and part not in ENDPOINTS:
        known = ", ".join([*GROUPS, *ENDPOINTS])
        raise FaultError(f"{text!r}: unknown endpoint {part!r}: choose one of {known}")
    if kind in VERDICTS and part not in ("verdicts", "sync", "async"):
        raise FaultError(
            f"{text!r}: a fault in a verdict can be at sync, async or verdicts (both), "
            f"not at {part!r}"
        )
    if kind in ANSWERS and part not in ("answers", *GROUPS["answers"]):
        raise FaultError(
            f"{text!r}: a fault in an answer can be at decisions, systemone or answers (both), "
            f"not at {part!r}"
        )
    mode, amount = _amount(text, match["amount"])
    return Fault(text.strip(), kind, part, mode, amount, after_work)


def _amount(text: str, written: str) -> tuple[str, float]:
    mode, colon, number = written.partition(":")
    if colon:
        if mode not in ("first", "every", "after") or not number.isdigit():
            raise FaultError(f"{text!r}: write first:N, every:N or after:N with a whole number")
        if mode == "every" and int(number) == 0:
            raise FaultError(f"{text!r}: every:0 never occurs; write every:1 for all")
        return mode, float(number)
    try:
        share = float(written)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise FaultError(
            f"{text!r}: {written} is not a share from 0 to 1; for a number of requests "
            "write first:N, every:N or after:N"
        )
    return "share", share


def parse_faults(texts: Sequence[str]) -> tuple[Fault, ...]:
    """Parse several faults. Raises `FaultError`, also if shares of an endpoint sum to over 1."""
    faults = tuple(parse_fault(text) for text in texts)
    for endpoint in ENDPOINTS:
        for layer in ("wire", "slow", "verdict", "answer"):
            total = sum(
                fault.amount
                for fault in faults
                if fault.mode == "share" and fault.layer == layer and fault.affects(endpoint)
            )
            if total > 1 + 1e-9:
                raise FaultError(
                    f"the shares of the faults at {endpoint} sum to {total:g}: the maximum is 1"
                )
    return faults


class FaultPlan:
    """Decides reproducibly for each request: by seed, content, and number of repetitions.

    A share does not depend on the order of requests, so that the same prompts get the same faults
    for any number in flight.
    """

    def __init__(self, faults: Sequence[Fault] = (), seed: int = 0) -> None:
        self.faults = tuple(faults)
        self._seed = seed.to_bytes(8, "big", signed=True)
        self._calls = [0] * len(self.faults)
        self._asked: dict[bytes, int] = {}
        self.counts: dict[str, int] = {fault.text: 0 for fault in self.faults}
        """Number of occurrences of each fault, by its text."""

    def draw(self, layer: str, endpoint: str, key: bytes) -> DrawnFault | None:
        """Return the fault of a layer (see `Fault.layer`) for this request, or None.

        `key` identifies the content. The first counted fault that is due precedes shares.
        """
        indices = [
            index
            for index, fault in enumerate(self.faults)
            if fault.layer == layer and fault.affects(endpoint)
        ]
        if not indices:
            return None
        counted: DrawnFault | None = None
        for index in indices:
            fault = self.faults[index]
            if fault.mode == "share":
                continue
            self._calls[index] += 1
            if counted is None and _due(fault, self._calls[index]):
                counted = DrawnFault(fault, self._calls[index])
        if counted is None:
            counted = self._by_share(indices, layer, endpoint, key)
        if counted is not None:
            self.counts[counted.fault.text] += 1
        return counted

    def _by_share(
        self, indices: Sequence[int], layer: str, endpoint: str, key: bytes
    ) -> DrawnFault | None:
        name = hashlib.blake2b(
            b"\0".join((self._seed, layer.encode(), endpoint.encode(), key)), digest_size=16
        ).digest()
        times = self._asked[name] = self._asked.get(name, 0) + 1
        digest = hashlib.blake2b(name + times.to_bytes(8, "big"), digest_size=16).digest()
        drawn = int.from_bytes(digest[:8], "big") / 2**64
        for index in indices:
            fault = self.faults[index]
            if fault.mode == "share":
                drawn -= fault.amount
                if drawn < 0:
                    return DrawnFault(fault, digest[8])
        return None


def _due(fault: Fault, call: int) -> bool:
    """Return whether a counted fault affects the call with this number, from 1."""
    if fault.mode == "first":
        return call <= fault.amount
    if fault.mode == "after":
        return call > fault.amount
    return call % fault.amount == 0
