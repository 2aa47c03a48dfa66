"""The screen as a picture: an SVG that loads nothing, names nothing, and holds no secret."""

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
"""Characters of a value below which it is a word, and no secret that could be told by it."""

TITLE = "guardtui"
"""What the picture's window is called; never what the terminal's is."""


class HoldsSecretError(GuardtuiError):
    """What is on the screen holds a secret; the message names whose it is, not what it is."""


def environment_secrets(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Values of variables that are called like secrets, by their names."""
    return {name: value for name, value in environment.items() if _SECRET_NAMES.search(name)}


class Shot:
    """What is on the screen at this moment, to be made into a picture in a thread."""

    def __init__(self, app: App[Any]) -> None:
        self.width, self.height = app.size
        self._drawn, self._strips = drawn_strips(app)
        self._regions = visible_regions(app)

    def require_no_secret(self, secrets: Mapping[str, str]) -> None:
        """Raise HoldsSecretError when one of the secrets can be read, also where it is wrapped."""
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
        """What stands in a part of the screen, without blanks, line ends and frames."""
        rows = self._strips[region.y : region.bottom]
        return "".join(_signs(row.crop(region.x, region.right).text) for row in rows)

    def svg(self) -> str:
        """The picture."""
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
    """The characters of which keys are made; a frame between two lines of one is none."""
    return re.sub(r"[^\x21-\x7e]", "", text)


def offline(svg: str) -> str:
    """The picture without the fonts that it would load from elsewhere."""
    return re.sub(r"@font-face\s*\{.*?\}\s*", "", svg, flags=re.DOTALL)
