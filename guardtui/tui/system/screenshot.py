"""The screen as an SVG that loads nothing and shows no secret."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from textual.app import App
from textual.geometry import Region

from guardtui.domain.errors import GuardtuiError
from guardtui.tui.textual_compat import drawn_strips, visible_regions

_SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_SHORTEST = 8
"""Characters of the shortest value that is treated as a secret; shorter ones are words."""

TITLE = "guardtui"
"""Title of the picture's window; never that of the terminal."""


class HoldsSecretError(GuardtuiError):
    """The screen shows a secret; the message names the secret, not its value."""


def environment_secrets(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the values of variables with names of secrets, by name."""
    return {name: value for name, value in environment.items() if _SECRET_NAMES.search(name)}


class Screenshot:
    """The screen at this moment, to be rendered in a thread."""

    def __init__(self, app: App[Any]) -> None:
        self.width, self.height = app.size
        self._drawn, self._strips = drawn_strips(app)
        self._regions = visible_regions(app)

    def require_no_secret(self, secrets: Mapping[str, str]) -> None:
        """Raise HoldsSecretError if a secret is readable, even when it is wrapped."""
        wanted = {name: _signs(value) for name, value in secrets.items()}
        wanted = {name: value for name, value in wanted.items() if len(value) >= _SHORTEST}
        texts = set(map(self._text, self._regions)) if wanted else set()
        for name, value in wanted.items():
            if any(value in text for text in texts):
                raise HoldsSecretError(
                    f"The screen shows a secret (the value of {name}): no picture was made.\n"
                    "  go to another place, so that it is out of sight, and try again"
                )

    def _text(self, region: Region) -> str:
        """Return the text of a part of the screen, without blanks, line ends and frames."""
        rows = self._strips[region.y : region.bottom]
        return "".join(_signs(row.crop(region.x, region.right).text) for row in rows)

    def svg(self) -> str:
        """Return the picture."""
        console = Console(
            width=self.width,
            height=self.height,
            file=io.StringIO(),
            force_terminal=True,
            color_system="truecolor",
            record=True,
            legacy_windows=False,
            safe_box=False,
        )
        console.print(self._drawn)
        return offline(console.export_svg(title=TITLE))


def _signs(text: str) -> str:
    """Return only the characters that secrets consist of, without frames."""
    return re.sub(r"[^\x21-\x7e]", "", text)


def offline(svg: str) -> str:
    """Return the picture without fonts that would be downloaded."""
    return re.sub(r"@font-face\s*\{.*?\}\s*", "", svg, flags=re.DOTALL)
