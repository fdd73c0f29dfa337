"""`python network.py INPUTS OUTPUTS MODEL...`: runs each model over the inputs (.npz) and writes the outputs.

Run on both machines with the same files. The models are tiny networks of the operators that the bundles' int8
graphs use. Imports only numpy and onnxruntime, because under emulation this project is not on the path.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import numpy as np

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before it loads

import onnxruntime as ort
from numpy.typing import NDArray


def run(inputs: Path, outputs: Path, *models: Path) -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    # As the runtime does: without VNNI, the fast byte products of x86 saturate. It has no effect on ARM.
    options.add_session_config_entry("session.x64quantprecision", "1")
    results: dict[str, NDArray[np.float32]] = {}
    with np.load(inputs, allow_pickle=False) as given:
        for model in models:
            session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
            results |= {
                f"{model.suffix}:{name}": session.run(None, {"x": given[name]})[0] for name in given.files
            }
    np.savez(outputs, **results, allow_pickle=False)
    print(f"{platform.machine()}: onnxruntime {ort.__version__}, {len(models)} files, {len(results)} results")


if __name__ == "__main__":
    run(*map(Path, sys.argv[1:]))
