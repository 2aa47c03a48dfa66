"""A new topic for prompts that exist: named after their file, with central prompts as examples."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import numpy as np
import polars as pl

from guardtui.app.editing.new_topic import reserved, unwritable
from guardtui.app.editing.workspace_sync import taken_prompts
from guardtui.domain.example_prompts import normalised
from guardtui.domain.figures import capitalized, count_text
from guardtui.domain.operating_point import LABELS_AT_LEAST
from guardtui.domain.prompt_edit import Remove
from guardtui.domain.prompt_reading import AS_WRITTEN, Reading
from guardtui.domain.prompts import PromptSet
from guardtui.domain.text import display_text
from guardtui.domain.topic import (
    DESCRIPTION_BYTES,
    EXAMPLE_BYTES,
    EXAMPLES_AT_MOST,
    NAME_BYTES,
    TOTAL_BYTES,
    Intent,
    Topic,
    byte_length,
    line_breaks,
    named_examples,
)
from guardtui.files.problems import FileError
from guardtui.files.table_formats import unpacked_name
from guardtui.files.topic_files import TopicFile, load_topic, save_topic
from guardtui.scanners.local.encoder import load_encoder
from guardtui.session.prompt_file import PromptFile
from guardtui.session.workspace import Workspace

_ENCODER = "static"
"""The encoder that is loaded and run in a moment; the order of centrality is much the same."""

_MEASURED = 500
"""Maximum number of prompts that are compared with each other."""

_NEARLY_EQUAL = 0.8
"""Cosine from which on two examples say nearly the same, as in the advice on definitions."""

_SHORT = (TOTAL_BYTES - DESCRIPTION_BYTES - NAME_BYTES) // EXAMPLES_AT_MOST
"""Bytes of each example with which as many as possible fit beside name and description."""


def stem_of(prompts: Path) -> Path:
    """Return the path of a prompt file without its endings."""
    return unpacked_name(prompts).with_suffix("")


def name_for(prompts: Path) -> str:
    """Return the name of a topic for a prompt file: `fraud-detection.csv` is `Fraud detection`."""
    stem = stem_of(prompts).name
    letters = (" " if unicodedata.category(sign) == "Cc" else sign for sign in stem)
    words = " ".join(re.split(r"[\s_.-]+", "".join(letters))).strip()
    name = f"{words[:1].upper()}{words[1:]}"
    return name.encode("utf-8", "ignore")[:NAME_BYTES].decode("utf-8", "ignore") or "Topic"


def topic_beside(prompts: Path) -> Path | None:
    """Return the topic file of the same name beside a prompt file, or None."""
    stem = stem_of(prompts)
    for ending in (".yaml", ".yml", ".json"):
        path = stem.with_name(f"{stem.name}{ending}")
        if path == prompts or not (path.exists() or path.is_symlink()):
            continue
        if ending == ".json":
            try:
                load_topic(path)
            except FileError:  # anything may be in it
                continue
        return path
    return None


def start_topic(
    prompts_path: Path,
    topic_path: Path,
    topic: Topic,
    intent: Intent | None,
    reading: Reading | None = None,
) -> Workspace:
    """Write a new topic file for existing prompts, and open both.

    A topic without examples gets central prompts as examples. Prompts that are examples leave the
    prompt file, which is backed up; `opening_note` says so. The intent is that of the prompts, and
    of `topic` if they have none; another one than `intent`, if given, is an error. Raises FileError
    and PromptSetError; nothing is written then.
    """
    file = PromptFile(prompts_path, topic.intent, reading or AS_WRITTEN)
    prompts = file.prompts
    if intent is not None and prompts.intent is not intent:
        raise FileError(
            prompts_path,
            f"its intent is {prompts.intent}, not {intent}",
            "choose the same intent, or correct the column intent",
        )
    examples = topic.examples or central_prompts(prompts, topic)
    chosen = not topic.examples
    topic = topic.model_copy(update={"intent": prompts.intent, "examples": tuple(examples)})
    with reserved(topic_path):
        saved = save_topic(TopicFile(topic_path, topic, ""), topic, force=True)
        workspace = Workspace(saved, file)
    workspace.opening_note = " ".join(
        filter(None, (f"Wrote {topic_path.name}.", _take_out(workspace, chosen)))
    )
    return workspace


def _take_out(workspace: Workspace, chosen: bool) -> str:
    """Remove the examples from the prompts, and say so."""
    topic, name = workspace.topic_file.topic, display_text(workspace.prompts_path.name)
    if not topic.examples:
        return f"No prompt of {name} became an example: too few belong to it, or they are too long."
    keys = taken_prompts(Topic(), topic, workspace.prompts)
    if not keys:
        return ""
    count = len(topic.examples)
    examples = capitalized(named_examples(range(1, count + 1)))
    if chosen:
        subject = f"{examples} {'is a central prompt' if count == 1 else 'are central prompts'}"
    else:
        subject = count_text(len(keys), "prompt that is an example", "prompts that are examples")
    try:
        workspace.edit_prompts(Remove(keys))
    except FileError as problem:
        return f"{subject} of {name}, still measured: {problem.problem}."
    verb = "taken out of" if chosen else "left"
    text = (
        f"{subject} {verb} {name} (its backup is in .guardtui/backups): an example always matches."
    )
    left = int(workspace.prompts.expected.sum())
    if left < LABELS_AT_LEAST <= left + len(keys):
        text += f" {left} that belong are left: with {LABELS_AT_LEAST} the threshold is fitted."
    return text


def central_prompts(prompts: PromptSet, topic: Topic) -> list[str]:
    """Return two or three prompts that stand for those that belong to the topic.

    They have the largest mean cosine to all of them. No two are nearly equal, and all fit the
    limits of a definition; short ones are preferred. With fewer than four prompts none is taken.

    Raises EncoderError.
    """
    positives = prompts.prompts.filter(prompts.expected)
    if len(positives) < 4:
        return []
    wanted = 3 if len(positives) >= LABELS_AT_LEAST + 3 else 2  # the others teach the threshold
    room = TOTAL_BYTES - DESCRIPTION_BYTES - byte_length(topic.name)
    others = set(normalised(prompts.prompts.filter(~prompts.expected)).to_list())
    texts = list(dict.fromkeys(positives.to_list()))
    if len(texts) > _MEASURED:
        texts = [texts[k] for k in np.linspace(0, len(texts) - 1, _MEASURED).astype(int)]
    keys = normalised(pl.Series(texts)).to_list()
    fits = np.array(
        [_fits(text) and key not in others for text, key in zip(texts, keys, strict=True)]
    )
    short = fits & np.array([byte_length(text) <= _SHORT for text in texts])
    fits = short if np.count_nonzero(short) >= wanted else fits
    vectors = load_encoder(_ENCODER).encode(texts)
    near = vectors @ vectors.T
    central = near.sum(axis=0)
    chosen: list[str] = []
    while len(chosen) < wanted and fits.any():
        best = int(np.argmax(np.where(fits, central, -np.inf)))
        fits[best] = False
        if byte_length(texts[best]) > room:
            continue
        room -= byte_length(texts[best])
        chosen.append(texts[best])
        fits &= near[best] < _NEARLY_EQUAL
    return chosen


def _fits(text: str) -> bool:
    """Return whether a prompt can be an example as it is."""
    return (
        byte_length(text) <= EXAMPLE_BYTES
        and not unwritable(text)
        and not line_breaks(Topic(name=text))
    )
