"""`--opset`: every writer's graph declares the requested operator set and computes what it computes at the
lowest one; a set outside the range is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the export extra")
onnx = pytest.importorskip("onnx")
pytest.importorskip("transformers", reason="needs the export extra")
from numpy.typing import NDArray

from gamer.export.checkpoints.preprocessing import preprocessing
from gamer.export.components import decoders
from gamer.export.components.export_module import ExportModule
from gamer.export.errors import ExportError
from gamer.export.onnx import to_onnx
from gamer.export.onnx.graph import OPSET
from gamer.export.planning import limits
from gamer.export.settings import Settings
from gamer.export.target_options import TargetOptions
from gamer.runtime.bundle.manifest import Language, TensorSpec
from tests.export.convolutions import SAMPLES, convolutions
from tests.export.onnx.test_to_onnx import CLIP, NO_LANGUAGE, SIGLIP, run, tower
from tests.export.tiny_llms import SLOTS, tiny

GREATEST = limits.greatest_opset()


def _llm(family: str, role: str) -> tuple[ExportModule, Language]:
    _, config, weights = tiny(family)
    make = decoders.encoder if role == "encoder" else decoders.decoder
    return make(config, weights, SLOTS), decoders.language(config, SLOTS)


def graphs(opset: int, folder: Path) -> Iterator[tuple[Path, tuple[TensorSpec, ...]]]:
    """Every kind of graph that is written, at `opset`, with its inputs."""
    folder.mkdir()
    asked: list[tuple[str, ExportModule, Language, TargetOptions]] = [
        ("int8", convolutions(), NO_LANGUAGE, TargetOptions(opset=opset)),
        ("int4", tower(SIGLIP, "image"), NO_LANGUAGE, TargetOptions(opset=opset)),
        ("fp16", tower(CLIP, "text"), NO_LANGUAGE, TargetOptions(opset=opset)),
        ("int8", tower(CLIP, "image"), NO_LANGUAGE, TargetOptions(resize=preprocessing(CLIP), opset=opset)),
    ]
    asked += [
        ("int4" if family == "gemma3" else "int8", *_llm(family, "decoder"), TargetOptions(opset=opset))
        for family in ("gemma3", "gpt2", "flan-t5")
    ]
    asked.append(("int8", *_llm("t5", "encoder"), TargetOptions(opset=opset)))
    for n, (quant, item, language, form) in enumerate(asked):
        path = folder / f"{n}.onnx"
        yield path, to_onnx.write(item, quant, language, list(SAMPLES), path, form)[0]


def given(specs: tuple[TensorSpec, ...]) -> dict[str, NDArray[Any]]:
    """The same numbers for the same inputs: three tokens, two rows, a picture of 20 by 30."""
    sizes = {"batch": 2, "tokens": 3, "source": 3, "wanted": 1, "height": 20, "width": 30}
    arrays: dict[str, NDArray[Any]] = {}
    for spec in specs:
        shape = [sizes[d] if isinstance(d, str) else d for d in spec.shape]
        numbers = (
            np.random.default_rng(len(spec.name)).normal(0, 1, shape)
            if spec.dtype == "float32"
            else np.ones(shape)
        )
        arrays[spec.name] = numbers.astype(spec.dtype)
    lengths = {"seqlens_k": [2], "total_seq_len": [3], "last": [2]}
    return arrays | {
        name: np.array(value, arrays[name].dtype) for name, value in lengths.items() if name in arrays
    }


def test_every_graph_computes_the_same_at_the_lowest_and_the_highest_opset(tmp_path: Path) -> None:
    assert GREATEST >= 23
    for (least, specs), (most, _) in zip(
        graphs(OPSET, tmp_path / "least"), graphs(GREATEST, tmp_path / "most"), strict=True
    ):
        for path, opset in ((least, OPSET), (most, GREATEST)):
            assert {o.domain: o.version for o in onnx.load(str(path)).opset_import}[""] == opset
        for got, want in zip(run(most, given(specs)), run(least, given(specs)), strict=True):
            assert np.isfinite(want).all()
            assert want.std() > 0
            np.testing.assert_array_equal(got, want)
        for node in onnx.load(str(least)).graph.node:
            assert node.domain or not onnx.defs.has(node.op_type) or unchanged(node.op_type), node.op_type


def unchanged(op: str) -> bool:
    """Whether an operator has the same inputs and defaults of its attributes at the highest set as at the
    lowest.
    """
    old, new = (onnx.defs.get_schema(op, opset, "") for opset in (OPSET, GREATEST))
    defaults = [
        {name: a.default_value.SerializeToString() for name, a in schema.attributes.items()}
        for schema in (old, new)
    ]
    same = all(defaults[1].get(name) == value for name, value in defaults[0].items())
    added = [schema.attributes[name] for schema in (new,) for name in set(defaults[1]) - set(defaults[0])]
    return (
        same
        and not any(a.required for a in added)
        and [i.name for i in old.inputs] == [i.name for i in new.inputs][: len(old.inputs)]
    )


@pytest.mark.parametrize("opset", [0, OPSET - 1, GREATEST + 1, 10**9])
def test_an_opset_outside_the_range_is_refused_in_one_line(opset: int) -> None:
    asked = Settings("clip-vit-b32", sources=(("image", "random"), ("text", "random")), opset=opset)
    with pytest.raises(
        ExportError,
        match=rf"^opset {opset}: the "
        r"graphs need 20, ONNX Runtime "
        r"here opens no more "
        rf"than {GREATEST}: "
        r"choose between$",
    ):
        limits.check(asked, ("onnx", "coreml"))
    limits.check(asked, ("coreml",))  # Core ML has no opset
