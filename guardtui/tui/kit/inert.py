"""Texts and lists that show any text as it is: Textual's own read markup in it."""

from __future__ import annotations

from textual import widgets
from textual.visual import VisualType
from textual.widgets.option_list import Option


class Static(widgets.Static):
    """A text without markup."""

    def __init__(
        self,
        content: VisualType = "",
        *,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(content, id=id, classes=classes, markup=False)


class Label(widgets.Label):
    """A text as wide as it is long, without markup."""

    def __init__(
        self,
        content: VisualType = "",
        *,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(content, id=id, classes=classes, markup=False)


class OptionList(widgets.OptionList):
    """A list without markup."""

    def __init__(
        self,
        *content: Option | VisualType | None,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
        compact: bool = False,
    ) -> None:
        super().__init__(*content, id=id, classes=classes, markup=False, compact=compact)
