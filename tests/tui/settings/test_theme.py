"""The themes: contrast after WCAG 2.2, and colour vision simulated after Machado 2009."""

from __future__ import annotations

import itertools
import os
import pty
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.color import Color as RichColor
from rich.terminal_theme import TerminalTheme
from textual.color import Color
from textual.geometry import Region
from textual.theme import Theme
from textual.widgets import Button

from guardtui.config import Config
from guardtui.scanners.local.scanner import LocalScanner
from guardtui.session.workspace import Workspace
from guardtui.tui.advice.edit_preview import EditPreviewPage
from guardtui.tui.advice.mistake import MistakePage
from guardtui.tui.app import GuardtuiApp
from guardtui.tui.help.screen import HelpScreen
from guardtui.tui.history.dialog import HistoryDialog
from guardtui.tui.kit.dialogs import ConfirmDialog
from guardtui.tui.settings.scanner import ScannerDialog
from guardtui.tui.settings.screen import SettingsScreen
from guardtui.tui.theme import DARK, THEMES, readable_colors, theme_names
from tests.tui.stages import first_is_fast
from tests.tui.tax_app import frame, ready, sample, settled, topic_path, until

__all__ = ["sample", "topic_path"]

LEAST = 4.5
"""WCAG 2.2, 1.4.3 (AA): contrast of text against what it stands on."""

LEAST_OF_SHAPES = 3.0
"""WCAG 2.2, 1.4.11 (AA): contrast of what shows where a control is, or that it has the focus."""

FAR_APART = 20.0
"""Distance in CIELAB that is seen at a glance; 2.3 is just noticeable (Mahy et al. 1994)."""

# G. M. Machado, M. M. Oliveira, L. A. F. Fernandes: A Physiologically-based Model for Simulation of
# Color Vision Deficiency, IEEE TVCG 15(6), 2009; severity 1.0, on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}

TOKENS = ("text-error", "text-success", "text-warning", "foreground")

TEXTS = (
    "foreground", "text", "text-muted", "text-disabled", "text-primary",
    "text-secondary", "text-accent", "text-error", "text-warning", "text-success",
    "foreground-muted", "footer-key-foreground", "footer-foreground",
    "footer-description-foreground",
)  # fmt: skip
GROUNDS = (
    "background", "surface", "panel", "panel-lighten-1", "footer-background", "boost on surface",
    "foreground 5% on surface", "block-cursor-background", "block-cursor-blurred-background",
)  # fmt: skip
PAIRS = (
    ("block-cursor-foreground", "block-cursor-background"),
    ("block-cursor-blurred-foreground", "block-cursor-blurred-background"),
    ("input-selection-foreground", "input-selection-background"),
    ("screen-selection-foreground", "screen-selection-background"),
    ("input-cursor-foreground", "input-cursor-background"),
    ("button-foreground", "surface"),
    ("button-color-foreground", "primary"),
    ("button-color-foreground", "error"),
    ("button-color-foreground", "success"),
    ("button-color-foreground", "primary-darken-2"),
)


