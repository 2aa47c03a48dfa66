"""JSON that is inert on a terminal and in an editor, and reads back as exactly what it tells."""

from __future__ import annotations

import json
from typing import Any

from guardtui.domain.text import HIDDEN


def dumps(value: Any, indent: int | None = None) -> str:
    r"""JSON in Unicode; characters that control or do not show stand as `\uXXXX`.

    That are those that `display_text` makes visible, lone surrogates among them: the text can be
    encoded as UTF-8, and has no line end inside of a string.
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    if text.isascii() and "\x7f" not in text:
        return text
    return HIDDEN.sub(lambda match: json.dumps(match.group())[1:-1], text)
