"""Blocks of code on the pages: files, commands, sessions in a shell, and programs in Python.

A comment before a block says what a reader sees from the text: `<!-- file: NAME -->`, that the
block is the content of a file, or `<!-- not run: REASON -->`, why no test runs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "pages").glob("*.md"))
DOCUMENTS = [
    path
    for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md")
    if (path := ROOT / name).exists()
] + PAGES

RUN = ("sh", "console", "python")
"""Languages of the blocks that are run."""

_BLOCK = re.compile(
    r"(?:^ *<!-- (?P<key>file|not run): (?P<value>[^>]+) -->\n+)?"
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page; `line` is that of its fence."""

    page: str
    line: int
    language: str
    text: str
    file: str | None = None
    """Name of the file that has this content."""
    not_run: str | None = None
    """Reason why no test runs it."""

    @property
    def runs(self) -> bool:
        return self.language in RUN and self.not_run is None

    @property
    def steps(self) -> list[tuple[str, list[str] | None]]:
        """Command lines, each with what it prints in a `console` block, or None."""
        if self.language == "console":
            told = [part.splitlines() for part in ("\n" + self.text).split("\n$ ")[1:]]
            return [(line, printed) for line, *printed in told]
        lines = re.sub(r"\\\n\s*", "", self.text).splitlines()
        stripped = (re.sub(r"(^|\s+)# .*", "", line).strip() for line in lines)
        return [(line, None) for line in stripped if line]


def blocks(path: Path) -> Iterator[Block]:
    """Yield the blocks of a page in their order."""
    text = path.read_text("utf-8")
    for match in _BLOCK.finditer(text):
        body = re.sub(f"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
        own = re.match(r"# ([\w.]+\.py)\n", body)
        file = match["value"] if match["key"] == "file" else own and own[1]
        yield Block(
            page=path.relative_to(ROOT).as_posix(),
            line=text.count("\n", 0, match.start("language")) + 1,
            language=match["language"],
            text=body,
            file=file,
            not_run=match["value"] if match["key"] == "not run" else None,
        )
