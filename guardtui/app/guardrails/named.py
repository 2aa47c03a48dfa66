"""Guardrails by name: in the settings, or in `guardrails.yaml` beside a topic, which wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from guardtui.config import (
    GUARDRAILS,
    ConfigError,
    config_path,
    load_document,
    read_text,
    rewrite,
    with_change,
    without_entry,
)
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.guardrail import Guardrail
from guardtui.domain.text import did_you_mean, display_start
from guardtui.files.problems import FileError
from guardtui.files.yaml_documents import line_of, start_of
from guardtui.scanners.configuration import (
    ADDRESSES,
    KINDS,
    SECRET_REMEDY,
    Configuration,
    ConfigurationError,
    configure,
    parse_address,
    secret_in,
)

FILE = "guardrails.yaml"
"""Name of the file beside a topic, for a team and for CI."""

_LONGEST = 60  # characters of a name
_FORM = "write a name and its keys, such as 'prod: {kind: airs, profile: prod}'"
_TOO_DEEP = f"remove the line '{GUARDRAILS}:', which belongs into the settings"
_KINDS = f"the kinds are {', '.join(KINDS)}"
_HEADER = "# Guardrails; 'guardtui guardrails --keys KIND' lists the keys. No secrets here.\n"


class GuardrailError(GuardtuiError):
    """A guardrail cannot be used as named or typed; the message has the remedy."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class NamedGuardrail:
    """A configured guardrail with its name, "" for one that was given by its address.

    `path` and `line` (from 1) say where it is from. `shadowed` says that a nearer file has another
    guardrail of that name.
    """

    name: str
    configuration: Configuration
    path: Path | None = None
    line: int | None = None
    shadowed: bool = False

    @property
    def title(self) -> str:
        """The name or the address, inert; safe to show anywhere."""
        return display_start(self.name or self.configuration.address, 2 * _LONGEST)

    @property
    def kind(self) -> str:
        """Name of its kind."""
        return self.configuration.kind

    @property
    def guardrail(self) -> Guardrail:
        """What it states of the guardrail whose verdicts are recorded; its name is the title."""
        return replace(self.configuration.guardrail, title=self.name)


ENGINE = NamedGuardrail("", KINDS["engine"]())
"""The engine, which needs no configuration."""


# --- reading ------------------------------------------------------------------------------


def team_file(topic: Path | None) -> Path:
    """Return the path of the file of guardrails beside a topic, or in the current folder."""
    return (Path() if topic is None else topic.parent) / FILE


def load_guardrails(topic: Path | None = None) -> tuple[NamedGuardrail, ...]:
    """Return all guardrails, those beside the topic first; shadowed ones are marked.

    Raises `ConfigError` with all problems of both files.
    """
    known: list[NamedGuardrail] = []
    problems: list[FileError] = []
    for path in (team_file(topic), config_path()):
        try:
            known += guardrails_in(path)
        except ConfigError as error:
            problems += error.problems
        except FileError as error:
            problems.append(error)
    if problems:
        raise ConfigError(problems)
    names: set[str] = set()
    marked = []
    for guardrail in known:
        marked.append(replace(guardrail, shadowed=guardrail.name in names))
        names.add(guardrail.name)
    return tuple(marked)


def find_guardrail(text: str, topic: Path | None = None) -> NamedGuardrail:
    """Return the guardrail of exactly this name or address.

    Raises GuardrailError for an unknown name, ConfigurationError for an invalid address, and
    `ConfigError` for invalid files.
    """
    configuration = parse_address(text)
    if configuration is not None:
        return NamedGuardrail("", configuration)
    known = [each for each in load_guardrails(topic) if not each.shadowed]
    for guardrail in known:
        if guardrail.name == text:
            return guardrail
    raise GuardrailError(unknown_name(text, [guardrail.name for guardrail in known]))


def unknown_name(text: str, names: Sequence[str]) -> str:
    """Return the message for a name that no guardrail has; names count letter by letter."""
    near = did_you_mean(text, names)
    shown = ", ".join(display_start(name, _LONGEST) for name in names[:8])
    there = f"there are: {shown}" if names else "none is configured"
    return (
        f"there is no guardrail '{display_start(text, _LONGEST)}'{near or f'; {there}'}\n"
        f"  'guardtui guardrails' lists them; without a name, {ADDRESSES}"
    )


def guardrails_in(path: Path) -> list[NamedGuardrail]:
    """Return the guardrails of a file, none if it is missing.

    Raises `ConfigError` with all problems of their names and keys, and FileError.
    """
    section = _section(path, load_document(path, read_text(path)))
    known: list[NamedGuardrail] = []
    problems: list[FileError] = []
    for name, node in section.items():
        try:
            known.append(_entry(path, section, name, node))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return known


def _section(path: Path, document: Any) -> Mapping[Any, Any]:
    """Return the mapping of guardrails in a document. Raises FileError."""
    whole = document or {}
    section = whole if path.name == FILE else whole.get(GUARDRAILS)
    if section is None:
        return {}
    if not isinstance(section, dict):
        raise FileError(path, f"{GUARDRAILS}: not a mapping", _FORM, line_of(whole, GUARDRAILS))
    return section


