"""Request bodies as JSON."""

from __future__ import annotations

import json
from typing import Any


def json_body(data: Any) -> bytes:
    """Return JSON in UTF-8, or in ASCII if a text contains half a surrogate pair.

    UTF-8 cannot encode these. Raises ValueError for numbers that JSON lacks, such as NaN.
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(data, allow_nan=False, separators=(",", ":")).encode()
