"""The models that grade, as the command line names them: addresses, keys, patience, remedies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from guardtui.http.errors import ServiceError
    from guardtui.http.openai import ChatModel
    from guardtui.scorer.models import GraderModel
    from guardtui.scorer.state import HasCompletion, Message


class Grader:
    """A chat model whose failures say what to do about them."""

    def __init__(self, model: ChatModel, address: str) -> None:
        self._model = model
        self._address = address

    async def generate(self, input: str | Sequence[Message]) -> HasCompletion:  # noqa: A002
        """The model's answer. Raises GraderError."""
        from guardtui.http.errors import ServiceError
        from guardtui.session.graders import GraderError

        try:
            return await self._model.generate(input)
        except ServiceError as error:
            raise GraderError(f"{self._address}: {error.message}\n{_remedy(error)}") from error

    async def aclose(self) -> None:
        """Close all connections."""
        await self._model.aclose()


def grader_maker(
    *, concurrency: int, retries: int, allow_http: bool
) -> Callable[[str], tuple[str, GraderModel]]:
    """What makes a model of `URL#name`, and gives its full name; it raises ValueError."""

    def make(text: str) -> tuple[str, GraderModel]:
        from guardtui.http.limits import AdaptiveLimit
        from guardtui.http.openai import ChatModel, model_key, parse_model
        from guardtui.http.retries import Retries

        url, name = parse_model(text, allow_http=allow_http)
        model = ChatModel(
            url,
            name,
            model_key(url),
            limit=AdaptiveLimit(concurrency),
            retries=Retries(attempts=retries + 1, base=0.5),
            allow_http=allow_http,
        )
        full = f"{url}#{name}"
        return full, Grader(model, full)

    return make


def _remedy(error: ServiceError) -> str:
    from guardtui.http.errors import Kind

    remedies: dict[Any, str] = {
        Kind.UNREACHABLE: "see that the service runs and that the address is right",
        Kind.BROKEN: "see that the address is that of an OpenAI-compatible service",
        Kind.TIMEOUT: "see whether the service is overloaded; lower --concurrency",
        Kind.LIMITED: "wait a while, or lower --concurrency",
        Kind.CREDENTIALS: "set GUARDTUI_MODEL_KEY to a key that this service accepts",
        Kind.REQUEST: "see that the address and the name of the model behind # are right",
        Kind.SERVER: "wait until the service is well again",
        Kind.REDIRECT: "name the address it leads to",
        Kind.CONTENT: "see that the address is that of an OpenAI-compatible API (often …/v1)",
    }
    return remedies.get(error.kind, "see what the service is")
