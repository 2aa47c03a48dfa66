"""The author's settings: declared once; flags win over environment, file and defaults."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from guardtui.files.problems import ContentProblem, FileProblem, decode, read_bytes

if TYPE_CHECKING:
    from ruamel.yaml import YAML

Value: TypeAlias = bool | int | str | Mapping[str, str]
"""What a setting holds; a mapping only for a key map (binding id to Textual key names)."""

Node: TypeAlias = Any
"""A node of YAML, whose attributes its library does not declare."""

_LARGEST = 64 * 1024
_HEADER = """\
# Settings of guardtui. `guardtui config` lists them all, and where each value comes from.
# Flags win over environment variables (GUARDTUI_THEME, …), those over this file.
"""


class Kind(Enum):
    """What a setting holds."""

    BOOL = "true or false"
    CHOICE = "choice"
    NUMBER = "whole number"
    TEXT = "text"
    KEYS = "key map"


class Source(Enum):
    """Where a value comes from, the strongest first."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    FILE = "file"
    DEFAULT = "default"


_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")
_TAGS = ("str", "bool", "int", "float", "null", "timestamp", "map", "seq")
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that can be set. `choices` may be empty for a choice: the screen knows them then.

    `least` and `most` bound a whole number; `unit` stands behind it.
    """

    key: str
    title: str
    documentation: str
    kind: Kind
    default: Value
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int = 0
    unit: str = ""

    @property
    def variable(self) -> str:
        """Name of its environment variable."""
        return f"GUARDTUI_{self.key.upper()}"

    def parse(self, text: str) -> Value:
        """The value that a text stands for. Raises ValueError, which says what would be one."""
        text = text.strip()
        if not text.isprintable():
            raise ValueError("a control character stands in it")
        if self.kind is Kind.BOOL:
            if text.lower() in _TRUE + _FALSE:
                return text.lower() in _TRUE
            raise ValueError(f"'{text}' is neither true nor false")
        if self.kind is Kind.NUMBER:
            number = int(text) if _WHOLE.fullmatch(text) else None
            if number is not None and self.least <= number <= self.most:
                return number
            span = f"{self.least} to {self.most}"
            raise ValueError(f"'{text}' is not a whole number from {span}")
        if self.kind is Kind.KEYS:
            return _parse_keys(text)
        if not text:
            raise ValueError("a value is missing")
        if self.choices and text not in self.choices:
            known = ", ".join(self.choices)
            raise ValueError(f"'{text}' is not one of {known}{_near(text, self.choices)}")
        return text

    def show(self, value: Value) -> str:
        """The value as `parse` reads it."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, Mapping):
            return "; ".join(f"{binding}={keys}" for binding, keys in value.items())
        return str(value)


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "theme",
        "Theme",
        "Colours of the screen. guardtui-dark and guardtui-light are made to be told apart also by "
        "colour-blind readers; all themes of Textual can be chosen as well.",
        Kind.CHOICE,
        "guardtui-dark",
    ),
    Setting(
        "vim",
        "Vim keys",
        "Move and edit with the keys of vim, in the results and in the fields of the definition.",
        Kind.BOOL,
        False,
    ),
    Setting(
        "tour",
        "First tour",
        "auto shows the tour when guardtui is opened for the first time; never leaves it out. It "
        "can be asked for at any time.",
        Kind.CHOICE,
        "auto",
        choices=("auto", "never"),
    ),
    Setting(
        "preview_pause",
        "Pause before the preview",
        "After this many milliseconds without a key the definition is evaluated. Larger on a slow "
        "machine, when typing lags.",
        Kind.NUMBER,
        30,
        least=10,
        most=2000,
        unit="ms",
    ),
    Setting(
        "encoder",
        "Encoder of new sessions",
        "What turns texts into vectors: minilm (better) or static (faster). A topic opened before "
        "keeps the encoder it had; scripts (guardtui eval) do not read this.",
        Kind.CHOICE,
        "minilm",
        choices=("minilm", "static"),
    ),
    Setting(
        "animation",
        "Animation",
        "none moves nothing by itself: for slow connections, and for readers whom motion disturbs.",
        Kind.CHOICE,
        "full",
        choices=("full", "none"),
    ),
    Setting(
        "keys",
        "Keys",
        "Other keys for actions: the id of an action and its keys, such as screen.keep=f13,ctrl+g; "
        "with a semicolon between two. In the file, a mapping. The help page lists all keys.",
        Kind.KEYS,
        {},
    ),
)
"""Every setting, in the order in which they are shown."""

