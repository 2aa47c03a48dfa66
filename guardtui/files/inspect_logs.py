"""Evaluation logs of inspect_ai, `.eval` and `.json`, read without inspect_ai."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from guardtui.files.chats import ChatMessage, last_user_text, read_chat, read_question
from guardtui.files.problems import SIZE_LIMIT, FileError, decode
from guardtui.files.source_positions import json_members

_ZIP = b"PK\x03\x04"
_ZSTANDARD = 93
_STORED, _DEFLATED = 0, 8
_SAMPLE = re.compile(r"samples/.+\.json", re.DOTALL)
_HEADERS = ("header.json", "_journal/start.json")
_PROTOCOL = "attachment://"
_AT_ONCE = 500
"""Number of samples unpacked together."""

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

    def input(self) -> tuple[str, str]:
        """Return the text of the input (the last user message), and its problem, or ""."""
        given = self.value.get("input")
        if isinstance(given, str):
            return self.text(given), ""
        if not isinstance(given, list) or not all(isinstance(item, dict) for item in given):
            return "", "has no input that is a text or messages"
        by_user = [message for message in given if message.get("role") == "user"]
        text = self._content(by_user[-1].get("content")) if by_user else None
        return ("", "has an input that is not only text") if text is None else (text, "")

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
        return last_user_text(chat) or "", chat

    def messages(self) -> tuple[ChatMessage, ...]:
        """Return the whole conversation. Raises ValueError with the problem."""
        given = self.value.get("messages")
        try:
            return read_chat(given, self.text) if given else ()
        except ValueError as error:
            raise ValueError(f"has bad messages: {error}") from error

    def _content(self, content: object) -> str | None:
        """Return the text of a message; None if it contains anything else."""
        if isinstance(content, str):
            return self.text(content)
        if not isinstance(content, list):
            return None
        parts = []
        for part in content:
            if isinstance(part, str):
                parts.append(self.text(part))
            elif isinstance(part, dict) and part.get("type") == "text":
                parts.append(self.text(part.get("text")))
            else:
                return None
        return "\n".join(parts)

    def output(self) -> str | None:
        """Return the model's answer; None if it gave none."""
        output = self.value.get("output")
        if not isinstance(output, dict):
            return None
        choices = output.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            message = choices[0].get("message")
            if isinstance(message, dict):
                parts = message.get("content")
                if isinstance(parts, list):  # reasoning and such are not part of the answer
                    parts = [
                        part
                        for part in parts
                        if isinstance(part, str)
                        or (isinstance(part, dict) and part.get("type") == "text")
                    ]
                text = self._content(parts)
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
    samples.sort(key=_order)
    numbered = (
        LogSample(number, sample.value, sample.location, sample.line)
        for number, sample in enumerate(samples, start=1)
    )
    return InspectLog(tuple(numbered), str(header.get("status", "")))


def _order(sample: LogSample) -> tuple[int, int, int, str]:
    """Return the sort key: by epoch, then by id; numbers first, in numeric order."""
    epoch, name = sample.value["epoch"], sample.value["id"]
    if isinstance(name, int):
        return epoch, 0, name, ""
    return (epoch, 0, int(name), "") if re.fullmatch("[0-9]{1,18}", name) else (epoch, 1, 0, name)


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
            header = _object(path, content, members[name], None)
            header.setdefault("status", "started")
            break
    sample_members = [member for name, member in members.items() if _SAMPLE.fullmatch(name)]
    samples = []
    for start in range(0, len(sample_members), _AT_ONCE):
        part = sample_members[start : start + _AT_ONCE]
        for member, data in zip(part, _unpacked_at_once(content, part), strict=True):
            value = _object(path, content, member, data)
            samples.append(_checked(path, value, member.filename))
    return header, samples


def _object(
    path: Path, content: bytes, member: zipfile.ZipInfo, data: bytes | None
) -> dict[str, Any]:
    """Return the JSON object of a member, from `data` if already unpacked. Raises FileError."""
    location = f"{member.filename!r:.200} in it"
    try:
        value = json.loads(_unpacked(content, member) if data is None else data)
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


def _require_whole_characters(path: Path, value: object, location: str, line: int | None) -> None:
    """Raise FileError for half of a surrogate pair, which JSON can contain as an escape."""
    try:
        for text in _texts(value):
            text.encode()
    except UnicodeEncodeError as error:
        problem = f"{location} holds half of a surrogate pair, which is not a character"
        raise FileError(path, problem, "remove it from the log", line) from error


_READ = (
    "id", "input", "target", "choices", "output", "messages", "metadata", "scores", "attachments",
)  # fmt: skip


def _texts(value: object) -> Iterator[str]:
    """Yield all texts in the parts of a sample that are read."""
    pending = [value.get(name) for name in _READ] if isinstance(value, dict) else []
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            pending += item.keys()
            pending += item.values()
        elif isinstance(item, list):
            pending += item


