"""Two themes whose colours are distinguishable with colour blindness and have enough contrast."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache, partial

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

_GROUNDS = "background", "surface", "panel"
_TINTS = "block-cursor-background", "block-cursor-blurred-background", "footer-background"
"""Grounds of a colour of their own, on which texts of all colours stand."""

_MARKS = "input-selection-background", "screen-selection-background", "success-muted", "error-muted"
"""Such on which only the text of the theme stands."""

_TEXTS = (
    "foreground-muted", "text-muted", "text-disabled", "text-primary", "text-secondary",
    "text-accent", "text-error", "text-warning", "text-success", "block-cursor-blurred-foreground",
    "footer-key-foreground", "footer-foreground", "footer-description-foreground",
)  # fmt: skip
_FILLED = {
    "button-color-foreground": "primary",
    "input-cursor-foreground": "input-cursor-background",
}
"""Texts that stand on one ground only."""

_SHAPES = "primary", "accent", "error", "warning", "success"
_TRACKS = (
    "scrollbar-background", "scrollbar-background-hover", "scrollbar-background-active",
    "scrollbar-corner-color",
)  # fmt: skip

_TEXT, _SHAPE, _ROOM = 4.6, 3.0, 8.0
"""Least contrast of texts (WCAG 2.2, 1.4.3: 4.5, and what rounding takes), of shapes (1.4.11), and
of black or white on a tint."""

# The terminal chooses the colours of these themes: only its own text on its own ground is sure to
# be read, in either order. Of the rest, the bright colours stand out from black, the dark ones from
# white; as in ours, blue and not green is a success.
_ANSI = {
    "border-blurred": "ansi_default",
    "scrollbar": "ansi_default",
    "success-muted": "ansi_default",
    "error-muted": "ansi_default",
    "block-cursor-foreground": "ansi_default",
    "block-cursor-background": "ansi_default",
    "block-cursor-text-style": "bold reverse underline",  # lists of Textual do not reverse
    "block-cursor-blurred-text-style": "underline",
    "input-selection-foreground": "ansi_default",
}
_ANSI_DARK = {
    "primary": "ansi_cyan",
    "text-primary": "ansi_cyan",
    "text-accent": "ansi_bright_magenta",
    "text-error": "ansi_bright_red",
    "text-warning": "ansi_bright_yellow",
    "text-success": "ansi_bright_cyan",
    "footer-key-foreground": "ansi_bright_magenta",
    "button-color-foreground": "ansi_black",
}
_ANSI_LIGHT = {
    "text-warning": "ansi_magenta",
    "text-success": "ansi_blue",
    "button-color-foreground": "ansi_bright_white",
}


def readable_colors(variables: Mapping[str, str], *, dark: bool) -> dict[str, str]:
    """Return the variables of a theme that must differ so that all that is drawn is seen.

    Most themes of Textual have pale frames and texts, black tracks of scroll bars, and rows with
    the cursor in a colour on which no other one is read. Ours change in frames and tracks only.
    """
    surface, foreground = (Color.parse(variables[name]) for name in ("surface", "foreground"))
    tracks = dict.fromkeys(_TRACKS, variables["surface"])
    if foreground.ansi is not None:
        return tracks | _ANSI | (_ANSI_DARK if dark else _ANSI_LIGHT)
    white, black = Color.parse("white"), Color.parse("black")
    ink = white if dark else black
    grounds = [Color.parse(variables[name]) for name in _GROUNDS]
    panes = grounds[:2]
    changed = {"foreground": _clear(foreground, ink, grounds, _TEXT)}
    text = Color.parse(changed["foreground"])
    for name in (*_TINTS, *_MARKS):
        tint = surface + _color(variables[name], ink)
        paler = (tint.blend(surface, step / 20) for step in range(20))
        calm = next((one for one in paler if _has_room(one, ink, text)), surface)
        changed[name] = calm.hex
        if name in _TINTS:
            grounds.append(calm)
    for name in _TEXTS:
        changed[name] = _clear(_color(variables[name], ink), ink, grounds, _TEXT)
    for name in _SHAPES:
        changed[name] = _clear(_color(variables[name], ink), ink, panes, _SHAPE)
    for name, on in _FILLED.items():
        ground = _color(changed.get(on, variables[on]), ink)
        best = max(white, black, key=partial(contrast, ground))
        changed[name] = _clear(_color(variables[name], best), best, [ground], _TEXT)
    frame = _clear(text.with_alpha(0.5), ink, panes, _SHAPE)
    inks = ("block-cursor", "input-selection", "screen-selection")
    changed |= {"border-blurred": frame, "scrollbar": frame}
    return tracks | changed | {f"{name}-foreground": ink.hex for name in inks}


def _has_room(ground: Color, ink: Color, text: Color) -> bool:
    return contrast(ink, ground) >= _ROOM and contrast(text, ground) >= _TEXT


def contrast(one: Color, other: Color) -> float:
    """Return the contrast ratio of two opaque colours (WCAG 2.2)."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@lru_cache(512)
def _luminance(color: Color) -> float:
    shares = [
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
        for share in color.normalized
    ]
    return 0.2126 * shares[0] + 0.7152 * shares[1] + 0.0722 * shares[2]


def _color(value: str, ink: Color) -> Color:
    """Return the colour of a variable; `auto` is black or white, which here is `ink`."""
    name, _, share = value.partition(" ")
    color = ink if name == "auto" else Color.parse(name)
    return color.with_alpha(float(share.rstrip("%")) / 100) if share else color


def _clear(color: Color, ink: Color, grounds: Collection[Color], least: float) -> str:
    """Return a colour, or the nearest one on its way to `ink` that stands out from all grounds."""
    for step in range(20):
        shown = color.blend(ink, step / 20)
        if all(contrast(ground + shown, ground) >= least for ground in grounds):
            return shown.hex
    return ink.hex


def theme_names() -> list[str]:
    """Return the names of all themes, ours first."""
    return [*(theme.name for theme in THEMES), *sorted(BUILTIN_THEMES)]


def near_theme(name: str) -> str:
    """Return a hint for the name of a theme that does not exist."""
    names = theme_names()
    near = nearest(name, names)
    return f"did you mean '{near}'?" if near else f"the themes are {', '.join(names)}"
