"""Run the app: the topic to open, its scanner, and unsaved edits after a failure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from guardtui.files.topic_files import PromptsGivenError
from guardtui.session.first_look import FirstLook
from guardtui.session.recent_topics import last_opened, usual_topic
from guardtui.session.topic_places import topics_in, usual_prompts
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.main.opening import Opened, Opening
from guardtui.tui.main.screen import Greeting
from guardtui.tui.system.terminal import run_in_terminal
from guardtui.tui.textual_compat import crash_of

if TYPE_CHECKING:
    from guardtui.app.open_request import OpenRequest


def run_app(request: OpenRequest) -> int:
    """Open a topic and run until the author quits.

    A file of prompts opens the topic beside it, which is made if missing. Without any it is the
    only topic of the folder, else the last session, else the sample.

    Returns the exit code. Raises what `open_or_start` raises: for the topic before the screen is
    touched, for prompts once the first screen was drawn.
    """
    topic, prompts = request.topic, request.prompts
    greeting = None
    if last_opened() is None:  # nothing was ever opened here
        greeting = Greeting.TOUR if topic is None else Greeting.HINT
    if topic is None:
        if len(topics_in(Path.cwd())) > 1:
            greeting = greeting or Greeting.TOPICS
        topic, prompts = usual_topic()
    path, given = topic, prompts

    def opens() -> Opened:
        from guardtui.app.editing.topic_opening import open_with_engine
        from guardtui.app.guardrails.remote import RemoteOptions

        opened = open_with_engine(path, given, request)
        remote = request.remote or RemoteOptions()
        return Opened(opened.workspace, opened.scanner, remote, request.metrics, opened.threshold)

    try:
        now = FirstLook(topic)
        if prompts is None:
            usual_prompts(topic)
        opening = Opening(now, opens)
    except PromptsGivenError:  # the topic is beside them, or is made
        opening = Opening.of(opens())
    app = GuardtuiApp(opening, request.config, greeting=greeting, encoder=request.encoder)
    run_in_terminal(app)
    left = app.opening.now  # another topic may have been opened since
    if left.unsaved is not None:
        from guardtui.app.leaving import UnsavedError

        raise UnsavedError(left.path, left.unsaved)
    if app.opening.problem is not None:
        raise app.opening.problem
    if (error := crash_of(app)) is not None:
        raise error
    return app.return_code or 0
