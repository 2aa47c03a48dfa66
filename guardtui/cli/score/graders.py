"""Models that grade, by the options of the command line: addresses, keys, retries, remedies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from guardtui.cli.guardrail_options import Function

if TYPE_CHECKING:
    from guardtui.http.errors import ServiceError
    from guardtui.http.model_keys import ModelKeys
    from guardtui.http.openai import ChatModel
    from guardtui.scorer.models import GraderModel
    from guardtui.scorer.state import HasCompletion, Message


def model_role_option(function: Function) -> Function:
    """Add --model-role, which may be given several times."""
    return click.option(
        "--model-role",
        "model_roles",
        multiple=True,
        metavar="NAME=URL#MODEL",
        help="The model of a role that a scorer names (model_role=NAME); several are a panel.",
    )(function)


def roles_of(given: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the models of each role, in the order of the options. Raises UsageError."""
    roles: dict[str, tuple[str, ...]] = {}
    for text in given:
        name, equals, model = text.partition("=")
        name = name.strip()
        if not equals or not name or not model.strip() or "#" in name:
            raise click.UsageError(f"--model-role: write NAME=URL#MODEL, not {text!r}")
        roles[name] = (*roles.get(name, ()), model.strip())
    return roles


class Grader:
    """A chat model whose errors have remedies."""

    def __init__(self, model: ChatModel, address: str, key_variable: str) -> None:
        self._model = model
        self._address = address
        self._key_variable = key_variable

    async def generate(self, input: str | Sequence[Message]) -> HasCompletion:  # noqa: A002
        """Return the model's answer. Raises GraderError."""
        from guardtui.http.errors import ServiceError
        from guardtui.session.graders import GraderError

        try:
            return await self._model.generate(input)
        except ServiceError as error:
            raise GraderError(
                f"{self._address}: {error.message}\n{_remedy(error, self._key_variable)}"
            ) from error

    async def aclose(self) -> None:
        """Close all connections."""
        await self._model.client.aclose()


def grader_maker(
    *, concurrency: int, retries: int, allow_http: bool, models: Sequence[str] = ()
) -> Callable[[str], tuple[str, GraderModel]]:
    """Return a function that returns the model of `URL#name` with its full name.

    It raises ValueError, also if the owner of the key in the environment is ambiguous. `models` are
    those that are known to be used in this run.
    """
    keys: list[ModelKeys] = []

    def make(text: str) -> tuple[str, GraderModel]:
        from guardtui.http.client import model_client
        from guardtui.http.limits import AdaptiveLimit
        from guardtui.http.model_keys import ModelKeys
        from guardtui.http.openai import PATH, ChatModel, parse_model
        from guardtui.http.retries import Retries

        url, name = parse_model(text, allow_http=allow_http)
        if not keys:
            keys.append(ModelKeys(urls=_urls(models, allow_http)))
        key = keys[0].find(url)
        client = model_client(
            url,
            PATH,
            key.secret,
            limit=AdaptiveLimit(concurrency),
            retries=Retries(attempts=retries + 1, base=0.5),
            allow_http=allow_http,
        )
        full = f"{url}#{name}"
        return full, Grader(ChatModel(client, name), full, key.variable)

    return make


def models_named(expressions: Iterable[str]) -> list[str]:
    """Return the models of the form `URL#name` in the texts of scorers' expressions."""
    import ast

    models: list[str] = []
    for text in expressions:
        try:
            nodes = list(ast.walk(ast.parse(text.strip(), mode="eval")))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # reported by the reader of the expression
        values = [text_value.value for text_value in nodes if isinstance(text_value, ast.Constant)]
        models += [
            text_value
            for text_value in values
            if isinstance(text_value, str) and "#" in text_value and "://" in text_value
        ]
    return models


def _urls(models: Sequence[str], allow_http: bool) -> list[str]:
    """Return the URLs of models; invalid names are reported when they are used."""
    from guardtui.http.openai import parse_model

    urls = []
    for text in models:
        with suppress(ValueError):
            urls.append(parse_model(text, allow_http=allow_http)[0])
    return urls


def _remedy(error: ServiceError, key_variable: str) -> str:
    from guardtui.http.errors import ErrorKind

    no_key = "set GUARDTUI_MODEL_KEY (GUARDTUI_MODEL_KEYS for several addresses)"
    key = f"see whether {key_variable} holds" if key_variable else f"{no_key} to"
    remedies: dict[Any, str] = {
        ErrorKind.UNREACHABLE: "see that the service runs and that the address is right",
        ErrorKind.BROKEN: "see that the address is that of an OpenAI-compatible service",
        ErrorKind.TIMEOUT: "see whether the service is overloaded; lower --concurrency",
        ErrorKind.LIMITED: "wait a while, or lower --concurrency",
        ErrorKind.CREDENTIALS: f"{key} a key that this service accepts",
        ErrorKind.REQUEST: "see that the address and the name of the model behind # are right",
        ErrorKind.SERVER: "wait until the service is well again",
        ErrorKind.REDIRECT: "name the address it leads to",
        ErrorKind.CONTENT: "see that the address is that of an OpenAI-compatible API (often …/v1)",
    }
    return remedies.get(error.kind, "see what the service is")
