"""Paths that the author types in a dialog."""

from __future__ import annotations

from pathlib import Path

from guardtui.files.problems import FileError


def typed_path(text: str, folder: Path) -> Path:
    """Return the path of a text, relative to the working folder, or else to `folder`.

    Raises FileError for an invalid name, such as one with a null character or with the home folder
    of an unknown user.
    """
    try:
        path = Path(text).expanduser()
        resolved = folder / path
        return resolved if not path.exists() and resolved.exists() else path
    except (OSError, RuntimeError, ValueError) as error:
        raise FileError(text, f"not a valid file name ({error})", "") from error
