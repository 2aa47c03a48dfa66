"""The app of `guardtui score FILE --screen`: the scores without a topic."""

from __future__ import annotations

from pathlib import Path

from textual.screen import Screen

from guardtui.config import Config
from guardtui.files.output_files import OutputSet
from guardtui.tui.base_app import BaseApp
from guardtui.tui.scores.screen import ScoresScreen
from guardtui.tui.scoring.runs import ScoreOptions
from guardtui.tui.system.terminal import run_in_terminal
from guardtui.tui.textual_compat import crash_of


class ScoreApp(BaseApp):
    """An app with only the scores screen."""

    def __init__(
        self, outputs: OutputSet, options: ScoreOptions | None = None, config: Config | None = None
    ) -> None:
        super().__init__(config)
        self._outputs = outputs
        self._options = options

    async def action_quit(self) -> None:
        """Quit; nothing needs to be saved."""
        self.exit(0)

    @property
    def screenshot_target(self) -> tuple[Path, str]:
        path = Path(self._outputs.source).absolute()
        return path.parent, path.stem

    def get_default_screen(self) -> Screen[None]:
        return ScoresScreen(self._outputs, self._options)


def run_score_app(
    outputs: OutputSet, options: ScoreOptions | None = None, config: Config | None = None
) -> int:
    """Show the scores until the author quits; return the exit code."""
    app = ScoreApp(outputs, options, config)
    run_in_terminal(app)
    if (error := crash_of(app)) is not None:
        raise error
    return app.return_code or 0
