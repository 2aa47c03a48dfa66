"""Bodies of requests as JSON."""

from __future__ import annotations

import json
from typing import Any


def json_body(data: Any) -> bytes:
    """JSON in UTF-8, or in ASCII where a text holds half a surrogate pair, which UTF-8 has not.

    Raises ValueError for numbers that JSON has not, such as NaN.
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(data, allow_nan=False, separators=(",", ":")).encode()
