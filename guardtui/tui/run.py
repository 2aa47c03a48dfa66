"""Runs the app: what is opened, which scanner answers, and what is told when it was left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from guardtui.config import Config
from guardtui.domain.text import display_text
from guardtui.scanners.local.encoder import ENCODERS
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace, last_opened, remember_opened, scratch_sample
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.remote import RemoteOptions
from guardtui.tui.screens.main import Greeting
from guardtui.tui.terminal import accept_stray_bytes

if TYPE_CHECKING:
    from guardtui.session.own_metrics import OwnMetric


class UnsavedError(Exception):
    """The app was left and the definition stands nowhere on disk; the message holds it."""


def choose_scanner(
    workspace: Workspace,
    encoder: str | None,
    threshold: float | None,
    default: str = ENCODERS[0],
) -> LocalScanner:
    """The embedded scanner by flags, else as the session had it last, else the `default` one."""
    settings = workspace.store.settings()
    remembered = settings.get("encoder")
    name = encoder or (remembered if remembered in ENCODERS else default)
    if threshold is not None:
        return LocalScanner(name, threshold, "by hand")
    value = settings.get("threshold")
    if name == remembered and isinstance(value, float) and 0 < value < 1:
        return LocalScanner(name, value, str(settings.get("threshold_source", "by hand")))
    return LocalScanner(name)


def run_app(
    topic: Path | None,
    prompts: Path | None,
    encoder: str | None,
    threshold: float | None,
    config: Config | None = None,
    remote: RemoteOptions | None = None,
    metrics: Sequence[OwnMetric] = (),
) -> int:
    """Open a topic (or the last session, or the sample) and run until the author quits.

    `metrics` are shown beside the built-in rates. Returns the exit code; raises what
    `Workspace.open` raises, before the screen is touched.
    """
    opened = last_opened()
    greeting = None
    if opened is None:  # nothing was ever opened here
        greeting = Greeting.TOUR if topic is None else Greeting.HINT
    if topic is None:
        topic, known = opened or scratch_sample()
        prompts = prompts or known
    workspace = Workspace.open(topic, prompts)
    remember_opened(workspace)
    accept_stray_bytes()
    config = config or Config()
    scanner = choose_scanner(workspace, encoder, threshold, config.encoder)
    app = GuardtuiApp(workspace, scanner, config, greeting=greeting, remote=remote, metrics=metrics)
    app.run()
    if not workspace.draft_is_safe:
        typed = workspace.session.topic
        lines = ["name: " + typed.name, "description: " + typed.description]
        lines += [f"example {place}: {text}" for place, text in enumerate(typed.examples, start=1)]
        shown = "\n".join(f"  {display_text(line)}" for line in lines)
        raise UnsavedError(
            f"{workspace.topic_file.path}: your unsaved edits could not be kept; this is them:\n"
            f"{shown}\n  intent: {typed.intent.value}"
        )
    if app._exception is not None:
        raise app._exception
    return app.return_code or 0
