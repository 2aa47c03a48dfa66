"""Scorers, metrics and reducers by name, and with what they were made."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

RegistryType: TypeAlias = Literal["scorer", "metric", "score_reducer"]

OWN = "guardtui"
"""The package whose names are found without their prefix."""

ENTRY_POINTS = "guardtui.scorers"
"""Entry-point group: loading an entry registers what its module decorates."""

_INFO = "__scorer_registry_info__"
_PARAMS = "__scorer_registry_params__"


@dataclass(frozen=True, slots=True)
class RegistryInfo:
    """Under what an object is registered, and what its decorator was told besides."""

    type: RegistryType
    name: str
    metadata: dict[str, Any] = field(default_factory=dict)


_registry: dict[tuple[RegistryType, str], Callable[..., Any]] = {}


def qualified_name(factory: Callable[..., Any], name: str | None) -> str:
    """A name with the factory's installed package before it, or without when there is none."""
    plain = name or factory.__name__
    package = factory.__module__.partition(".")[0]
    return f"{package}/{plain}" if package == OWN or _is_installed(package) else plain


@functools.cache
def _is_installed(package: str) -> bool:
    if package in ("__main__", "builtins"):
        return False
    # Reading what is installed takes a while; nobody waits for it before a factory of theirs.
    from importlib.metadata import PackageNotFoundError, distribution, packages_distributions

    if package in packages_distributions():
        return True
    try:
        distribution(package)
    except (PackageNotFoundError, ValueError):
        return False
    return True


def register(factory: Callable[..., Any], info: RegistryInfo) -> None:
    """Make a factory known under its type and name; a later one of the same name replaces it."""
    _registry[info.type, info.name] = factory
    setattr(factory, _INFO, info)


def registered() -> dict[tuple[RegistryType, str], Callable[..., Any]]:
    """A copy of all that is registered so far: factories by type and full name."""
    return dict(_registry)


def find(kind: RegistryType, name: str) -> Callable[..., Any] | None:
    """The factory of a name, as it stands or with our own prefix; None when there is none."""
    for known in (name, f"{OWN}/{name}"):
        if (kind, known) in _registry:
            return _registry[kind, known]
    return None


def lookup(kind: RegistryType, name: str) -> Callable[..., Any]:
    """The factory of a name; our own modules and others' entry points are loaded for it.

    Raises LookupError.
    """
    found = find(kind, name)
    if found is None:
        load_own()
        found = find(kind, name)
    if found is None:
        load_entry_points()
        found = find(kind, name)
    if found is None:
        known = ", ".join(names(kind))
        raise LookupError(f"no {kind.replace('_', ' ')} is called {name!r}; there are: {known}")
    return found


@functools.cache
def load_own() -> None:
    """Import every module of this package that has public names, so that theirs are known."""
    import guardtui.scorer as own

    for name in own.__all__:
        getattr(own, name)


@functools.cache
def load_entry_points() -> None:
    """Import what other packages register; an entry that cannot be loaded is an ImportError."""
    from importlib.metadata import entry_points

    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:
            raise ImportError(f"the scorers of {entry.value} cannot be loaded: {error}") from error


def create(kind: RegistryType, name: str, *args: Any, **kwargs: Any) -> Any:
    """An object made by the factory of a name. Raises LookupError, or what the factory raises."""
    return lookup(kind, name)(*args, **kwargs)


def names(kind: RegistryType) -> list[str]:
    """All names of a type, sorted; ours without their prefix."""
    return sorted(name.removeprefix(f"{OWN}/") for known, name in _registry if known == kind)


def tag(
    factory: Callable[..., Any],
    made: Any,
    info: RegistryInfo,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> None:
    """Write on an object under what it is registered and with which arguments it was made.

    An object that another factory made belongs to the outer one from then on.
    """
    setattr(made, _INFO, info)
    setattr(made, _PARAMS, _bound(factory, args, kwargs))


def registry_info(made: Any) -> RegistryInfo:
    """What a factory or an object of it is registered as; raises ValueError for others."""
    info = getattr(made, _INFO, None)
    if not isinstance(info, RegistryInfo):
        raise ValueError(f"{made!r} was not made by a registered factory")
    return info


def registry_params(made: Any) -> dict[str, Any]:
    """The arguments an object was made with, without defaults; raises ValueError for others."""
    registry_info(made)
    params: dict[str, Any] = getattr(made, _PARAMS, {})
    return params


def is_registered(made: object) -> bool:
    """Whether an object was made by a registered factory."""
    return isinstance(getattr(made, _INFO, None), RegistryInfo)


def _bound(
    factory: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    signature = inspect.signature(factory)
    params: dict[str, Any] = {}
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            params.update({key: _recorded(one) for key, one in value.items()})
        else:
            params[name] = _recorded(value)
    return params


def _recorded(value: Any) -> Any:
    """An argument as it is kept: data as data, anything else by its name."""
    if is_registered(value):
        return _reference(value) if hasattr(value, _PARAMS) else registry_info(value).name
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple | dict) or hasattr(type(value), "model_dump"):
        return _recorded_inside(value)
    for attribute in ("name", "__name__"):
        known = getattr(value, attribute, None)
        if isinstance(known, str):
            return known
    return type(value).__name__


def _recorded_inside(value: Any) -> Any:
    """What stands in a container: as JSON would have it, callables by name, None for the rest."""
    if is_registered(value) and hasattr(value, _PARAMS):
        return _reference(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple):
        return [_recorded_inside(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _recorded_inside(one) for key, one in value.items()}
    if callable(value) and isinstance(getattr(value, "__name__", None), str):
        return value.__name__
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=lambda _: None)


def _reference(made: Any) -> dict[str, Any]:
    info = registry_info(made)
    name = info.name.removeprefix(f"{OWN}/")
    return {"type": info.type, "name": name, "params": registry_params(made)}