def linear(color: Color) -> NDArray[np.float64]:
    """Linear RGB of an opaque colour, after IEC 61966-2-1."""
    values = np.array([color.r, color.g, color.b]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: Color, other: Color) -> float:
    """WCAG 2.2: contrast ratio of two opaque colours."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    low, high = sorted(float(weights @ linear(color)) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """CIELAB (D65) of linear RGB."""
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    ratio = (to_xyz @ values) / (to_xyz @ np.ones(3))
    x, y, z = np.where(ratio > (6 / 29) ** 3, np.cbrt(ratio), ratio / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def seen(color: Color, vision: str) -> NDArray[np.float64]:
    return lab(np.clip(VISION[vision] @ linear(color), 0, 1))


def variables(theme: Theme) -> dict[str, str]:
    own = {**theme.to_color_system().generate(), **theme.variables}
    return own | readable_colors(own, dark=theme.dark)


def ground(theme: Theme, name: str) -> Color:
    top, _, below = name.partition(" on ")
    if not below:
        return Color.parse(variables(theme)[name])
    return ground(theme, below) + color_of(theme, top)


def color_of(theme: Theme, name: str) -> Color:
    name, _, percent = name.partition(" ")
    color = Color.parse(variables(theme)[name])
    return color.with_alpha(float(percent.rstrip("%")) / 100) if percent else color


def on(background: Color, theme: Theme, name: str) -> Color:
    """What a text token looks like on a background; `auto` goes to black or white."""
    value = variables(theme).get(name, "")
    if match := re.fullmatch(r"auto (\d+)%", value):
        return background + background.get_contrast_text(int(match[1]) / 100)
    return background + color_of(theme, name)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_text_contrasts_with_its_background(theme: Theme) -> None:
    pairs = [*itertools.product(TEXTS, GROUNDS), *PAIRS]
    low = {}
    for text, background in pairs:
        below = ground(theme, background)
        if (ratio := contrast(on(below, theme, text), below)) < LEAST:
            low[text, background] = round(ratio, 2)
    assert low == {}


@pytest.mark.parametrize("ground_name", ["background", "surface"])
@pytest.mark.parametrize(
    "name", ["border-blurred", "primary", "accent", "scrollbar", "scrollbar-active"]
)
@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_frames_focus_and_scroll_bars_contrast_with_what_they_stand_on(
    theme: Theme, name: str, ground_name: str
) -> None:
    below = ground(theme, ground_name)
    assert contrast(on(below, theme, name), below) >= LEAST_OF_SHAPES


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_the_track_of_a_scroll_bar_has_the_colour_of_a_surface(theme: Theme) -> None:
    tracks = {value for name, value in variables(theme).items() if "scrollbar-background" in name}
    assert tracks == {variables(theme)["surface"]}


def test_the_contrast_is_that_of_the_standard() -> None:
    assert contrast(Color.parse("#000"), Color.parse("#fff")) == pytest.approx(21)
    assert contrast(Color.parse("#777"), Color.parse("#fff")) == pytest.approx(4.48, abs=0.005)
    assert contrast(on(Color.parse("#000"), DARK, "surface"), ground(DARK, "surface")) == 1


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("names", [("error", "success", "warning"), TOKENS])
@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_states_differ_for_every_colour_vision(
    theme: Theme, names: tuple[str, ...], vision: str
) -> None:
    near = {}
    for one, other in itertools.combinations(names, 2):
        distance = np.linalg.norm(
            seen(color_of(theme, one), vision) - seen(color_of(theme, other), vision)
        )
        if distance < FAR_APART:
            near[one, other] = round(float(distance), 1)
    assert near == {}


def test_the_simulation_confuses_known_pairs() -> None:
    red, green = Color.parse("#c8553d"), Color.parse("#7d8a2e")
    apart = {name: np.linalg.norm(seen(red, name) - seen(green, name)) for name in VISION}
    assert apart["deuteranopia"] < FAR_APART < apart["normal"]


# --- what is drawn ------------------------------------------------------------------------


NORMAL = [(0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205),
          (0, 205, 205), (229, 229, 229)]  # fmt: skip
BRIGHT = [(127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255), (255, 0, 255),
          (0, 255, 255), (255, 255, 255)]  # fmt: skip
XTERM = {
    True: TerminalTheme((0, 0, 0), (229, 229, 229), NORMAL, BRIGHT),
    False: TerminalTheme((255, 255, 255), (0, 0, 0), NORMAL, BRIGHT),
}
"""The 16 colours of xterm, on a dark and a light ground; other terminals have others."""

DEFAULT = RichColor.default()


def low_contrast(
    app: GuardtuiApp, region: Region | None = None
) -> Iterator[tuple[str, float, str, str]]:
    """Pieces of text on the screen whose contrast is too low: text, contrast and colours."""
    terminal = XTERM[app.current_theme.dark]
    region = region or app.screen.region
    for strip in app.screen._compositor.render_strips()[region.y : region.bottom]:
        for segment in strip.crop(region.x, region.right):
            style = segment.style
            if style is None or not _has_text(segment.text):
                continue
            text, below = (
                Color(*color.get_truecolor(terminal, foreground=at == 0))
                for at, color in enumerate((style.color or DEFAULT, style.bgcolor or DEFAULT))
            )
            if style.reverse:
                below, text = text, below
            ratio = contrast(below + text, below)
            if ratio < LEAST or style.dim:
                yield segment.text, round(ratio, 2), text.hex, below.hex


def _has_text(text: str) -> bool:
    """Whether any character is none of blank, line, block or shade (U+2500 to U+259F)."""
    return any(
        not character.isspace()
        and not "\u2500" <= character <= "\u259f"
        and unicodedata.category(character) != "Cf"
        for character in text
    )


@pytest.mark.parametrize(
    "names", first_is_fast([DARK.name], theme_names()[1::2], theme_names()[2::2]), ids=len
)
async def test_all_that_is_drawn_can_be_read(sample: Path, names: list[str]) -> None:
    """Play the scenes once, and draw each in every theme."""
    app = GuardtuiApp.of(Workspace.open(sample), LocalScanner("static"), Config())
    low: dict[tuple[str, str], list[tuple[str, float, str, str]]] = {}

    async def look(scene: str) -> None:
        for name in names:
            app.theme = name
            await pilot.pause()
            # What a dialog covers is dimmed on purpose: only what stands in it counts.
            region = next(iter(app.screen.query(".dialog, .page, .settings, .themes")), app.screen)
            if found := sorted(set(low_contrast(app, region.region))):
                low[scene, name] = found

    async with app.run_test(size=(120, 40)) as pilot:
        main = await ready(pilot, app)
        await look("first screen")
        # An edit that breaks something and is too long, a warning and the fields' cursor.
        await pilot.press("tab", *" and soup", "shift+home")
        await until(pilot, lambda: settled(main))
        await look("edit")
        await pilot.press("ctrl+z")
        await until(pilot, lambda: settled(main))
        main.panes.results.table.focus()
        await pilot.press("7")
        await until(pilot, lambda: main.panes.results.view.filter == "all")
        await look("selected row")
        await pilot.press("3", "w")
        await until(pilot, lambda: isinstance(app.screen, MistakePage))
        await until(pilot, lambda: "Enter previews" in frame(app))
        await look("edits that correct a mistake")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, EditPreviewPage))
        await look("preview of an edit")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: app.screen is main)
        for keys, kind in (
            ("comma v s", SettingsScreen),
            ("f1", HelpScreen),
            ("f4", HistoryDialog),
            ("f9", ScannerDialog),
        ):
            await pilot.press(*keys.split())
            await until(pilot, lambda kind=kind: isinstance(app.screen, kind))  # type: ignore[misc]
            await look(kind.__name__)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is main)
        app.push_screen(ConfirmDialog("Back to the definition before?", "Discard", "Keep editing"))
        await until(pilot, lambda: isinstance(app.screen.focused, Button))
        await look("question")
    assert low == {}


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("kind", ["dumb", "unknown"])
def test_a_terminal_without_cursor_movement_gets_a_hint(topic_path: Path, kind: str) -> None:
    leader, follower = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "guardtui", str(topic_path)],
        env={**os.environ, "TERM": kind},
        stdin=follower,
        stdout=follower,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    os.close(leader)
    os.close(follower)
    assert done.returncode == 2
    assert f"TERM={kind}" in done.stderr
    assert "'guardtui eval'" in done.stderr
    assert "Traceback" not in done.stderr
