"""Topics and prompt sets of an audit, from the arguments of the command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from guardtui.cli import diagnostics
from guardtui.cli.diagnostics import InputError
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.prompt_reading import AS_WRITTEN, Reading
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_start
from guardtui.domain.topic import Topic
from guardtui.files.inputs import agreed_topic, disagreement
from guardtui.files.problems import FileError
from guardtui.files.profile_files import ProfileTopics, is_profile, load_profile
from guardtui.files.prompt_files import load_prompts
from guardtui.files.shared_prompts import SharedPrompts, load_shared
from guardtui.files.topic_files import NotATopicError, TopicFile
from guardtui.session.session_file import has_session
from guardtui.session.store import SessionStore, StoreError

BESIDE = (".csv", ".jsonl", ".ndjson", ".tsv", ".parquet")
"""Endings of a prompt set beside its topic file, in the order of the search."""


@dataclass(frozen=True, eq=False)
class AuditTopic:
    """A topic of the audit; `prompts` is None if there is no prompt set for it."""

    path: Path
    topic: Topic
    prompts: PromptSet | None


@dataclass(slots=True)
class _Argument:
    """A topic file, and the prompt file that was named for it."""

    path: Path
    prompts: Path | None = None
    required: bool = True
    """True if the file was named itself; other files of a folder are skipped."""

    assigned: bool = False
    """True if its prompts were named on the command line."""

    def names(self, file: TopicFile | None = None) -> set[str]:
        """Return the names of the topic that the command line accepts."""
        names = {str(self.path), self.path.name, self.path.stem}
        return names | {file.topic.name} if file is not None and file.topic.name else names


class AuditInputs:
    """All that an audit reads.

    A prompt set is searched in this order: named for the topic, rows of a shared set that name
    the topic, the set used last in the app, a file of the same stem beside the topic file.

    - `files`: all files that are read and that no output may replace.
    - `closed`: whether what no topic matches is stopped; None if no profile file says it.
    """

    def __init__(
        self, words: Sequence[Path], prompts: Sequence[str], reading: Reading = AS_WRITTEN
    ) -> None:
        """Read files and folders, and the values of `--prompts`.

        Raises `InputError` with all problems together.
        """
        self.topics: list[AuditTopic] = []
        self.name = ""
        self.closed: bool | None = None
        self.files: list[Path] = []
        self._reading = reading
        self._problems: list[str] = []
        self._arguments: list[_Argument] = []
        self._shared: list[SharedPrompts] = []
        self._found_names: set[str] = set()
        shared: list[Path] = []
        for word in words:
            self._expand(word, shared)
        pairs: list[tuple[str, Path]] = []
        for value in prompts:
            key, sign, file = value.partition("=")
            if sign and key and file and not Path(value).exists():
                pairs.append((key, Path(file)))
            else:
                shared.append(Path(value))
        files = self._load_topics()
        for key, path in pairs:
            self._assign(key, path, files)
        failed = bool(self._problems)
        for path in dict.fromkeys(shared):
            self.files.append(path)
            try:
                self._shared.append(load_shared(path, reading))
            except FileError as error:
                self._problems.append(str(error))
                failed = True
        for argument, topic_file in files:
            try:
                self._complete(argument, topic_file)
            except GuardtuiError as error:
                self._problems.append(str(error))
        if not failed:
            self._refuse_unknown_topics()
        if not self._problems and all(topic.prompts is None for topic in self.topics):
            first = self.topics[0].path if self.topics else Path("topic.yaml")
            self._problems.append(
                "no prompt set for any of the topics\n"
                f"  put one beside the topic ({first.with_suffix('.csv').name}), or name it: "
                f"--prompts {first.stem}=FILE"
            )
        if self._problems:
            raise InputError("\n".join(dict.fromkeys(self._problems)))

    def _expand(self, word: Path, shared: list[Path]) -> None:
        """Add the topic files that a file, folder or profile file stands for."""
        if word.is_dir():
            files = sorted(
                path for path in word.iterdir() if path.suffix.lower() in (".yaml", ".yml")
            )
            profiles = [path for path in files if is_profile(path)]
            if len(profiles) > 1:
                names = ", ".join(path.name for path in profiles)
                self._problems.append(f"{word}: several profile files: {names}\n  name one of them")
                return
            if not profiles:
                if not files:
                    self._problems.append(
                        f"{word}: no topic file (*.yaml) in this folder\n"
                        "  name topic files, or the folder that has them"
                    )
                self._arguments += [_Argument(path, required=False) for path in files]
                return
            word = profiles[0]
        if not is_profile(word):
            self._arguments.append(_Argument(word))
            return
        self.files.append(word)
        try:
            profile = load_profile(word)
        except FileError as error:
            self._problems.append(str(error))
            return
        self.name = self.name or profile.name
        self.closed = profile.closed if self.closed is None else self.closed
        self._arguments += [_Argument(entry.topic, entry.prompts) for entry in profile.topics]
        if profile.prompts is not None:
            shared.append(profile.prompts)

    def _load_topics(self) -> list[tuple[_Argument, TopicFile]]:
        files = []
        topics = ProfileTopics()
        for argument in self._arguments:
            self.files.append(argument.path)
            try:
                files.append((argument, topics.read(argument.path)))
            except FileError as error:
                if not argument.required and isinstance(error, NotATopicError):
                    diagnostics.warn(f"{argument.path}: not a topic file, skipped")
                    continue
                self._problems.append(str(error))
        return files

    def _assign(self, key: str, path: Path, files: Sequence[tuple[_Argument, TopicFile]]) -> None:
        """Assign a prompt file named by `--prompts TOPIC=FILE` to its topic."""
        matching = [argument for argument, file in files if key in argument.names(file)]
        problem = ""
        if not matching:
            if any(key in argument.names() for argument in self._arguments):
                return  # its file could not be read
            known = ", ".join(argument.path.stem for argument, _ in files) or "none"
            problem = f"no such topic in this audit\n  topics: {known}"
        elif len(matching) > 1:
            problem = "several topics have this name: name the file"
        elif matching[0].assigned:
            problem = "this topic has a prompt set already"
        if problem:
            self._problems.append(f"--prompts {key}=…: {problem}")
            return
        matching[0].prompts, matching[0].assigned = path, True

    def _complete(self, argument: _Argument, file: TopicFile) -> None:
        """Find and read the prompts of a topic, and add it. Raises GuardtuiError."""
        prompts: PromptSet | None = None
        if argument.prompts is None:
            prompts = self._shared_rows(argument, file)
        if prompts is None and (path := argument.prompts or _usual(argument.path)) is not None:
            self.files.append(path)
            prompts = load_prompts(path, file.topic.intent, self._reading)
        topic = file.topic if prompts is None else agreed_topic(file, prompts)
        if topic is None:
            assert prompts is not None  # noqa: S101 - they disagree
            raise disagreement(file, prompts)
        self.topics.append(AuditTopic(argument.path, topic, prompts))

    def _shared_rows(self, argument: _Argument, file: TopicFile) -> PromptSet | None:
        """Return the rows that name a topic, by its name or its file's. Raises PromptSetError."""
        wanted = {name.casefold() for name in argument.names(file)}
        for shared in self._shared:
            if hits := [name for name in shared.names if name.strip().casefold() in wanted]:
                self._found_names.update(hits)
                return shared.rows_of(hits, file.topic.intent if file.intent_given else None)
        return None

    def _refuse_unknown_topics(self) -> None:
        """Add a problem for each shared set with rows of topics that are not in the audit."""
        for shared in self._shared:
            unknown = [name for name in shared.names if name not in self._found_names]
            if unknown:
                names = ", ".join(repr(display_start(name, 40)) for name in unknown[:5])
                self._problems.append(
                    f"{shared.path}:{shared.line_of(unknown[0])}: rows name topics that are not in "
                    f"this audit: {names}\n  write the topic's name or its file's name in the "
                    "column topic, or add the topic"
                )


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
