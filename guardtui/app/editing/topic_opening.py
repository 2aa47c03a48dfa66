"""Opening of topics: the known ones, the workspace of one, and its engine."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from guardtui.app.open_request import OpenRequest
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.guardrail import badge
from guardtui.domain.operating_point import BY_HAND, Wanted
from guardtui.domain.prompt_reading import Reading
from guardtui.domain.topic import Topic
from guardtui.files.problems import FileError
from guardtui.files.topic_files import PromptsGivenError
from guardtui.scanners.base import ScannerError
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.chosen_thresholds import wanted_threshold
from guardtui.session.recent_topics import recent_topics, remember_opened
from guardtui.session.session_file import has_session
from guardtui.session.store import SessionStore
from guardtui.session.topic_places import topics_in
from guardtui.session.workspace import Workspace


@dataclass(frozen=True, slots=True)
class KnownTopic:
    """A known topic: opened before, or in the current folder.

    `prompts` is None if it was never opened. `coverage` is that of the last iteration, if any,
    `guardrail` the guardrail it is about. `problem` says why it cannot be opened, or is "";
    `opened` is ISO 8601 UTC.
    """

    path: Path
    prompts: Path | None = None
    opened: str = ""
    problem: str = ""
    coverage: float | None = None
    guardrail: str = ""


def known_topics(folder: Path, current: Path) -> list[KnownTopic]:
    """Return recent topics, the newest first, then others of `folder`, without `current`.

    Blocks: it reads their sessions.
    """
    current = current.resolve()
    recent = [entry for entry in recent_topics() if entry.topic != current]
    known = {current, *(entry.topic for entry in recent)}
    return [
        *(_looked_up(entry.topic, entry.prompts, entry.opened) for entry in recent),
        *(_looked_up(path) for path in _others_in(folder) if path not in known),
    ]


def _others_in(folder: Path) -> Iterator[Path]:
    try:
        yield from (path.resolve() for path in topics_in(folder))
    except OSError:  # the folder is missing or unreadable
        return


def _looked_up(path: Path, prompts: Path | None = None, opened: str = "") -> KnownTopic:
    problem = ""
    try:
        if not path.is_file():
            problem = "file not found"
        newest = None
        if not problem and has_session(path):
            newest = SessionStore(path, reading=True).newest_iteration()
    except (OSError, GuardtuiError):  # reported when it is opened
        newest = None
    if newest is None:
        return KnownTopic(path, prompts, opened, problem)
    evaluation = newest.evaluation
    name = badge(evaluation.settings)
    return KnownTopic(path, prompts, opened, problem, evaluation.metrics.coverage, name)


def open_or_start(topic: Path, prompts: Path | None, reading: Reading | None = None) -> Workspace:
    """Open a topic file, or for a prompt file the topic beside it, which is made if missing.

    `reading` is as in `Workspace.open`. Raises what `Workspace.open` and `start_topic` raise.
    """
    try:
        return Workspace.open(topic, prompts, reading)
    except PromptsGivenError:
        if prompts is not None:
            raise
    # Imported when needed: most topics exist.
    from guardtui.app.editing.topic_from_prompts import name_for, start_topic, stem_of, topic_beside

    beside = topic_beside(topic)
    if beside is not None:
        workspace = Workspace.open(beside, topic, reading)
        workspace.opening_note = f"The prompts of {topic.name}, with the topic beside them."
        return workspace
    path = stem_of(topic).with_name(f"{stem_of(topic).name}.yaml")
    return start_topic(topic, path, Topic(name=name_for(topic)), None, reading=reading)


@dataclass(frozen=True, slots=True)
class OpenedTopic:
    """A workspace with its engine, and the requested threshold of that."""

    workspace: Workspace
    scanner: LocalScanner
    threshold: Wanted


def open_with_engine(topic: Path, prompts: Path | None, request: OpenRequest) -> OpenedTopic:
    """Open a topic as `open_or_start` does, load its engine meanwhile, and remember it. Blocks."""
    encoder, default = request.encoder, request.config.encoder
    usual = LocalScanner(encoder or default)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(usual.load)  # takes as long as reading the prompts
        workspace = open_or_start(topic, prompts, request.reading)
    remember_opened(workspace)
    return OpenedTopic(
        workspace,
        choose_scanner(workspace, encoder, request.threshold, default, usual),
        request.threshold or wanted_threshold(workspace.store.settings()),
    )


def open_topic(path: Path, prompts: Path | None, current: Workspace) -> Workspace:
    """Open a topic other than `current`, like the command line. Blocks.

    Raises FileError (`UnknownPromptsError` if prompts must be named), PromptSetError or StoreError;
    the current topic stays open.
    """
    try:
        path = path.expanduser()
        same = path.is_file() and path.samefile(current.topic_file.path)
    except (OSError, RuntimeError, ValueError) as error:
        # A name may contain a null character or an unknown home directory.
        raise FileError(path, f"not a valid file name ({error})", "correct the path") from error
    if same:
        raise FileError(path, "this topic is open already", "choose another one")
    return Workspace.open(path, prompts)


def choose_scanner(
    workspace: Workspace,
    encoder: str | None,
    threshold: Wanted,
    default: str = ENCODERS[0],
    beside: LocalScanner | None = None,
) -> LocalScanner:
    """Return the embedded scanner: by flags, by the session, or the `default`.

    A fitted or the built-in threshold is not set here. The encoder of `beside` is reused; this
    blocks while it is being loaded.
    """
    settings = workspace.store.settings()
    remembered = settings.get("encoder")
    name = encoder or (remembered if remembered in ENCODERS else default)
    scanner = _scanner(name, beside)
    value = wanted_threshold(settings)
    if isinstance(threshold, float):
        scanner.use_threshold(threshold)
    elif threshold is None and name == remembered and isinstance(value, float):
        scanner.use_threshold(value, str(settings.get("threshold_source", BY_HAND)))
    else:
        scanner.use_threshold(None)
    return scanner


def _scanner(name: str, sibling: LocalScanner | None) -> LocalScanner:
    if sibling is not None and sibling.encoder_name == name:
        try:
            return sibling.beside()
        except ScannerError:  # reported by the new topic
            pass
    return LocalScanner(name)