# --- from a member of the archive to its bytes -------------------------------------------------


class _UnknownMethodError(Exception):
    pass


def _packed(content: bytes, member: zipfile.ZipInfo) -> bytes:
    """Return the compressed bytes of a member. Raises ValueError."""
    start = member.header_offset
    if start < 0 or content[start : start + 4] != _ZIP or start + 30 > len(content):
        raise ValueError("no member begins here")
    name, extra = struct.unpack("<HH", content[start + 26 : start + 30])
    start += 30 + name + extra
    return content[start : start + member.compress_size]


def _unpacked_at_once(content: bytes, members: Sequence[zipfile.ZipInfo]) -> Sequence[bytes | None]:
    """Return the bytes of each member; None if it has to be unpacked separately.

    Concatenated zstandard frames unpack to the concatenation of their contents. Unpacking hundreds
    of samples at once is fifty times as fast.
    """
    nothing = [None] * len(members)
    if any(member.compress_type != _ZSTANDARD or member.flag_bits & 1 for member in members):
        return nothing
    try:
        packed = [_packed(content, member) for member in members]
        for part, member in zip(packed, members, strict=True):
            _require_size(part, member.file_size)
        whole = _zstandard(b"".join(packed))
    except ValueError:
        return nothing
    unpacked: list[bytes | None] = []
    offset = 0
    for member in members:
        part = whole[offset : offset + member.file_size]
        offset += member.file_size
        sound = len(part) == member.file_size and zlib.crc32(part) == member.CRC
        unpacked.append(part if sound else None)
    return unpacked


def _unpacked(content: bytes, member: zipfile.ZipInfo) -> bytes:
    """Return the bytes of a member, verified by its checksum. Raises ValueError if damaged.

    `zipfile` is not used because it supports zstandard only from Python 3.14 on.
    """
    packed = _packed(content, member)
    if member.flag_bits & 1:
        raise _UnknownMethodError
    if member.compress_type == _STORED:
        unpacked = packed
    elif member.compress_type == _DEFLATED:
        try:
            # One byte more than declared, so that a longer content is noticed.
            unpacked = zlib.decompressobj(-15).decompress(packed, member.file_size + 1)
        except zlib.error as error:
            raise ValueError("no deflate") from error
    elif member.compress_type == _ZSTANDARD:
        _require_size(packed, member.file_size)
        unpacked = _zstandard(packed)
    else:
        raise _UnknownMethodError
    for ending in (b"", b"\n"):  # reading lines drops the last line end
        whole = unpacked + ending
        if len(whole) == member.file_size and zlib.crc32(whole) == member.CRC:
            return whole
    raise ValueError("not what was packed")


_FRAME, _SKIPPED = 0xFD2FB528, 0x184D2A5
_BLOCK_AT_MOST = 128 * 1024
_FILLED_LEAST = 32
"""An honest block holds at least 1/32 of its capacity, because encoders split blocks."""


def _require_size(packed: bytes, size: int) -> None:
    """Raise ValueError before unpacking, if zstandard may unpack to far more than `size` bytes.

    Adds up the capacity of the blocks of all frames: RFC 8878, 3.1.1.
    """
    allowed = max(2 * size, min(_FILLED_LEAST * size + 1024**2, SIZE_LIMIT))
    most = position = 0

    def number(length: int) -> int:
        nonlocal position
        position += length
        if position > len(packed):
            raise ValueError("half a frame")
        return int.from_bytes(packed[position - length : position], "little")

    while position < len(packed):
        magic = number(4)
        if magic >> 4 == _SKIPPED:
            number(number(4))
            continue
        if magic != _FRAME:
            raise ValueError("no zstandard")
        described = number(1)
        single = described >> 5 & 1
        number((1 - single) + (0, 1, 2, 4)[described & 3])  # window, dictionary
        number((single, 2, 4, 8)[described >> 6])  # content size, which cannot be trusted either
        last = False
        while not last:
            block = number(3)
            last, kind, length = bool(block & 1), block >> 1 & 3, block >> 3
            most += _BLOCK_AT_MOST if kind == 2 else length
            number(1 if kind == 1 else length)
            if most > allowed:
                raise ValueError("more than declared")
        number(4 * (described >> 2 & 1))  # checksum


def _zstandard(packed: bytes) -> bytes:
    """Unpack JSON from zstandard.

    Polars unpacks files that it reads as CSV. With a separator and quotes that do not occur in
    JSON, each line is one cell. Raises ValueError.
    """
    try:
        lines = pl.read_csv(
            io.BytesIO(packed),
            has_header=False,
            separator="\x1f",
            quote_char=None,
            infer_schema=False,
        )
    except Exception as error:  # polars raises many kinds here
        raise ValueError("no zstandard") from error
    if lines.width != 1:
        raise ValueError("no JSON")
    return "\n".join(line or "" for line in lines.to_series(0).to_list()).encode()
