"""Rank photographs by a sentence with onnxruntime, Pillow and tokenizers alone, as the manifest says.

    python examples/rank_without_gamer.py out/pocket "a cat" cat.jpg rocket.jpg

Checks itself with the bundle's golden files, then prints the cosine of each photograph with the sentence.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path

import numpy as np

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before it loads: on by default since version 1.29

import onnxruntime
from PIL import Image, ImageOps
from tokenizers import Tokenizer

bundle, query, photos = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
manifest = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
options = onnxruntime.SessionOptions()
cpu = Path("/proc/cpuinfo")  # x86 processors without VNNI need the option, those with it are slow with it
has_vnni = cpu.exists() and "vnni" in cpu.read_text()
if platform.machine().lower() in ("x86_64", "amd64") and not has_vnni:
    options.add_session_config_entry("session.x64quantprecision", "1")
towers = {a["role"]: a for a in manifest["artifacts"] if a["target"] == "onnx"}
sessions = {
    role: onnxruntime.InferenceSession(str(bundle / towers[role]["path"]), options)
    for role in ("image_tower", "text_tower")
}


# The ten lines: what `prepare` of each input says. "squash" takes the whole picture, others its centre.
def image_vector(image: Image.Image) -> np.ndarray:
    p = manifest["preprocessing"]
    sides = [round(side * p["resize"] / min(image.size)) for side in image.size]
    sides = [p["crop"]] * 2 if p["fit"] == "squash" else sides
    fitted = image.convert("RGB").resize(sides, Image.Resampling[p["interpolation"].upper()])
    left, top = ((side - p["crop"]) // 2 for side in fitted.size)
    pixels = np.asarray(fitted.crop((left, top, left + p["crop"], top + p["crop"])), np.float32)
    outputs = sessions["image_tower"].run(["embedding"], {"pixels": pixels[None]})  # the graph normalises
    return np.asarray(outputs[0][0])


def text_vector(ids: list[int]) -> np.ndarray:
    length = towers["text_tower"]["inputs"][0]["shape"][1]  # a number where the tower takes no other
    ids = ids[:length] if isinstance(length, int) else ids
    row = np.zeros((1, length if isinstance(length, int) else len(ids)), np.int64)
    inputs = {"input_ids": row, "attention_mask": np.zeros_like(row)}
    for name, value in (("input_ids", ids), ("attention_mask", 1)):
        inputs[name][0, : len(ids)] = value
    for spec in towers["text_tower"]["inputs"][2:]:  # a query adapter, here left out
        inputs[spec["name"]] = np.zeros(spec["shape"], np.float32)
    return np.asarray(sessions["text_tower"].run(["embedding"], inputs)[0][0])


tokenizer = Tokenizer.from_file(str(bundle / "text_tokenizer.json"))
for role in sessions:
    golden = towers[role]["contract"]["golden"]
    values = {name: np.load(bundle / file) for name, file in golden["inputs"].items()}
    if role == "image_tower":
        got = [image_vector(Image.fromarray(picture)) for picture in values["pixels"]]
    else:
        texts = json.loads((bundle / golden["texts"]).read_text(encoding="utf-8"))
        assert all(tokenizer.encode(row["text"]).ids == row["ids"] for row in texts), "the tokenizer differs"
        got = [text_vector(row["ids"]) for row in texts]
    worst = min(float(a @ b) for a, b in zip(got, np.load(bundle / golden["want"]), strict=True))
    assert worst >= golden["cosine"], f"{role}: cosine {worst:.4f}, {golden['cosine']} is wanted"
    print(f"{role}: golden files reproduced, worst cosine {worst:.4f} (at least {golden['cosine']})")

wanted = text_vector(tokenizer.encode(query).ids)
scores = {photo: float(wanted @ image_vector(ImageOps.exif_transpose(Image.open(photo)))) for photo in photos}
for photo, score in sorted(scores.items(), key=lambda item: -item[1]):
    print(f"{score:.3f}  {photo}")
