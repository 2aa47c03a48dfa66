"""Encoders: unit rows, the same vectors every time, odd text, damaged weights."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guardtui.scanners.local.encoder import (
    ENCODERS,
    WEIGHTS,
    Encoder,
    EncoderError,
    checked_bytes,
    clean_text,
    load_encoder,
    load_session,
    load_tokenizer,
)
from guardtui.scanners.local.minilm import MiniLM
from guardtui.scanners.local.static import Static
from tests.examples import up_to

TEXTS = [
    "How can I lower my tax bill?",
    "Write a short poem about rain on a tin roof",
    "tax",
    "Ist das absetzbar?",
    "a much longer request that goes on and on about several things, none of which matter " * 3,
]
ODD = [
    "",
    " ",
    "\0",
    "\0tax\0",
    "😀",
    "\ud800",
    "a\udfffb",
    "\u202etax",
    "\n\n",
    "١٢٣",
    "漢字",
    "[CLS][PAD]",
    "x" * 500,
]

any_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=80)


@pytest.fixture(params=ENCODERS)
def encoder(request: pytest.FixtureRequest) -> Encoder:
    return load_encoder(request.param)


def test_rows_have_unit_length_and_the_promised_shape(encoder: Encoder) -> None:
    vectors = encoder.encode(TEXTS + ODD)
    assert vectors.shape == (len(TEXTS + ODD), encoder.dimensions)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_give_no_rows(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, encoder.dimensions)


def test_same_texts_give_the_same_vectors(encoder: Encoder) -> None:
    assert np.array_equal(encoder.encode(TEXTS), encoder.encode(TEXTS))


def test_vector_does_not_depend_on_its_batch(encoder: Encoder) -> None:
    together = encoder.encode(TEXTS)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    np.testing.assert_array_equal(together, alone)


def test_meaning_is_in_the_vectors(encoder: Encoder) -> None:
    question, near, far = encoder.encode(
        ["How can I lower my tax bill?", "ways to pay less taxes", "a poem about the rain"]
    )
    assert question @ near > 0.5 > 0.3 > question @ far


def test_threads_may_encode_at_once(encoder: Encoder) -> None:
    expected = encoder.encode(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(encoder.encode, [TEXTS] * 8):
            np.testing.assert_allclose(found, expected, atol=1e-6)


def test_ten_megabytes_are_cut_before_they_are_tokenised(encoder: Encoder) -> None:
    start = "How can I lower my tax bill? " * 400
    long, short = encoder.encode([start + "x" * 10_000_000, start])
    np.testing.assert_allclose(long, short, atol=1e-6)


@given(st.lists(any_text, max_size=4))
@settings(max_examples=up_to(60), deadline=None)
def test_any_text_gives_unit_rows_with_static(texts: list[str]) -> None:
    vectors = load_encoder("static").encode(texts)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@given(st.lists(any_text, max_size=2))
@settings(max_examples=up_to(15), deadline=None)
def test_any_text_gives_unit_rows_with_the_pair(texts: list[str]) -> None:
    vectors = load_encoder("pair").encode(texts)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@given(any_text)
def test_cleaned_text_keeps_every_offset(text: str) -> None:
    cleaned = clean_text(text, 50)
    assert len(cleaned) == min(len(text), 50)
    cleaned.encode("utf-8")
    for before, after in zip(text, cleaned, strict=False):
        assert before == after or "\ud800" <= before <= "\udfff"


def test_loading_twice_gives_one_object_and_a_stable_id(encoder: Encoder) -> None:
    assert load_encoder(encoder.name) is encoder
    assert encoder.id.startswith(f"{encoder.name}-")


def test_unknown_name_is_refused() -> None:
    with pytest.raises(EncoderError, match="choose one of pair, minilm, static"):
        load_encoder("word2vec")


@pytest.mark.parametrize("name", ["static.npy", "tokenizer.json"])
@pytest.mark.parametrize("fault", ["changed", "missing", "no record"])
def test_damaged_weights_are_named(tmp_path: Path, name: str, fault: str) -> None:
    for file in ("static.npy", "static-scale.npy", "tokenizer.json", "provenance.json"):
        shutil.copy(WEIGHTS / file, tmp_path / file)
    if fault == "missing":
        (tmp_path / name).unlink()
    elif fault == "changed":
        content = bytearray((tmp_path / name).read_bytes())
        content[1000] ^= 1
        (tmp_path / name).write_bytes(content)
    else:
        (tmp_path / "provenance.json").write_text("{}")
    expected = "static.npy" if fault == "no record" else name
    with pytest.raises(EncoderError) as caught:
        Static(tmp_path)
    message = f"guardtui's encoder file {expected} is damaged: reinstall guardtui"
    assert str(caught.value) == message


def test_damaged_minilm_weights_are_named(tmp_path: Path) -> None:
    shutil.copy(WEIGHTS / "provenance.json", tmp_path)
    (tmp_path / "minilm.onnx").write_bytes(b"")
    with pytest.raises(EncoderError, match=r"minilm\.onnx is damaged: reinstall guardtui"):
        MiniLM(tmp_path)


def test_every_recorded_file_is_as_recorded_and_small() -> None:
    total = 0
    for file in WEIGHTS.iterdir():
        if file.name not in ("provenance.json", "scoring.json"):
            total += len(checked_bytes(WEIGHTS, file.name))
    assert total < 110_000_000


@pytest.mark.process
def test_importing_does_not_load_the_runtimes() -> None:
    code = (
        "import sys, guardtui.scanners.local.encoder, guardtui.scanners.local.scoring, "
        "guardtui.scanners.local.explanation\n"
        "print({'onnxruntime', 'tokenizers', 'scipy', 'sklearn'} & set(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"


@pytest.mark.process
def test_encoding_leaves_nothing_for_the_maker_of_a_library(tmp_path: Path) -> None:
    # onnxruntime keeps what it is about to report in the user's folder of caches.
    code = (
        "from guardtui.scanners.local.encoder import load_encoder\n"
        "load_encoder('minilm').encode(['a text'])"
    )
    homes = ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA")
    environment = {key: value for key, value in os.environ.items() if "TELEMETRY" not in key}
    environment |= dict.fromkeys(homes, str(tmp_path))
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize(
    ("library", "load"),
    [
        ("onnxruntime", lambda: load_session(WEIGHTS / "minilm.onnx")),
        ("tokenizers", lambda: load_tokenizer(b"{}")),
    ],
)
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ImportError('first line\\nsecond line')", "cannot be imported: first line\n"),
        ("raise AttributeError", "cannot be imported: AttributeError\n"),
    ],
)
def test_library_that_cannot_be_imported_is_reported_with_the_remedy(
    library: str,
    load: Callable[[], object],
    body: str,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / f"{library}.py").write_text(f"{body}\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, library, raising=False)
    with pytest.raises(EncoderError) as caught:
        load()
    message = str(caught.value)
    assert reason in message
    assert message.endswith(f"pip install --upgrade --force-reinstall {library}")
    assert message.count("\n") == 1


def test_app_that_ends_while_a_library_is_imported_gets_its_standard_error_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The app redirects the streams of the process; the library is imported in a thread."""
    begun, ended = Event(), Event()
    monkeypatch.setattr(sys, "import_seen", (begun, ended), raising=False)
    (tmp_path / "tokenizers.py").write_text(
        "import sys\nsys.import_seen[0].set()\nassert sys.import_seen[1].wait(60)\n", "utf-8"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "tokenizers", raising=False)
    before = sys.stderr
    with ThreadPoolExecutor(1) as pool:
        with contextlib.redirect_stderr(io.StringIO()):
            loading = pool.submit(load_tokenizer, b"{}")
            assert begun.wait(60)
        ended.set()
        loading.exception(60)
    assert sys.stderr is before
