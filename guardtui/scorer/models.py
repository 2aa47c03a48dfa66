"""The grading models: by object, by name, or by role."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, runtime_checkable

from guardtui.scorer.state import HasCompletion, Message


@runtime_checkable
class GraderModel(Protocol):
    """Answers a prompt: a text, or messages if there are attachments."""

    async def generate(self, input: str | Sequence[Message]) -> HasCompletion: ...  # noqa: A002


ModelOrName: TypeAlias = str | GraderModel


@dataclass(frozen=True, slots=True)
class ModelRole:
    """A role by name; if `required`, no other model replaces one with this role."""

    name: str
    required: bool = False


class NoModelError(LookupError):
    """There is no model to grade with; `role` is the role without a model, or None."""

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
    """Set the available models for the `with` block.

    `default` is the model under evaluation, `roles` are the models by role (several are a panel),
    and `resolve` maps a name to a model. A role without a model uses the default, as in inspect_ai;
    with `roles_required` it raises NoModelError.
    """
    token = _models.set(_Models(default, roles or {}, resolve, roles_required))
    try:
        yield
    finally:
        _models.reset(token)


def graders_for(
    model: ModelOrName | Sequence[ModelOrName] | None, role: str | ModelRole | None
) -> GraderModel | list[GraderModel]:
    """Return the grading model: the given one, else that of the role, else the default.

    A list if several are given, even a single one. Raises NoModelError without a model, or if a
    required role has none, and LookupError for an unknown name.
    """
    models = _models.get()
    model_role = ModelRole(role) if isinstance(role, str) else role
    if model is None and model_role is not None:
        model = models.roles.get(model_role.name)
        if model is None and (model_role.required or models.roles_required):
            raise NoModelError(
                f"no model plays the role {model_role.name!r}, which this scorer requires: "
                "bind one with use_models",
                model_role.name,
            )
    if model is None:
        model = models.default
    if model is None:
        remedy = (
            "name one" if model_role is None else f"name one, or bind the role {model_role.name!r}"
        )
        role_name = None if model_role is None else model_role.name
        raise NoModelError(f"no model to grade with: {remedy} with use_models", role_name)
    if isinstance(model, str | GraderModel):
        return _resolved(model, models)
    return [_resolved(entry, models) for entry in model]


def _resolved(model: ModelOrName, models: _Models) -> GraderModel:
    if not isinstance(model, str):
        return model
    if models.resolve is None:
        raise LookupError(
            f"the model {model!r} is an unknown name: pass a model object, or a resolver to "
            "use_models"
        )
    return models.resolve(model)
