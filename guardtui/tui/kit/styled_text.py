"""Styled text in the colours of the theme: styles may be tokens such as "$text-error"."""

from __future__ import annotations

from rich.text import Text
from textual.content import Content, Span

_MUTED = "$text-muted", "$foreground-muted"
"""Textual's own token is a share of black or white, which only a stylesheet can work out."""


def themed(text: Text) -> Content:
    """Return the content of a widget for a Rich text with Textual style strings.

    Resolved when drawn, so that another theme recolours what is on the screen already. No markup
    is read. Rich's own `Style` objects are left out: they would bring colours of no theme.
    """
    spans = [
        Span(start, end, style.replace(*_MUTED))
        for start, end, style in text.spans
        if isinstance(style, str) and style
    ]
    if isinstance(text.style, str) and text.style:
        spans.insert(0, Span(0, len(text.plain), text.style.replace(*_MUTED)))
    return Content(text.plain, spans, strip_control_codes=False)
