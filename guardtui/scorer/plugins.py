"""Scorers, metrics and reducers from a user's file, registered like an installed package's."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from guardtui.scorer.registry import RegistryType, registered

_PREFIX = "guardtui_plugin_"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A file that was run, with type and name of everything it registered."""

    path: Path
    names: tuple[tuple[RegistryType, str], ...]


class PluginError(Exception):
    """A file cannot be run as a plugin: `path`, `line` (None if unknown) and `problem`."""

    def __init__(self, path: Path, line: int | None, problem: str) -> None:
        location = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{location}: {problem}")
        self.path = path
        self.line = line
        self.problem = problem


_loaded: dict[Path, Plugin] = {}


def load_plugin(path: str | Path) -> Plugin:
    """Run a Python file, so that what its decorators register can be used by name.

    The file's code runs with all rights of the user. It may import modules from its folder. Its
    output goes to standard error. A file is run once, however often it is loaded. Raises
    PluginError if it cannot be read or fails.
    """
    file = Path(path)
    resolved = file.resolve()
    if resolved not in _loaded:
        before = registered()
        _run(file)
        after = registered()
        names = [key for key in after if before.get(key) is not after[key]]
        _loaded[resolved] = Plugin(file, tuple(names))
    return _loaded[resolved]


def _run(path: Path) -> None:
    try:
        source = path.read_bytes()
    except OSError as error:
        raise PluginError(path, None, error.strerror or type(error).__name__) from error
    try:
        # Compiled here because an importer would create a folder __pycache__ beside it.
        code = compile(source, str(path), "exec", dont_inherit=True)
    except SyntaxError as error:
        raise PluginError(path, error.lineno, f"{type(error).__name__}: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise PluginError(path, None, f"{type(error).__name__}: {error}") from error
    name = f"{_PREFIX}{path.stem}"
    while name in sys.modules:
        name += "_"
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        with _modules_beside(path), contextlib.redirect_stdout(sys.stderr):
            exec(code, module.__dict__)  # noqa: S102 - running it is what the user asked for
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        text = str(error)
        problem = f"{type(error).__name__}: {text}" if text else type(error).__name__
        raise PluginError(path, _line_of(error, path), problem) from error


@contextlib.contextmanager
def _modules_beside(path: Path) -> Iterator[None]:
    """Let imports find modules in the file's folder, after all installed modules."""
    folder = str(path.resolve().parent)
    if folder in sys.path:
        yield
        return
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _line_of(error: BaseException, path: Path) -> int | None:
    """Return the innermost line of the file at which an error was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), None)
