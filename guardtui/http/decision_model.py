"""HTTP calls of a decision model, for both API formats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guardtui.http.client import RemoteClient
from guardtui.http.decisions import Api, DecisionQuestion, DecisionReply, read_answers, request_body
from guardtui.http.errors import ErrorKind, ServiceError

_CONFLICT = 409


class DecisionModel:
    """A decision model of a service, whose `client` is a `model_client` of the path of `api`."""

    def __init__(self, client: RemoteClient, model: str, api: Api = Api.DECISIONS) -> None:
        self.client, self.model, self.api = client, model, api

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
