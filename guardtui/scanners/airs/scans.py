"""Client of the scan API: single prompts, batches, and their results."""

from __future__ import annotations

import hashlib
import hmac
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from guardtui.domain.verdicts import Verdict
from guardtui.http.answers import json_body
from guardtui.http.clock import CLOCK, Clock
from guardtui.http.errors import ServiceError
from guardtui.http.limits import AdaptiveLimit, Rate
from guardtui.http.retries import UNSENT, Retries
from guardtui.scanners.airs.answers import read_answer
from guardtui.scanners.airs.credentials import AirsSettings
from guardtui.scanners.airs.errors import (
    UNKNOWN_FATE,
    refused,
    reworded,
    scan_error,
    unusable,
)
from guardtui.scanners.airs.models import Receipt, ResultRow

if TYPE_CHECKING:
    from guardtui.http.client import Names, Reply

SYNC_BYTES = 2 * 1024**2
ASYNC_BYTES = 5 * 1024**2
"""Maximum bytes of the body of one scan, and of a batch."""
BATCH_AT_MOST = 20
IDS_AT_MOST = 5
"""Maximum number of ids in one query of results."""
POLL_RATE = Rate(10, 60.0)
"""Queries of results that the service accepts."""


@dataclass(frozen=True, slots=True)
class Batch:
    """An accepted batch: for each `req_id` the index of its prompt.

    `transaction` is what the `tr_id` of all its requests starts with.
    """

    scan_id: str
    rows: Mapping[int, int]
    transaction: str

    def tr_id(self, number: int) -> str:
        """Return the `tr_id` that the request with this `req_id` was sent with."""
        return f"{self.transaction}-{number}"


class ScanClient:
    """Scans with one key, by the newest revision of the profile of the settings.

    Close it (`async with`) when done; belongs to one event loop. `limit` is for scans. Raises
    AirsError without a credential or a profile; all calls raise ServiceError.
    """

    def __init__(
        self,
        settings: AirsSettings,
        *,
        limit: AdaptiveLimit | None = None,
        retries: Retries | None = None,
        timeout: float = 60.0,
        clock: Clock = CLOCK,
    ) -> None:
        from guardtui.http.client import RemoteClient

        credential = settings.scan_credential()
        self._profile, self.clock = settings.required_profile, clock
        self.limit = limit or AdaptiveLimit(settings.concurrency, clock=clock)
        self._host = settings.scan_endpoint.authority
        self._key = credential.secret if credential.header == "x-pan-token" else None
        retries = retries or Retries(attempts=settings.retries + 1)
        # A batch that may have been accepted is never sent again.
        self._once = Retries(retries.attempts, retries.total, on=UNSENT.on)
        endpoint = settings.scan_endpoint
        self._scans, self._results = (
            RemoteClient(
                endpoint,
                credential=credential,
                limit=client_limit,
                retries=retries,
                timeout=timeout,
                clock=clock,
            )
            for client_limit in (self.limit, AdaptiveLimit(1, rate=POLL_RATE, clock=clock))
        )

    async def scan(self, prompt: str) -> Verdict:
        """Scan one prompt now."""
        if problem := self.problem_of(prompt):
            raise problem
        tr_id = uuid.uuid4().hex

        def names(data: object) -> bool:
            return isinstance(data, Mapping) and data.get("tr_id") == tr_id

        body = self._body(prompt, tr_id)
        reply = await self._post("/v1/scan/sync/request", body, names=names)
        return read_answer(reply.data, tr_id=tr_id, seconds=reply.seconds)

    async def submit(self, prompts: Sequence[tuple[int, str]]) -> Batch:
        """Send at most 20 indexed prompts, none with a `problem_of`, as one batch.

        If it is unknown whether the service accepted it, the batch is not sent again: the
        ServiceError is final.
        """
        # Numbers start at 1, because some encoders omit a 0 from the response.
        rows = {number: index for number, (index, _) in enumerate(prompts, start=1)}
        batch = Batch("", rows, uuid.uuid4().hex)
        body = [
            {"req_id": number, "scan_req": self._body(prompt, batch.tr_id(number))}
            for number, (_, prompt) in zip(rows, prompts, strict=True)
        ]
        try:
            reply = await self._post("/v1/scan/async/request", body, self._once)
            receipt = Receipt.read(reply.data)
        except ServiceError as error:
            if error.kind not in UNKNOWN_FATE:
                raise
            message = f"unknown state: the batch was sent once, but {error.message}"
            unknown = reworded(error, message)
            unknown.final = True
            raise unknown from None
        return replace(batch, scan_id=receipt.scan_id)

    async def results(self, scan_ids: Sequence[str]) -> list[ResultRow]:
        """Return the states of the requests of up to 5 batches; unreadable rows are omitted."""
        params = {"scan_ids": ",".join(scan_ids)}
        try:
            reply = await self._results.request("GET", "/v1/scan/results", params=params)
        except ServiceError as error:
            raise scan_error(error, self._host) from None
        if not isinstance(reply.data, list):
            raise unusable("not a list of results")
        rows = []
        for data in reply.data:
            try:
                rows.append(ResultRow.read(data))
            except ServiceError:
                continue
        return rows

    def problem_of(self, prompt: str) -> ServiceError | None:
        """Return the reason why a prompt cannot be sent, or None."""
        if not prompt.strip():
            return refused("the prompt is empty, which the service rejects")
        # JSON has at most 12 bytes per character, so small prompts need no exact size.
        if 12 * len(prompt) > SYNC_BYTES // 2 and self.size_of(prompt) > SYNC_BYTES:
            return refused("the prompt is too large: the maximum of a request is 2 MB")
        return None

    def size_of(self, prompt: str) -> int:
        """Return the bytes of the request for a prompt."""
        return len(json_body(self._body(prompt, uuid.uuid4().hex)))

    async def aclose(self) -> None:
        """Close all connections."""
        for client in (self._scans, self._results):
            await client.aclose()

    async def __aenter__(self) -> ScanClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _body(self, prompt: str, tr_id: str) -> dict[str, Any]:
        return {
            "tr_id": tr_id,
            "ai_profile": {"profile_name": self._profile},
            "contents": [{"prompt": prompt}],
        }

    async def _post(
        self, path: str, body: object, retry: Retries | None = None, names: Names | None = None
    ) -> Reply:
        content, headers = json_body(body), {}
        if self._key is not None:
            # Hex HMAC-SHA256 (RFC 2104) of the body, keyed with the API key.
            key = self._key.reveal().encode()
            headers["x-payload-hash"] = hmac.new(key, content, hashlib.sha256).hexdigest()
        try:
            return await self._scans.request(
                "POST", path, content=content, headers=headers, retry=retry, names=names
            )
        except ServiceError as error:
            raise scan_error(error, self._host, self._profile) from None
