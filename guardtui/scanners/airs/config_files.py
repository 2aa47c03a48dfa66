"""JSON files of the `airs` command-line tools; errors name file and line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from guardtui.domain.text import display_text
from guardtui.scanners.airs.errors import AirsError

_LARGEST = 1024**2


def read_object(path: Path, remedy: str) -> dict[str, Any] | None:
    """Return the JSON object in a file; None if the file does not exist.

    Raises AirsError with `remedy` for a file that cannot be read or has other content.
    """
    if not os.path.lexists(path):
        return None
    try:
        if not path.is_file():
            raise broken(path, "not a regular file", remedy)
        if path.stat().st_size > _LARGEST:
            raise broken(path, "the file is too large", remedy)
        text = path.read_bytes().decode("utf-8-sig")
        data = json.loads(text)
    except OSError as error:
        raise broken(path, (error.strerror or type(error).__name__).lower(), remedy) from None
    except UnicodeDecodeError:
        raise broken(path, "not UTF-8", remedy) from None
    except json.JSONDecodeError as error:
        raise broken(path, f"not JSON: {error.msg}", remedy, error.lineno) from None
    except (RecursionError, ValueError):
        raise broken(path, "the JSON cannot be read", remedy) from None
    if not isinstance(data, dict):
        raise broken(path, "not a JSON object", remedy)
    return data


def broken(path: Path, problem: str, remedy: str, line: int | None = None) -> AirsError:
    """Return an error about a file."""
    location = display_text(str(path)) + (f":{line}" if line is not None else "")
    return AirsError(f"{location}: {problem}; {remedy}")
