"""The guardrail of a running session: those to choose from, a check, and the change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from guardtui.app.guardrails.check_result import CheckResult
from guardtui.app.guardrails.choice import (
    GuardrailOffer,
    GuardrailRequest,
    accounts_of,
    key_origin,
    offer_of,
    with_guardrail,
)
from guardtui.app.guardrails.connections import Connections
from guardtui.app.guardrails.named import GuardrailError, NamedGuardrail, save_guardrail
from guardtui.app.guardrails.remote import RemoteOptions
from guardtui.app.ports import Author
from guardtui.app.scan.run import Scans


class Guardrails:
    """Lists, checks, saves and changes the guardrail used by scans of a topic."""

    def __init__(
        self,
        connections: Connections,
        scans: Scans,
        author: Author,
        topic: Path,
        in_use: Callable[[], bool],
    ) -> None:
        """`in_use` returns whether a scan or an experiment is under way."""
        self._connections, self._scans, self._author = connections, scans, author
        self._topic, self._in_use = topic, in_use

    @property
    def refusal(self) -> str:
        """Why no scan can run before a guardrail is chosen, or ""."""
        return self._connections.refusal

    async def offer(self) -> GuardrailOffer:
        """Return the guardrails to choose from. Raises StoreError."""
        known = self._connections
        return await asyncio.to_thread(
            offer_of, known.options, self._topic, known.guardrail, known.remembered
        )

    async def key_origin(self, guardrail: NamedGuardrail) -> str:
        """Return where the key of a guardrail comes from, or ""."""
        return await asyncio.to_thread(key_origin, self._connections.options, guardrail)

    async def check(self, request: GuardrailRequest) -> CheckResult:
        """Send the guardrail one or two prompts, without recording them.

        Raises GuardrailError, AirsError, ScannerError and AddressError.
        """
        return await check(self._connections.options, request.guardrail, request.key)

    async def choose(self, request: GuardrailRequest) -> None:
        """Use a guardrail; it and its key are stored first, if requested.

        The screen is updated. Raises as `check`, KeyringError and FileError, before any change of
        the session.
        """
        if self._in_use():
            what = "A scan" if self._scans.under_way else "An experiment"
            raise GuardrailError(f"{what} is under way: let it end, or stop it first")
        guardrail = request.guardrail
        options = await asyncio.to_thread(
            with_guardrail, self._connections.options, guardrail, request.key
        )
        if request.keep and request.key:
            for account in accounts_of(options, guardrail.kind):
                await asyncio.to_thread(options.keys.keep, account)
        if request.save:
            guardrail = await asyncio.to_thread(save_guardrail, guardrail)
        self._connections.choose(guardrail, options)
        self._scans.guardrail_changed()
        self._author.notify(f"Scans ask {self._asked}." if self._asked else _ENGINE_ONLY)

    @property
    def _asked(self) -> str:
        connections = self._connections
        if connections.kind == "engine":
            return ""
        if connections.model is not None:
            kind = "decision model" if connections.kind == "decision" else "judge"
            return f"the {kind} {connections.model.title}"
        name = "" if connections.connection is None else f" {connections.connection.title}"
        return f"AIRS{name}"


async def check(options: RemoteOptions, guardrail: NamedGuardrail, key: str = "") -> CheckResult:
    """Send a guardrail one or two prompts; `key` was typed. Raises as `with_guardrail`."""
    # Imported when needed, since it loads the HTTP client.
    from guardtui.app.guardrails.check import check_airs, check_model

    options = await asyncio.to_thread(with_guardrail, options, guardrail, key)
    if guardrail.kind == "airs":
        return await check_airs(options.settings())
    if guardrail.kind != "engine" and options.model is not None:
        return await check_model(options.model)
    return CheckResult("engine", "ok", "the engine needs no service")


_ENGINE_ONLY = "The engine alone measures this topic; no service is asked."
