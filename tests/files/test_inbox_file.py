"""The file of an inbox: private, appended to in turn, and readable after a killed writer."""

from __future__ import annotations

import errno
import importlib
import json
import os
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guardtui.files import file_locks
from guardtui.files.inbox_file import InboxFile, Waiting, inbox_path, waiting
from guardtui.files.problems import FileError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tax.inbox.jsonl"


def line(number: int, **values: object) -> dict[str, object]:
    return {"id": f"{number:016x}", **values}


def append(path: Path, *lines: dict[str, object]) -> None:
    with InboxFile(path).locked() as writer:
        writer.append(lines)


def ids(path: Path) -> list[int]:
    return [int(read["id"], 16) for read in InboxFile(path).lines()]


@pytest.mark.parametrize("name", ["tax.csv", "tax.jsonl", "tax.csv.gz"])
def test_inbox_lies_beside_its_prompt_set(name: str) -> None:
    assert inbox_path(Path("a", name)) == Path("a", "tax.inbox.jsonl")


def test_only_its_owner_can_read_it(path: Path) -> None:
    append(path, line(1))
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    append(path, line(2))
    assert path.stat().st_mode & 0o777 == 0o600
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in path.parent.iterdir())


def test_new_lines_follow_those_that_were_read(path: Path) -> None:
    file = InboxFile(path)
    assert list(file.lines()) == []
    append(path, line(1, text="\0é\ud800\x1b"))
    assert list(file.new_lines()) == [line(1, text="\0é\ud800\x1b")]
    assert b"\x1b" not in path.read_bytes()
    append(path, line(2))
    assert not file.replaced
    assert list(file.new_lines()) == [line(2)]
    path.unlink()
    assert file.replaced


def test_removed_lines_are_overwritten_where_they_are(path: Path) -> None:
    append(path, line(1, text="secret"), line(2, text="b"), line(1, state="set-aside"))
    file = InboxFile(path)
    assert len(list(file.lines())) == 3
    with InboxFile(path).locked() as writer:
        writer.remove({f"{1:016x}"})
    assert "secret" not in path.read_text()
    assert list(file.new_lines()) == [line(1, removed=True)]
    assert not file.replaced
    assert list(InboxFile(path).lines()) == [line(2, text="b"), line(1, removed=True)]
    assert waiting(path) == Waiting(frozenset({2}))
    append(path, line(1, text="again"))
    assert waiting(path) == Waiting(frozenset({1, 2}))


def test_a_program_killed_while_it_removes_leaves_a_readable_file(path: Path) -> None:
    append(path, line(1, text="a"), line(2, text="b"))
    content = path.read_bytes()
    path.write_bytes(b" " + content[1:])
    assert ids(path) == [2]


@given(cut=st.integers(1, 200))
def test_whatever_a_killed_writer_left_is_removed(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "killed.inbox.jsonl"
    whole = [json.dumps(line(number, text="a\nb")) + "\n" for number in range(5)]
    left = "".join(whole)[:cut]
    path.write_text(left)
    complete = ["".join(whole[: count + 1]).rstrip("\n") for count in range(5)]
    count = sum(len(text) <= len(left) for text in complete)
    assert ids(path) == list(range(count))
    append(path, line(9))
    assert ids(path) == [*range(count), 9]


@pytest.mark.parametrize("damage", ["{", "[]", '{"id": 3}', '{"id": "no"}', '{"text": "a"}'])
def test_a_damaged_line_is_named(path: Path, damage: str) -> None:
    append(path, line(1), line(2))
    file = InboxFile(path)
    assert len(list(file.lines())) == 2
    with path.open("a") as end:
        end.write(f"\n{damage}\n")
    for read in (file.new_lines, InboxFile(path).lines, lambda: [waiting(path)]):
        with pytest.raises(FileError, match=r"tax.inbox.jsonl:4: not a line of an inbox"):
            list(read())


def test_writers_take_turns(path: Path) -> None:
    append(path, *map(line, range(8)))

    def work(first: int) -> None:
        for number in range(20):
            append(path, line(100 * first + number))
        with InboxFile(path).locked() as writer:
            writer.remove({f"{first:016x}"})
        append(path, line(100 * first + 99))

    threads = [threading.Thread(target=work, args=(first,)) for first in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = [100 * first + number for first in range(1, 5) for number in (*range(20), 99)]
    assert sorted(ids(path)) == sorted([0, 5, 6, 7, *written, *range(1, 5)])


def test_what_waits_is_read_again_only_after_a_change(path: Path) -> None:
    assert waiting(path) == Waiting()
    append(path, line(1, text="a"), line(2, text="b"), line(3, state="set-aside"))
    assert waiting(path) == Waiting(frozenset({1, 2}), frozenset({3}))
    assert waiting(path) is waiting(path)
    append(path, line(3, state="unlabelled"), line(1, state="set-aside"))
    assert waiting(path) == Waiting(frozenset({1, 2}), frozenset({1}))


def test_a_folder_in_its_place_is_an_error(path: Path) -> None:
    path.mkdir()
    with pytest.raises(FileError, match="is a folder"), InboxFile(path).locked():
        pass
    with pytest.raises(FileError):
        list(InboxFile(path).lines())


def test_a_lock_that_is_never_freed_is_an_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("guardtui.files.inbox_file._PATIENCE", 0.0)
    with (
        InboxFile(path).locked(),
        pytest.raises(FileError, match=r"another program .*\n  stop it, or remove \.tax\.inbox"),
        InboxFile(path).locked(),
    ):
        raise AssertionError


def test_a_folder_in_place_of_a_lock_is_to_be_removed(tmp_path: Path) -> None:
    (tmp_path / ".a.inbox.jsonl.lock").mkdir()
    file = InboxFile(tmp_path / "a.inbox.jsonl")
    with pytest.raises(FileError, match=r"lock: is a folder .*\n  remove it"), file.locked():
        pass


@pytest.mark.skipif(os.name == "nt", reason="flock is of POSIX")
def test_without_locks_of_the_system_nothing_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, "flock is not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        importlib.reload(file_locks)
        with InboxFile(tmp_path / "a.inbox.jsonl").locked() as writer:
            writer.append([{"id": "1"}])
    assert warned == []


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.symlink_to("elsewhere")])
def test_a_lock_that_is_no_file_is_named_and_nothing_is_written(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    lock = tmp_path / ".a.inbox.jsonl.lock"
    make(lock)
    file = InboxFile(tmp_path / "a.inbox.jsonl")
    with pytest.raises(FileError, match=lock.name), file.locked():
        pass
    assert [*tmp_path.iterdir()] == [lock]
