"""The guardrail of a running session: the offered values, a check, and the change."""

from __future__ import annotations

import asyncio

from guardtui.app.check_result import CheckResult
from guardtui.app.connections import Connections
from guardtui.app.guardrail_choice import (
    MODELS,
    GuardrailError,
    GuardrailKind,
    GuardrailOffer,
    GuardrailRequest,
    accounts_of,
    offer_of,
    with_choice,
)
from guardtui.app.ports import Author
from guardtui.app.scan.run import Scans


class Guardrails:
    """Offers, checks and changes the guardrail used by scans."""

    def __init__(self, connections: Connections, scans: Scans, author: Author) -> None:
        self._connections, self._scans, self._author = connections, scans, author

    @property
    def refusal(self) -> str:
        """Why no scan can run before a guardrail is chosen, or ""."""
        return self._connections.refusal

    async def offer(self) -> GuardrailOffer:
        """Return the configured values and their origins. Raises StoreError."""
        known = self._connections
        kind, remembered = known.kind, known.remembered_choice
        return await asyncio.to_thread(offer_of, known.options, remembered, kind, known.flags)

    async def check(self, request: GuardrailRequest) -> CheckResult:
        """Send the guardrail one or two prompts, without recording them.

        Raises GuardrailError, AirsError, ScannerError and AddressError.
        """
        # Imported when needed, since it loads the HTTP client.
        from guardtui.app.guardrail_check import check_airs, check_model

        options = await asyncio.to_thread(with_choice, self._connections.options, request)
        if request.choice.kind in MODELS and options.model is not None:
            return await check_model(options.model)
        if request.choice.kind is GuardrailKind.AIRS:
            return await check_airs(options.settings())
        return CheckResult("engine", "ok", "the embedded engine needs no service")

    async def choose(self, request: GuardrailRequest) -> None:
        """Use a guardrail; its key is stored in the keyring first, if requested.

        The screen is updated. Raises as `check`, and KeyringError, before any change.
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
        if connections.kind is GuardrailKind.ENGINE:
            return ""
        if connections.model is not None:
            kind = "decision model" if connections.kind is GuardrailKind.DECISION else "judge"
            return f"the {kind} {connections.model.title}"
        name = "" if connections.connection is None else f" {connections.connection.title}"
        return f"AIRS{name}"


_ENGINE_ONLY = "The embedded engine alone measures this topic; no service is asked."
