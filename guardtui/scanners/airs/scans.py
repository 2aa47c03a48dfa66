"""The scan API: one prompt at once, a batch to be asked for later, results and reports."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from guardtui.domain.verdicts import Verdict
from guardtui.http.clock import CLOCK, Clock
from guardtui.http.errors import ServiceError, inert
from guardtui.http.json_body import json_body
from guardtui.http.limits import AdaptiveLimit, Rate
from guardtui.http.retries import UNSENT, Retries
from guardtui.scanners.airs.answers import read_answer
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.errors import (
    UNKNOWN_FATE,
    AirsError,
    refused,
    reworded,
    scan_error,
    unusable,
)
from guardtui.scanners.airs.models import Receipt, Report, ResultRow

if TYPE_CHECKING:
    from guardtui.http.client import Reply

SYNC_BYTES = 2 * 1024**2
ASYNC_BYTES = 5 * 1024**2
"""Largest body of one scan, and of a batch."""
BATCH_AT_MOST = 20
IDS_AT_MOST = 5
"""Ids in one query of results or reports."""
POLL_RATE = Rate(10, 60.0)
"""Queries for results, and for reports, that the service takes."""
_LABEL = 100
"""Characters of a profile's name, `tr_id` and `session_id`."""
_ID = re.compile(r"[0-9A-Za-z-]{1,64}")


