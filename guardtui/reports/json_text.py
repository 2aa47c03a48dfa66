"""JSON that is inert on a terminal and in an editor, and that parses to the exact values."""

from __future__ import annotations

import json
from typing import Any

from guardtui.domain.text import HIDDEN


def dumps(value: Any, indent: int | None = None) -> str:
    r"""Return JSON in Unicode, with control and invisible characters as `\uXXXX`.

    These are the characters that `display_text` makes visible, including lone surrogates. So the
    text can be encoded as UTF-8, and no string contains a line end.
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    if text.isascii() and "\x7f" not in text:
        return text
    return HIDDEN.sub(lambda match: json.dumps(match.group())[1:-1], text)
