"""The author's settings: declared once; flags win over environment, file and defaults."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar, overload

from guardtui.domain.text import did_you_mean
from guardtui.files.atomic import write_atomically
from guardtui.files.problems import ContentError, FileError, decode, from_os_error, read_bytes

Value: TypeAlias = int | str | Mapping[str, str]
"""Value of a setting; a mapping only for a key map (binding id to Textual key names)."""

T = TypeVar("T")

GUARDRAILS = "guardrails"
"""Section of the file with the author's guardrails, which `app.named_guardrails` reads."""

_LARGEST = 64 * 1024
_REMEDY = "write lines of the form 'theme: guardtui-light'"
_HEADER = """\
# Settings of guardtui. `guardtui config` lists them all, and where each value comes from.
# Flags win over environment variables (GUARDTUI_THEME, …), those over this file.
"""


class SettingSource(Enum):
    """Origin of a value, in order of precedence."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    FILE = "file"
    DEFAULT = "default"


@dataclass(eq=False)
class Setting(Generic[T]):
    """A setting, as an attribute of `Config`; its default tells the type of its values.

    A whole number lies from `least` to `most` and is measured in `unit`. A text is one of
    `choices`, if there are any. `on_screen`: only the screen knows which values are valid.
    """

    title: str
    documentation: str
    default: T
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int = 0
    unit: str = ""
    on_screen: bool = False
    key: str = field(default="", init=False)

    def __set_name__(self, owner: type[Config], name: str) -> None:
        self.key = name

    @overload
    def __get__(self, config: None, owner: type[Config]) -> Setting[T]: ...
    @overload
    def __get__(self, config: Config, owner: type[Config]) -> T: ...
    def __get__(self, config: Config | None, owner: type[Config]) -> Any:
        return self if config is None else config.value(self.key)

    @property
    def variable(self) -> str:
        """Name of its environment variable."""
        return f"GUARDTUI_{self.key.upper()}"

    @property
    def values(self) -> str:
        """Description of the valid values."""
        if isinstance(self.default, int):
            return f"{self.least} to {self.most} {self.unit}"
        return ", ".join(self.choices) or (
            "a name" if isinstance(self.default, str) else "a mapping, such as screen.keep: f13"
        )

    def convert(self, given: object) -> Value:
        """Return the value of a node of YAML. Raises ValueError."""
        if isinstance(self.default, Mapping) and isinstance(given, dict):
            if not all(isinstance(names, str) and names.strip() for names in given.values()):
                raise ValueError("an action's keys are one text, such as f13,ctrl+g")
            return {str(binding): str(names) for binding, names in given.items()}
        if isinstance(self.default, Mapping) and given is not None:
            raise ValueError("a mapping belongs here")
        if not isinstance(given, str | int | float | None):
            raise ValueError("one value belongs here")
        return self.parse("" if given is None else str(given))

    def parse(self, text: str) -> Value:
        """Return the value that a text stands for. Raises ValueError, which names valid values."""
        text = text.strip()
        if not text.isprintable():
            raise ValueError("it contains a control character")
        if isinstance(self.default, Mapping):
            return _parse_keys(text)
        if isinstance(self.default, int):
            if not text.isdecimal() or not self.least <= int(text[:9]) <= self.most:
                raise ValueError(f"'{text}' is not a whole number from {self.least} to {self.most}")
            return int(text)
        if not text:
            raise ValueError("a value is missing")
        if self.choices and text not in self.choices:
            known = ", ".join(self.choices)
            raise ValueError(f"'{text}' is not one of {known}{did_you_mean(text, self.choices)}")
        return text

    def show(self, value: Value) -> str:
        """Return the value as `parse` reads it."""
        if isinstance(value, Mapping):
            return "; ".join(f"{binding}={keys}" for binding, keys in value.items())
        return str(value)


def _parse_keys(text: str) -> dict[str, str]:
    keys: dict[str, str] = {}
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        binding, _, names = (part.strip() for part in entry.partition("="))
        if not (binding and names):
            raise ValueError(f"'{entry}' is not of the form screen.keep=f13,ctrl+g")
        if binding in keys:
            raise ValueError(f"duplicate binding '{binding}'")
        keys[binding] = names
    return keys


class ConfigError(FileError):
    """All errors of the settings, one `FileError` each in `problems`."""

    def __init__(self, problems: Iterable[FileError]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        super().__init__(first.path, first.problem, first.remedy, first.line)
        self.args = ("\n".join(map(str, self.problems)),)


class Config:
    """The current settings. Without a `path` changes hold for this run only."""

    theme = Setting(
        "Theme",
        "Colours of the screen. guardtui-dark and guardtui-light have colours that colour-blind "
        "readers can distinguish; all themes of Textual can be chosen as well.",
        "guardtui-dark",
        on_screen=True,
    )
    tour = Setting(
        "First tour",
        "auto shows the tour at the first start on the sample; never skips it. It can be started "
        "at any time.",
        "auto",
        choices=("auto", "never"),
    )
    preview_pause = Setting(
        "Pause before measuring",
        "Time without a key before the definition is evaluated. Use a larger value if typing lags "
        "on a slow machine.",
        30,
        least=10,
        most=2000,
        unit="ms",
    )
    encoder = Setting(
        "Encoder of new sessions",
        "Encoder of texts: pair (16 languages), minilm (English) or static (fastest). Topics that "
        "were opened before keep their encoder; scripts (guardtui eval) do not use this setting.",
        "pair",
        choices=("pair", "minilm", "static"),
    )
    animation = Setting(
        "Animation",
        "none disables motion, for slow connections and for readers who are disturbed by it.",
        "full",
        choices=("full", "none"),
    )
    keys = Setting[Mapping[str, str]](
        "Keys",
        "Other keys for actions: the id of an action and its keys, such as screen.keep=f13,ctrl+g; "
        "semicolons separate entries. In the file, a mapping. The help page lists all keys.",
        {},
        on_screen=True,
    )

    def __init__(
        self,
        path: Path | None = None,
        *,
        flags: Mapping[str, Value] | None = None,
        environment: Mapping[str, Value] | None = None,
        file: Mapping[str, Value] | None = None,
        lines: Mapping[str, int] | None = None,
    ) -> None:
        self.path = path
        self._file = dict(file or {})
        self._layers: dict[SettingSource, Mapping[str, Value]] = {
            SettingSource.FLAG: flags or {},
            SettingSource.ENVIRONMENT: environment or {},
            SettingSource.FILE: self._file,
            SettingSource.DEFAULT: {setting.key: setting.default for setting in SETTINGS},
        }
        self._lines = lines or {}

    def source(self, key: str) -> SettingSource:
        """Return the origin of the current value."""
        return next(source for source, values in self._layers.items() if key in values)

    def value(self, key: str) -> Value:
        """Return the current value."""
        return self._layers[self.source(key)][key]

    def line(self, key: str) -> int | None:
        """Return the line of the file (from 1) that sets a key, or a binding as `keys.<id>`."""
        return self._lines.get(key)

    def problem(self, key: str, problem: str, remedy: str, binding: str = "") -> FileError:
        """Return the error of an invalid value, named with the place that sets it."""
        problem = f"{key}: {binding}: {problem}" if binding else f"{key}: {problem}"
        if self.source(key) is SettingSource.FILE and self.path is not None:
            line = self.line(f"{key}.{binding}") or self.line(key)
            return FileError(self.path, problem, remedy, line)
        return FileError(find_setting(key).variable, problem, remedy)

    def set_value(self, key: str, value: Value | None) -> None:
        """Set a value for this run and write it to the file; its other lines stay.

        None removes the setting. A value equal to the default is written too, so that it does not
        change with a later version. Raises FileError if writing fails; the value holds for this run
        anyway.
        """
        self._file.pop(key, None)
        if value is not None:
            self._file[key] = value
        path = self.path
        if path is None or (value is None and not read_text(path)):
            return
        changed = rewrite(path, _HEADER, lambda text: _changed(path, text, key, value))
        self._lines = _parse(path, changed)[1]


SETTINGS: tuple[Setting[Any], ...] = tuple(
    setting for setting in vars(Config).values() if isinstance(setting, Setting)
)
"""All settings, in display order."""

_BY_KEY = {setting.key: setting for setting in SETTINGS}


def find_setting(key: str) -> Setting[Any]:
    """Return the setting of that key. Raises ValueError, which suggests the nearest one."""
    if key not in _BY_KEY:
        raise ValueError(f"unknown setting{did_you_mean(key, _BY_KEY)}")
    return _BY_KEY[key]


# --- reading ------------------------------------------------------------------------------


def config_path() -> Path:
    """Return the path of the settings: $GUARDTUI_CONFIG, or in the system's folder."""
    if named := os.environ.get("GUARDTUI_CONFIG"):
        return Path(named)
    from platformdirs import user_config_path

    return user_config_path("guardtui", appauthor=False) / "config.yaml"


