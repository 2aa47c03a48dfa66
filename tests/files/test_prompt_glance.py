"""A glance lets through only what reading takes, and what it lets through is read the same."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from guardtui.domain.prompts import PromptSetError
from guardtui.domain.topic import Intent
from guardtui.files.problems import FileProblem
from guardtui.files.prompt_files import load_prompts, parse_prompts
from guardtui.files.prompt_glance import LARGEST, PromptsToCome, glance, open_prompts

SAMPLES = sorted(
    one
    for one in (Path(__file__).parents[2] / "sample_data").glob("*.csv")
    if one.with_suffix(".yaml").exists()
)
GOOD = b"prompt,expected,intent\npay less tax,true,block\nlentil soup,false,block\n"
WITH_QUOTES = b'prompt,expected,intent,note\r\n"a, ""b""",1,allow,\r\n\r\nb,f,allow,"x\ny"'

ODD = 'ab ,"\t\n\r\v\x1c\x85\xa0\u2028\ufeff'
texts = st.text(st.sampled_from(ODD), max_size=6)
labels = st.sampled_from(["true", "True ", "1", " y", "f", "NO", "0", "false"])


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes, Intent | None]:
    """A valid file, in about half of the cases with a piece of it changed; and a topic's intent."""
    name = draw(st.sampled_from(["a.csv", "a.tsv", "a"]))
    extra = draw(st.lists(st.sampled_from(["key", "line", "note", "_label", " x "]), unique=True))
    topic = draw(st.sampled_from([None, None, Intent.ALLOW]))
    own = ["intent"] if topic is None or draw(st.booleans()) else []
    header = draw(st.permutations(["Prompt ", "EXPECTED", *own, *extra]))
    intent = draw(st.sampled_from(["block", "Allow", " BLOCK"]))
    stream = io.StringIO()
    writer = csv.writer(
        stream,
        delimiter=draw(st.sampled_from([*",,;", "\t"])),
        lineterminator=draw(st.sampled_from(["\n", "\r\n", "\n\n"])),
        quoting=draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
    )
    writer.writerow(header)
    for label in ("true", "false", *draw(st.lists(labels, max_size=3))):
        cells = {"Prompt ": draw(texts) + draw(st.sampled_from(["a", "a", ""])), "intent": intent}
        writer.writerow(
            cells.get(column, label if column == "EXPECTED" else draw(texts)) for column in header
        )
    text = draw(st.sampled_from(["", "", "\ufeff"])) + stream.getvalue()
    if draw(st.booleans()):
        start = draw(st.integers(0, len(text)))
        piece = draw(st.text(st.sampled_from(f"{ODD}trueblockallow"), max_size=3))
        text = text[:start] + piece + text[start + draw(st.integers(0, 3)) :]
    return name, text.encode(), topic


@settings(max_examples=400, deadline=None)
@given(files())
@example(("a.csv", GOOD, None))
@example(("a.tsv", GOOD.replace(b",", b"\t").replace(b"soup", b'"a",'), None))
@example(("a.tsv", GOOD.replace(b",", b"\t").replace(b"lentil soup", b'"a",b"'), None))
@example(("a.csv", WITH_QUOTES, None))
@example(("a.csv", GOOD + b"   \n", None))
@example(("a.csv", GOOD.replace(b"soup", b'so"up'), None))
@example(("a.csv", GOOD.replace(b"lentil soup", b'a,"b'), None))
@example(("a.csv", GOOD.replace(b"lentil soup", b'"lentil" soup'), None))
@example(("a.csv", GOOD.replace(b"lentil soup", b"\x1c"), None))
@example(("a.csv", b"prompt,expected,intent,,\na,true,block,,\nb,false,block,,\n", None))
@example(("a.csv", b"prompt,expected,intent,key\na,true,block,1\nb,false,block,2\n", None))
def test_what_is_let_through_is_read_without_an_error(
    file: tuple[str, bytes, Intent | None],
) -> None:
    name, content, intent = file
    found = glance(Path(name), content, intent)
    if found is not None:
        prompts = parse_prompts(Path(name), content, intent)
        assert (len(prompts), prompts.intent, prompts.intent_given) == found


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_an_opened_file_is_the_one_that_is_read(path: Path) -> None:
    opened, read = open_prompts(path), load_prompts(path)
    assert type(opened) is PromptsToCome
    assert (len(opened), opened.intent, opened.source) == (len(read), read.intent, read.source)
    assert opened.frame.equals(read.frame)
    assert opened.findings == read.findings
    assert opened.fingerprint == read.fingerprint
    assert (opened.keys == read.keys).all()
    assert opened.category_column == read.category_column
    assert opened.row_of(int(read.keys[3])) == 3


def test_rows_are_those_of_the_file_as_it_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(GOOD)
    opened = open_prompts(path)
    path.write_text("no longer a prompt set")
    assert opened.prompts.to_list() == ["pay less tax", "lentil soup"]
    path.unlink()
    assert len(opened) == opened.frame.height == 2


def test_rows_are_read_once_also_by_several_threads(tmp_path: Path) -> None:
    reads: list[int] = []
    path = tmp_path / "a.csv"
    path.write_bytes(GOOD)
    found = glance(path, GOOD)
    assert found == (2, Intent.BLOCK, True)
    assert glance(path, WITH_QUOTES) == (2, Intent.ALLOW, True)

    def read() -> object:
        reads.append(1)
        return load_prompts(path)

    opened = PromptsToCome(str(path), found, read)  # type: ignore[arg-type]
    frames: list[object] = []
    threads = [Thread(target=lambda: frames.append(opened.frame)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reads == [1]
    assert len(frames) == 8
    assert all(frame is frames[0] for frame in frames)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", b'{"prompt": "a", "expected": true, "intent": "block"}\n'),
        ("a.csv", GOOD + b"x" * LARGEST + b",true,block\n"),
        ("a.csv", GOOD.replace(b"\n", b"\r")),
        ("a.csv", b"\xff\xfe" + GOOD),
        ("a.csv", b"prompt,expected,intent\n"),
        ("a.csv", GOOD.replace(b"false", b"true")),
        ("a.csv", GOOD.replace(b"soup,false,block", b"soup,false,allow")),
    ],
)
def test_whatever_is_in_doubt_is_read_at_once(name: str, content: bytes) -> None:
    assert glance(Path(name), content) is None


@pytest.mark.parametrize(
    "content", [b"", b"prompt,expected\na,true\n", GOOD + b"a,maybe,block\n", GOOD + b"a,b\n"]
)
def test_a_bad_file_gives_its_error_when_it_is_opened(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises((FileProblem, PromptSetError)) as opened:
        open_prompts(path)
    with pytest.raises((FileProblem, PromptSetError)) as read:
        load_prompts(path)
    assert str(opened.value) == str(read.value)
