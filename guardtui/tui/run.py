"""Run the app: the topic to open, its scanner, and unsaved edits after a failure."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from guardtui.config import Config
from guardtui.domain.errors import GuardtuiError
from guardtui.domain.text import display_text
from guardtui.files.topic_files import PromptsGivenError
from guardtui.session.first_look import FirstLook
from guardtui.session.recent_topics import last_opened, remember_opened
from guardtui.session.topic_places import scratch_sample, topics_in, usual_prompts
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.opening import Opened, Opening
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
    exit code. Raises what `open_or_start` raises: for the topic before the screen is touched, for
    prompts once the first screen was drawn.
    """
    recent = last_opened()
    greeting = None
    if recent is None:  # nothing was ever opened here
        greeting = Greeting.TOUR if topic is None else Greeting.HINT
    if topic is None:
        topics = topics_in(Path.cwd())
        if len(topics) > 1:
            greeting = greeting or Greeting.TOPICS
        topic = topics[0] if len(topics) == 1 else None
    if topic is None:
        topic, known = recent or scratch_sample()
        prompts = prompts or known
    config = config or Config()
    default = config.encoder
    path, given = topic, prompts

    def opens() -> Opened:
        from guardtui.app.editing.topic_opening import choose_scanner, open_or_start
        from guardtui.app.guardrails.remote import RemoteOptions
        from guardtui.scanners.local.scanner import LocalScanner
        from guardtui.session.chosen_thresholds import wanted_threshold

        usual = LocalScanner(encoder or default)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(usual.load)  # takes as long as reading the prompts
            workspace = open_or_start(path, given, reading)
        remember_opened(workspace)
        return Opened(
            workspace,
            choose_scanner(workspace, encoder, threshold, default, usual),
            remote or RemoteOptions(),
            metrics,
            threshold or wanted_threshold(workspace.store.settings()),
        )

    try:
        now = FirstLook(topic)
        if prompts is None:
            usual_prompts(topic)
        opening = Opening(now, opens)
    except PromptsGivenError:  # the topic is beside them, or is made
        opening = Opening.of(opens())
    app = GuardtuiApp(opening, config, greeting=greeting, encoder=encoder)
    run_in_terminal(app)
    left = app.opening.now  # another topic may have been opened since
    if (typed := left.unsaved) is not None:
        lines = ["name: " + typed.name, "description: " + typed.description]
        lines += [f"example {index}: {text}" for index, text in enumerate(typed.examples, start=1)]
        shown = "\n".join(f"  {display_text(line)}" for line in lines)
        raise UnsavedError(
            f"{left.path}: your unsaved edits could not be kept; this is them:\n"
            f"{shown}\n  intent: {typed.intent.value}"
        )
    if app.opening.problem is not None:
        raise app.opening.problem
    if (error := crash_of(app)) is not None:
        raise error
    return app.return_code or 0
