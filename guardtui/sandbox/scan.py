"""Endpoints of the scan API: single scans, batches, results and reports."""

from __future__ import annotations

import random
import re
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from guardtui.sandbox import fault_payloads
from guardtui.sandbox.clock import SandboxClock
from guardtui.sandbox.faults import FaultPlan
from guardtui.sandbox.judging import PolicyJudge, TextJudgement
from guardtui.sandbox.replies import RefusedError, SandboxReply, SandboxRequest
from guardtui.sandbox.settings import SandboxSettings
from guardtui.sandbox.stats import Stats, prompt_key
from guardtui.sandbox.tenant import ProfileRevision, Tenant

IDS_AT_MOST = 5
"""Maximum number of ids in a query of results or reports."""
LABEL_AT_MOST = 100
"""Maximum characters of tr_id, session_id and profile_name."""
MAX_SCANS = 5000
"""Number of scans whose results can be queried; older scans are dropped."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TEXTS = ("prompt", "response", "context")


@dataclass(frozen=True, slots=True)
class CheckedScan:
    """A validated request: the profile revision that judges it, and its last content."""

    profile: ProfileRevision
    content: dict[str, Any]
    echoes: dict[str, str]
    key: bytes


@dataclass(frozen=True, slots=True)
class _Row:
    """A verdict, available from `ready` on; None if it failed. A sync scan has no `req_id`."""

    req_id: int | None
    ready: float
    verdict: dict[str, Any] | None
    echoes: dict[str, str]


class ScanEndpoints:
    """Handlers of all endpoints of the scan API."""

    def __init__(
        self,
        tenant: Tenant,
        judge: PolicyJudge,
        clock: SandboxClock,
        stats: Stats,
        settings: Callable[[], SandboxSettings],
        plan: Callable[[], FaultPlan],
    ) -> None:
        self._tenant, self._judge, self._clock, self._stats = tenant, judge, clock, stats
        self._settings, self._plan = settings, plan
        self._random = random.Random(settings().seed)
        self._scans: OrderedDict[str, list[_Row]] = OrderedDict()

    def sync(self, request: SandboxRequest) -> SandboxReply:
        """Return the verdict on one request. Raises `RefusedError` (400)."""
        scan = self._checked(request.content)
        self._stats.count_asked(scan.key)
        scan_id = str(uuid.uuid4())
        verdict = self._verdict(scan, scan_id)
        drawn = self._plan().draw("verdict", "sync", scan.key)
        if drawn is not None:
            fault_payloads.spoil(verdict, drawn.fault.kind)
        self._store(scan_id, [_Row(None, 0.0, verdict, scan.echoes)])
        return SandboxReply(verdict, prompts=() if drawn else (scan.key,))

    def batch(self, request: SandboxRequest) -> SandboxReply:
        """Accept a batch, which has one scan id. Raises `RefusedError` (400)."""
        items, settings = request.content, self._settings()
        if not isinstance(items, list) or not 1 <= len(items) <= settings.max_batch:
            raise RefusedError(400, detail=f"not a list of 1 to {settings.max_batch} requests")
        numbers = [item.get("req_id") if isinstance(item, dict) else None for item in items]
        if not all(type(number) is int and 0 <= number < 2**32 for number in numbers):
            raise RefusedError(400, detail="req_id must be a whole number below 2^32")
        if len(set(numbers)) != len(numbers):
            raise RefusedError(400, detail="duplicate req_id")
        scans = [self._checked(item.get("scan_req")) for item in items]
        scan_id, now = str(uuid.uuid4()), self._clock.now()
        rows = []
        for number, scan in zip(numbers, scans, strict=True):
            self._stats.count_asked(scan.key)
            verdict: dict[str, Any] | None = self._verdict(scan, scan_id)
            drawn = self._plan().draw("verdict", "async", scan.key)
            if drawn is not None and drawn.fault.kind == "row-failed":
                verdict = None
            elif drawn is not None and verdict is not None:
                fault_payloads.spoil(verdict, drawn.fault.kind)
            ready = now + settings.pending * (0.5 + self._random.random() / 2)
            rows.append(_Row(number, ready, verdict, scan.echoes))
        self._store(scan_id, rows)
        content = {
            "source": "AI-Runtime-API",
            "received": self._clock.stamp(),
            "scan_id": scan_id,
            "report_id": f"R{scan_id}",
        }
        return SandboxReply(content, prompts=tuple(scan.key for scan in scans))

    def results(self, request: SandboxRequest) -> SandboxReply:
        """Return rows of batches in random order; none for unknown ids. Raises `RefusedError`."""
        rows = [
            self._result(scan_id, row)
            for scan_id in _ids(request, "scan_ids", "")
            for row in self._scans.get(scan_id, ())
        ]
        self._random.shuffle(rows)
        return SandboxReply(rows)

    def reports(self, request: SandboxRequest) -> SandboxReply:
        """Return reports of completed rows, one per request of a batch. Raises `RefusedError`."""
        now = self._clock.now()
        rows = [
            _report(scan_id, row)
            for scan_id in _ids(request, "report_ids", "R")
            for row in self._scans.get(scan_id, ())
            if row.ready <= now and row.verdict is not None
        ]
        self._random.shuffle(rows)
        return SandboxReply(rows)

    def texts(self, content: Any) -> Iterator[str]:
        """Yield the texts of a body, as far as it can be read."""
        for item in content if isinstance(content, list) else [{"scan_req": content}]:
            last = _last_content(item.get("scan_req") if isinstance(item, dict) else None)
            for name in ("prompt", "response"):
                if isinstance(text := last.get(name), str):
                    yield text

    def _checked(self, body: Any) -> CheckedScan:
        if not isinstance(body, dict):
            raise RefusedError(400, detail="a scan request is not an object")
        echoes: dict[str, str] = {}
        for name in ("tr_id", "session_id", "transaction_id"):
            value = body.get(name)
            if value is None:
                continue
            if not isinstance(value, str) or len(value) > LABEL_AT_MOST:
                raise RefusedError(
                    400, detail=f"{name} is not a text of at most {LABEL_AT_MOST} characters"
                )
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
        return CheckedScan(profile, last, echoes, key)

    def _profile(self, named: Any) -> ProfileRevision:
        if not isinstance(named, dict):
            raise RefusedError(400, detail="ai_profile is missing")
        profile_id, name = named.get("profile_id"), named.get("profile_name")
        profile: ProfileRevision | None = None
        if isinstance(profile_id, str) and profile_id:
            try:
                return self._tenant.profile(profile_id)
            except RefusedError as error:
                raise RefusedError(400, detail=str(error)) from error
        if isinstance(name, str) and 0 < len(name) <= LABEL_AT_MOST:
            profile = self._tenant.current(name)
        if profile is None:
            raise RefusedError(400, detail=f"unknown profile {name!r}")
        return profile

    def _verdict(self, scan: CheckedScan, scan_id: str) -> dict[str, Any]:
        profile, stamp = scan.profile, self._clock.stamp()
        texts = {side: scan.content.get(side) for side in ("prompt", "response")}
        prompt, response = (self._judge.judge(profile, side, text) for side, text in texts.items())
        blocks = prompt.blocks or response.blocks
        verdict: dict[str, Any] = {
            "source": "AI-Runtime-API",
            "scan_id": scan_id,
            "report_id": f"R{scan_id}",
            **scan.echoes,
            "profile_id": profile.profile_id,
            "profile_name": profile.profile_name,
            "category": "malicious" if blocks else "benign",
            "action": "block" if blocks else "allow",
            "timeout": False,
            "error": False,
            "errors": [],
        }
        for side, judgement in (("prompt", prompt), ("response", response)):
            verdict[f"{side}_detected"] = {} if texts[side] is None else _detected(judgement)
            if details := _details(judgement):
                verdict[f"{side}_detection_details"] = {"topic_guardrails_details": details}
        verdict["created_at"] = verdict["completed_at"] = stamp
        return verdict

    def _store(self, scan_id: str, rows: list[_Row]) -> None:
        self._scans[scan_id] = rows
        if len(self._scans) > MAX_SCANS:
            self._scans.popitem(last=False)

    def _result(self, scan_id: str, row: _Row) -> dict[str, Any]:
        result: dict[str, Any] = {"source": "AI-Runtime-API", "scan_id": scan_id}
        result["req_id"] = row.req_id or 0
        if row.ready > self._clock.now():
            return {**result, "status": "pending"}
        if row.verdict is None:
            return {**result, "status": "FAILED"}
        return {**result, "status": "complete", "result": row.verdict}


def _last_content(request: Any) -> dict[str, Any]:
    contents = request.get("contents") if isinstance(request, dict) else None
    last = contents[-1] if isinstance(contents, list) and contents else None
    return last if isinstance(last, dict) else {}


def _check_content(content: Any) -> None:
    if not isinstance(content, dict):
        raise RefusedError(400, detail="an element of contents is not an object")
    has_text = False
    for name in _TEXTS:
        if name in content:
            text = content[name]
            if not isinstance(text, str) or not text:
                raise RefusedError(400, detail=f"{name} is empty")
            has_text |= name != "context"
    if not has_text:
        raise RefusedError(400, detail="an element of contents has nothing to scan")


def _detected(judgement: TextJudgement) -> dict[str, bool]:
    detected = dict.fromkeys(judgement.detectors, False)
    if judgement.violation is not None:
        detected["topic_violation"] = judgement.violation
    return detected


def _details(judgement: TextJudgement) -> dict[str, list[str]]:
    details = {}
    if judgement.allowed:
        details["allowed_topics"] = list(judgement.allowed)
    if judgement.blocked:
        details["blocked_topics"] = list(judgement.blocked)
    return details


def _ids(request: SandboxRequest, name: str, letter: str) -> list[str]:
    """Return scan ids from a comma-separated list. Raises `RefusedError` (400)."""
    written = [text for text in request.query.get(name, "").split(",") if text]
    ids = [text.removeprefix(letter) for text in written]
    valid = all(
        text.startswith(letter) and _UUID.fullmatch(scan_id)
        for text, scan_id in zip(written, ids, strict=True)
    )
    if not 1 <= len(ids) <= IDS_AT_MOST or not valid:
        raise RefusedError(
            400, detail=f"{name}: not a list of 1 to {IDS_AT_MOST} ids joined by commas"
        )
    return list(dict.fromkeys(scan_id.lower() for scan_id in ids))


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
    content: dict[str, Any] = {
        "source": "AI-Runtime-API",
        "report_id": f"R{scan_id}",
        "scan_id": scan_id,
        "req_id": row.req_id or 0,
        "detection_results": detections,
    }
    if "tr_id" in row.echoes:
        content["transaction_id"] = row.echoes["tr_id"]
    if "session_id" in row.echoes:
        content["session_id"] = row.echoes["session_id"]
    return content
