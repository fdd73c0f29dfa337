"""`python -m tools.conformance.arm64.check`: runs one tiny int8 network on this machine and on an emulated
ARM64, and compares the outputs. Checks correctness only.

int8 kernels differ between x86 and ARM (VNNI, dot-product instructions, saturation), so what the exporter
verifies on x86 must be run on ARM once as well. And a file in ORT format is optimized where it is written, so
one written here must be run there. The emulation is about 2,000 times slower than a phone: no time is taken
from it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gamer.export.onnx import to_ort
from gamer.runtime.backends import processor
from gamer.runtime.telemetry import opt_out
from tools.conformance.processors.table import arm

HERE = Path(__file__).parent
COSINE = 0.9995  # least cosine of an output row, x86 against ARM
FURTHEST = 0.02  # greatest difference of a component, relative to the output's greatest value
WIDTH, HIDDEN = 32, 64
Floats = NDArray[np.float32]


def write_network(path: Path) -> None:
    """Writes a network of MatMul, bias, GELU, MatMul, residual and layer normalization.

    Weights are int8 with a scale per channel; activations are quantized dynamically.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    opt_out()
    from onnxruntime.quantization import QuantType, quantize_dynamic

    rng = np.random.default_rng(0)
    weights = {
        "w1": rng.normal(0, 0.2, (WIDTH, HIDDEN)),
        "b1": rng.normal(0, 0.1, HIDDEN),
        "w2": rng.normal(0, 0.2, (HIDDEN, WIDTH)),
        "scale": np.ones(WIDTH),
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["h0"]),
        helper.make_node("Add", ["h0", "b1"], ["h1"]),
        helper.make_node("Gelu", ["h1"], ["h2"]),
        helper.make_node("MatMul", ["h2", "w2"], ["h3"]),
        helper.make_node("Add", ["h3", "x"], ["h4"]),
        helper.make_node("LayerNormalization", ["h4", "scale"], ["y"]),
    ]
    values = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    shape = ["batch", WIDTH]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y")]
    model = helper.make_model(
        helper.make_graph(nodes, "tiny", ends[:1], ends[1:], values),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=10,
    )
    onnx.checker.check_model(model)
    plain = path.with_suffix(".float.onnx")
    onnx.save(model, plain)
    quantize_dynamic(
        plain, path, weight_type=QuantType.QInt8, per_channel=True, op_types_to_quantize=["MatMul"]
    )


def emulated(folder: Path) -> list[str]:
    command, _ = arm()(folder)
    return [*command, str(HERE / "network.py"), *_files(folder, "arm")]


def _files(folder: Path, name: str) -> list[str]:
    return [str(folder / file) for file in ("inputs.npz", f"{name}.npz", "tiny.onnx", "tiny.ort")]


def _reference(key: str) -> str:
    """The result of this machine that ARM's result called `key` is compared with.

    Precise kernels cannot be chosen for a file in ORT format. Where this processor's products of bytes
    saturate, ARM's result from that file is compared with this machine's from the ONNX file, which holds the
    same network.
    """
    return key.replace(".ort:", ".onnx:") if processor.read().saturates else key


def compare(ours: Floats, theirs: Floats) -> tuple[float, float]:
    """(the least cosine of a row, the greatest difference relative to the greatest value)."""
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    cosines = (a * b).sum(1) / np.maximum(np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1), 1e-12)
    return float(cosines.min()), float(np.abs(a - b).max() / np.abs(a).max())


def main() -> None:
    done = subprocess.run([str(HERE / "setup.sh"), sys.executable])
    if done.returncode == 3:
        print("!! THE ARM64 CHECK IS NOT RUN: it cannot be set up here", file=sys.stderr)
        sys.exit(0)
    done.check_returncode()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_network(folder / "tiny.onnx")
        to_ort.convert(folder / "tiny.onnx", folder / "tiny.ort", "tiny")
        rng = np.random.default_rng(1)
        given = {
            "small": rng.normal(0, 1, (1, WIDTH)),
            "batch": rng.normal(0, 1, (7, WIDTH)),
            "large": rng.normal(0, 30, (3, WIDTH)),
            "zero": np.zeros((1, WIDTH)),
        }
        np.savez(
            folder / "inputs.npz",
            allow_pickle=False,
            **{key: value.astype(np.float32) for key, value in given.items()},
        )
        subprocess.run([sys.executable, str(HERE / "network.py"), *_files(folder, "x86")], check=True)
        subprocess.run(emulated(folder), check=True, timeout=900)
        failed = 0
        with (
            np.load(folder / "x86.npz", allow_pickle=False) as ours,
            np.load(folder / "arm.npz", allow_pickle=False) as theirs,
        ):
            for key in ours.files:
                wanted = ours[_reference(key)]
                cosine, furthest = compare(wanted, theirs[key])
                bad = furthest > FURTHEST or (cosine < COSINE and bool(np.abs(wanted).max() > 1e-6))
                failed += bad
                verdict = "FAILED" if bad else "agrees"
                print(
                    f"{key:<11} cosine {cosine:.7f} (at least {COSINE}), furthest {furthest:.2e} (at most "
                    f"{FURTHEST}): {verdict}"
                )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