def load_config(path: Path | None = None, flags: Mapping[str, Value] | None = None) -> Config:
    """Load flags, environment and file. An empty environment variable counts as unset.

    Raises `ConfigError` with all errors of the environment and the file.
    """
    path = path or config_path()
    problems: list[FileError] = []
    environment: dict[str, Value] = {}
    for setting in SETTINGS:
        if text := os.environ.get(setting.variable):
            try:
                environment[setting.key] = setting.parse(text)
            except ValueError as error:
                remedy = "change or unset this environment variable"
                problems.append(FileError(setting.variable, str(error), remedy))
    file: dict[str, Value] = {}
    lines: dict[str, int] = {}
    try:
        file, lines = _parse(path, read_text(path))
    except FileError as problem:
        problems += problem.problems if isinstance(problem, ConfigError) else [problem]
    if problems:
        raise ConfigError(problems)
    return Config(path, flags=flags, environment=environment, file=file, lines=lines)


def read_text(path: Path) -> str:
    """Return the text of a settings file, "" if it does not exist. Raises FileError."""
    try:
        content = read_bytes(path)
    except ContentError:  # empty file
        return ""
    except FileError as error:
        if isinstance(error.__cause__, (FileNotFoundError, NotADirectoryError)):
            return ""
        raise
    if len(content) > _LARGEST:
        raise FileError(path, "more than 64 KiB: these are no settings", "see GUARDTUI_CONFIG")
    return decode(path, content)


