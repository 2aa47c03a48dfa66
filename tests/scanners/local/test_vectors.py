"""The cache of vectors saves work and never changes a result, whatever happens to its file."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.scanners.local.vectors import VectorCache, encode_chunks, rounded, text_key
from tests.damage import changed_bytes, is_exhaustive
from tests.examples import up_to

SIZE = 8


class Counting:
    """An encoder that counts the texts it is asked for."""

    name, id, dimensions, chunk = "counting", "counting-1", SIZE, 3

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        rows = [np.random.default_rng(abs(hash(text))).normal(size=SIZE) for text in texts]
        return np.stack([row / np.linalg.norm(row) for row in rows]).astype(np.float32)

    def words(self, text: str) -> list[str]:
        return text.split()


def embed(encoder: Counting, cache: VectorCache, texts: Sequence[str]) -> np.ndarray:
    """Take from the cache what it has, and keep the rest in it."""
    vectors = np.zeros((len(texts), SIZE), np.float32)
    keys = [text_key(text) for text in texts]
    missing = cache.read(keys, vectors)
    fresh = [texts[row] for row in missing]
    for chunk, found in encode_chunks(encoder, fresh, stopped=lambda: False):
        rows = [missing[row] for row in chunk]
        vectors[rows] = found
        cache.write([keys[row] for row in rows], found)
    return vectors


def embedded(folder: Path, texts: Sequence[str], encoder: Counting) -> np.ndarray:
    return embed(encoder, VectorCache(folder, encoder.id, SIZE), texts)


def cache_file(folder: Path) -> Path:
    return folder / "vectors-counting-1.sqlite3"


@settings(max_examples=up_to(25), deadline=None)
@given(st.lists(st.text(max_size=5), min_size=1, max_size=12))
def test_cached_and_fresh_vectors_are_the_same(texts: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        encoder = Counting()
        fresh = embedded(Path(name), texts, encoder)
        np.testing.assert_array_equal(fresh, rounded(Counting().encode(texts)))
        encoder.asked.clear()
        np.testing.assert_array_equal(embedded(Path(name), texts[::-1], encoder)[::-1], fresh)
        assert encoder.asked == []


def test_only_new_texts_are_embedded(tmp_path: Path) -> None:
    encoder = Counting()
    embedded(tmp_path, ["a", "b"], encoder)
    embedded(tmp_path, ["b", "c", "a"], encoder)
    assert encoder.asked == ["a", "b", "c"]


def test_encoders_do_not_share_vectors(tmp_path: Path) -> None:
    one, other = Counting(), Counting()
    other.id = "counting-2"
    embedded(tmp_path, ["a"], one)
    embedded(tmp_path, ["a"], other)
    assert other.asked == ["a"]


@pytest.mark.parametrize("damage", [b"", b"no database at all, but long enough to be one" * 99])
def test_damaged_file_is_replaced(tmp_path: Path, damage: bytes) -> None:
    encoder = Counting()
    first = embedded(tmp_path, ["a"], encoder)
    cache_file(tmp_path).write_bytes(damage)
    np.testing.assert_array_equal(embedded(tmp_path, ["a"], encoder), first)
    embedded(tmp_path, ["a"], encoder)
    assert encoder.asked == ["a", "a"]


@pytest.mark.parametrize(
    "vector", [b"", b"\xff" * 2 * SIZE, bytes(2 * SIZE), b"x", 7, 0.5, "x" * 2 * SIZE]
)
def test_damaged_vector_is_computed_again(tmp_path: Path, vector: object) -> None:
    encoder = Counting()
    first = embedded(tmp_path, ["a"], encoder)
    with closing(sqlite3.connect(cache_file(tmp_path))) as database:
        database.execute("UPDATE vectors SET vector = ?", (vector,))
        database.commit()
    np.testing.assert_array_equal(embedded(tmp_path, ["a"], encoder), first)


def test_file_with_other_tables_is_replaced(tmp_path: Path) -> None:
    with closing(sqlite3.connect(cache_file(tmp_path))) as database:
        database.execute("CREATE TABLE vectors(number INTEGER PRIMARY KEY, other TEXT)")
    encoder = Counting()
    first = embedded(tmp_path, ["a"], encoder)
    np.testing.assert_array_equal(embedded(tmp_path, ["a"], encoder), first)
    assert encoder.asked == ["a"]


def test_file_with_changed_bytes_changes_no_result_and_is_replaced(tmp_path: Path) -> None:
    texts = [str(number) for number in range(120)]
    encoder = Counting()
    first = embedded(tmp_path, texts, encoder)
    path = cache_file(tmp_path)
    content = path.read_bytes()
    for copy in changed_bytes(content, 300 if is_exhaustive() else 30):
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        path.write_bytes(copy)
        for _ in range(2):
            np.testing.assert_allclose(embedded(tmp_path, texts, encoder), first, atol=0.1)
        encoder.asked.clear()
        embedded(tmp_path, texts, encoder)
        assert encoder.asked == []


def test_folder_in_place_of_the_file_disables_the_cache(tmp_path: Path) -> None:
    encoder = Counting()
    cache_file(tmp_path).mkdir()
    assert not VectorCache(tmp_path, encoder.id, SIZE).works
    assert len(embedded(tmp_path, ["a"], encoder)) == 1


def test_unusable_folder_disables_the_cache_without_an_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    encoder = Counting()
    assert not VectorCache(blocked, encoder.id, SIZE).works
    assert len(embedded(blocked, ["a", "b"], encoder)) == 2


def test_oldest_entries_are_deleted_when_full(tmp_path: Path) -> None:
    row = 2 * SIZE + 60
    cache = VectorCache(tmp_path, "e", SIZE, limit=100 * row)
    vectors = Counting().encode([str(number) for number in range(300)])
    keys = [text_key(str(number)) for number in range(300)]
    for start in range(0, 300, 10):
        cache.write(keys[start : start + 10], vectors[start : start + 10])
    missing = cache.read(keys, np.zeros((300, SIZE), np.float32))
    assert missing == list(range(len(missing)))
    assert 190 < len(missing) < 225


@pytest.mark.process
def test_two_processes_write_at_once(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from tests.scanners.local.test_vectors import Counting, embedded\n"
        "embedded(Path(sys.argv[1]), [str(n) for n in range(int(sys.argv[2]), 400)], Counting())\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    root = Path(__file__).parents[3]
    running = [subprocess.Popen([*command, first], cwd=root) for first in ("0", "200")]
    assert [process.wait() for process in running] == [0, 0]
    cache = VectorCache(tmp_path, Counting.id, SIZE)
    keys = [text_key(str(number)) for number in range(400)]
    assert cache.read(keys, np.zeros((400, SIZE), np.float32)) == []


def test_vectors_come_back_as_they_were_rounded(tmp_path: Path) -> None:
    texts = ["", "tax", "réclamer ça", "\ud800", "x" * 10_000]
    vectors, keys = Counting().encode(texts), [text_key(text) for text in texts]
    VectorCache(tmp_path, "e", SIZE).write(keys, vectors)
    again = np.zeros_like(vectors)
    assert VectorCache(tmp_path, "e", SIZE).read(keys, again) == []
    np.testing.assert_array_equal(again, rounded(vectors))


def test_two_caches_on_one_file_see_what_the_other_keeps(tmp_path: Path) -> None:
    one, other = VectorCache(tmp_path, "e", SIZE), VectorCache(tmp_path, "e", SIZE)
    vectors, keys = Counting().encode(["a", "b"]), [text_key("a"), text_key("b")]
    one.write(keys[:1], vectors[:1])
    other.write(keys[1:], vectors[1:])
    for cache in (one, other):
        result = np.zeros_like(vectors)
        assert cache.read(keys, result) == []
        np.testing.assert_array_equal(result, rounded(vectors))


@pytest.mark.parametrize("damage", ["folder deleted", "file deleted", "file overwritten"])
def test_damage_while_it_is_open_changes_no_result(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "cache"
    encoder = Counting()
    cache = VectorCache(folder, encoder.id, SIZE)

    def vectors(texts: list[str]) -> np.ndarray:
        return embed(encoder, cache, texts)

    first = vectors(["a", "b"])
    if damage == "folder deleted":
        shutil.rmtree(folder)
    elif damage == "file deleted":
        cache_file(folder).unlink()
    else:
        cache_file(folder).write_bytes(b"spoilt" * 9999)
    np.testing.assert_array_equal(vectors(["a", "b", "c"])[:2], first)
    assert encoder.asked == ["a", "b", "a", "b", "c"]
    np.testing.assert_array_equal(embedded(folder, ["a", "b"], encoder), first)
    encoder.asked.clear()
    embedded(folder, ["a", "b"], encoder)
    assert encoder.asked == []
