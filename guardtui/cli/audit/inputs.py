"""Topics and prompt sets of an audit, from the arguments of the command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from guardtui.cli import diagnostics
from guardtui.cli.diagnostics import InputError
from guardtui.cli.inputs import agreed_topic, disagreement
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.prompt_reading import AS_WRITTEN, Reading
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic
from guardtui.files.problems import FileError
from guardtui.files.profile_files import ProfileTopics, is_profile, load_profile
from guardtui.files.prompt_files import load_prompts
from guardtui.files.shared_prompts import SharedPrompts, load_shared
from guardtui.files.topic_files import NotATopicError, TopicFile
from guardtui.session.session_file import has_session
from guardtui.session.store import SessionStore, StoreError

BESIDE = (".csv", ".jsonl", ".ndjson", ".tsv", ".parquet")
"""Endings of a prompt set beside its topic file, in the order of the search."""


@dataclass(slots=True)
class TopicArgument:
    """A topic file, and the prompt file that was named for it."""

    path: Path
    prompts: Path | None = None
    required: bool = True
    """Whether the file was named itself; other files of a folder are skipped."""


@dataclass(frozen=True, eq=False)
class AuditTopic:
    """A topic of the audit; `prompts` is None if there is no prompt set for it."""

    path: Path
    topic: Topic
    prompts: PromptSet | None


@dataclass
class AuditInputs:
    """All that an audit reads. `closed` is None if no profile file names a default."""

    topics: list[AuditTopic] = field(default_factory=list)
    name: str = ""
    closed: bool | None = None
    files: list[Path] = field(default_factory=list)
    """All files that are read and that no output may replace."""


def find_inputs(
    words: Sequence[Path], prompts: Sequence[str], reading: Reading = AS_WRITTEN
) -> AuditInputs:
    """Return topics and prompt sets for files and folders, and for the values of `--prompts`.

    A prompt set is searched in this order: named for the topic, rows of a shared set that name
    the topic, the set used last in the app, a file of the same stem beside the topic file. Raises
    `InputError` with all problems together.
    """
    inputs = AuditInputs()
    problems: list[str] = []
    named: list[TopicArgument] = []
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
    shared_rows = _SharedSets(shared, reading, inputs, problems)
    for argument, topic_file in files:
        _complete(argument, topic_file, shared_rows, reading, inputs, problems)
    problems += shared_rows.unknown_topics()
    if not problems and not any(topic.prompts is not None for topic in inputs.topics):
        problems.append(_no_prompts(inputs))
    if problems:
        raise InputError("\n".join(dict.fromkeys(problems)))
    return inputs


def _expand(
    word: Path,
    named: list[TopicArgument],
    shared: list[Path],
    inputs: AuditInputs,
    problems: list[str],
) -> None:
    """Add the topic files that a file, folder or profile file stands for."""
    if word.is_dir():
        files = sorted(path for path in word.iterdir() if path.suffix.lower() in (".yaml", ".yml"))
        profiles = [path for path in files if is_profile(path)]
        if len(profiles) > 1:
            names = ", ".join(path.name for path in profiles)
            problems.append(f"{word}: several profile files: {names}\n  name one of them")
            return
        if not profiles:
            if not files:
                problems.append(
                    f"{word}: no topic file (*.yaml) in this folder\n"
                    "  name topic files, or the folder that has them"
                )
            named += [TopicArgument(path, required=False) for path in files]
            return
        word = profiles[0]
    if not is_profile(word):
        named.append(TopicArgument(word))
        return
    inputs.files.append(word)
    try:
        profile = load_profile(word)
    except FileError as error:
        problems.append(str(error))
        return
    inputs.name = inputs.name or profile.name
    inputs.closed = profile.closed if inputs.closed is None else inputs.closed
    named += [TopicArgument(entry.topic, entry.prompts) for entry in profile.topics]
    if profile.prompts is not None:
        shared.append(profile.prompts)


def _load_topics(
    named: Sequence[TopicArgument], inputs: AuditInputs, problems: list[str]
) -> list[tuple[TopicArgument, TopicFile]]:
    files = []
    topics = ProfileTopics()
    for argument in named:
        inputs.files.append(argument.path)
        try:
            files.append((argument, topics.read(argument.path)))
        except FileError as error:
            if not argument.required and isinstance(error, NotATopicError):
                diagnostics.warn(f"{argument.path}: not a topic file, skipped")
                continue
            problems.append(str(error))
    return files


def _pair(
    pairs: Sequence[tuple[str, Path]],
    files: Sequence[tuple[TopicArgument, TopicFile]],
    named: Sequence[TopicArgument],
    problems: list[str],
) -> None:
    """Assign the prompt files named by `--prompts TOPIC=FILE` to their topics."""
    taken: set[Path] = set()
    for key, path in pairs:
        matching = [
            argument for argument, file in files if key in _names(argument.path, file.topic)
        ]
        if not matching and not any(key in _names(argument.path) for argument in named):
            known = ", ".join(argument.path.stem for argument, _ in files) or "none"
            problems.append(f"--prompts {key}=…: no such topic in this audit\n  topics: {known}")
        elif len(matching) > 1:
            problems.append(f"--prompts {key}=…: several topics have this name: name the file")
        elif matching and matching[0].path in taken:
            problems.append(f"--prompts {key}=…: this topic has a prompt set already")
        elif matching:
            taken.add(matching[0].path)
            matching[0].prompts = path


def _names(path: Path, topic: Topic | None = None) -> set[str]:
    """Return the names of a topic that the command line accepts."""
    names = {str(path), path.name, path.stem}
    return names | {topic.name} if topic is not None and topic.name else names


def _complete(
    argument: TopicArgument,
    file: TopicFile,
    shared: _SharedSets,
    reading: Reading,
    inputs: AuditInputs,
    problems: list[str],
) -> None:
    """Find and read the prompts of a topic, and add it to the inputs."""
    prompts: PromptSet | None = None
    path = argument.prompts
    try:
        if path is None:
            prompts = shared.of(argument.path, file)
        if prompts is None:
            path = path or _usual(argument.path)
            if path is not None:
                inputs.files.append(path)
                prompts = load_prompts(path, file.topic.intent, reading)
    except GuardtuiError as error:
        problems.append(str(error))
        return
    if prompts is None:
        inputs.topics.append(AuditTopic(argument.path, file.topic, None))
        return
    topic = agreed_topic(file, prompts)
    if topic is None:
        problems.append(disagreement(file, prompts))
        return
    inputs.topics.append(AuditTopic(argument.path, topic, prompts))


def _usual(topic_path: Path) -> Path | None:
    """Return the prompt set used last with a topic, or a file of its stem beside it, or None."""
    if has_session(topic_path):
        try:
            remembered = SessionStore(topic_path, reading=True).prompt_file()
        except StoreError as error:
            diagnostics.warn(f"{error}\n  the prompts used last are unknown")
        else:
            if remembered and (topic_path.parent / remembered).exists():
                return topic_path.parent / remembered
    candidates = (topic_path.with_suffix(ending) for ending in BESIDE)
    return next((path for path in candidates if path.exists()), None)


class _SharedSets:
    """Prompt files whose column `topic` says which topic a row labels."""

    def __init__(
        self, paths: Sequence[Path], reading: Reading, inputs: AuditInputs, problems: list[str]
    ) -> None:
        self._sets: list[SharedPrompts] = []
        self._used: set[str] = set()
        self._failed = bool(problems)
        for path in dict.fromkeys(paths):
            inputs.files.append(path)
            try:
                self._sets.append(load_shared(path, reading))
            except FileError as error:
                problems.append(str(error))
                self._failed = True

    def of(self, path: Path, file: TopicFile) -> PromptSet | None:
        """Return the rows that name a topic, by its name or its file's. Raises PromptSetError."""
        wanted = {name.casefold() for name in _names(path, file.topic)}
        for shared in self._sets:
            if hits := [name for name in shared.names if name.strip().casefold() in wanted]:
                self._used.update(hits)
                return shared.rows_of(hits, file.topic.intent if file.intent_given else None)
        return None

    def unknown_topics(self) -> list[str]:
        """Return a problem for each set with rows of topics that are not in the audit."""
        if self._failed:
            return []
        problems = []
        for shared in self._sets:
            unknown = [name for name in shared.names if name not in self._used]
            if unknown:
                names = ", ".join(repr(display_start(name, 40)) for name in unknown[:5])
                problems.append(
                    f"{shared.path}:{shared.line_of(unknown[0])}: rows name topics that are not in "
                    f"this audit: {names}\n  write the topic's name or its file's name in the "
                    "column topic, or add the topic"
                )
        return problems


def _no_prompts(inputs: AuditInputs) -> str:
    first = inputs.topics[0].path if inputs.topics else Path("topic.yaml")
    return (
        "no prompt set for any of the topics\n"
        f"  put one beside the topic ({first.with_suffix('.csv').name}), or name it: "
        f"--prompts {first.stem}=FILE"
    )
