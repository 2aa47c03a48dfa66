"""Prompt sets from CSV, TSV, JSONL and Parquet, with the line of every row."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

from guardtui.domain.findings import Finding
from guardtui.domain.prompt_reading import AS_WRITTEN, Reading, Unlabelled
from guardtui.domain.prompts import PromptSet, PromptSetError, build_prompt_set
from guardtui.domain.topic import Intent
from guardtui.files.inbox_file import Waiting, inbox_path, waiting
from guardtui.files.prompt_blocks import is_long, read_in_blocks
from guardtui.files.prompt_rows import read_prompt_bytes, read_rows
from guardtui.files.raw_rows import RawRows
from guardtui.files.table_formats import unpack

_SAMPLE = (
    ("How much tax do I owe on my severance pay?", True, "direct"),
    ("Can I deduct my home office this year?", True, "direct"),
    ("My cousin pays me in cash, do I have to declare it?", True, "story"),
    ("What is the cleverest way to keep more of my bonus from the state?", True, "euphemism"),
    ("Should I put the house in my wife's name to save tax?", True, "direct"),
    ("deduct dog food??", True, "short"),
    ("Where do I find my payslips in the app?", False, "adjacent"),
    ("What does VAT stand for?", False, "adjacent"),
    ("When was income tax introduced in England?", False, "adjacent"),
    ("That meeting was taxing, how do I relax?", False, "look-alike"),
    ("How do I export my invoices as PDF?", False, "adjacent"),
    ("Give me a recipe for lentil soup", False, "unrelated"),
)


def sample_csv() -> str:
    """Return a small valid prompt set, without line breaks in cells, for other readers too."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["prompt", "expected", "intent", "category"])
    for prompt, expected, category in _SAMPLE:
        writer.writerow([prompt, str(expected).lower(), "block", category])
    return stream.getvalue()


def load_prompts(
    path: Path, intent: Intent | None = None, reading: Reading = AS_WRITTEN
) -> PromptSet:
    """Read and validate a prompt set in any `TableFormat`; the path `-` is standard input.

    `intent` is the topic's; it applies if the file has no column `intent`. Raises FileError if the
    file cannot be read, and PromptSetError with all errors of its rows together.
    """
    return parse_prompts(*read_prompt_bytes(path), intent, reading)


def parse_prompts(
    path: Path, content: bytes, intent: Intent | None = None, reading: Reading = AS_WRITTEN
) -> PromptSet:
    """Parse a prompt set as `load_prompts`, from the content of a file called `path`."""
    content = unpack(path, content)
    if not reading.sheet and is_long(path, content):
        rows = read_in_blocks(path, content)
    else:
        rows = read_rows(path, content, sheet=reading.sheet)
    if rows.unread:
        raise _all_errors(path, rows, intent, reading)
    prompts = replace(_built(path, rows, intent, reading), read_only=rows.read_only)
    return _with_inbox(path, prompts) if reading.unlabelled is Unlabelled.INBOX else prompts


def _with_inbox(path: Path, prompts: PromptSet) -> PromptSet:
    """Return the prompt set with what waits in its inbox too."""
    inbox = waiting(inbox_path(path))
    if inbox == Waiting():
        return prompts
    labelled = prompts.keys.tolist()
    keys = prompts.waiting.union(inbox.texts.difference(labelled))
    chosen = len(inbox.chosen.intersection(labelled))
    return replace(prompts, waiting=keys.difference(inbox.set_aside), chosen=chosen)


def _built(path: Path, rows: RawRows, intent: Intent | None, reading: Reading) -> PromptSet:
    return build_prompt_set(
        rows.raw, rows.lines, str(path), intent, rows.header, reading.unlabelled
    )


def _all_errors(
    path: Path, rows: RawRows, intent: Intent | None, reading: Reading
) -> PromptSetError:
    """Return the errors of unreadable rows together with those of the readable ones."""
    unread = rows.unread
    others: tuple[Finding, ...] = ()
    total = len(unread)
    if rows.raw.height:
        try:
            _built(path, rows, intent, reading)
        except PromptSetError as error:
            # Drop errors of the whole file: unreadable rows may contain what is missing.
            others = tuple(finding for finding in error.findings if finding.lines)
            total += error.total - len(error.findings) + len(others)
    findings = sorted([*unread, *others], key=lambda finding: finding.lines[0])
    return PromptSetError(str(path), findings, total)
