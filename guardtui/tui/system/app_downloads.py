"""Downloads to a browser, copies to the clipboard, and screenshots as SVG."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from textual import work
from textual.app import App
from textual.command import CommandPalette

from guardtui.domain.text import display_text
from guardtui.files.atomic import write_atomically
from guardtui.files.free_name import free_name, names_in
from guardtui.files.problems import FileError
from guardtui.tui.system.clipboard import copy_to_system
from guardtui.tui.system.screenshot import HoldsSecretError, Screenshot, environment_secrets

_STEP = 0.01
"""Seconds between two checks whether the palette has closed."""


class AppDownloads(App[int]):
    """The base of apps that offer downloads, copies and screenshots."""

    _picturing: asyncio.Lock | None = None

    # --- files and texts ------------------------------------------------------------------

    def send_to_browser(self, path: Path) -> str:
        """Offer a file as a download if the app runs in a browser; return a message, or ""."""
        if not self.is_web:
            return ""
        # The name goes into a header, which has signs of its own.
        name = re.sub(r"[^\w.-]", "_", path.name, flags=re.ASCII)
        try:
            self.deliver_binary(path, save_filename=name)
        except OSError:
            return "It could not be sent to the browser."
        return "It was sent to the browser."

    @work(group="copy")
    async def copy_everywhere(self, text: str) -> None:
        """Copy a short text by the terminal (OSC 52) and by the programs of the system."""
        self.copy_to_clipboard(text)
        # Not in tests, and not on a server whose browser runs on another machine.
        if not self.is_headless and not self.is_web:
            await asyncio.to_thread(copy_to_system, text)

    # --- pictures -------------------------------------------------------------------------

    @property
    def screenshot_target(self) -> tuple[Path, str]:
        """Folder of screenshots, and the beginning of their names."""
        return Path.cwd(), "guardtui"

    def secrets(self) -> dict[str, str]:
        """Return secrets that no screenshot may show, by name; blocks, as it may read files."""
        return environment_secrets()

    def action_screenshot(self, filename: str | None = None, path: str | None = None) -> None:
        """Write a screenshot beside the topic file, and show its path."""
        self._take_picture()

    @work(group="picture")
    async def _take_picture(self) -> None:
        while isinstance(self.screen, CommandPalette):  # it is closing
            await asyncio.sleep(_STEP)
        drawn = asyncio.Event()
        self.call_after_refresh(drawn.set)
        await drawn.wait()
        shot = Screenshot(self)
        folder, stem = self.screenshot_target
        self._picturing = self._picturing or asyncio.Lock()
        try:
            async with self._picturing:
                secrets = await asyncio.to_thread(self.secrets)
                path = await asyncio.to_thread(_written, shot, secrets, folder, stem)
        except HoldsSecretError as problem:
            self.notify(str(problem), severity="warning", timeout=15)
        except FileError as problem:
            self.notify(f"No picture was made: {problem}", severity="error", timeout=15)
        else:
            sent = self.send_to_browser(path)
            message = f"Picture: {display_text(str(path))}"
            self.notify(f"{message}\n{sent}" if sent else message, timeout=10)


def _written(shot: Screenshot, secrets: dict[str, str], folder: Path, stem: str) -> Path:
    shot.require_no_secret(secrets)
    path = folder / free_name(f"{stem}-screen", "svg", names_in(folder))
    write_atomically(path, shot.svg().encode("utf-8", "replace"))
    return path
