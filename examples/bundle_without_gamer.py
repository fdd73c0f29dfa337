"""Read a bundle with only onnxruntime and tokenizers: what an app in any language has to do.

    python examples/bundle_without_gamer.py out/pocket "my cat" "a bowl of soup" "a cat on the sofa"

Prints the cosine of the first text with each of the others.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from pathlib import Path

import numpy as np

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before it loads: on by default since version 1.29

import onnxruntime
from tokenizers import Tokenizer


def main(bundle: Path, query: str, texts: list[str]) -> None:
    manifest = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    tower = next(a for a in manifest["artifacts"] if (a["role"], a["target"]) == ("text_tower", "onnx"))
    path = bundle / tower["path"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == tower["sha256"], f"{path}: damaged"

    options = onnxruntime.SessionOptions()
    # Without this option, int8 products saturate on x86 processors that lack VNNI; with it, others are slow.
    cpu = Path("/proc/cpuinfo")
    has_vnni = cpu.exists() and "vnni" in cpu.read_text()
    if platform.machine().lower() in ("x86_64", "amd64") and not has_vnni:
        options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(bundle / "text_tokenizer.json"))
    tokenizer.no_padding()
    more = {
        i["name"]: np.zeros(i["shape"], np.float32) for i in tower["inputs"][2:]
    }  # a query adapter, left out

    def encode(text: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        ids = tokenizer.encode(text).ids
        length = tower["inputs"][0]["shape"][1]  # a number where the tower takes no other
        ids = ids[:length] if isinstance(length, int) else ids
        row = np.zeros((1, length if isinstance(length, int) else len(ids)), np.int64)
        mask = np.zeros_like(row)
        row[0, : len(ids)], mask[0, : len(ids)] = ids, 1
        inputs = {"input_ids": row, "attention_mask": mask, **more}
        vector = session.run(["embedding"], inputs)[0][0]
        return np.asarray(vector / np.linalg.norm(vector), np.float32)

    query_vector = encode(query)
    for text in texts:
        print(f"{float(query_vector @ encode(text)):.3f}  {text}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
