"""JSON files of the `airs` command-line tools, read with errors that name file and line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from guardtui.domain.text import display_text
from guardtui.scanners.airs.errors import AirsError

_LARGEST = 1024**2


def read_object(path: Path, remedy: str) -> dict[str, Any] | None:
    """The JSON object of a file; None when there is no file.

    Raises AirsError with `remedy` for a file that cannot be read or holds something else.
    """
    if not os.path.lexists(path):
        return None
    try:
        if not path.is_file():
            raise broken(path, "this is no file", remedy)
        if path.stat().st_size > _LARGEST:
            raise broken(path, "the file is too large", remedy)
        text = path.read_bytes().decode("utf-8-sig")
        data = json.loads(text)
    except OSError as error:
        raise broken(path, (error.strerror or type(error).__name__).lower(), remedy) from None
    except UnicodeDecodeError:
        raise broken(path, "this is not UTF-8", remedy) from None
    except json.JSONDecodeError as error:
        raise broken(path, f"this is no JSON: {error.msg}", remedy, error.lineno) from None
    except (RecursionError, ValueError):
        raise broken(path, "this JSON cannot be read", remedy) from None
    if not isinstance(data, dict):
        raise broken(path, "this is no JSON object", remedy)
    return data


def broken(path: Path, problem: str, remedy: str, line: int | None = None) -> AirsError:
    """An error about a file."""
    where = display_text(str(path)) + (f":{line}" if line is not None else "")
    return AirsError(f"{where}: {problem}; {remedy}")
