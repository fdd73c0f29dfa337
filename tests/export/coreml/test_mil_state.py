"""State and compressed constants of the MIL interpreter, and what it refuses, on saved packages; most tests
share one small package.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs the export extra")
ct = pytest.importorskip("coremltools", reason="needs the export extra")
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.mil import Function, Program, types

from gamer.export.coreml.mil.blob import Blob, unpack
from gamer.export.coreml.mil.dtypes import DTYPES
from gamer.export.coreml.mil.interpreter import Interpreter
from gamer.export.coreml.mil.program import MODEL
from gamer.export.errors import ExportError

WEIGHTS = "Data/com.apple.CoreML/weights/weight.bin"
RNG = np.random.default_rng(3)
SIDE = 24
TABLES = {"lut4": 4, "lut6": 6}
pytestmark = pytest.mark.slow


def save(build: Any, inputs: dict[str, Any], folder: Path) -> Path:
    with Function(inputs, opset_version=ct.target.iOS18) as main:
        outputs = build(**main.inputs)
        main.set_outputs(list(outputs) if isinstance(outputs, tuple) else [outputs])
    program = Program()
    program.add_function("main", main)
    model = ct.convert(
        program,
        minimum_deployment_target=ct.target.iOS18,
        compute_precision=ct.precision.FLOAT32,
        pass_pipeline=ct.PassPipeline.EMPTY,
        skip_model_load=True,
    )
    model.save(str(folder / "a.mlpackage"))
    return folder / "a.mlpackage"


def quantized() -> dict[str, tuple[Any, Any]]:
    """name → (the constant's operation, its values), for every way in which a weight is compressed."""
    side = (SIDE, SIDE)
    int8, int4 = RNG.integers(-127, 128, side).astype(np.int8), RNG.integers(-8, 8, side).astype(np.int8)
    uint4 = RNG.integers(0, 16, side).astype(np.uint8)
    channel, block, shift = (
        RNG.random(s).astype(np.float32) + 0.1 for s in ((SIDE, 1), (SIDE, 3), (SIDE, 3))
    )
    wide = np.repeat(block, 8, 1)
    i4, u4 = (types.np_int4_dtype, types.np_uint4_dtype)
    constants = {
        "int8": (lambda: mb.constexpr_blockwise_shift_scale(data=int8, scale=channel), int8 * channel),
        "int4": (lambda: mb.constexpr_blockwise_shift_scale(data=int4.astype(i4), scale=block), int4 * wide),
        "uint4": (
            lambda: mb.constexpr_blockwise_shift_scale(data=uint4.astype(u4), scale=block, offset=shift),
            (uint4 - np.repeat(shift, 8, 1)) * wide,
        ),
    }
    for name, bits in TABLES.items():
        indices = RNG.integers(0, 1 << bits, side).astype(np.uint8)
        lut = RNG.standard_normal((4, 1, 1 << bits, 1)).astype(np.float32)
        narrow = indices.astype(types.nptype_from_builtin(types.string_to_builtin(f"uint{bits}")))
        want = np.stack([lut[row // 6, 0, indices[row], 0] for row in range(SIDE)])
        constants[name] = (partial(mb.constexpr_lut_to_dense, indices=narrow, lut=lut), want)
    vectors = RNG.integers(0, 4, (SIDE, SIDE // 2)).astype(np.uint8)
    pairs = RNG.standard_normal((1, 1, 4, 2)).astype(np.float32)
    two = vectors.astype(types.nptype_from_builtin(types.uint2))
    constants["vector"] = (
        lambda: mb.constexpr_lut_to_dense(indices=two, lut=pairs, vector_axis=1),
        pairs[0, 0][vectors].reshape(side),
    )
    mask = RNG.integers(0, 2, side).astype(np.uint8)
    values = RNG.standard_normal(int(mask.sum())).astype(np.float32)
    dense = np.zeros(side, np.float32)
    dense[mask == 1] = values
    bit = mask.astype(types.nptype_from_builtin(types.uint1))
    constants["sparse"] = (lambda: mb.constexpr_sparse_to_dense(nonzero_data=values, mask=bit), dense)
    return constants


QUANTIZED = quantized()


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def build(x: Any) -> tuple[Any, ...]:
        return tuple(mb.matmul(x=x, y=make(), name=f"by_{name}") for name, (make, _) in QUANTIZED.items())

    return save(
        build, {"x": mb.placeholder(shape=(SIDE, SIDE), dtype=types.fp32)}, tmp_path_factory.mktemp("mil")
    )


@pytest.mark.parametrize("kept_bytes", [0, 1 << 20])
def test_compressed_weights_expand_to_the_values_that_they_stand_for(package: Path, kept_bytes: int) -> None:
    """Whether the expanded values are kept, or computed again at each use."""
    interpreter = Interpreter(package, kept_bytes)
    for _ in range(2):
        out = interpreter.run({"x": torch.eye(SIDE)})
        for name, (_, want) in QUANTIZED.items():
            np.testing.assert_allclose(out[f"by_{name}"].numpy(), want, rtol=1e-6, atol=1e-6, err_msg=name)


def test_a_state_persists_between_calls_until_it_is_reset(tmp_path: Path) -> None:
    def build(x: Any, total: Any) -> Any:
        summed = mb.add(x=mb.cast(x=x, dtype="fp16"), y=mb.read_state(input=total))
        return mb.cast(x=mb.coreml_update_state(state=total, value=summed), dtype="fp32", name="out")

    inputs = {
        "x": mb.placeholder(shape=(3,), dtype=types.fp32),
        "total": mb.StateTensorSpec(shape=(3,), dtype=types.fp16),
    }
    interpreter = Interpreter(save(build, inputs, tmp_path))
    x = torch.tensor([1.0, 2.0, 0.25])
    assert [interpreter.run({"x": x})["out"].tolist() for _ in range(3)] == [
        [1, 2, 0.25],
        [2, 4, 0.5],
        [3, 6, 0.75],
    ]
    interpreter.reset()
    assert interpreter.run({"x": x})["out"].tolist() == [1, 2, 0.25]


def test_fp16_is_rounded_between_operations_and_overflows(tmp_path: Path) -> None:
    def build(x: Any) -> Any:
        half = mb.cast(x=x, dtype="fp16")
        return mb.cast(x=mb.mul(x=half, y=half), dtype="fp32", name="out")

    package = save(build, {"x": mb.placeholder(shape=(3,), dtype=types.fp32)}, tmp_path)
    x = torch.tensor([1.001, 255.0, 300.0])
    half = x.half().float()
    assert Interpreter(package).run({"x": x})["out"].tolist() == (half * half).half().float().tolist()
    assert Interpreter(package).run({"x": x})["out"][2] == float("inf")


def test_sub_byte_elements_are_unpacked_as_coremltools_packs_them(tmp_path: Path) -> None:
    from coremltools.libmilstoragepython import _BlobStorageWriter

    writer = _BlobStorageWriter(str(tmp_path / "w.bin"))
    records = []
    for name in ("INT4", "UINT1", "UINT2", "UINT3", "UINT4", "UINT6"):
        kind = DTYPES[name]
        low = -(1 << kind.bits - 1) if kind.signed else 0
        values = RNG.integers(low, low + (1 << kind.bits), 61).astype(np.int8 if kind.signed else np.uint8)
        records.append((kind, values, getattr(writer, f"write_{name.lower()}_data")(values)))
    del writer
    for kind, values, offset in records:
        assert Blob(tmp_path / "w.bin").read(offset, kind, (61,)).tolist() == values.tolist()


@given(st.binary(min_size=3, max_size=40), st.sampled_from([d for d in DTYPES.values() if d.bits < 8]))
def test_unpacking_gives_what_reading_bit_by_bit_gives(raw: bytes, kind: Any) -> None:
    count = len(raw) * 8 // kind.bits
    bits = [byte >> place & 1 for byte in raw for place in range(8)]
    want = [sum(bits[n * kind.bits + place] << place for place in range(kind.bits)) for n in range(count)]
    if kind.signed:
        want = [w - (1 << kind.bits) if w >> kind.bits - 1 else w for w in want]
    assert unpack(np.frombuffer(raw, np.uint8), kind, count).tolist() == want


@pytest.fixture
def copy(package: Path, tmp_path: Path) -> Iterator[Path]:
    shutil.copytree(package, tmp_path / "copy.mlpackage")
    yield tmp_path / "copy.mlpackage"


def refused(package: Path, match: str) -> None:
    with pytest.raises(ExportError, match=match) as caught:
        Interpreter(package).run({"x": torch.eye(SIDE)})
    assert "\n" not in str(caught.value)


def model_of(package: Path) -> Any:
    from coremltools.proto import Model_pb2

    model = Model_pb2.Model()
    model.ParseFromString((package / MODEL).read_bytes())
    return model


def operations(model: Any) -> Any:
    main = model.mlProgram.functions["main"]
    return main.block_specializations[main.opset].operations


def rewrite(package: Path, change: Any) -> None:
    model = model_of(package)
    change(model)
    (package / MODEL).write_bytes(model.SerializeToString())


def test_an_unknown_operation_is_named(copy: Path) -> None:
    def rename(model: Any) -> None:
        next(o for o in operations(model) if o.type == "matmul").type = "frobnicate"

    rewrite(copy, rename)
    refused(
        copy, r"copy\.mlpackage: operation frobnicate → by_int8: the MIL interpreter does not know frobnicate"
    )


def test_an_unknown_parameter_is_named(copy: Path) -> None:
    def add(model: Any) -> None:
        operation = next(o for o in operations(model) if o.type == "matmul")
        operation.inputs["sharpness"].CopyFrom(operation.inputs["x"])

    rewrite(copy, add)
    refused(copy, "operation matmul → by_int8: parameter sharpness")


def test_an_unknown_element_type_is_named(copy: Path) -> None:
    def change(model: Any) -> None:
        next(o for o in operations(model) if o.type == "matmul").outputs[0].type.tensorType.dataType = 40

    rewrite(copy, change)
    refused(copy, "FLOAT8E4M3FN")


def test_a_declared_shape_that_differs_from_the_computed_one_is_refused(copy: Path) -> None:
    def change(model: Any) -> None:
        next(o for o in operations(model) if o.type == "matmul").outputs[0].type.tensorType.dimensions[
            0
        ].constant.size = 7

    rewrite(copy, change)
    refused(copy, r"operation matmul → by_int8: gives shape \[24, 24\], but declares \[7, 24\]")


def test_an_absurd_shape_is_refused(copy: Path) -> None:
    def change(model: Any) -> None:
        next(o for o in operations(model) if o.type == "matmul").outputs[0].type.tensorType.dimensions[
            0
        ].constant.size = 1 << 60

    rewrite(copy, change)
    refused(copy, "more than 1073741824 elements")


def test_a_weight_file_outside_the_package_is_refused(copy: Path) -> None:
    def change(model: Any) -> None:
        for operation in operations(model):
            for argument in operation.inputs.values():
                for binding in argument.arguments:
                    if binding.value.WhichOneof("value") == "blobFileValue":
                        binding.value.blobFileValue.fileName = "@model_path/../../../../etc/passwd"

    rewrite(copy, change)
    refused(copy, "leaves the package")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1), value=st.binary(min_size=8, max_size=8), cut=st.booleans(), weights=st.booleans())
def test_a_damaged_package_runs_or_is_refused_in_one_line(
    package: Path, tmp_path: Path, at: float, value: bytes, cut: bool, weights: bool
) -> None:
    copy = tmp_path / "damaged.mlpackage"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(package, copy)
    file = copy / (WEIGHTS if weights else MODEL)
    raw = bytearray(file.read_bytes())
    place = int(at * (len(raw) - 8))
    file.write_bytes(raw[:place] if cut else raw[:place] + value + raw[place + 8 :])
    try:
        Interpreter(copy).run({"x": torch.eye(SIDE)})
    except ExportError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("field", [8, 16], ids=["size", "offset"])
def test_a_record_that_leaves_the_file_is_refused(copy: Path, field: int) -> None:
    raw = bytearray((copy / WEIGHTS).read_bytes())
    struct.pack_into("<Q", raw, 64 + field, 1 << 62)
    (copy / WEIGHTS).write_bytes(raw)
    refused(copy, "record at offset 64 does not hold")
