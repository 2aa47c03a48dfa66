"""The formats of a document, found by their names."""

from __future__ import annotations

from importlib import import_module

from guardtui.domain.document import Document

_MODULES = {
    "table": "guardtui.reports.as_text",
    "md": "guardtui.reports.as_markdown",
    "html": "guardtui.reports.html.as_page",
}


def render(document: Document, name: str) -> str:
    """Return a document as "table", "md" or "html"; it ends with a line feed."""
    text: str = import_module(_MODULES[name]).write(document)
    return text
