"""The topics of an audit and their prompt sets, found from what the author typed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from guardtui.cli import diagnostics
from guardtui.cli.diagnostics import InputError
from guardtui.cli.inputs import agreed_topic, disagreement
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic
from guardtui.files.problems import FileError
from guardtui.files.profile_files import is_profile, load_profile
from guardtui.files.prompt_files import load_prompts
from guardtui.files.shared_prompts import SharedPrompts, load_shared
from guardtui.files.topic_files import TopicFile, load_topic
from guardtui.session.companions import AT_MOST
from guardtui.session.recorded import has_session
from guardtui.session.store import SessionStore, StoreError

BESIDE = (".csv", ".jsonl", ".ndjson", ".tsv", ".parquet")
"""Endings of a prompt set that is found beside its topic file, in this order."""

_NAME_CHARACTERS = 60


@dataclass(slots=True)
class Named:
    """A topic file, and the prompt file that was named for it."""

    path: Path
    prompts: Path | None = None
    required: bool = True
    """Whether it was named itself: in a folder, what is no topic file is passed over."""


@dataclass(frozen=True, eq=False)
class Found:
    """One topic of the audit; `prompts` is None where no prompt set was found."""

    path: Path
    topic: Topic
    prompts: PromptSet | None
    prompts_path: Path | None


@dataclass
class Inputs:
    """All that an audit reads. `closed` is what a profile file says, None for nothing."""

    found: list[Found] = field(default_factory=list)
    name: str = ""
    closed: bool | None = None
    read: list[Path] = field(default_factory=list)
    """Every file that is read, which no output may replace."""


def find_inputs(words: Sequence[Path], prompts: Sequence[str]) -> Inputs:
    """Topics and prompt sets for files and folders, and for what `--prompts` names.

    A prompt set is looked for in this order: named for the topic, rows of a shared one that name
    the topic, the one used last in the app, a file of the same stem beside the topic file. Raises
    `InputError` telling everything that is wrong together.
    """
    inputs = Inputs()
    problems: list[str] = []
    named: list[Named] = []
    shared: list[Path] = []
    for word in words:
        _expand(word, named, shared, inputs, problems)
    pairs: list[tuple[str, Path]] = []
    for value in prompts:
        key, sign, file = value.partition("=")
        if sign and key and file and not Path(value).exists():
            pairs.append((key, Path(file)))
        else:
            shared.append(Path(value))
    files = _load_topics(named, inputs, problems)
    _pair(pairs, files, named, problems)
    shared_rows = _SharedSets(shared, inputs, problems)
    for one, topic_file in files:
        _complete(one, topic_file, shared_rows, inputs, problems)
    problems += shared_rows.left_over()
    if not problems:
        problems += _wrong_together(inputs)
    if problems:
        raise InputError("\n".join(dict.fromkeys(problems)))
    return inputs


def _expand(
    word: Path, named: list[Named], shared: list[Path], inputs: Inputs, problems: list[str]
) -> None:
    if word.is_dir():
        files = sorted(one for one in word.iterdir() if one.suffix.lower() in (".yaml", ".yml"))
        profiles = [one for one in files if is_profile(one)]
        if len(profiles) > 1:
            names = ", ".join(one.name for one in profiles)
            problems.append(f"{word}: there are several profile files: {names}\n  name one of them")
            return
        if not profiles:
            if not files:
                problems.append(f"{word}: there is no topic file in this folder (*.yaml)")
            named += [Named(one, required=False) for one in files]
            return
        word = profiles[0]
    if not is_profile(word):
        named.append(Named(word))
        return
    inputs.read.append(word)
    try:
        profile = load_profile(word)
    except FileError as error:
        problems.append(str(error))
        return
    inputs.name = inputs.name or profile.name
    inputs.closed = profile.closed if inputs.closed is None else inputs.closed
    named += [Named(one.topic, one.prompts) for one in profile.topics]
    if profile.prompts is not None:
        shared.append(profile.prompts)


def _load_topics(
    named: Sequence[Named], inputs: Inputs, problems: list[str]
) -> list[tuple[Named, TopicFile]]:
    files = []
    seen: dict[object, Path] = {}
    for one in named:
        inputs.read.append(one.path)
        try:
            status = one.path.stat()
            identity: object = (status.st_dev, status.st_ino)
        except (OSError, ValueError):
            identity = str(one.path)
        if identity in seen:
            problems.append(f"{one.path}: this topic file is named twice\n  name it once")
            continue
        seen[identity] = one.path
        try:
            files.append((one, load_topic(one.path)))
        except FileError as error:
            if not one.required and error.problem.startswith("this is no topic"):
                diagnostics.warn(f"{one.path}: is no topic file and is left out")
                continue
            problems.append(str(error))
    return files


def _pair(
    pairs: Sequence[tuple[str, Path]],
    files: Sequence[tuple[Named, TopicFile]],
    named: Sequence[Named],
    problems: list[str],
) -> None:
    """Give the prompt files that `--prompts TOPIC=FILE` names to their topics."""
    taken: set[str] = set()
    for key, path in pairs:
        fits = [one for one, file in files if key in _names(one.path, file.topic)]
        if not fits and not any(key in _names(one.path) for one in named):
            there = ", ".join(one.path.stem for one, _ in files) or "none"
            problems.append(
                f"--prompts {key}=…: there is no such topic in this audit\n  there are: {there}"
            )
        elif len(fits) > 1:
            problems.append(f"--prompts {key}=…: several topics are called so: name the file")
        elif fits and str(fits[0].path) in taken:
            problems.append(f"--prompts {key}=…: this topic has a prompt set already")
        elif fits:
            taken.add(str(fits[0].path))
            fits[0].prompts = path


def _names(path: Path, topic: Topic | None = None) -> set[str]:
    """What a topic may be called on the command line."""
    names = {str(path), path.name, path.stem}
    return names | {topic.name} if topic is not None and topic.name else names


def _complete(
    one: Named, file: TopicFile, shared: _SharedSets, inputs: Inputs, problems: list[str]
) -> None:
    """Find and read the prompts of one topic."""
    prompts: PromptSet | None = None
    path = one.prompts
    try:
        if path is None:
            prompts = shared.of(one.path, file)
        if prompts is None:
            path = path or _usual(one.path)
            if path is not None:
                inputs.read.append(path)
                prompts = load_prompts(path, file.topic.intent)
        else:
            path = Path(prompts.source)
    except GuardtuiError as error:
        problems.append(str(error))
        return
    if prompts is None or path is None:
        inputs.found.append(Found(one.path, file.topic, None, None))
        return
    topic = agreed_topic(file, prompts)
    if topic is None:
        problems.append(disagreement(file, prompts))
        return
    inputs.found.append(Found(one.path, topic, prompts, path))


def _usual(topic_path: Path) -> Path | None:
    """The prompt set used last with a topic, else a file of its stem beside it, else None."""
    if has_session(topic_path):
        try:
            remembered = SessionStore(topic_path, reading=True).prompt_file()
        except StoreError as error:
            diagnostics.warn(f"{error}\n  the prompts used last are not known")
        else:
            if remembered and (topic_path.parent / remembered).exists():
                return topic_path.parent / remembered
    beside = (topic_path.with_suffix(ending) for ending in BESIDE)
    return next((path for path in beside if path.exists()), None)


class _SharedSets:
    """Prompt files whose column `topic` says which topic a row labels."""

    def __init__(self, paths: Sequence[Path], inputs: Inputs, problems: list[str]) -> None:
        self._sets: list[SharedPrompts] = []
        self._used: set[str] = set()
        self._failed = bool(problems)
        for path in dict.fromkeys(paths):
            inputs.read.append(path)
            try:
                self._sets.append(load_shared(path))
            except FileError as error:
                problems.append(str(error))
                self._failed = True

    def of(self, path: Path, file: TopicFile) -> PromptSet | None:
        """The rows that name a topic, by its name or its file's; raises PromptSetError."""
        wanted = {one.casefold() for one in _names(path, file.topic)}
        for one in self._sets:
            if hits := [name for name in one.names if name.strip().casefold() in wanted]:
                self._used.update(hits)
                return one.rows_of(hits, file.topic.intent if file.intent_given else None)
        return None

    def left_over(self) -> list[str]:
        """A sentence for each set some of whose rows name a topic that is not there."""
        if self._failed:
            return []
        told = []
        for one in self._sets:
            missing = [name for name in one.names if name not in self._used]
            if missing:
                shown = ", ".join(repr(display_start(name, 40)) for name in missing[:5])
                told.append(
                    f"{one.path}:{one.line_of(missing[0])}: rows name topics that are not in this "
                    f"audit: {shown}\n  write the topic's name or its file's name in the column "
                    "topic, or add the topic"
                )
        return told


def _wrong_together(inputs: Inputs) -> list[str]:
    """What is wrong with topics that can be used each by itself."""
    problems = []
    seen: dict[str, Path] = {}
    for one in inputs.found:
        if one.topic.name in seen:
            name = display_start(one.topic.name, _NAME_CHARACTERS)
            problems.append(
                f"{one.path}: another topic is called {name!r} already: {seen[one.topic.name]}\n"
                "  a profile tells its topics by their names: give this one another name"
            )
        seen.setdefault(one.topic.name, one.path)
    if len(inputs.found) > AT_MOST:
        problems.append(f"{len(inputs.found)} topics: a profile holds {AT_MOST}\n  leave some out")
    if not any(one.prompts is not None for one in inputs.found):
        first = inputs.found[0].path if inputs.found else Path("topic.yaml")
        problems.append(
            "no prompt set is known for any of the topics\n"
            f"  put one beside the topic ({first.with_suffix('.csv').name}), or name it: "
            f"--prompts {first.stem}=FILE"
        )
    return problems
