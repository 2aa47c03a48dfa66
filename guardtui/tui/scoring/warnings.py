"""Warnings of scorers and metrics, collected instead of written to the terminal."""

from __future__ import annotations

import logging

_MOST = 100


class ScoreWarnings(logging.Handler):
    """Collects the warnings of the scorer library; `heard` counts each text."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.heard: dict[str, int] = {}
        self._logger = logging.getLogger("guardtui.scorer")
        self._before: bool | None = None

    def listen(self) -> None:
        """Start to collect; nothing is written to standard error, which is the screen."""
        self._before = self._logger.propagate
        self._logger.addHandler(self)
        self._logger.propagate = False

    def close(self) -> None:
        """Restore the logger."""
        if self._before is not None:
            self._logger.removeHandler(self)
            self._logger.propagate = self._before
            self._before = None
        super().close()

    def emit(self, record: logging.LogRecord) -> None:
        """Count a text, of at most a hundred different ones."""
        text = record.getMessage()
        if text in self.heard or len(self.heard) < _MOST:
            self.heard[text] = self.heard.get(text, 0) + 1
