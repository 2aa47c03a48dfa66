"""`@scorer`, `@metric`, `@score_reducer`: register factories and tag their objects."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar, cast, overload

from guardtui.scorer.registry import RegistryInfo, qualified_name, register, tag
from guardtui.scorer.types import Metric, Scorer, ScoreReducer

P = ParamSpec("P")
_Factory = TypeVar("_Factory", bound=Callable[..., Any])

MetricSet: TypeAlias = (
    Sequence[Metric | Mapping[str, Sequence[Metric]]] | Mapping[str, Sequence[Metric]]
)
"""Metrics of a scorer: over its values, or by key (globs allowed) over entries of dict values."""


def scorer(
    metrics: MetricSet, name: str | None = None, **metadata: Any
) -> Callable[[Callable[P, Any]], Callable[P, Scorer]]:
    """Register a factory of scorers: a function that returns an async function, or a class.

    `metrics` and all further keywords become metadata of the scorers. Creating a scorer that is not
    an async callable raises TypeError.
    """

    def decorate(factory: Callable[P, Any]) -> Callable[P, Scorer]:
        title = qualified_name(factory, name)
        info = RegistryInfo("scorer", title, {"metrics": metrics, **metadata})

        @functools.wraps(factory)
        def make(*args: P.args, **kwargs: P.kwargs) -> Scorer:
            made = factory(*args, **kwargs)
            if not _is_async(made):
                raise TypeError(f"the scorer {title} is not an async callable but {made!r}")
            tag(factory, made, info, args, kwargs)
            return cast("Scorer", made)

        make.__annotations__ = {**factory.__annotations__, "return": Scorer}
        if isinstance(factory, type):
            make.__signature__ = inspect.signature(factory)  # type: ignore[attr-defined]
        register(make, info)
        return make

    return decorate


def _is_async(made: object) -> bool:
    if inspect.iscoroutinefunction(made):
        return True
    call = getattr(type(made), "__call__", None)  # noqa: B004 - checks whether it is async
    return not inspect.isclass(made) and inspect.iscoroutinefunction(call)


@overload
def metric(name: _Factory) -> _Factory: ...


@overload
def metric(
    name: str | None = None, *, scores: Literal["auto", "reduced", "unreduced"] = "auto"
) -> Callable[[_Factory], _Factory]: ...


def metric(
    name: str | _Factory | None = None,
    *,
    scores: Literal["auto", "reduced", "unreduced"] = "auto",
) -> _Factory | Callable[[_Factory], _Factory]:
    """Register a factory of metrics, bare or with a name.

    `scores` says which epochs the metric gets: one reduced score per sample, or every epoch.
    """

    def decorate(factory: _Factory, title: str | None = None) -> _Factory:
        full = qualified_name(factory, title)
        info = RegistryInfo("metric", full, {"scores": scores})

        @functools.wraps(factory)
        def make(*args: Any, **kwargs: Any) -> Any:
            made = factory(*args, **kwargs)
            tag(factory, made, info, args, kwargs)
            return made

        if isinstance(factory, type):
            make.__signature__ = inspect.signature(factory)  # type: ignore[attr-defined]
        register(make, info)
        return cast("_Factory", make)

    if name is None or isinstance(name, str):
        return functools.partial(decorate, title=name)
    return decorate(name)


@overload
def score_reducer(func: Callable[P, ScoreReducer]) -> Callable[P, ScoreReducer]: ...


@overload
def score_reducer(
    func: None = None, *, name: str | None = None
) -> Callable[[Callable[P, ScoreReducer]], Callable[P, ScoreReducer]]: ...


def score_reducer(
    func: Callable[P, ScoreReducer] | None = None, *, name: str | None = None
) -> Callable[P, ScoreReducer] | Callable[[Callable[P, ScoreReducer]], Callable[P, ScoreReducer]]:
    """Register a factory of reducers, bare or with a name; an explicit name gets no prefix."""

    def decorate(factory: Callable[P, ScoreReducer]) -> Callable[P, ScoreReducer]:
        info = RegistryInfo("score_reducer", name or qualified_name(factory, None))

        @functools.wraps(factory)
        def make(*args: P.args, **kwargs: P.kwargs) -> ScoreReducer:
            made = factory(*args, **kwargs)
            tag(factory, made, info, args, kwargs)
            return made

        register(make, info)
        return make

    return decorate if func is None else decorate(func)