def load_document(path: Path, text: str) -> Any:
    """Return the mapping (of ruamel) in the file, or None. Raises FileError."""
    if not text.strip():
        return None
    from guardtui.files.yaml_documents import load_yaml

    document = load_yaml(path, text, yaml=_round_trip_yaml())
    if document is not None and not isinstance(document, dict):
        raise FileError(path, "these are no settings", _REMEDY, 1)
    return document


def _round_trip_yaml() -> Any:
    """Return a reader and writer of YAML that keeps comments and quotes."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = _LARGEST  # no line wrapping
    return yaml


def _parse(path: Path, text: str) -> tuple[dict[str, Value], dict[str, int]]:
    """Return the values of the file, and the line of each key and binding.

    Settings of a merged mapping (`<<`) have no line. Raises FileError.
    """
    values: dict[str, Value] = {}
    lines: dict[str, int | None] = {}
    problems: list[FileError] = []
    document: Any = load_document(path, text) or {}
    if document:
        from guardtui.files.yaml_documents import line_of, start_of
    for node, given in document.items():
        key, line = start_of(node), line_of(document, node)
        lines[key] = line
        if node == GUARDRAILS:
            continue
        remedy = f"the settings are {', '.join((*_BY_KEY, GUARDRAILS))}"
        try:
            if not isinstance(node, str):
                raise ValueError("unknown setting")
            setting = find_setting(key)
            remedy = f"values: {setting.values}; or remove the line"
            values[key] = setting.convert(given)
        except ValueError as error:
            problems.append(FileError(path, f"{key}: {error}", remedy, line))
        if isinstance(given, dict):
            lines |= {f"{key}.{start_of(name)}": line_of(given, name) for name in given}
    if problems:
        raise ConfigError(problems)
    return values, {key: line for key, line in lines.items() if line is not None}


# --- writing ------------------------------------------------------------------------------


def rewrite(path: Path, header: str, change: Callable[[str], str]) -> str:
    """Write a file of settings as `change` makes it of its text, and return the new text.

    Line ends stay as they are; a file that does not exist begins with `header`. Raises FileError.
    """
    text = read_text(path)
    ends = "\r\n" if "\r\n" in text else "\n"
    changed = change(text.replace("\r\n", "\n") or header).replace("\n", ends)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise from_os_error(path.parent, error) from error
    write_atomically(path, changed.encode())
    return changed


def with_change(path: Path, text: str, change: Callable[[Any], None]) -> str:
    """Return the text of a file whose mapping (of ruamel) was changed. Raises FileError."""
    document, before = load_document(path, text), ""
    if document is None:  # only comments, which belong to no entry
        document, before = {}, text.rstrip("\n") + "\n"
    change(document)
    new = io.StringIO()
    _round_trip_yaml().dump(document, new)
    return before + new.getvalue()


def _changed(path: Path, text: str, key: str, value: Value | None) -> str:
    """Return the text of the file with one setting changed or removed. Raises FileError."""
    values, lines = _parse(path, text)
    old = values.pop(key, None)
    removed = [key] if value is None and key in lines else []
    if isinstance(value, Mapping) and isinstance(old, Mapping):
        removed = [f"{key}.{name}" for name in old if name not in value]
    for name in sorted(removed, key=lambda name: lines[name], reverse=True):
        text = without_entry(text, lines[name] - 1)
    if value is not None:
        values[key] = value

        def change(document: Any) -> None:
            current = document.get(key)
            if isinstance(current, dict) and isinstance(value, Mapping):
                current.update(value)
            else:
                document[key] = dict(value) if isinstance(value, Mapping) else value

        text = with_change(path, text, change)
    if _parse(path, text)[0] != values:
        raise FileError(path, f"'{key}' cannot be set in this file", "set it by hand")
    return text


def without_entry(text: str, first: int) -> str:
    """Return a text without the entry that begins in a row (from 0), with its indented lines."""
    rows = text.splitlines(keepends=True)
    stop = first + 1
    for index, row in enumerate(rows[stop:], start=stop):
        content = row.lstrip()
        if content and not content.startswith("#"):
            if len(row) - len(content) <= len(rows[first]) - len(rows[first].lstrip()):
                break
            stop = index + 1
    return "".join(rows[:first] + rows[stop:])
