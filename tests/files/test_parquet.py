"""Damaged Parquet files: an error with the file's name, and nothing else on any stream."""

from __future__ import annotations

import base64
import io
import random
import sys
import zlib
from contextlib import suppress
from datetime import date, time, timedelta
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from guardtui.domain.prompt_edit import Rewrite
from guardtui.domain.topic import Intent
from guardtui.files import trial_read
from guardtui.files.output_files import load_outputs
from guardtui.files.output_tables import read_table
from guardtui.files.parquet import parquet_bytes, parse_parquet
from guardtui.files.problems import FileError
from guardtui.files.prompt_edits import edit_prompts
from guardtui.files.prompt_files import load_prompts
from guardtui.files.source_positions import text_of

# Three prompts as Polars 2.1 writes them, uncompressed and without statistics.
_SOUND = zlib.decompress(base64.b85decode(
    rb"c-"
    rb"n<i&2HL25FQ(9aX=A5%nC~!d<a&eR*7+%0#%}DNg|w<w!on+IYctpCZrBV*!=X`2gtdHp8G64_W^S1BjnIyXN^NDRccm"
    rb"i&)+xSd~2=Syj#IET4=RUK>*0pV+9M%3A8gUwCAoC*~_CRl<iMl+mXl_AYcIt&!{0sj{+c5R*~e?CSX?G2PLN#mB}=?o"
    rb"<s;tVP7TM`jwsm>fFE$(FuQdN(gEh6t$RfmlJmoxlY_?FhjqUfb``t-"
    rb"$GgFi<S7n;1e<AF!zrLNIggxjU#uwl5oK;^gCJqA%j|CSNMVvn7msFjl{i^(G)JqYRgJbgCHVO%$DW*qm-dl5_O=|T4#"
    rb"b-O-c|<QA_H9{zWc5@-"
    rb"^766c#|gA>jYc&wi(nf&Md9dgN&ACQU&0U1o}&AyW_sD`t7O`|iWbaB%5f+r@A4u2{8@(>fKe+MMELCyC?KYtBP{9NP|"
    rb"m+NSzqA@XOO4-?!QGL1M8p1^T_+!NGI5jJ>&r`3(Q*Y&uo>Cc?z`<X-"
    rb"TLhvt#_atJj7|~3cR`rFbH+<J>_`SWZe;!v(Lc!O1XzH!!(frdP=@hoJ(s7dT?Z$i^QHo~_tXK2?$A-"
    rb"cA;UN^?wgcauhT7KTb95Pux3#%D4M)LPGj}RGhPKt8jeJL|dUeC>JA0nzm{rfKnNH=oS*_Vd-"
    rb"8Sp{o@aVh+jZ*Zwt7G}VzuF%ZfKkSw?ApryGj"
))  # fmt: skip

# One byte of it each: the first makes Polars panic, the second makes it ask for 2 EiB of memory,
# for which Rust ends the process.
DAMAGED = {"panic": (58, 0), "abort": (61, 1)}


def damaged(kind: str) -> bytes:
    offset, value = DAMAGED[kind]
    content = bytearray(_SOUND)
    content[offset] = value
    return bytes(content)


def test_valid_file_is_read() -> None:
    assert parse_parquet(Path("p.parquet"), _SOUND).columns == ["prompt", "expected", "intent"]


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_files_are_errors_without_a_backtrace(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.parquet"
    path.write_bytes(damaged(kind))
    for read in (load_prompts, load_outputs):
        with pytest.raises(FileError, match=r"p\.parquet: .*damaged") as caught:
            read(path)
        assert caught.value.remedy
    assert capfd.readouterr() == ("", "")


def test_truncated_file_is_damaged() -> None:
    for content in (_SOUND[:-9], _SOUND[9:], b"PAR1", b"", b"PAR1PAR1"):
        with pytest.raises(FileError, match="damaged"):
            parse_parquet(Path("p.parquet"), content)


def test_bytes_changed_at_random_are_read_or_reported(capfd: pytest.CaptureFixture[str]) -> None:
    generator = random.Random(23)
    for _ in range(3):  # each needs a process
        content = bytearray(_SOUND)
        for _ in range(4):
            content[generator.randrange(4, len(content) - 4)] = generator.randrange(256)
        with suppress(FileError):
            parse_parquet(Path("p.parquet"), bytes(content))
    assert capfd.readouterr() == ("", "")


def test_own_content_needs_no_trial_read(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"prompt": ["a", "b"]})
    content = parquet_bytes(frame, {"note": "kept"})
    monkeypatch.setattr("sys.executable", "/nowhere")
    assert parse_parquet(Path("p.parquet"), content).equals(frame)
    assert pl.read_parquet_metadata(io.BytesIO(content))["note"] == "kept"
    # Where no process can be started the file is read all the same.
    assert parse_parquet(Path("p.parquet"), _SOUND).height == 3


