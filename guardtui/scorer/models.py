"""The models that grade: by object, by name, or by the role they play."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

from guardtui.scorer.state import HasCompletion, Message


@runtime_checkable
class GraderModel(Protocol):
    """Answers a prompt: a text, or messages where something is attached."""

    async def generate(self, input: str | Sequence[Message]) -> HasCompletion: ...  # noqa: A002


ModelOrName: TypeAlias = str | GraderModel


@dataclass(frozen=True, slots=True)
class ModelRole:
    """A role by its name; when it is `required`, nobody stands in for a model that plays it."""

    name: str
    required: bool = False


class NoModelError(LookupError):
    """There is no model to grade with; `role` is the role that none plays, or None."""

    def __init__(self, message: str, role: str | None) -> None:
        super().__init__(message)
        self.role = role


@dataclass(frozen=True, slots=True)
class _Models:
    default: GraderModel | None = None
    roles: Mapping[str, ModelOrName | Sequence[ModelOrName]] = field(default_factory=dict)
    resolve: Callable[[str], GraderModel] | None = None
    roles_required: bool = False


_NOBODY = _Models()
_models: ContextVar[_Models] = ContextVar("guardtui_scorer_models", default=_NOBODY)


@contextlib.contextmanager
def use_models(
    default: GraderModel | None = None,
    *,
    roles: Mapping[str, ModelOrName | Sequence[ModelOrName]] | None = None,
    resolve: Callable[[str], GraderModel] | None = None,
    roles_required: bool = False,
) -> Iterator[None]:
    """Say for the `with` block which models there are.

    `default` is the model under evaluation, `roles` are the models by the role they play (several
    are a panel), and `resolve` makes a model of a name. A role that no model plays falls to the
    default, as in inspect_ai; with `roles_required` it is a NoModelError.
    """
    token = _models.set(_Models(default, roles or {}, resolve, roles_required))
    try:
        yield
    finally:
        _models.reset(token)


def graders_for(
    model: ModelOrName | Sequence[ModelOrName] | None, role: str | ModelRole | None
) -> GraderModel | list[GraderModel]:
    """Who grades: the given model, else that of the role, else the model under evaluation.

    A panel when several are given, be it of one. Raises NoModelError when there is nobody, or when
    a required role is not bound, and LookupError for a name that stands for nothing.
    """
    known = _models.get()
    played = ModelRole(role) if isinstance(role, str) else role
    if model is None and played is not None:
        model = known.roles.get(played.name)
        if model is None and (played.required or known.roles_required):
            raise NoModelError(
                f"no model plays the role {played.name!r}, which this scorer requires: "
                "bind one with use_models",
                played.name,
            )
    if model is None:
        model = known.default
    if model is None:
        way = "name one" if played is None else f"name one, or bind the role {played.name!r}"
        role_name = None if played is None else played.name
        raise NoModelError(f"no model to grade with: {way} with use_models", role_name)
    if isinstance(model, str | GraderModel):
        return _resolved(model, known)
    return [_resolved(one, known) for one in model]


def _resolved(model: ModelOrName, known: _Models) -> GraderModel:
    if not isinstance(model, str):
        return model
    if known.resolve is None:
        raise LookupError(
            f"the model {model!r} is a name, and nothing here knows what it stands for: "
            "pass a model object, or a resolver to use_models"
        )
    return known.resolve(model)