_BY_KEY = {setting.key: setting for setting in SETTINGS}


def _near(word: str, words: Iterable[str]) -> str:
    found = get_close_matches(word, list(words), n=1)
    return f"; did you mean '{found[0]}'?" if found else ""


def find_setting(key: str) -> Setting:
    """The setting of that key. Raises KeyError, whose text suggests the nearest one."""
    if key not in _BY_KEY:
        raise KeyError(f"no setting is called '{key}'{_near(key, _BY_KEY)}")
    return _BY_KEY[key]


def _parse_keys(text: str) -> dict[str, str]:
    keys: dict[str, str] = {}
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        binding, equals, names = (part.strip() for part in entry.partition("="))
        if not (binding and equals and names):
            raise ValueError(f"'{entry}' is not of the form screen.keep=f13,ctrl+g")
        if binding in keys:
            raise ValueError(f"'{binding}' stands twice")
        keys[binding] = names
    return keys


class ConfigProblem(FileProblem):
    """All that is wrong with the settings, one `FileProblem` for each in `problems`."""

    def __init__(self, problems: Iterable[FileProblem]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        super().__init__(first.path, first.problem, first.remedy, first.line)
        self.args = ("\n".join(map(str, self.problems)),)


def config_path() -> Path:
    """Where the settings are kept: $GUARDTUI_CONFIG, or the usual folder of this system."""
    if named := os.environ.get("GUARDTUI_CONFIG"):
        return Path(named)
    from platformdirs import user_config_path

    return user_config_path("guardtui", appauthor=False) / "config.yaml"


class Config:
    """The settings in force. Without a `path` nothing is written: they hold for this run."""

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
        self._layers: dict[Source, dict[str, Value]] = {
            Source.FLAG: dict(flags or {}),
            Source.ENVIRONMENT: dict(environment or {}),
            Source.FILE: dict(file or {}),
            Source.DEFAULT: {setting.key: setting.default for setting in SETTINGS},
        }
        self._lines = dict(lines or {})

    def source(self, key: str) -> Source:
        """Where the value in force comes from."""
        return next(source for source, values in self._layers.items() if key in values)

    def value(self, key: str) -> Value:
        """The value in force."""
        return self._layers[self.source(key)][key]

    def line(self, key: str) -> int | None:
        """Line of the file (from 1) where it is set; a binding is asked for as `keys.<id>`."""
        return self._lines.get(key)

    @property
    def theme(self) -> str:
        return str(self.value("theme"))

    @property
    def vim(self) -> bool:
        return bool(self.value("vim"))

    @property
    def tour(self) -> str:
        """`auto` or `never`."""
        return str(self.value("tour"))

    @property
    def preview_pause(self) -> float:
        """Seconds without a key that count as a pause in typing."""
        return int(str(self.value("preview_pause"))) / 1000

    @property
    def encoder(self) -> str:
        return str(self.value("encoder"))

    @property
    def animation(self) -> str:
        """`full` or `none`."""
        return str(self.value("animation"))

    @property
    def keys(self) -> Mapping[str, str]:
        """Key names, separated by commas, by the id of the binding."""
        value = self.value("keys")
        return value if isinstance(value, Mapping) else {}

    def set_value(self, key: str, value: Value) -> None:
        """Set for this run and write to the file, whose comments, order and other lines stay.

        A value equal to the default is written too: the author chose it, and keeps it when a later
        version ships another default. `reset` is what follows the default again. Raises
        FileProblem when it cannot be written; it holds for this run all the same.
        """
        self._layers[Source.FILE][key] = value
        self._write(key, value)

    def reset(self, key: str) -> None:
        """Take the setting out of the file, so that the default holds. Raises FileProblem."""
        self._layers[Source.FILE].pop(key, None)
        self._write(key, None)

    def _write(self, key: str, value: Value | None) -> None:
        if self.path is None:
            return
        from guardtui.files.atomic import write_atomically
        from guardtui.files.problems import from_os_error

        text = _read(self.path) if self.path.exists() else ""
        if not text and value is None:
            return
        changed = _changed(self.path, text or _HEADER, key, value)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise from_os_error(self.path.parent, error) from error
        write_atomically(self.path, changed.encode())
        self._lines = _parse(self.path, changed)[1]


def load_config(path: Path | None = None, flags: Mapping[str, Value] | None = None) -> Config:
    """The settings of flags, environment and file. An empty environment variable counts as unset.

    Raises `ConfigProblem` with everything that is wrong with the environment and the file.
    """
    path = path or config_path()
    problems: list[FileProblem] = []
    environment: dict[str, Value] = {}
    for setting in SETTINGS:
        if text := os.environ.get(setting.variable):
            try:
                environment[setting.key] = setting.parse(text)
            except ValueError as error:
                remedy = "change or unset this environment variable"
                problems.append(FileProblem(setting.variable, str(error), remedy))
    file: dict[str, Value] = {}
    lines: dict[str, int] = {}
    try:
        if path.exists():
            file, lines = _parse(path, _read(path))
    except ConfigProblem as problem:
        problems += problem.problems
    except FileProblem as problem:
        problems.append(problem)
    except (OSError, ValueError):  # a folder on the way cannot be entered, or a NUL in the name
        problems.append(FileProblem(repr(str(path)), "cannot be read", "see GUARDTUI_CONFIG"))
    if problems:
        raise ConfigProblem(problems)
    return Config(path, flags=flags, environment=environment, file=file, lines=lines)


def _read(path: Path) -> str:
    try:
        content = read_bytes(path)
    except ContentProblem:  # it is empty
        return ""
    if len(content) > _LARGEST:
        raise FileProblem(path, "more than 64 KiB: these are no settings", "see GUARDTUI_CONFIG")
    return decode(path, content)


def _parse(path: Path, text: str) -> tuple[dict[str, Value], dict[str, int]]:
    """Values and lines of the file. Raises ConfigProblem."""
    values: dict[str, Value] = {}
    lines: dict[str, int] = {}
    problems: list[FileProblem] = []
    for setting, name, line, node in _entries(path, text, problems):
        if setting.key in lines:
            problem = f"'{setting.key}' stands twice, first in line {lines[setting.key]}"
            problems.append(FileProblem(path, problem, "remove one of them", line))
            continue
        lines[setting.key] = line
        try:
            values[setting.key] = _value(setting, node)
        except ValueError as error:
            problems.append(FileProblem(path, f"{name}: {error}", _remedy(setting), line))
        if setting.kind is Kind.KEYS and node.id == "mapping":
            for key, _ in node.value:
                lines[f"keys.{key.value}"] = key.start_mark.line + 1
    if problems:
        raise ConfigProblem(sorted(problems, key=lambda one: one.line or 0))
    return values, lines


def _remedy(setting: Setting) -> str:
    if setting.kind is Kind.KEYS:
        return "write a mapping, such as\n    keys:\n      screen.keep: f13,ctrl+g"
    example = setting.show(setting.default)
    return f"write a value, such as {setting.key}: {example}, or remove the line"


def _entries(
    path: Path, text: str, problems: list[FileProblem]
) -> Iterator[tuple[Setting, str, int, Node]]:
    """Settings of the file with name, line and node of the value; what is none is a problem."""
    root = _compose(path, text)
    if root is None:
        return
    if root.id != "mapping":
        problem = "settings are lines of the form 'theme: guardtui-light'"
        at = root.start_mark.line + 1
        raise ConfigProblem([FileProblem(path, problem, "see 'guardtui config'", at)])
    for key, node in root.value:
        line = key.start_mark.line + 1
        name = str(key.value) if key.id == "scalar" else "a list or mapping"
        try:
            yield find_setting(name), name, line, node
        except KeyError as error:
            known = f"the settings are {', '.join(_BY_KEY)}"
            problems.append(FileProblem(path, str(error.args[0]), known, line))


def _value(setting: Setting, node: Node) -> Value:
    if str(node.tag).removeprefix("tag:yaml.org,2002:") not in _TAGS:
        raise ValueError("tags are not used here")
    if setting.kind is Kind.KEYS and node.id == "mapping":
        keys: dict[str, str] = {}
        for key, names in node.value:
            if key.id != "scalar" or names.id != "scalar" or not names.value.strip():
                raise ValueError("an action's keys are one text, such as f13,ctrl+g")
            if key.value in keys:
                raise ValueError(f"'{key.value}' stands twice")
            keys[str(key.value)] = str(names.value)
        return keys
    if node.id != "scalar":
        raise ValueError(f"a {'list' if node.id == 'sequence' else node.id} where a value belongs")
    if setting.kind is Kind.KEYS and node.value.strip() and node.value.strip() not in ("{}", "~"):
        raise ValueError(f"'{node.value}' where a mapping belongs")
    return setting.parse(str(node.value))


def _yaml() -> YAML:
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 10_000
    return yaml


def _compose(path: Path, text: str) -> Any:
    """The nodes of the file, with their places; None when nothing is set. Raises FileProblem."""
    if not text.strip():
        return None
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        root = _yaml().compose(text)
        empty = root is not None and root.tag == "tag:yaml.org,2002:null"
        return None if empty else root
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = " ".join(str(error.problem or error.context).split())
        line = mark.line + 1 if mark else None
        remedy = "write lines of the form 'theme: guardtui-light'"
        raise FileProblem(path, f"this is no YAML: {said}", remedy, line) from error
    except (YAMLError, RecursionError, ValueError) as error:
        raise FileProblem(path, "this is no YAML", "mend or remove the file") from error


def _changed(path: Path, text: str, key: str, value: Value | None) -> str:
    """The text of the file with one setting changed, or taken out. Raises FileProblem."""
    wanted = dict(_parse(path, text)[0])
    wanted.pop(key, None)
    if value is not None:
        wanted[key] = value
    for change in (_spliced, _dumped, _moved):
        changed = change(path, text, key, value)
        try:
            if changed is not None and _parse(path, changed)[0] == wanted:
                return changed
        except FileProblem:
            continue
    raise FileProblem(path, f"'{key}' cannot be set in this file", "set it by hand")


def _spliced(path: Path, text: str, key: str, value: Value | None) -> str | None:
    """Change the characters of the value alone, so that everything else stays as it is."""
    if isinstance(value, Mapping):
        return None
    root = _compose(path, text)
    end = "\r\n" if "\r\n" in text else "\n"
    pairs = [] if root is None else root.value
    found = next((pair for pair in pairs if pair[0].value == key), None)
    if found is None:
        if value is None:
            return text
        gap = "" if not text or text.endswith("\n") else end
        return f"{text}{gap}{key}: {_scalar(value)}{end}"
    name, node = found
    first, last = node.start_mark.index, node.end_mark.index
    if value is not None:
        if node.id != "scalar":
            return None
        blank = "" if first > 0 and text[first - 1].isspace() else " "
        return text[:first] + blank + _scalar(value) + text[last:]
    start = text.rfind("\n", 0, name.start_mark.index) + 1
    stop = text.find("\n", _end_of(node))
    rest = "" if stop < 0 else text[stop + 1 :]
    return text[:start] + rest


def _moved(path: Path, text: str, key: str, value: Value | None) -> str | None:
    """Take the setting out and write it at the end."""
    rest = _spliced(path, text, key, None)
    return None if rest is None else _dumped(path, rest, key, value)


def _end_of(node: Node) -> int:
    """Index behind the last character of a value; a block ends with its last value."""
    if node.id == "mapping" and node.value and not node.flow_style:
        return _end_of(node.value[-1][1])
    return int(node.end_mark.index)


def _scalar(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]*", value):
        import json

        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _dumped(path: Path, text: str, key: str, value: Value | None) -> str | None:
    """The whole file written anew, with its comments."""
    import io

    yaml = _yaml()
    document = yaml.load(text)
    if document is None:  # comments only
        lines = {key: dict(value)} if isinstance(value, Mapping) else {key: value}
        document, head = lines, text if text.endswith("\n") else text + "\n"
    else:
        head = ""
        old = document.get(key)
        if value is None:
            document.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(old, dict):
            for name in [one for one in old if one not in value]:
                del old[name]
            old.update(value)
        else:
            document[key] = dict(value) if isinstance(value, Mapping) else value
    output = io.StringIO()
    yaml.dump(document, output)
    return head + output.getvalue()
