"""Modules that take long to import, imported when something of them is first used."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


class _Late(ModuleType):
    """Stands for a module; asked for a name it does not have yet, it imports the module."""

    def __getattr__(self, name: str) -> Any:
        # Two threads may come here at once: the import system lets one of them wait.
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)  # from now on as fast as in the module itself
        return value


def late(name: str) -> ModuleType:
    """A stand-in for a module: `np = late("numpy")` beside an import for the type checker.

    The first screen needs neither numpy nor polars, and both take longer to import than it takes
    to draw. Raises ImportError at the first use, not here.
    """
    return _Late(name)
