"""Add to the package's metadata what depends on its address: links, and the README of its page.

hatchling calls this for every wheel and sdist. The address is `repository` in `pyproject.toml`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)\s]+)\)\n*")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#)([^)\s]+)\)")


class PackageMetadata(MetadataHookInterface):
    """Hook of hatchling; its configuration is `tool.hatch.metadata.hooks.custom`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme` and `urls`."""
        repository = self.config["repository"].rstrip("/")
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": package_page(text, repository),
        }
        metadata["urls"] = package_urls(repository)


def package_urls(repository: str) -> dict[str, str]:
    """Return the links of the package's page by their names; none without an address."""
    if not repository:
        return {}
    return {
        "Source": repository,
        "Documentation": f"{repository}/blob/HEAD/docs/pages/index.md",
        "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
        "Issues": f"{repository}/issues",
        "Security": f"{repository}/security/advisories/new",
    }


def package_page(text: str, repository: str) -> str:
    """Return the README for a place that has none of the repository's files.

    Relative links lead into the repository. Without an address a link is only its text, and
    pictures are left out: package pages show none that are part of the text.
    """
    if not repository:
        return _LINK.sub(r"\1", _PICTURE.sub("", text))
    text = _PICTURE.sub(rf"![\1]({repository}/raw/HEAD/\2)\n\n", text)
    return _LINK.sub(rf"[\1]({repository}/blob/HEAD/\2)", text)
