"""Evaluation logs of inspect_ai, `.eval` and `.json`, read without inspect_ai."""

from __future__ import annotations

import io
import json
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guardtui.files.chats import (
    ChatMessage,
    last_of_user,
    last_user_text,
    read_chat,
    read_question,
    text_of_content,
)
from guardtui.files.json_rows import holds_lone_surrogate
from guardtui.files.problems import SIZE_LIMIT, FileError, decode
from guardtui.files.source_positions import json_members

_ZIP = b"PK\x03\x04"
_ZSTANDARD = 93
_SAMPLE = re.compile(r"samples/.+\.json", re.DOTALL)
_HEADERS = ("header.json", "_journal/start.json")
_PROTOCOL = "attachment://"

_UNREADABLE = (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, OSError)
"""Errors of `zipfile` on damaged files; NotImplementedError for a damaged version or method."""
_WRITE_AGAIN = "copy it again, or convert it with 'inspect log convert'"
_NO_LOG = "name a log that inspect_ai wrote (.eval or .json)"


@dataclass(frozen=True, slots=True)
class LogSample:
    """One sample of a log: `value` as in the log, `location` its location for messages.

    `number` counts from 1 in the order of the log; `line` is the line in a JSON log, else None.
    """

    number: int
    value: Mapping[str, Any]
    location: str
    line: int | None = None

    def text(self, value: object) -> str:
        """Return a text, with a reference to the sample's attachments resolved."""
        text = value if isinstance(value, str) else ""
        if text.startswith(_PROTOCOL):
            attachments = self.value.get("attachments")
            if isinstance(attachments, dict):
                attachment = attachments.get(text.removeprefix(_PROTOCOL))
                return attachment if isinstance(attachment, str) else text
        return text

    def input(self) -> str:
        """Return the text of the input: the user's last message. Raises ValueError."""
        text, chat = self.question()
        try:
            return last_user_text(chat) if chat else text
        except ValueError as error:
            raise ValueError(f"has a bad input: {error}") from error

    def question(self) -> tuple[str, tuple[ChatMessage, ...]]:
        """Return the input as scorers see it: its text, and its messages if it has any.

        For messages, the text is the user's last one. Raises ValueError with the problem.
        """
        given = self.value.get("input")
        if isinstance(given, str):
            return self.text(given), ()
        try:
            chat = read_question(given, self.text)
        except ValueError as error:
            raise ValueError(f"has a bad input: {error}") from error
        last = last_of_user(chat)
        return "" if last is None else last.text, chat

    def messages(self) -> tuple[ChatMessage, ...]:
        """Return the whole conversation. Raises ValueError with the problem."""
        given = self.value.get("messages")
        try:
            return read_chat(given, self.text) if given else ()
        except ValueError as error:
            raise ValueError(f"has bad messages: {error}") from error

    def output(self) -> str | None:
        """Return the model's answer; None if it gave none."""
        output = self.value.get("output")
        if not isinstance(output, dict):
            return None
        choices = output.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            message = choices[0].get("message")
            if isinstance(message, dict):
                text = text_of_content(message.get("content"), self.text)
                if text is not None:
                    return text
        completion = output.get("completion")
        return self.text(completion) if isinstance(completion, str) and completion else None

    def error(self) -> str:
        """Return why the sample has no result, or ""."""
        error = self.value.get("error")
        if isinstance(error, dict):
            return str(error.get("message") or "an error without a message")
        return ""


@dataclass(frozen=True, slots=True)
class InspectLog:
    """A log: its samples, ordered by epoch and id, and its status (`success`, `error`, …)."""

    samples: tuple[LogSample, ...]
    status: str


def is_inspect_log(path: Path, content: bytes) -> bool:
    """Return whether a file is a log of inspect_ai, judged by its content."""
    if content.startswith(_ZIP):
        try:
            names = zipfile.ZipFile(io.BytesIO(content)).namelist()
        except _UNREADABLE:
            return path.suffix.lower() == ".eval"
        return any(name in names for name in _HEADERS)
    # Version, status and eval come first, so that header readers find them.
    head = content[:2000].removeprefix(b"\xef\xbb\xbf").lstrip()
    return re.match(rb'\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"\w+"', head) is not None


def read_inspect_log(path: Path, content: bytes) -> InspectLog:
    """Read a log from the content of a file called `path`.

    A `.eval` file is a zip archive of `header.json` (`_journal/start.json` while it is being
    written) and `samples/ID_epoch_N.json`. Of several members with one name the last counts.
    Current releases compress with zstandard, older ones with deflate. A `.json` file is one object
    with a list `samples`.

    Source: inspect_ai 0.3.285, `inspect_ai.log._recorders.eval` and `.json`.

    Raises FileError with file and location.
    """
    if content.startswith(_ZIP):
        header, samples = _zipped(path, content)
    elif path.suffix.lower() == ".eval":
        raise FileError(path, "not an .eval log: not a zip archive", _NO_LOG)
    else:
        header, samples = _written(path, content)
    if not isinstance(header.get("eval"), dict):
        raise FileError(path, "not a log of inspect_ai: it has no 'eval'", _NO_LOG)
    version = header.get("version", 1)
    if type(version) is not int or version > 2:
        problem = f"the log has version {version!s:.20}, this guardtui reads up to 2"
        raise FileError(path, problem, "convert it with an older release of inspect_ai")
    if not samples:
        problem = "the log has no samples"
        if header.get("status") == "started":
            problem += " yet: its evaluation is still running, or was cancelled"
        raise FileError(path, problem, "run the evaluation with samples logged")

    def order(sample: LogSample) -> tuple[int, int, int, str]:
        """Return the sort key: by epoch, then by id; numbers first, in numeric order."""
        epoch, name = sample.value["epoch"], sample.value["id"]
        if isinstance(name, int) or re.fullmatch("[0-9]{1,18}", name):
            return epoch, 0, int(name), ""
        return epoch, 1, 0, name

    samples.sort(key=order)
    numbered = (
        LogSample(number, sample.value, sample.location, sample.line)
        for number, sample in enumerate(samples, start=1)
    )
    return InspectLog(tuple(numbered), str(header.get("status", "")))


