"""Editing the definition in $VISUAL or $EDITOR, while the app is suspended."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from guardtui.domain.topic import Topic
from guardtui.files.problems import FileError
from guardtui.files.topic_files import TopicFile, load_topic, save_topic

USUAL = "vi"


def edit_in_editor(topic: Topic) -> Topic:
    """Edit the definition as YAML in $VISUAL or $EDITOR; blocks until the editor ends.

    Raises FileError if the program is missing, fails or leaves no valid topic; the file that the
    error names is then kept.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or USUAL
    folder = Path(tempfile.mkdtemp(prefix="guardtui-"))
    path = folder / "topic.yaml"
    save_topic(TopicFile(path, Topic(), ""), topic)
    try:
        done = subprocess.run([*shlex.split(command), str(path)], check=False)  # noqa: S603
    except (OSError, ValueError) as error:
        raise FileError(command, "cannot be started", "set EDITOR to a program") from error
    if done.returncode:
        problem = f"{command} ended with {done.returncode}, so nothing was taken over"
        raise FileError(path, problem, "what you wrote is in that file")
    edited = load_topic(path).topic
    path.unlink()
    folder.rmdir()
    return edited
