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


@dataclass(frozen=True, slots=True)
class _Models:
    default: GraderModel | None = None
    roles: Mapping[str, ModelOrName | Sequence[ModelOrName]] = field(default_factory=dict)
    resolve: Callable[[str], GraderModel] | None = None


_NOBODY = _Models()
_models: ContextVar[_Models] = ContextVar("guardtui_scorer_models", default=_NOBODY)


@contextlib.contextmanager
def use_models(
    default: GraderModel | None = None,
    *,
    roles: Mapping[str, ModelOrName | Sequence[ModelOrName]] | None = None,
    resolve: Callable[[str], GraderModel] | None = None,
) -> Iterator[None]:
    """Within this: the model under evaluation, who plays which role, and what a name stands for."""
    token = _models.set(_Models(default, roles or {}, resolve))
    try:
        yield
    finally:
        _models.reset(token)


def graders_for(
    model: ModelOrName | Sequence[ModelOrName] | None, role: str | ModelRole | None
) -> GraderModel | list[GraderModel]:
    """Who grades: the given model, else that of the role, else the model under evaluation.

    A panel when several are given, be it of one. Raises LookupError when there is nobody, or when
    a required role is not bound.
    """
    known = _models.get()
    played = ModelRole(role) if isinstance(role, str) else role
    if model is None and played is not None:
        model = known.roles.get(played.name)
        if model is None and played.required:
            raise LookupError(
                f"no model plays the role {played.name!r}, which this scorer requires: "
                "bind one with use_models"
            )
    if model is None:
        model = known.default
    if model is None:
        way = "name one" if played is None else f"name one, or bind the role {played.name!r}"
        raise LookupError(f"no model to grade with: {way} with use_models")
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
