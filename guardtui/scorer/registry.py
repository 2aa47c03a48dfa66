"""Registry of scorers, metrics and reducers by name, with their parameters."""

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
    """Type and name of a registered object, and the metadata of its decorator."""

    type: RegistryType
    name: str
    metadata: dict[str, Any] = field(default_factory=dict)


_registry: dict[tuple[RegistryType, str], Callable[..., Any]] = {}


def qualified_name(factory: Callable[..., Any], name: str | None) -> str:
    """Return a name prefixed with the factory's installed package, if there is one."""
    plain = name or factory.__name__
    package = factory.__module__.partition(".")[0]
    return f"{package}/{plain}" if package == OWN or _is_installed(package) else plain


@functools.cache
def _is_installed(package: str) -> bool:
    if package in ("__main__", "builtins"):
        return False
    from importlib.metadata import PackageNotFoundError, distribution

    if package in _installed_packages():
        return True
    try:
        distribution(package)
    except (PackageNotFoundError, ValueError):
        return False
    return True


@functools.cache
def _installed_packages() -> frozenset[str]:
    # Slow: reads the files of all distributions, therefore once, and not for guardtui's own names.
    from importlib.metadata import packages_distributions

    return frozenset(packages_distributions())


def register(factory: Callable[..., Any], info: RegistryInfo) -> None:
    """Register a factory by type and name; a later one of the same name replaces it."""
    _registry[info.type, info.name] = factory
    setattr(factory, _INFO, info)


def registered() -> dict[tuple[RegistryType, str], Callable[..., Any]]:
    """Return a copy of the registry: factories by type and full name."""
    return dict(_registry)


def find(kind: RegistryType, name: str) -> Callable[..., Any] | None:
    """Return the factory of a name, as given or with our own prefix; None if unknown."""
    for full_name in (name, f"{OWN}/{name}"):
        if (kind, full_name) in _registry:
            return _registry[kind, full_name]
    return None


def full_names(kind: RegistryType, name: str) -> list[str]:
    """Return the registered full names that a name may stand for, sorted.

    The name as given or with our own prefix goes before those of other packages, of which there may
    be several.
    """
    for full_name in (name, f"{OWN}/{name}"):
        if (kind, full_name) in _registry:
            return [full_name]
    return sorted(
        full_name
        for registered_kind, full_name in _registry
        if registered_kind == kind and full_name.endswith(f"/{name}")
    )


def lookup(kind: RegistryType, name: str) -> Callable[..., Any]:
    """Return the factory of a name, loading our own modules and entry points if necessary.

    Raises LookupError, also if several packages have the name.
    """
    factory = find(kind, name)
    if factory is None:
        load_own()
        factory = find(kind, name)
    if factory is None:
        load_entry_points()
        candidates = full_names(kind, name)
        if len(candidates) > 1:
            raise LookupError(f"{name!r} may be any of {', '.join(candidates)}")
        factory = _registry[kind, candidates[0]] if candidates else None
    if factory is None:
        available = ", ".join(names(kind))
        raise LookupError(f"no {kind.replace('_', ' ')} is called {name!r}; there are: {available}")
    return factory


@functools.cache
def load_own() -> None:
    """Import every module of this package with public names, so that they are registered."""
    import guardtui.scorer as own

    for name in own.__all__:
        getattr(own, name)


@functools.cache
def load_entry_points() -> None:
    """Import the entry points of other packages. Raises ImportError if one cannot be loaded."""
    from importlib.metadata import entry_points

    for entry in entry_points(group=ENTRY_POINTS):
        try:
            entry.load()
        except Exception as error:
            raise ImportError(f"the scorers of {entry.value} cannot be loaded: {error}") from error


def create(kind: RegistryType, name: str, *args: Any, **kwargs: Any) -> Any:
    """Create an object by its factory's name. Raises LookupError, or the factory's exceptions."""
    return lookup(kind, name)(*args, **kwargs)


def names(kind: RegistryType) -> list[str]:
    """Return all names of a type, sorted; ours without their prefix."""
    return sorted(
        name.removeprefix(f"{OWN}/")
        for registered_kind, name in _registry
        if registered_kind == kind
    )


def tag(
    factory: Callable[..., Any],
    made: Any,
    info: RegistryInfo,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> None:
    """Attach registry information and arguments to an object.

    An object that another factory made belongs to the outer one from then on.
    """
    setattr(made, _INFO, info)
    setattr(made, _PARAMS, _bound(factory, args, kwargs))


def registry_info(made: Any) -> RegistryInfo:
    """Return the registry information of a factory or its object. Raises ValueError for others."""
    info = getattr(made, _INFO, None)
    if not isinstance(info, RegistryInfo):
        raise ValueError(f"{made!r} was not made by a registered factory")
    return info


def registry_params(made: Any) -> dict[str, Any]:
    """Return the arguments of an object without defaults. Raises ValueError for others."""
    registry_info(made)
    params: dict[str, Any] = getattr(made, _PARAMS, {})
    return params


def is_registered(made: object) -> bool:
    """Return whether an object was made by a registered factory."""
    return isinstance(getattr(made, _INFO, None), RegistryInfo)


def _bound(
    factory: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    signature = inspect.signature(factory)
    params: dict[str, Any] = {}
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            params.update({key: _recorded(item) for key, item in value.items()})
        else:
            params[name] = _recorded(value)
    return params


def _recorded(value: Any) -> Any:
    """Return an argument in recordable form: data unchanged, anything else by name."""
    if is_registered(value):
        return _reference(value) if hasattr(value, _PARAMS) else registry_info(value).name
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple | dict) or hasattr(type(value), "model_dump"):
        return _recorded_inside(value)
    for attribute in ("name", "__name__"):
        own_name = getattr(value, attribute, None)
        if isinstance(own_name, str):
            return own_name
    return type(value).__name__


def _recorded_inside(value: Any) -> Any:
    """Return a nested value in JSON form: callables by name, None for unsupported values."""
    if is_registered(value) and hasattr(value, _PARAMS):
        return _reference(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple):
        return [_recorded_inside(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _recorded_inside(item) for key, item in value.items()}
    if callable(value) and isinstance(getattr(value, "__name__", None), str):
        return value.__name__
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=lambda _: None)


def _reference(made: Any) -> dict[str, Any]:
    info = registry_info(made)
    name = info.name.removeprefix(f"{OWN}/")
    return {"type": info.type, "name": name, "params": registry_params(made)}
