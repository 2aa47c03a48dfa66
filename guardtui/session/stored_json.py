"""JSON values in files that guardtui wrote itself, and that may be damaged."""

from __future__ import annotations

import json
from typing import Any


def read_json(text: Any) -> Any:
    """Parse a stored JSON value. Raises ValueError for anything else, and if nested too deeply."""
    try:
        return json.loads(text)
    except (RecursionError, TypeError) as error:
        raise ValueError("not a JSON value") from error
