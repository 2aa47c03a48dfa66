"""Writing ONNX graphs node by node, and int8 codes of matrices: what the builders share."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from onnx import helper, numpy_helper

OPSET = 20
IR_VERSION = 9  # what the oldest supported runtime reads


def digest(path: Path) -> str:
    """Sha256 of a file, 64 hex digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def quantised(matrix: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric int8 codes and float32 scales; one scale for each slice along `axis`' complement.

    The scale of a slice is chosen among a few clipping points to leave the least squared error.
    """
    peak = np.abs(matrix).max(axis=axis, keepdims=True) + 1e-30
    best_scale = peak / 127
    best_error = np.full(peak.shape, np.inf)
    for clip in np.linspace(0.80, 1.0, 11):
        scale = peak * clip / 127
        codes = np.clip(np.rint(matrix / scale), -127, 127)
        error = ((codes * scale - matrix) ** 2).sum(axis=axis, keepdims=True)
        better = error < best_error
        best_scale = np.where(better, scale, best_scale)
        best_error = np.where(better, error, best_error)
    codes = np.clip(np.rint(matrix / best_scale), -127, 127).astype(np.int8)
    return codes, best_scale.astype(np.float32)


class Graph:
    """A growing ONNX graph: nodes and initialisers, with names counted up."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initialisers: list[Any] = []
        self.count = 0

    def constant(self, value: np.ndarray) -> str:
        self.count += 1
        name = f"c{self.count}"
        self.initialisers.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        self.count += 1
        name = f"n{self.count}"
        domain = attributes.pop("domain", "")
        self.nodes.append(
            helper.make_node(kind, list(inputs), [name], name=name, domain=domain, **attributes)
        )
        return name


def token_sum(graph: Graph, value: str, tokens: str) -> str:
    """The sum over the tokens of a text, [b, t, d] → [b, d], for an input of the graph [b, t, …].

    As a product with ones: a reduction would round otherwise for one text than for several.
    """
    length = graph.add("Shape", tokens, start=1, end=2)
    edge = graph.constant(np.array([1], np.int64))
    shape = graph.add("Concat", edge, edge, length, axis=0)
    ones = graph.add("Expand", graph.constant(np.ones(1, np.float32)), shape)
    return graph.add("Squeeze", graph.add("MatMul", ones, value), edge)
