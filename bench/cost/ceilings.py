"""Measures the ceilings of this machine's roofline through ONNX Runtime.

They are the rates of matrix products by precision and number of rows, of a stream through memory and of one
within the caches, of a depthwise convolution and of exponentials, and the time of a dispatch.

A roofline needs the ceilings of the kernels that run, not of a data sheet: a product of few rows never
reaches the rate of a product of many, and a network of small operators is bounded by the time from one
operator to the next. The data sheet's peak (`theoretical`) stands beside them: a phone's kernels are expected
to reach the same share of their peak as these kernels reach of this machine's.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamer.runtime.telemetry import load_onnxruntime

ROWS = (1, 8, 32, 128, 512)
DEPTH, WIDTH = 768, 1024  # inner and output size of the measured products, as in a small transformer
# Floats in a streamed tensor and in a cached tensor; operators in a chain.
STREAM, CACHED, CHAIN = (
    32 << 20,
    64 << 10,
    200,
)
PRECISIONS = ("fp32", "int8", "int4")
SLICE = 0.03  # seconds for which an item is repeated in each round
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Rate:
    """The rate of a matrix product of `rows` rows. `gmacs`: 10⁹ multiply-adds per second."""

    precision: str
    rows: int
    gmacs: float


@dataclass(frozen=True)
class Ceilings:
    """The ceilings of a machine that runs `threads` threads.

    `depthwise_gmacs`: 10⁹ multiply-adds per second of a 3 × 3 depthwise convolution, int8. `stream_gbs`: GB/s
    read and written beyond the caches. `cached_gbs`: the same within the caches. `arithmetic_gops`: 10⁹
    elementwise operations per second, measured with exponentials. `dispatch_us`: µs from one small operator
    to the next. `call_us`: µs that a session run costs beside its operators, called from Python.
    `theoretical_gmacs`: the data sheet's 10⁹ multiply-adds per second by precision; empty if unknown.
    """

    threads: int
    rates: tuple[Rate, ...]
    depthwise_gmacs: float
    stream_gbs: float
    cached_gbs: float
    arithmetic_gops: float
    dispatch_us: float
    call_us: float
    theoretical_gmacs: dict[str, float]

    def rate(self, precision: str, rows: float) -> float:
        """10⁹ multiply-adds per second of a product with `rows` rows.

        Interpolated over the logarithm of the rows; outside the measured range, the nearest measured rate.
        """
        known = [(r.rows, r.gmacs) for r in self.rates if r.precision == precision]
        return float(np.interp(np.log(max(1.0, rows)), np.log([n for n, _ in known]), [g for _, g in known]))

    def peak(self, precision: str) -> float:
        return max(r.gmacs for r in self.rates if r.precision == precision)


def measure(threads: int, rounds: int, progress: Progress) -> Ceilings:
    """Measures the ceilings alone, without any component. Takes some seconds and 400 MB."""
    return ceilings_of(best_of(probes(threads), rounds, progress), threads)


def best_of(items: Mapping[str, Callable[[], object]], rounds: int, progress: Progress) -> dict[str, float]:
    """The seconds of each item's fastest run.

    Every round runs all items, so that a disturbance of the machine is as likely to spare one item as
    another.
    """
    best = dict.fromkeys(items, float("inf"))
    for turn in range(rounds):
        for name, run in items.items():
            progress(f"round {turn + 1} of {rounds}: {name}")
            run()
            begin, runs = time.perf_counter(), 0
            while not runs or (time.perf_counter() - begin < SLICE and runs < 200):
                start = time.perf_counter()
                run()
                best[name], runs = min(best[name], time.perf_counter() - start), runs + 1
    return best


def probes(threads: int) -> dict[str, Callable[[], object]]:
    """The runs that `ceilings_of` needs, by name."""
    models = {f"{precision} {rows}": _product(precision, rows) for precision in PRECISIONS for rows in ROWS}
    models |= {
        "stream": _add(STREAM, 1),
        "few": _small(CHAIN // 4),
        "many": _small(CHAIN),
        "cached": _add(CACHED, CHAIN),
    }
    models |= {"arithmetic": _unary("Exp", CACHED, CHAIN), "depthwise": _depthwise(56, 144)}
    return {name: _session(model, threads) for name, model in models.items()}


def stream_gbs(seconds: float) -> float:
    """GB/s of a stream that took `seconds`: two tensors read, one written."""
    return 3 * 4 * STREAM / seconds / 1e9


def stream(threads: int) -> Callable[[], object]:
    """The run of the stream alone."""
    return _session(_add(STREAM, 1), threads)


def ceilings_of(seconds: Mapping[str, float], threads: int) -> Ceilings:
    """Computes the ceilings from the seconds of the probes."""
    rates = tuple(
        Rate(p, rows, rows * DEPTH * WIDTH / seconds[f"{p} {rows}"] / 1e9)
        for p in PRECISIONS
        for rows in ROWS
    )
    dispatch = max(0.0, seconds["many"] - seconds["few"]) / (CHAIN - CHAIN // 4)
    # An Add reads two float32 tensors and writes one.
    cached = 3 * 4 * CACHED * CHAIN / max(1e-9, seconds["cached"] - dispatch * CHAIN) / 1e9
    arithmetic = CACHED * CHAIN / max(1e-9, seconds["arithmetic"] - dispatch * CHAIN) / 1e9
    call = max(0.0, seconds["few"] - dispatch * (CHAIN // 4))
    return Ceilings(
        threads=threads,
        rates=rates,
        depthwise_gmacs=56 * 56 * 144 * 9 / seconds["depthwise"] / 1e9,
        stream_gbs=stream_gbs(seconds["stream"]),
        cached_gbs=cached,
        arithmetic_gops=arithmetic,
        dispatch_us=dispatch * 1e6,
        call_us=call * 1e6,
        theoretical_gmacs=theoretical(threads),
    )


Built = tuple[Any, dict[str, NDArray[Any]]]  # an ONNX model and its inputs


def _session(built: Built, threads: int) -> Callable[[], object]:
    ort = load_onnxruntime()

    model, feeds = built
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    # Basic optimizations only: a chain that the optimizer folds would measure nothing.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feeds)


def _model(
    nodes: Sequence[Any], feeds: dict[str, NDArray[Any]], weights: dict[str, NDArray[Any]], output: str
) -> Built:
    from onnx import helper, numpy_helper

    kinds = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in feeds.items()}
    ins = [
        helper.make_tensor_value_info(name, kinds[name], list(array.shape)) for name, array in feeds.items()
    ]
    out = helper.make_empty_tensor_value_info(output)
    values = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph(list(nodes), "ceiling", ins, [out], values)
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), feeds


def _product(precision: str, rows: int) -> Built:
    from onnx import helper

    rng = np.random.default_rng(0)
    x = {"x": rng.standard_normal((rows, DEPTH)).astype(np.float32)}
    if precision == "fp32":
        return _model(
            [helper.make_node("MatMul", ["x", "w"], ["y"])],
            x,
            {"w": rng.standard_normal((DEPTH, WIDTH)).astype(np.float32)},
            "y",
        )
    weights: dict[str, NDArray[Any]]
    if precision == "int8":
        weights = {
            "w": rng.integers(-127, 128, (DEPTH, WIDTH)).astype(np.int8),
            "s": np.full(WIDTH, 0.01, np.float32),
        }
        return _model(
            [helper.make_node("DynamicQuantizeMatMul", ["x", "w", "s"], ["y"], domain="com.microsoft")],
            x,
            weights,
            "y",
        )
    blocks = DEPTH // 32
    weights = {
        "w": rng.integers(0, 256, (WIDTH, blocks, 16)).astype(np.uint8),
        "s": np.full(WIDTH * blocks, 0.01, np.float32),
    }
    size = {"K": DEPTH, "N": WIDTH, "bits": 4, "block_size": 32, "accuracy_level": 4}
    return _model(
        [helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", **size)],
        x,
        weights,
        "y",
    )


def _add(size: int, times: int) -> Built:
    from onnx import helper

    nodes = [helper.make_node("Add", [f"x{n}" if n else "x", "b"], [f"x{n + 1}"]) for n in range(times)]
    feeds = {name: np.ones(size, np.float32) for name in ("x", "b")}
    return _model(nodes, feeds, {}, f"x{times}")


def _small(times: int) -> Built:
    """A chain of layer norms over eight short rows, which stand for the small operators of networks."""
    from onnx import helper

    nodes = [
        helper.make_node("LayerNormalization", [f"x{n}" if n else "x", "g"], [f"x{n + 1}"])
        for n in range(times)
    ]
    return _model(nodes, {"x": np.ones((8, 64), np.float32)}, {"g": np.ones(64, np.float32)}, f"x{times}")


def _unary(op: str, size: int, times: int) -> Built:
    from onnx import helper

    nodes = [helper.make_node(op, [f"x{n}" if n else "x"], [f"x{n + 1}"]) for n in range(times)]
    return _model(nodes, {"x": np.full(size, -1.0, np.float32)}, {}, f"x{times}")


def _depthwise(side: int, channels: int) -> Built:
    from onnx import helper

    names = ["x", "s", "z", "w", "s", "zw", "s", "z"]
    node = helper.make_node("QLinearConv", names, ["y"], group=channels, pads=[1, 1, 1, 1])
    weights: dict[str, NDArray[Any]] = {
        "s": np.asarray(0.01, np.float32),
        "z": np.asarray(0, np.uint8),
        "zw": np.asarray(0, np.int8),
    }
    weights["w"] = np.ones((channels, 1, 3, 3), np.int8)
    return _model([node], {"x": np.ones((1, channels, side, side), np.uint8)}, weights, "y")


# Multiply-adds per cycle of one core by instruction set: (flag, fp32, int8). The first match counts.
_CYCLE = (
    ("avx512_vnni", 32, 128),
    ("avx512f", 32, 64),
    ("avx_vnni", 16, 64),
    ("avx2", 16, 32),
    ("i8mm", 8, 64),
    ("asimddp", 8, 32),
    ("asimd", 8, 8),
)


def theoretical(threads: int) -> dict[str, float]:
    """10⁹ multiply-adds per second by the data sheet: cores × GHz × multiply-adds per cycle.

    Empty where the machine does not report its flags and its clock.
    """
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return {}
    flags = set(
        re.findall(
            r"\w+", " ".join(line for line in text.splitlines() if line.startswith(("flags", "Features")))
        )
    )
    clock = re.search(r"cpu MHz\s*:\s*([\d.]+)", text)
    per_cycle = next(((fp32, int8) for flag, fp32, int8 in _CYCLE if flag in flags), None)
    if clock is None or per_cycle is None:
        return {}
    gigacycles = min(threads, os.cpu_count() or 1) * float(clock.group(1)) / 1000
    return {
        "fp32": gigacycles * per_cycle[0],
        "int8": gigacycles * per_cycle[1],
        "int4": gigacycles * per_cycle[1],
    }