@dataclass(frozen=True, slots=True)
class ProfileChoice:
    """Which profile judges: by name its newest revision, by id one revision for ever.

    Raises AirsError when it is neither or the name is too long.
    """

    name: str = ""
    id: str = ""

    def __post_init__(self) -> None:
        if not self.name and not self.id:
            raise AirsError("no security profile is named")
        if len(self.name) > _LABEL:
            raise AirsError(f"the profile's name has more than {_LABEL} characters")

    @property
    def json(self) -> dict[str, str]:
        """As it is sent. The id alone, when there is one: a name beside it is one more doubt."""
        return {"profile_id": self.id} if self.id else {"profile_name": self.name}


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that was taken: for each `req_id` the index of its prompt."""

    scan_id: str
    rows: Mapping[int, int]


class ScanClient:
    """Scans with one key. Close it (`async with`) when done; belongs to one event loop.

    `limit` is for scans. Raises AirsError without a credential, or for a session id that is too
    long; all calls raise ServiceError.
    """

    def __init__(
        self,
        settings: AirsSettings,
        profile: ProfileChoice,
        *,
        limit: AdaptiveLimit | None = None,
        retries: Retries | None = None,
        timeout: float = 60.0,
        session_id: str = "",
        clock: Clock = CLOCK,
    ) -> None:
        from guardtui.http.client import RemoteClient

        if len(session_id) > _LABEL:
            raise AirsError(f"the session id has more than {_LABEL} characters")
        credential = settings.scan_credential()
        self.profile, self.clock, self._session = profile, clock, session_id
        self.limit = limit or AdaptiveLimit(settings.concurrency, clock=clock)
        self._host = settings.scan_endpoint.authority
        self._key = credential.secret if credential.header == "x-pan-token" else None
        retries = retries or Retries(attempts=settings.retries + 1)
        # A batch that may have been taken is never sent again.
        self._once = Retries(retries.attempts, retries.total, on=UNSENT.on)
        endpoint = settings.scan_endpoint
        self._scans, self._results, self._reports = (
            RemoteClient(
                endpoint,
                credential=credential,
                limit=one,
                retries=retries,
                timeout=timeout,
                clock=clock,
            )
            for one in (
                self.limit,
                AdaptiveLimit(1, rate=POLL_RATE, clock=clock),
                AdaptiveLimit(1, rate=POLL_RATE, clock=clock),
            )
        )

    async def scan(self, prompt: str, *, topic: str = "", tr_id: str = "") -> Verdict:
        """Scan one prompt now. `topic` is the name of the topic under test."""
        if problem := self.problem_of(prompt, tr_id):
            raise problem
        reply = await self._post("/v1/scan/sync/request", self._body(prompt, tr_id), True)
        return read_answer(reply.data, topic=topic, seconds=reply.seconds)

    async def submit(self, prompts: Sequence[tuple[int, str]]) -> Batch:
        """Send indexed prompts as one batch, of at most 20.

        When nobody knows whether the service took it, it is not sent again: ServiceError, final.
        """
        if not 1 <= len(prompts) <= BATCH_AT_MOST:
            raise refused(f"a batch has 1 to {BATCH_AT_MOST} prompts")
        for _, prompt in prompts:
            if problem := self.problem_of(prompt):
                raise problem
        # Not from 0, which some encoders leave out of an answer.
        numbered = list(enumerate(prompts, start=1))
        body = [
            {"req_id": number, "scan_req": self._body(prompt)} for number, (_, prompt) in numbered
        ]
        try:
            reply = await self._post("/v1/scan/async/request", body, self._once)
            receipt = Receipt.read(reply.data)
        except ServiceError as error:
            if error.kind not in UNKNOWN_FATE:
                raise
            message = f"unknown fate: the batch was sent once, but {error.message}"
            unknown = reworded(error, message)
            unknown.final = True
            raise unknown from None
        return Batch(receipt.scan_id, {number: index for number, (index, _) in numbered})

    async def results(self, scan_ids: Sequence[str]) -> list[ResultRow]:
        """How the requests of up to 5 batches stand; rows that cannot be read are left out."""
        params = {"scan_ids": _ids(scan_ids)}
        try:
            reply = await self._results.request("GET", "/v1/scan/results", params=params)
        except ServiceError as error:
            raise scan_error(error, self._host) from None
        rows = []
        for data in _list(reply.data, "results"):
            try:
                rows.append(ResultRow.read(data))
            except ServiceError:
                continue
        return rows

    async def reports(self, report_ids: Sequence[str]) -> list[Report]:
        """The reports of up to 5 ids; a batch has one for each of its requests."""
        params = {"report_ids": _ids(report_ids)}
        try:
            reply = await self._reports.request("GET", "/v1/scan/reports", params=params)
        except ServiceError as error:
            raise scan_error(error, self._host) from None
        return [Report.read(data) for data in _list(reply.data, "reports")]

    def problem_of(self, prompt: str, tr_id: str = "") -> ServiceError | None:
        """Why a prompt is not sent at all; None when it is."""
        if not prompt.strip():
            return refused("the prompt is empty, which the service does not take")
        if len(tr_id) > _LABEL:
            return refused(f"the transaction id has more than {_LABEL} characters")
        # JSON has at most 12 bytes for a character; what is surely small is not measured.
        if 12 * len(prompt) > SYNC_BYTES // 2 and self.size_of(prompt) > SYNC_BYTES:
            return refused("the prompt is too large: a request has at most 2 MB")
        return None

    def size_of(self, prompt: str) -> int:
        """Bytes of the request for a prompt."""
        return len(json_body(self._body(prompt)))

    async def aclose(self) -> None:
        """Close all connections."""
        for client in (self._scans, self._results, self._reports):
            await client.aclose()

    async def __aenter__(self) -> ScanClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    def _body(self, prompt: str, tr_id: str = "") -> dict[str, Any]:
        body: dict[str, Any] = {"ai_profile": self.profile.json, "contents": [{"prompt": prompt}]}
        if tr_id:
            body["tr_id"] = tr_id
        if self._session:
            body["session_id"] = self._session
        return body

    async def _post(self, path: str, body: object, retry: Retries | bool) -> Reply:
        content, headers = json_body(body), {}
        if self._key is not None:
            headers["x-payload-hash"] = payload_hash(content, self._key.reveal())
        try:
            return await self._scans.request(
                "POST", path, content=content, headers=headers, retry=retry
            )
        except ServiceError as error:
            raise scan_error(error, self._host, self.profile.name or self.profile.id) from None


def payload_hash(body: bytes, key: str) -> str:
    """Hex HMAC-SHA256 (RFC 2104) of a body, keyed with the API key."""
    return hmac.new(key.encode(), body, hashlib.sha256).hexdigest()


def _ids(ids: Sequence[str]) -> str:
    wanted = list(dict.fromkeys(ids))
    if not 1 <= len(wanted) <= IDS_AT_MOST:
        raise refused(f"1 to {IDS_AT_MOST} ids can be asked for at a time")
    for one in wanted:
        if not _ID.fullmatch(one):
            raise refused(f"{inert(one)[:60]!r} is no id of a scan or report")
    return ",".join(wanted)


def _list(data: object, what: str) -> list[Any]:
    if not isinstance(data, list):
        raise unusable(f"it is no list of {what}")
    return data