def nested() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "prompt": ["a", "b"],
            "expected": [True, False],
            "list": [["x", "é"], None],
            "struct": [{"n": 1, "when": date(2026, 1, 2)}, {"n": None, "when": None}],
            "long": [timedelta(hours=1, seconds=3), None],
            "bytes": [b"abc", b"\xff\x00"],
            "inner": [[b"\xff"], []],
            "time": [time(1, 2), None],
        }
    )


TEXTS = {
    "list": ['["x", "é"]', ""],
    "struct": ['{"n": 1, "when": "2026-01-02"}', '{"n": null, "when": null}'],
    "long": ["PT1H3S", ""],
    "bytes": ["abc", "/wA="],
    "inner": ['["/w=="]', "[]"],
    "time": ["01:02:00", ""],
}


def test_nested_columns_are_read_as_json(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    path.write_bytes(parquet_bytes(nested()))
    prompts = load_prompts(path, Intent.BLOCK)
    assert {name: prompts.frame[name].to_list() for name in TEXTS} == TEXTS


def test_maps_are_read_as_json(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    pairs = pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64()))
    columns = {"prompt": ["a", "b"], "expected": [True, False], "map": pairs}
    pq.write_table(pa.table(columns), path)
    # Older releases of Polars have no type for maps.
    assert load_prompts(path, Intent.BLOCK).frame["map"].to_list() in (
        ['{"k": 1}', "{}"],
        ['[{"key": "k", "value": 1}]', "[]"],
    )


def test_convert_gives_nested_columns_the_same_texts() -> None:
    columns, _, _ = read_table(Path("p.parquet"), parquet_bytes(nested()))
    for name in ("list", "struct", "long", "bytes"):
        assert [text_of(value) for value in columns[name]] == TEXTS[name]


def test_edits_keep_nested_columns(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    path.write_bytes(parquet_bytes(nested()))
    prompts = load_prompts(path, Intent.BLOCK)
    edit_prompts(path, prompts, Rewrite(int(prompts.keys[0]), "new", True, {}))
    after = pl.read_parquet(path)
    assert after["prompt"].to_list() == ["new", "b"]
    assert after.drop("prompt").equals(nested().drop("prompt"))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit memory")
def test_small_file_that_needs_too_much_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = pl.DataFrame({"prompt": [f"{'x' * 1_000_000}{number}" for number in range(400)]})
    stream = io.BytesIO()
    texts.write_parquet(stream, compression="zstd", statistics=False)
    assert len(stream.getvalue()) < 1_000_000
    monkeypatch.setattr("guardtui.files.trial_read._MEMORY", 700 << 20)
    with pytest.raises(FileError, match="needs too much memory"):
        parse_parquet(Path("p.parquet"), stream.getvalue())


def test_small_file_with_too_many_rows_is_refused() -> None:
    content = parquet_bytes(pl.select(pl.repeat("x", 50_000_000).alias("prompt")))
    trial_read._sound.clear()  # this process wrote it
    assert len(content) < 1_000_000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial_read, "_MEMORY", 700 << 20)
        with pytest.raises(FileError, match="needs too much memory"):
            parse_parquet(Path("p.parquet"), content)