def _entry(path: Path, section: Mapping[Any, Any], node: Any, keys: Any) -> NamedGuardrail:
    """Return one guardrail of a file. Raises `ConfigError` with all its problems."""
    name, line = start_of(node), line_of(section, node)

    def failed(problem: str, remedy: str, at: int | None = line) -> FileError:
        return FileError(path, f"{display_start(name, _LONGEST)}: {problem}", remedy, at)

    if (problem := name_problem(name)) or not isinstance(node, str):
        raise ConfigError([failed(problem or "a name is a text", _FORM)])
    if not isinstance(keys, dict):
        raise ConfigError([failed("its keys are missing", _FORM)])
    values = {start_of(key): value for key, value in keys.items()}
    kind = start_of(values.pop("kind", ""))
    if name == GUARDRAILS and not kind:
        raise ConfigError([failed("not a name: names stand at the left margin here", _TOO_DEEP)])
    if kind not in KINDS:
        near = did_you_mean(kind, KINDS)
        shown = display_start(kind, _LONGEST)
        text = f"kind: unknown kind '{shown}'{near}" if kind else "its kind is missing"
        raise ConfigError([failed(text, _KINDS, line_of(keys, "kind") or line)])
    if secret := secret_in(values):
        at = line_of(keys, secret) or line
        raise ConfigError([failed(f"{secret}: the URL holds a secret", SECRET_REMEDY, at)])
    try:
        configuration = configure(kind, values)
    except ConfigurationError as error:
        raise ConfigError(
            failed(f"{each.key}: {each.problem}", each.remedy, line_of(keys, each.key) or line)
            for each in error.problems
        ) from error
    return NamedGuardrail(name, _located(configuration, path.parent), path, line)


def _located(configuration: Configuration, folder: Path) -> Configuration:
    """Return it with the path of its template, which is relative to the folder of its file."""
    template = getattr(configuration, "template", None)
    if template is None:
        return configuration
    return configuration.model_copy(update={"template": folder / template.expanduser()})


def name_problem(name: str) -> str:
    """Return why a text cannot be the name of a guardrail, or ""."""
    if not name.strip() or not name.isprintable() or len(name) > _LONGEST:
        return f"a name has 1 to {_LONGEST} printable characters"
    if ":" in name or name in KINDS:
        return "this is an address, not a name"
    return "a name does not begin with '-'" if name.startswith("-") else ""


# --- writing ------------------------------------------------------------------------------


def save_guardrail(guardrail: NamedGuardrail) -> NamedGuardrail:
    """Write a guardrail to its file, by default the settings; comments and other lines stay.

    Raises GuardrailError for an invalid name, and FileError.
    """
    if problem := name_problem(guardrail.name):
        raise GuardrailError(f"Name: {problem}")
    path = guardrail.path or config_path()
    values = {"kind": guardrail.kind, **guardrail.configuration.given()}
    if secret := secret_in(values):
        raise GuardrailError(f"{secret}: the URL holds a secret\n  {SECRET_REMEDY}")
    if template := values.get("template"):
        folder = path.parent.absolute()
        absolute = Path(template).absolute()
        values["template"] = str(
            absolute.relative_to(folder) if absolute.is_relative_to(folder) else absolute
        )
    rewrite(path, _HEADER, lambda text: _edited(path, text, guardrail.name, values))
    return next(each for each in guardrails_in(path) if each.name == guardrail.name)


def _edited(path: Path, text: str, name: str, values: Mapping[str, Any]) -> str:
    """Return the text of a file with one guardrail changed.

    Raises FileError if the file is written so that another guardrail would change too.
    """
    section = _section(path, load_document(path, text))
    others = {key: value for key, value in section.items() if key != name}
    if isinstance(section.get(name), dict):
        for key in [key for key in section[name] if key not in values]:
            text = _without(path, text, name, key)
    text = _with(path, text, name, values)
    now = _section(path, load_document(path, text))
    if {key: value for key, value in now.items() if key != name} != others:
        raise FileError(path, f"'{name}' cannot be changed in this file", "change it by hand")
    return text


def _without(path: Path, text: str, name: str, key: str) -> str:
    """Return the text of a file without a key of a guardrail."""
    guardrail = _section(path, load_document(path, text))[name]
    line = line_of(guardrail, key)
    if line is not None and not guardrail.fa.flow_style():
        return without_entry(text, line - 1)
    return with_change(path, text, lambda document: _section(path, document)[name].pop(key))


def _with(path: Path, text: str, name: str, values: Mapping[str, Any]) -> str:
    """Return the text of a file with these keys of a guardrail."""

    def change(document: Any) -> None:
        if path.name != FILE and not isinstance(document.get(GUARDRAILS), dict):
            document[GUARDRAILS] = {}
        section = document if path.name == FILE else document[GUARDRAILS]
        if not isinstance(section.get(name), dict):
            section[name] = dict(values)
            return
        for key, value in values.items():
            if section[name].get(key) != value:
                section[name][key] = value

    return with_change(path, text, change)
