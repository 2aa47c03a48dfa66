"""The author's wordings for a trial, and the choice of a language model that writes more."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from guardtui.app.connections import Connections
from guardtui.app.guardrail_choice import BEFORE, with_writer
from guardtui.app.ports import Author, Question
from guardtui.app.remote import RemoteOptions
from guardtui.domain.errors import GuardtuiError
from guardtui.scanners.session_keys import model_account, why_no_keyring


@dataclass(frozen=True, slots=True)
class WordingRequest:
    """The author's descriptions, one a line, and a writer as URL#name; each may be "".

    `key` was typed for the writer ("" for the configured one); `keep` stores it in the keyring.
    """

    text: str = ""
    writer: str = ""
    key: str = field(default="", repr=False)
    keep: bool = False


@dataclass(frozen=True, slots=True)
class TypeWordings(Question[WordingRequest]):
    """A question for the author's own descriptions, and the language model that writes more.

    `others` is the maximum number of further wordings. `offered` is the initial answer, with the
    origins of its writer and of the writer's key. `no_keyring` is why a key cannot be stored,
    `problem` why the last answer was invalid; each may be "".
    """

    others: int
    offered: WordingRequest = WordingRequest()
    origin: str = ""
    key_origin: str = ""
    no_keyring: str = ""
    problem: str = ""


class WordingRequests:
    """Asks for wordings and a writer, and uses the writer from then on."""

    def __init__(self, connections: Connections, author: Author) -> None:
        self._connections, self._author = connections, author
        self._declined = False

    async def ask(self, others: int) -> WordingRequest | None:
        """Ask until the writer is valid; None if dismissed. Raises StoreError."""
        question = await self._question(others)
        while (answer := await self._author.ask(question)) is not None:
            request = replace(answer, writer=answer.writer.strip(), key=answer.key.strip())
            self._declined = not request.writer
            try:
                if request.writer:
                    await self._use(request)
            except (GuardtuiError, ValueError) as error:
                question = TypeWordings(
                    others, request, no_keyring=question.no_keyring, problem=str(error)
                )
            else:
                return request
        return None

    async def _question(self, others: int) -> TypeWordings:
        connections = self._connections
        if self._declined:
            return TypeWordings(others, no_keyring=await asyncio.to_thread(why_no_keyring))
        return await asyncio.to_thread(
            offered, others, connections.options, connections.remembered_writer
        )

    async def _use(self, request: WordingRequest) -> None:
        """Use the writer, and store its typed key if requested; the key comes first."""
        connections = self._connections
        options = await asyncio.to_thread(
            with_writer, connections.options, request.writer, request.key
        )
        model = options.wording_model
        assert model is not None  # noqa: S101 - `with_writer` sets it
        if request.keep and request.key:
            account = model_account(model.models[0])
            await asyncio.to_thread(options.keys.keep, account)
        connections.use_writer(options)


def offered(others: int, options: RemoteOptions, remembered: str) -> TypeWordings:
    """Return the question with the writer in use, or else the remembered one, and its key.

    Blocks, since it reads the keyring.
    """
    origin = "in use" if options.wording_model is not None else BEFORE
    if options.wording_model is None and remembered:
        try:
            options = with_writer(options, remembered)
        except (GuardtuiError, ValueError):  # reported when it is used
            request = WordingRequest(writer=remembered)
            return TypeWordings(others, request, BEFORE, no_keyring=why_no_keyring())
    writer = options.wording_model
    if writer is None:
        return TypeWordings(others, no_keyring=why_no_keyring())
    model = writer.models[0]
    key_origin = ""
    if model.key is not None:
        key_origin = model.key_variable or options.keys.origin(model_account(model)) or "in use"
    request = WordingRequest(writer=model.full)
    return TypeWordings(others, request, origin, key_origin, why_no_keyring())
