"""HTTP client of a decision model, for both API formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from guardtui.http.address import Endpoint
from guardtui.http.client import RemoteClient
from guardtui.http.clock import CLOCK, Clock
from guardtui.http.decisions import Api, DecisionQuestion, DecisionReply, read_answers, request_body
from guardtui.http.errors import ErrorKind, ServiceError
from guardtui.http.limits import AdaptiveLimit
from guardtui.http.retries import Retries
from guardtui.http.secret import Secret, bearer

_CONFLICT = 409


class DecisionModel:
    """A decision model at a URL such as https://host/v1, to which the path is added.

    Close it (`async with`) when done. Raises AddressError for a URL that is not allowed.
    """

    def __init__(
        self,
        url: str,
        model: str,
        key: Secret | None = None,
        *,
        api: Api = Api.DECISIONS,
        limit: AdaptiveLimit | None = None,
        retries: Retries | None = None,
        timeout: float = 120.0,
        allow_http: bool = False,
        clock: Clock = CLOCK,
    ) -> None:
        endpoint = Endpoint.parse(url, allow_http=allow_http)
        self.model, self.api = model, api
        self.client = RemoteClient(
            replace(endpoint, path=endpoint.path.removesuffix(api.path)),
            credential=None if key is None else bearer(key),
            limit=limit,
            retries=retries,
            timeout=timeout,
            clock=clock,
        )

    @property
    def limit(self) -> AdaptiveLimit:
        """The limit that its calls respect."""
        return self.client.limit

    def body(self, text: str, questions: Sequence[DecisionQuestion]) -> dict[str, Any]:
        """Return the request body for these questions about a text."""
        return request_body(self.api, self.model, text, questions)

    async def ask(self, text: str, questions: Sequence[DecisionQuestion]) -> DecisionReply:
        """Request the answers to questions about a text. Raises ServiceError."""
        try:
            reply = await self.client.request(
                "POST", self.api.path, json=self.body(text, questions)
            )
        except ServiceError as error:
            if error.status != _CONFLICT:
                raise
            conflict = error
        else:
            return read_answers(self.api, reply.data, len(questions))
        # These services use 409 like others use 503: nothing was done, retry.
        raise ServiceError(
            ErrorKind.SERVER, conflict.message, status=_CONFLICT, attempts=conflict.attempts
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self.client.aclose()

    async def __aenter__(self) -> DecisionModel:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
