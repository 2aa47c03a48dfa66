"""Run the app: the topic to open, its scanner, and unsaved edits after a failure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from guardtui.app.editing.topic_opening import choose_scanner, open_or_start
from guardtui.config import Config
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.text import display_text
from guardtui.session.chosen_thresholds import wanted_threshold
from guardtui.session.recent_topics import last_opened, remember_opened
from guardtui.session.topic_places import scratch_sample, topics_in
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.screen import Greeting
from guardtui.tui.system.terminal import run_in_terminal
from guardtui.tui.textual_compat import crash_of

if TYPE_CHECKING:
    from guardtui.app.guardrails.remote import RemoteOptions
    from guardtui.domain.operating_point import Wanted
    from guardtui.domain.prompt_reading import Reading
    from guardtui.session.own_metrics import OwnMetric


class UnsavedError(GuardtuiError):
    """The app ended with a definition that is not saved anywhere; the message contains it."""


def run_app(
    topic: Path | None,
    prompts: Path | None,
    encoder: str | None,
    threshold: Wanted,
    config: Config | None = None,
    remote: RemoteOptions | None = None,
    metrics: Sequence[OwnMetric] = (),
    reading: Reading | None = None,
) -> int:
    """Open a topic and run until the author quits.

    A file of prompts opens the topic beside it, which is made if missing. Without any it is the
    only topic of the folder, else the last session, else the sample.

    `metrics` are shown beside the built-in rates; `reading` is as in `Workspace.open`. Returns the
    exit code; raises what `open_or_start` raises, before the screen is touched.
    """
    opened = last_opened()
    greeting = None
    if opened is None:  # nothing was ever opened here
        greeting = Greeting.TOUR if topic is None else Greeting.HINT
    if topic is None:
        topics = topics_in(Path.cwd())
        if len(topics) > 1:
            greeting = greeting or Greeting.TOPICS
        topic = topics[0] if len(topics) == 1 else None
    if topic is None:
        topic, known = opened or scratch_sample()
        prompts = prompts or known
    workspace = open_or_start(topic, prompts, reading)
    remember_opened(workspace)
    config = config or Config()
    scanner = choose_scanner(workspace, encoder, threshold, config.encoder)
    app = GuardtuiApp(
        workspace,
        scanner,
        config,
        greeting=greeting,
        remote=remote,
        metrics=metrics,
        threshold=threshold or wanted_threshold(workspace.store.settings()),
        encoder=encoder,
    )
    run_in_terminal(app)
    workspace = app.workspace  # another one may have been opened since
    if not workspace.draft_is_safe:
        typed = workspace.session.topic
        lines = ["name: " + typed.name, "description: " + typed.description]
        lines += [f"example {index}: {text}" for index, text in enumerate(typed.examples, start=1)]
        shown = "\n".join(f"  {display_text(line)}" for line in lines)
        raise UnsavedError(
            f"{workspace.topic_file.path}: your unsaved edits could not be kept; this is them:\n"
            f"{shown}\n  intent: {typed.intent.value}"
        )
    if (error := crash_of(app)) is not None:
        raise error
    return app.return_code or 0