def _checked(path: Path, value: object, location: str, line: int | None = None) -> LogSample:
    """Return a sample that has an id and an epoch. Raises FileError."""
    problem = ""
    if not isinstance(value, dict):
        problem = "is not a JSON object"
    elif isinstance(value.get("id"), bool) or not isinstance(value.get("id"), str | int):
        problem = "has no id that is a text or a number"
    elif type(epoch := value.setdefault("epoch", 1)) is not int or not 0 < epoch < 2**31:
        problem = "has no epoch that is a number from 1 on"
    else:
        return LogSample(0, value, location, line)
    raise FileError(path, f"{location} {problem}", _WRITE_AGAIN, line)


def _written(path: Path, content: bytes) -> tuple[dict[str, Any], list[LogSample]]:
    """Return header and samples of a JSON log."""
    text = decode(path, content)
    try:
        header, elements = json_members(text, "samples")
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        problem = "not valid JSON (is the file truncated?)"
        raise FileError(path, problem, _WRITE_AGAIN, line) from error
    samples = []
    for number, (line, value) in enumerate(elements, start=1):
        _require_whole_characters(path, value, f"sample {number}", line)
        samples.append(_checked(path, value, f"sample {number}", line))
    return header, samples


def _zipped(path: Path, content: bytes) -> tuple[dict[str, Any], list[LogSample]]:
    """Return header and samples of a zip archive of JSON files."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except _UNREADABLE as error:
        problem = "not a valid zip archive (is the file truncated?)"
        raise FileError(path, problem, _WRITE_AGAIN) from error
    members = archive.NameToInfo  # of several members with one name the last
    total = sum(member.file_size for member in members.values())
    if total > SIZE_LIMIT:
        problem = f"unpacked it has {total / 1024**3:.1f} GiB, more than the 1 GiB allowed"
        raise FileError(path, problem, "split the log")
    header: dict[str, Any] = {}
    for name in _HEADERS:
        if name in members:
            header = _object(path, content, members[name])
            header.setdefault("status", "started")
            break
    samples = [
        _checked(path, _object(path, content, member), member.filename)
        for name, member in members.items()
        if _SAMPLE.fullmatch(name)
    ]
    return header, samples


def _object(path: Path, content: bytes, member: zipfile.ZipInfo) -> dict[str, Any]:
    """Return the JSON object of a member of the archive. Raises FileError."""
    location = f"{member.filename!r:.200} in it"
    try:
        value = json.loads(_unpacked(content, member))
    except _UnknownMethodError as error:
        problem = f"{location} is compressed by an unknown method ({member.compress_type})"
        raise FileError(path, problem, "convert it: inspect log convert --to json") from error
    except (ValueError, RecursionError) as error:
        problem = f"{location} is damaged: not JSON, or not the packed content"
        raise FileError(path, problem, _WRITE_AGAIN) from error
    if not isinstance(value, dict):
        raise FileError(path, f"{location} is not a JSON object", _WRITE_AGAIN)
    _require_whole_characters(path, value, location, None)
    return value


_READ = (
    "id", "input", "target", "choices", "output", "messages", "metadata", "scores", "attachments",
)  # fmt: skip
"""Parts of a sample that are read."""


def _require_whole_characters(path: Path, value: object, location: str, line: int | None) -> None:
    """Raise FileError for half of a surrogate pair, which JSON can contain as an escape."""
    parts = [value.get(name) for name in _READ] if isinstance(value, dict) else []
    if holds_lone_surrogate(json.dumps(parts, ensure_ascii=False)):
        problem = f"{location} holds half of a surrogate pair, which is not a character"
        raise FileError(path, problem, "remove it from the log", line)


class _UnknownMethodError(Exception):
    pass


def _unpacked(content: bytes, member: zipfile.ZipInfo) -> bytes:
    """Return the bytes of a member, verified by its checksum. Raises ValueError if damaged.

    `zipfile` is not used because it supports zstandard only from Python 3.14 on.
    """
    start = member.header_offset
    if start < 0 or content[start : start + 4] != _ZIP or start + 30 > len(content):
        raise ValueError("no member begins here")
    name, extra = struct.unpack("<HH", content[start + 26 : start + 30])
    start += 30 + name + extra
    packed = content[start : start + member.compress_size]
    # One byte more than declared, so that a longer content is noticed.
    most = member.file_size + 1
    if member.flag_bits & 1:
        raise _UnknownMethodError
    if member.compress_type == zipfile.ZIP_STORED:
        unpacked = packed
    elif member.compress_type == zipfile.ZIP_DEFLATED:
        try:
            unpacked = zlib.decompressobj(-15).decompress(packed, most)
        except zlib.error as error:
            raise ValueError("no deflate") from error
    elif member.compress_type == _ZSTANDARD:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd

        try:
            unpacked = zstd.ZstdFile(io.BytesIO(packed)).read(most)
        except (zstd.ZstdError, EOFError) as error:
            raise ValueError("no zstandard") from error
    else:
        raise _UnknownMethodError
    if len(unpacked) != member.file_size or zlib.crc32(unpacked) != member.CRC:
        raise ValueError("not what was packed")
    return unpacked
