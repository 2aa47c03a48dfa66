"""What a command line asks to open, for the screen and for lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from guardtui.app.guardrails.remote import RemoteOptions
    from guardtui.config import Config
    from guardtui.domain.operating_point import Wanted
    from guardtui.domain.prompt_reading import Reading
    from guardtui.session.own_metrics import OwnMetric


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A topic to open, with the options of the app; None where nothing was given.

    `metrics` are shown beside the built-in rates; `reading` is as in `Workspace.open`.
    """

    topic: Path | None
    prompts: Path | None
    encoder: str | None
    threshold: Wanted
    config: Config
    remote: RemoteOptions | None
    metrics: Sequence[OwnMetric]
    reading: Reading | None
