"""Choosing the guardrail of a running session: what is offered, whether it answers, its use."""

from __future__ import annotations

import asyncio

from guardtui.app.connections import Connections
from guardtui.app.facts import Fact
from guardtui.app.guardrail_choice import (
    MODELS,
    GuardrailError,
    GuardrailOffer,
    GuardrailRequest,
    Kind,
    accounts_of,
    offer_of,
    with_choice,
)
from guardtui.app.ports import Author
from guardtui.app.scan import Scans


class Guardrails:
    """Offers, checks and changes the guardrail that scans ask."""

    def __init__(self, connections: Connections, scans: Scans, author: Author) -> None:
        self._connections, self._scans, self._author = connections, scans, author

    @property
    def refusal(self) -> str:
        """Why no guardrail can be asked before one is chosen; "" where one can."""
        return self._connections.refusal

    async def offer(self) -> GuardrailOffer:
        """Return what is configured, and where each value is from. Raises StoreError."""
        known = self._connections
        kind, remembered = known.kind, known.remembered_choice
        return await asyncio.to_thread(offer_of, known.options, remembered, kind, known.flags)

    async def check(self, request: GuardrailRequest) -> Fact:
        """Ask the guardrail about a prompt or two, which are not recorded.

        Raises GuardrailError, AirsError, ScannerError and AddressError naming what is wrong.
        """
        # Imported when needed, with the client of HTTP.
        from guardtui.app.guardrail_check import check_airs, check_model

        options = await asyncio.to_thread(with_choice, self._connections.options, request)
        if request.choice.kind in MODELS and options.model is not None:
            return await check_model(options.model)
        if request.choice.kind is Kind.AIRS:
            return await check_airs(options.settings())
        return Fact("engine", "ok", "the embedded engine needs no service")

    async def choose(self, request: GuardrailRequest) -> None:
        """Use a guardrail from now on; a key is kept in the keyring first, where that is wanted.

        What is shown follows. Raises as `check`, and KeyringError; nothing has changed then.
        """
        if self._scans.under_way:
            raise GuardrailError("A scan is under way: let it end, or stop it first")
        options = await asyncio.to_thread(with_choice, self._connections.options, request)
        if request.keep and request.key:
            for account in accounts_of(options, request.choice.kind):
                await asyncio.to_thread(options.keys.keep, account)
        self._connections.choose(request.choice, options)
        self._scans.guardrail_changed()
        self._author.notify(f"Scans ask {self._asked}." if self._asked else _ENGINE_ONLY)

    @property
    def _asked(self) -> str:
        connections = self._connections
        if connections.kind is Kind.ENGINE:
            return ""
        if connections.model is not None:
            kind = "decision model" if connections.kind is Kind.DECISION else "judge"
            return f"the {kind} {connections.model.place}"
        place = "" if connections.connection is None else f" {connections.connection.place}"
        return f"AIRS{place}"


_ENGINE_ONLY = "The embedded engine alone measures this topic; no service is asked."
