"""Logs of inspect_ai: zips of each compression and JSON, read alike; damage is told, not shown."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.files.inspect_logs import is_inspect_log, read_inspect_log
from guardtui.files.output_files import OutputFileError, parse_outputs
from guardtui.files.problems import FileError
from guardtui.files.prompt_files import parse_prompts

EVAL, JSON = Path("log.eval"), Path("log.json")
HEAD = {"version": 2, "status": "success", "eval": {"task": "demo"}}


def sample(name: object, epoch: int = 1, **more: Any) -> dict[str, Any]:
    output = {"model": "m", "choices": [], "completion": f"answer {name}"}
    known = {"id": name, "epoch": epoch, "input": f"ask {name}", "target": "x", "output": output}
    return {**known, "metadata": {"level": epoch}, **more}


SAMPLES = [sample("b"), sample("a"), sample("b", 2), sample("a", 2)]


def as_json(samples: list[Any], head: dict[str, Any] | None = None) -> bytes:
    return json.dumps({**(head or HEAD), "samples": samples}, indent=1).encode()


def zstandard(content: bytes) -> bytes:
    """A frame of blocks that are not compressed (RFC 8878, section 3.1.1)."""
    blocks = [content[at : at + 0xFFFF] for at in range(0, len(content), 0xFFFF)] or [b""]
    frame = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(content))
    for number, block in enumerate(blocks, start=1):
        frame += struct.pack("<I", len(block) << 3 | (number == len(blocks)))[:3] + block
    return frame


def as_zip(members: list[tuple[str, Any]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip; with method 93 as Python 3.11 cannot write it: stored, then declared."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED if method == 93 else method) as archive:
        for name, value in members:
            content = json.dumps(value).encode()
            # Without a time of now: the test's name holds these bytes, and workers compare names.
            entry = zipfile.ZipInfo(name)
            written = zstandard(content) if method == 93 else content
            archive.writestr(entry, written, archive.compression)
    if method != 93:
        return stream.getvalue()
    data = bytearray(stream.getvalue())
    offset = 0
    central = data.index(b"PK\x01\x02")
    for _, value in members:
        content = json.dumps(value).encode()
        struct.pack_into("<H", data, offset + 8, 93)
        struct.pack_into("<H", data, central + 10, 93)
        struct.pack_into("<I", data, central + 16, zlib.crc32(content))
        struct.pack_into("<I", data, central + 24, len(content))
        name, extra, comment = struct.unpack_from("<HHH", data, central + 28)
        packed = struct.unpack_from("<I", data, central + 20)[0]
        offset += 30 + name + struct.unpack_from("<H", data, offset + 28)[0] + packed
        central += 46 + name + extra + comment
    return bytes(data)


def members(samples: list[Any]) -> list[tuple[str, Any]]:
    named = [(f"samples/{one['id']}_epoch_{one['epoch']}.json", one) for one in samples]
    return [("_journal/start.json", HEAD), *named, ("summaries.json", []), ("header.json", HEAD)]


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (JSON, as_json(SAMPLES)),
        (EVAL, as_zip(members(SAMPLES))),
        (EVAL, as_zip(members(SAMPLES), zipfile.ZIP_STORED)),
        (EVAL, as_zip(members(SAMPLES), 93)),
    ],
    ids=["json", "deflate", "stored", "zstandard"],
)
def test_every_form_is_read_alike(path: Path, content: bytes) -> None:
    assert is_inspect_log(path, content)
    log = read_inspect_log(path, content)
    assert log.status == "success"
    results = [(one.number, one.value["id"], one.value["epoch"]) for one in log.samples]
    assert results == [(1, "a", 1), (2, "b", 1), (3, "a", 2), (4, "b", 2)]
    outputs = parse_outputs(path, content)
    assert list(outputs.outputs) == ["answer a", "answer b"] * 2
    assert list(outputs.epochs) == [1, 1, 2, 2]
    assert outputs.metadata == {"level": [1, 1, 2, 2]}
    assert not outputs.findings


def test_ids_that_are_numbers_are_ordered_as_numbers() -> None:
    log = read_inspect_log(JSON, as_json([sample(10), sample("9"), sample(2), sample("x")]))
    assert [one.value["id"] for one in log.samples] == [2, "9", 10, "x"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_last_of_members_with_one_name_is_used() -> None:
    content = as_zip(members([sample("a"), sample("a", input="again")]))
    (one,) = read_inspect_log(EVAL, content).samples
    assert one.input() == "again"


def test_unfinished_log_is_read_with_a_warning() -> None:
    content = as_zip([("_journal/start.json", {"version": 2, "eval": {}}), *members(SAMPLES)[1:5]])
    outputs = parse_outputs(EVAL, content)
    assert len(outputs) == 4
    assert "the status of the log is 'started'" in outputs.findings[0].message


def test_attachments_messages_and_parts_are_resolved() -> None:
    given_ = sample(
        1,
        input=[
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": [{"type": "text", "text": "attachment://aa"}]},
            {"role": "assistant", "content": "yes?"},
            {"role": "user", "content": "more"},
        ],
        target="attachment://bb",
        attachments={"aa": "long text", "bb": "long target"},
        output={
            "completion": "",
            "choices": [
                {
                    "message": {
                        "role": "assistant",
                        "content": [
                            {"type": "reasoning", "reasoning": "hm"},
                            {"type": "text", "text": "attachment://aa"},
                        ],
                    }
                }
            ],
        },
    )
    outputs = parse_outputs(JSON, as_json([given_]))
    assert list(outputs.inputs) == ["more"]
    assert [one.text for one in outputs.input_messages[0]] == [
        "be kind",
        "long text",
        "yes?",
        "more",
    ]
    assert list(outputs.targets) == [("long target",)]
    assert list(outputs.outputs) == ["long text"]


def test_samples_without_an_output_have_an_empty_one_and_are_counted() -> None:
    failed = sample("y", output={"choices": [], "completion": ""}, error={"message": "boom"})
    outputs = parse_outputs(JSON, as_json([sample("a"), failed, sample("z", output=None)]))
    assert list(zip(outputs.ids, outputs.outputs, strict=True)) == [
        ("a", "answer a"), ("y", ""), ("z", ""),
    ]  # fmt: skip
    (finding,) = outputs.findings
    assert finding.message == (
        "2 samples have no output and are scored as an empty one, as inspect_ai does; "
        "1 of them ended with an error"
    )


def test_image_in_the_input_is_named_like_in_inspect() -> None:
    image = [{"role": "user", "content": [{"type": "image", "image": "data:"}]}]
    outputs = parse_outputs(JSON, as_json([sample("a", input=image)]))
    assert list(outputs.inputs) == ["[image]"]


def test_all_unreadable_inputs_are_reported_together() -> None:
    chat = [{"role": "user", "content": 7}]
    content = as_json([sample("a", input=chat), sample("b", input=7), sample("c")])
    with pytest.raises(OutputFileError) as caught:
        parse_outputs(JSON, content)
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert "sample 1 has a bad input: message 1 has a content that is neither text" in lines[0]
    assert "log.json:" in lines[1]


@pytest.mark.parametrize(
    ("path", "content", "told"),
    [
        (EVAL, b"no zip", "log.eval: not an .eval log: not a zip archive"),
        (EVAL, as_zip(members(SAMPLES))[:-30], "not a valid zip archive (is the file truncated?)"),
        (EVAL, as_zip([("header.json", HEAD)]), "the log has no samples"),
        (EVAL, as_zip([("header.json", [])]), "'header.json' in it is not a JSON object"),
        (EVAL, as_zip(members(SAMPLES)[1:-1]), "it has no 'eval'"),
        (JSON, as_json([], {**HEAD, "status": "started"}), "the log has no samples yet"),
        (JSON, as_json(SAMPLES, {**HEAD, "version": 3}), "version 3, this guardtui reads up to 2"),
        (JSON, as_json(SAMPLES)[:-40], "log.json:"),
        (JSON, as_json([sample("a"), 5]), "sample 2 is not a JSON object"),
        (JSON, as_json([{"input": "x"}]), "sample 1 has no id that is a text or a number"),
        (JSON, as_json([sample("a", 0)]), "sample 1 has no epoch that is a number from 1 on"),
        (JSON, as_json([sample("\ud800")]), "sample 1 holds half of a surrogate pair"),
        (JSON, b"[" * 100_000, "not valid JSON (is the file truncated?)"),
    ],
)
def test_unreadable_sample_error_names_its_location(path: Path, content: bytes, told: str) -> None:
    with pytest.raises(FileError) as caught:
        read_inspect_log(path, content)
    assert told in str(caught.value)
    assert str(path) in str(caught.value)


def test_member_is_verified_by_its_checksum() -> None:
    content = as_zip(members(SAMPLES), zipfile.ZIP_STORED)
    with pytest.raises(FileError, match=r"'samples/a_epoch_1\.json' in it is damaged"):
        read_inspect_log(EVAL, content.replace(b"ask a", b"ask c", 1))


def problem_of(read: Callable[[Path, bytes], object], path: Path, content: bytes) -> str:
    """What is told of it; the name of the file when it is read."""
    try:
        read(path, content)
    except (FileError, OutputFileError) as error:
        return str(error)
    return path.name


@settings(deadline=None)
@given(
    method=st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, 93]),
    changes=st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), max_size=3),
    end=st.integers(0, 5000),
)
def test_damage_anywhere_is_a_problem_or_harmless(
    method: int, changes: list[tuple[int, int]], end: int
) -> None:
    data = bytearray(as_zip(members(SAMPLES[:2]), method))
    for place, byte in changes:
        data[place % len(data)] = byte
    content = bytes(data[: end if end > 4000 else end or None])
    is_inspect_log(EVAL, content)
    for read in (read_inspect_log, parse_outputs):
        assert "log.eval" in problem_of(read, EVAL, content)


ANY = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["id", "epoch", "input", "target", "output", "choices", "content", "role", "type",
                 "text", "message", "metadata", "scores", "attachments", "error", "completion"]
            ), inner, max_size=6),
    ),
    max_leaves=20,
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(ANY, max_size=3), st.booleans())
def test_any_samples_are_read_or_reported(samples: list[Any], named: bool) -> None:
    if named:
        samples = [
            {"id": index, **(one if isinstance(one, dict) else {"input": one})}
            for index, one in enumerate(samples)
        ]
    for read in (read_inspect_log, parse_outputs):
        assert "log.json" in problem_of(read, JSON, as_json(samples))


def test_log_is_rejected_as_prompt_set_with_a_remedy() -> None:
    with pytest.raises(FileError, match=r"guardtui convert log\.eval"):
        parse_prompts(EVAL, as_zip(members(SAMPLES)))


@pytest.mark.exhaustive  # another implementation, which takes seconds to import
def test_inspect_ai_output_is_read(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai", minversion="0.3.285")
    from inspect_ai.log import read_eval_log, write_eval_log

    source = tmp_path / "2026-01-01T00-00-00_x.json"
    start = {**HEAD, "eval": {
        "created": "2026-01-01T00:00:00+00:00", "task": "demo", "dataset": {}, "model": "m",
        "config": {},
    }}  # fmt: skip
    source.write_bytes(as_json([sample("é" * 300), sample("b", 2)], start))
    log = read_eval_log(str(source))
    for name in ("log.eval", "2026-01-01T00-00-00_y.json"):
        path = tmp_path / name
        write_eval_log(log, str(path))
        content = path.read_bytes()
        assert is_inspect_log(path, content)
        result = read_inspect_log(path, content)
        assert [one.value["id"] for one in result.samples] == ["é" * 300, "b"]
        assert result.samples[1].output() == "answer b"


def test_member_larger_than_declared_is_not_unpacked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One byte, said to be there 128 KiB times, in each of ten thousand blocks: 1.2 GiB of 40 kB.
    blocks = [struct.pack("<I", (128 * 1024) << 3 | 1 << 1 | last)[:3] + b"a" for last in (0, 1)]
    bomb = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", 1000) + blocks[0] * 9_999 + blocks[1]
    monkeypatch.setattr("tests.files.test_inspect_logs.zstandard", lambda content: bomb)
    content = as_zip([("header.json", HEAD), ("samples/a_epoch_1.json", sample("a"))], 93)
    assert len(content) < 90_000
    with pytest.raises(FileError, match="is damaged"):
        read_inspect_log(EVAL, content)
