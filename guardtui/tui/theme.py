"""Two themes whose colours are distinguishable with colour blindness and have enough contrast."""

from __future__ import annotations

from collections.abc import Mapping

from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from guardtui.domain.text import nearest

# After Okabe and Ito, "Color Universal Design" (2008): vermillion, yellow and sky blue differ for
# every common kind of colour vision. Here vermillion is an error, yellow a warning and blue a
# success, made lighter or darker until each has a contrast of 4.5 (WCAG 2.2, AA) on whatever it
# stands on; where hue alone would not do, they differ in lightness.
DARK = Theme(
    name="guardtui-dark",
    dark=True,
    primary="#6f9fd0",
    secondary="#9a8fd0",
    accent="#e0a3c8",
    foreground="#e8eaed",
    background="#0e1116",
    surface="#14181f",
    panel="#1d232d",
    error="#ff7a60",
    warning="#ffc832",
    success="#56b4e9",
    variables={
        "boost": "#ffffff0f",
        "text-primary": "#a9c9ea",
        "text-secondary": "#c3bbea",
        "text-accent": "#eab8d6",
        "text-error": "#ff7a60",
        "text-warning": "#ffc832",
        "text-success": "#67b8f0",
        "text-muted": "auto 74%",
        "text-disabled": "auto 66%",
        "foreground-muted": "#b3b8c0",
        "footer-key-foreground": "#f0c6de",
        "block-cursor-background": "#17365a",
        "block-cursor-foreground": "#ffffff",
        "block-cursor-blurred-background": "#22303f",
        "block-cursor-blurred-foreground": "#e8eaed",
        "input-selection-background": "#264f78",
        "input-selection-foreground": "#ffffff",
        "screen-selection-background": "#264f78",
        "screen-selection-foreground": "#ffffff",
        "button-color-foreground": "#0e1116",
        "primary-darken-2": "#5f8fc0",
    },
)

LIGHT = Theme(
    name="guardtui-light",
    dark=False,
    primary="#2f5f94",
    secondary="#5a4b9c",
    accent="#8a2f6b",
    foreground="#0b0e12",
    background="#f4f5f7",
    surface="#ffffff",
    panel="#e6e9ee",
    error="#a33600",
    warning="#382100",
    success="#0061a3",
    variables={
        "boost": "#0000000a",
        "text-primary": "#234a75",
        "text-secondary": "#483a85",
        "text-accent": "#7a2460",
        "text-error": "#a33600",
        "text-warning": "#382100",
        "text-success": "#0061a3",
        "text-muted": "auto 74%",
        "text-disabled": "auto 68%",
        "foreground-muted": "#454a52",
        "footer-key-foreground": "#7a2460",
        "block-cursor-background": "#c6dcf5",
        "block-cursor-foreground": "#000000",
        "block-cursor-blurred-background": "#e2eaf3",
        "block-cursor-blurred-foreground": "#0b0e12",
        "input-selection-background": "#b5d3f2",
        "input-selection-foreground": "#000000",
        "screen-selection-background": "#b5d3f2",
        "screen-selection-foreground": "#000000",
        "button-color-foreground": "#ffffff",
    },
)

THEMES = (DARK, LIGHT)


def frame_colors(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the colours of frames and scroll bars, for the variables of any theme.

    Those of Textual are too pale in most themes, and its tracks are black in dark ones. In ours
    they have a contrast of 3 (WCAG 2.2, 1.4.11).
    """
    text, surface = Color.parse(variables["foreground"]), variables["surface"]
    frame = text.hex if text.ansi is not None else text.with_alpha(0.5).hex
    tracks = ("scrollbar-background", "scrollbar-background-hover", "scrollbar-background-active")
    return {
        "border-blurred": frame,
        "scrollbar": frame,
        "scrollbar-corner-color": surface,
        **dict.fromkeys(tracks, surface),
    }


def theme_names() -> list[str]:
    """Return the names of all themes, ours first."""
    return [*(theme.name for theme in THEMES), *sorted(BUILTIN_THEMES)]


def near_theme(name: str) -> str:
    """Return a hint for the name of a theme that does not exist."""
    names = theme_names()
    near = nearest(name, names)
    return f"did you mean '{near}'?" if near else f"the themes are {', '.join(names)}"
