"""Locations of topics: the prompts of one, those of a folder, and the sample in the data folder."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from guardtui.files.problems import FileError
from guardtui.files.topic_files import load_topic
from guardtui.session.session_file import has_session
from guardtui.session.store import SessionStore

SAMPLE = "tax-advice"
"""Stem of the sample topic that opens if nothing was opened before."""

_PROMPT_ENDINGS = (".csv", ".jsonl", ".parquet")


class UnknownPromptsError(FileError):
    """A topic file without prompts beside it or known from earlier use."""

    def __init__(self, topic_path: Path) -> None:
        super().__init__(
            topic_path,
            "no prompt set is known for this topic",
            "name one with --prompts FILE (guardtui sample prints an example)",
        )


def usual_prompts(topic_path: Path) -> Path:
    """Return the prompts of a topic: those used last, else NAME.csv beside it.

    Raises UnknownPromptsError and StoreError.
    """
    if has_session(topic_path):
        remembered = SessionStore(topic_path, reading=True).prompt_file()
        if remembered and Path(remembered).is_file():
            return Path(remembered)
    beside = prompts_named_alike(topic_path)
    if beside is None:
        raise UnknownPromptsError(topic_path)
    return beside


def prompts_named_alike(topic_path: Path) -> Path | None:
    """Return the prompts beside a topic file that have its name, or None."""
    paths = map(topic_path.with_suffix, _PROMPT_ENDINGS)
    return next((path for path in paths if path.exists()), None)


def data_folder() -> Path:
    """Return the folder of the scratch sample and recent topics, by default the user's data."""
    if named := os.environ.get("GUARDTUI_DATA"):
        return Path(named)
    from platformdirs import user_data_path

    return user_data_path("guardtui", appauthor=False)


def topics_in(folder: Path) -> list[Path]:
    """Return the topic files of a folder with prompts of the same name, sorted by name."""
    topics = []
    for path in sorted(folder.glob("*.y*ml")):
        has_prompts = any(path.with_suffix(ending).is_file() for ending in _PROMPT_ENDINGS)
        if has_prompts and path.suffix in (".yaml", ".yml"):
            with contextlib.suppress(FileError):
                load_topic(path)
                topics.append(path)
    return topics


def sample_folder() -> Path:
    """Return the shipped sample data: in the installed package, or at the top of a checkout."""
    package = Path(__file__).parent.parent
    for folder in (package / "sample_data", package.parent / "sample_data"):
        if folder.is_dir():
            return folder
    raise FileError(package, "the sample data is missing", "reinstall guardtui")


def scratch_sample() -> tuple[Path, Path]:
    """Return an editable copy of the sample; created once, and never overwritten."""
    source, target = sample_folder(), data_folder() / "sample"
    try:
        target.mkdir(parents=True, exist_ok=True)
        for file in sorted(source.iterdir()):
            if file.suffix in (".yaml", ".csv") and not (target / file.name).exists():
                shutil.copyfile(file, target / file.name)
    except OSError as error:
        raise FileError(
            target,
            f"cannot be written ({error.strerror})",
            "set GUARDTUI_DATA to a folder of yours",
        ) from error
    return target / f"{SAMPLE}.yaml", target / f"{SAMPLE}.csv"
