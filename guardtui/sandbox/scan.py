"""The scan API: verdicts at once or in batches, their results and their reports."""

from __future__ import annotations

import random
import re
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from guardtui.sandbox import trouble
from guardtui.sandbox.clock import Clock
from guardtui.sandbox.faults import FaultPlan
from guardtui.sandbox.judging import Finding, Judge
from guardtui.sandbox.replies import Asked, RefusedError, Reply
from guardtui.sandbox.settings import Settings
from guardtui.sandbox.stats import Stats, prompt_key
from guardtui.sandbox.tenant import ProfileRevision, Tenant

IDS_AT_MOST = 5
"""Ids in one query of results or reports."""
LABEL_AT_MOST = 100
"""Characters of tr_id, session_id and profile_name."""
SCANS_KEPT = 5000
"""Scans whose results can be asked for; older ones are forgotten."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TEXTS = ("prompt", "response", "code_prompt", "code_response", "context")


@dataclass(frozen=True, slots=True)
class ScanRequest:
    """One request that has been checked: the revision that judges it, and its last content."""

    profile: ProfileRevision
    content: dict[str, Any]
    echoes: dict[str, str]
    key: bytes

    @property
    def prompt(self) -> str | None:
        """What is judged as the prompt."""
        return self.content.get("prompt") or self.content.get("code_prompt")

    @property
    def response(self) -> str | None:
        """What is judged as the response."""
        return self.content.get("response") or self.content.get("code_response")


@dataclass(frozen=True, slots=True)
class _Row:
    """A verdict, to be had from `ready` on; None failed. A sync scan has no `req_id`."""

    req_id: int | None
    ready: float
    verdict: dict[str, Any] | None
    echoes: dict[str, str]


class Scans:
    """Answers for every endpoint of the scan API."""

    def __init__(
        self,
        tenant: Tenant,
        judge: Judge,
        clock: Clock,
        stats: Stats,
        settings: Callable[[], Settings],
        plan: Callable[[], FaultPlan],
    ) -> None:
        self._tenant, self._judge, self._clock, self._stats = tenant, judge, clock, stats
        self._settings, self._plan = settings, plan
        self._random = random.Random(settings().seed)
        self._scans: OrderedDict[str, list[_Row]] = OrderedDict()

    def sync(self, asked: Asked) -> Reply:
        """The verdict on one request; raises `RefusedError` (400)."""
        request = self._request(asked.content)
        self._stats.asked(request.key)
        scan_id = str(uuid.uuid4())
        verdict = self._verdict(request, scan_id)
        struck = self._plan().draw("verdict", "sync", request.key)
        if struck is not None:
            trouble.spoil(verdict, struck.fault.kind)
        self._keep(scan_id, [_Row(None, 0.0, verdict, request.echoes)])
        return Reply(verdict, prompts=() if struck else (request.key,))

    def batch(self, asked: Asked) -> Reply:
        """Take a batch, for which there is one scan id; raises `RefusedError` (400)."""
        items, settings = asked.content, self._settings()
        if not isinstance(items, list) or not 1 <= len(items) <= settings.max_batch:
            raise RefusedError(
                400, detail=f"a list of 1 to {settings.max_batch} requests is needed"
            )
        numbers = [one.get("req_id") if isinstance(one, dict) else None for one in items]
        if not all(type(one) is int and 0 <= one < 2**32 for one in numbers):
            raise RefusedError(400, detail="req_id must be a whole number below 2^32")
        if len(set(numbers)) != len(numbers):
            raise RefusedError(400, detail="a req_id is there twice")
        requests = [self._request(one.get("scan_req")) for one in items]
        scan_id, now = str(uuid.uuid4()), self._clock.now()
        rows = []
        for number, request in zip(numbers, requests, strict=True):
            self._stats.asked(request.key)
            verdict: dict[str, Any] | None = self._verdict(request, scan_id)
            struck = self._plan().draw("verdict", "async", request.key)
            if struck is not None and struck.fault.kind == "row-failed":
                verdict = None
            elif struck is not None and verdict is not None:
                trouble.spoil(verdict, struck.fault.kind)
            ready = now + settings.pending * (0.5 + self._random.random() / 2)
            rows.append(_Row(number, ready, verdict, request.echoes))
        self._keep(scan_id, rows)
        content = {
            "source": "AI-Runtime-API",
            "received": self._clock.stamp(),
            "scan_id": scan_id,
            "report_id": f"R{scan_id}",
        }
        return Reply(content, prompts=tuple(request.key for request in requests))

    def results(self, asked: Asked) -> Reply:
        """Rows of batches, in any order; unknown ids have none. Raises `RefusedError`."""
        rows = [
            self._result(scan_id, row)
            for scan_id in _ids(asked, "scan_ids", "")
            for row in self._scans.get(scan_id, ())
        ]
        self._random.shuffle(rows)
        return Reply(rows)

    def reports(self, asked: Asked) -> Reply:
        """Reports of what is complete, one for each request of a batch. Raises `RefusedError`."""
        now = self._clock.now()
        rows = [
            _report(scan_id, row)
            for scan_id in _ids(asked, "report_ids", "R")
            for row in self._scans.get(scan_id, ())
            if row.ready <= now and row.verdict is not None
        ]
        self._random.shuffle(rows)
        return Reply(rows)

    def texts(self, content: Any) -> Iterator[str]:
        """The texts that a body asks to be judged, as far as it can be read."""
        for one in content if isinstance(content, list) else [{"scan_req": content}]:
            request = one.get("scan_req") if isinstance(one, dict) else None
            last = _last_content(request)
            for name in ("prompt", "response", "code_prompt", "code_response"):
                if isinstance(text := last.get(name), str):
                    yield text

    def _request(self, body: Any) -> ScanRequest:
        if not isinstance(body, dict):
            raise RefusedError(400, detail="a scan request is no object")
        echoes: dict[str, str] = {}
        for name in ("tr_id", "session_id", "transaction_id"):
            value = body.get(name)
            if value is None:
                continue
            if not isinstance(value, str) or len(value) > LABEL_AT_MOST:
                raise RefusedError(400, detail=f"{name} is no text of at most {LABEL_AT_MOST}")
            echoes[name] = value
        contents = body.get("contents")
        if not isinstance(contents, list) or not contents:
            raise RefusedError(400, detail="contents are missing")
        for content in contents:
            _check_content(content)
        profile = self._profile(body.get("ai_profile"))
        last = contents[-1]
        key = prompt_key(profile.profile_name, "\0".join(str(last.get(name)) for name in _TEXTS))
        if set(last) == {"prompt"}:
            key = prompt_key(profile.profile_name, last["prompt"])
        return ScanRequest(profile, last, echoes, key)

    def _profile(self, named: Any) -> ProfileRevision:
        if not isinstance(named, dict):
            raise RefusedError(400, detail="ai_profile is missing")
        profile_id, name = named.get("profile_id"), named.get("profile_name")
        found: ProfileRevision | None = None
        if isinstance(profile_id, str) and profile_id:
            try:
                return self._tenant.profile(profile_id)
            except RefusedError as error:
                raise RefusedError(400, detail=str(error)) from error
        if isinstance(name, str) and 0 < len(name) <= LABEL_AT_MOST:
            found = self._tenant.current(name)
        if found is None:
            raise RefusedError(400, detail=f"there is no profile {name!r}")
        return found

    def _verdict(self, request: ScanRequest, scan_id: str) -> dict[str, Any]:
        profile, version, stamp = request.profile, self._tenant.version, self._clock.stamp()
        prompt = self._judge.judge(profile, version, "prompt", request.prompt)
        response = self._judge.judge(profile, version, "response", request.response)
        blocks = prompt.blocks or response.blocks
        verdict: dict[str, Any] = {
            "source": "AI-Runtime-API",
            "scan_id": scan_id,
            "report_id": f"R{scan_id}",
            **request.echoes,
            "profile_id": profile.profile_id,
            "profile_name": profile.profile_name,
            "category": "malicious" if blocks else "benign",
            "action": "block" if blocks else "allow",
            "timeout": False,
            "error": False,
            "errors": [],
        }
        for side, finding, text in (
            ("prompt", prompt, request.prompt),
            ("response", response, request.response),
        ):
            verdict[f"{side}_detected"] = {} if text is None else _detected(finding)
            if details := _details(finding):
                verdict[f"{side}_detection_details"] = {"topic_guardrails_details": details}
        event = request.content.get("tool_event")
        if isinstance(event, dict):
            verdict["tool_detected"] = {"verdict": "benign", "metadata": event.get("metadata", {})}
        verdict["created_at"] = verdict["completed_at"] = stamp
        return verdict

    def _keep(self, scan_id: str, rows: list[_Row]) -> None:
        self._scans[scan_id] = rows
        if len(self._scans) > SCANS_KEPT:
            self._scans.popitem(last=False)

    def _result(self, scan_id: str, row: _Row) -> dict[str, Any]:
        found: dict[str, Any] = {"source": "AI-Runtime-API", "scan_id": scan_id}
        found["req_id"] = row.req_id or 0
        if row.ready > self._clock.now():
            return {**found, "status": "pending"}
        if row.verdict is None:
            return {**found, "status": "FAILED"}
        return {**found, "status": "complete", "result": row.verdict}


def _last_content(request: Any) -> dict[str, Any]:
    contents = request.get("contents") if isinstance(request, dict) else None
    last = contents[-1] if isinstance(contents, list) and contents else None
    return last if isinstance(last, dict) else {}


def _check_content(content: Any) -> None:
    if not isinstance(content, dict):
        raise RefusedError(400, detail="an element of contents is no object")
    there = False
    for name in _TEXTS:
        if name in content:
            text = content[name]
            if not isinstance(text, str) or not text:
                raise RefusedError(400, detail=f"{name} is empty")
            there |= name != "context"
    event = content.get("tool_event")
    if event is not None:
        if not isinstance(event, dict) or not (event.get("input") or event.get("output")):
            raise RefusedError(400, detail="tool_event has neither input nor output")
        there = True
    if not there:
        raise RefusedError(400, detail="an element of contents has nothing to scan")


def _detected(finding: Finding) -> dict[str, bool]:
    found = dict.fromkeys(finding.detectors, False)
    if finding.violation is not None:
        found["topic_violation"] = finding.violation
    return found


def _details(finding: Finding) -> dict[str, list[str]]:
    details = {}
    if finding.allowed:
        details["allowed_topics"] = list(finding.allowed)
    if finding.blocked:
        details["blocked_topics"] = list(finding.blocked)
    return details


def _ids(asked: Asked, name: str, letter: str) -> list[str]:
    """Scan ids from a list of ids joined by commas; raises `RefusedError` (400)."""
    written = [one for one in asked.query.get(name, "").split(",") if one]
    ids = [one.removeprefix(letter) for one in written]
    proper = all(
        one.startswith(letter) and _UUID.fullmatch(rest)
        for one, rest in zip(written, ids, strict=True)
    )
    if not 1 <= len(ids) <= IDS_AT_MOST or not proper:
        raise RefusedError(
            400, detail=f"{name}: 1 to {IDS_AT_MOST} ids joined by commas are needed"
        )
    return list(dict.fromkeys(one.lower() for one in ids))


def _report(scan_id: str, row: _Row) -> dict[str, Any]:
    verdict = row.verdict or {}
    detections = []
    for side in ("prompt", "response"):
        violation = verdict.get(f"{side}_detected", {}).get("topic_violation")
        if violation is None:
            continue
        details = verdict.get(f"{side}_detection_details", {}).get("topic_guardrails_details", {})
        allowed, blocked = details.get("allowed_topics", []), details.get("blocked_topics", [])
        report: dict[str, Any] = {
            "allowed_topic_list": "matched" if allowed else "not_matched",
            "blocked_topic_list": "matched" if blocked else "not_matched",
        }
        if allowed:
            report["allowedTopics"] = allowed
        if blocked:
            report["blockedTopics"] = blocked
        detection = {
            "data_type": side,
            "detection_service": "topic_guardrails",
            "verdict": "malicious" if violation else "benign",
            "action": "block" if violation else "allow",
            "result_detail": {"topic_guardrails_report": report},
        }
        detections.append(detection)
    found: dict[str, Any] = {
        "source": "AI-Runtime-API",
        "report_id": f"R{scan_id}",
        "scan_id": scan_id,
        "req_id": row.req_id or 0,
        "detection_results": detections,
    }
    if "tr_id" in row.echoes:
        found["transaction_id"] = row.echoes["tr_id"]
    if "session_id" in row.echoes:
        found["session_id"] = row.echoes["session_id"]
    return found
