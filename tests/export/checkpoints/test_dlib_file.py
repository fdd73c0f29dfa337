"""dlib's files: small ones, written here as dlib does: whole, cut short, with changed bytes."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gamer.export.checkpoints import faces
from gamer.export.checkpoints.dlib_file import read_forest, read_network
from gamer.export.errors import ExportError
from gamer.runtime.models.faces import DETECTOR, ENCODER


def integer(value: int) -> bytes:
    body = abs(value).to_bytes(max(1, (abs(value).bit_length() + 7) // 8), "little")
    return bytes([len(body) | (0x80 if value < 0 else 0)]) + body


def real(value: float) -> bytes:
    fraction, exponent = math.frexp(value)
    return integer(int(fraction * (1 << 24))) + integer(exponent - 24)


def text(value: str) -> bytes:
    return integer(len(value)) + value.encode()


def tensor(*values: float) -> bytes:
    return integer(2) + integer(len(values)) + integer(1) * 3 + struct.pack(f"<{len(values)}f", *values)


ALIAS = integer(1) + integer(1) * 4
NONE = integer(2) + integer(0) * 4
TAIL = b"100" + NONE * 3  # what training left behind
RATES = real(1.0) * 4
MEANS = real(122.782) + real(117.001) + real(104.298)


def layer(name: str, body: bytes = b"") -> bytes:
    return text(name) + body + TAIL


def network() -> bytes:
    """A convolution of one filter, its scale and offset, a tag, and a matrix."""
    sizes = b"".join(integer(n) for n in (1, 1, 1, 2, 2, 0, 0))
    con = layer("con_4", tensor(1, 2, 3, 0.5) + sizes + ALIAS * 2 + RATES)
    affine = layer("affine_", tensor(2, -1) + ALIAS * 2 + integer(0))
    fc = layer("fc_2", integer(2) + integer(1) + tensor(3, 4) + ALIAS * 2 + integer(1) + RATES)
    loss = integer(1) + text("loss_metric_2") + real(0.04) + real(0.6)
    first = integer(2) + integer(1) + integer(2) + integer(2)  # fc, tag, affine, con
    return loss + first + text("input_rgb_image_sized") + MEANS + integer(150) * 2 + con + affine + fc


def vector(*items: bytes) -> bytes:
    return integer(len(items)) + b"".join(items)


def column(*values: float) -> bytes:
    return integer(-len(values)) + integer(-1) + b"".join(real(v) for v in values)


def forest(pixel: int = 1) -> bytes:
    """One cascade of one tree with one node, for two landmarks."""
    tree = vector(integer(0) + integer(pixel) + real(0.25)) + vector(column(1, 2, 3, 4), column(5, 6, 7, 8))
    return (
        integer(1)
        + column(0.25, 0.5, 0.75, 0.5)
        + vector(vector(tree))
        + vector(vector(integer(0), integer(1)))
        + vector(vector(real(0.5) * 2, real(-0.5) * 2))
    )


def test_a_network_is_read_from_the_input_outwards(tmp_path: Path) -> None:
    (tmp_path / "net.dat").write_bytes(network())
    read = read_network(tmp_path / "net.dat")
    assert [layer.kind for layer in read.layers] == ["con", "affine", "fc"]
    assert read.layers[0].sizes == (1, 1, 1, 2, 2, 0, 0)
    assert read.layers[0].params.tolist() == [1, 2, 3, 0.5]
    assert read.layers[2].sizes == (2, 1)
    assert np.allclose(read.means, (122.782, 117.001, 104.298), atol=1e-4)


def test_a_forest_is_read(tmp_path: Path) -> None:
    (tmp_path / "trees.dat").write_bytes(forest())
    read = read_forest(tmp_path / "trees.dat")
    assert read.shape.tolist() == [[0.25, 0.5], [0.75, 0.5]]
    assert read.splits.tolist() == [[[[0, 1]]]]
    assert read.leaves[0, 0, 1].tolist() == [[5, 6], [7, 8]]


def test_a_forest_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "trees.dat").write_bytes(forest(pixel=2))
    with pytest.raises(ExportError, match=r"trees\.dat: .* leads nowhere"):
        read_forest(tmp_path / "trees.dat")


@pytest.mark.parametrize(("whole", "read"), [(network(), read_network), (forest(), read_forest)])
def test_a_damaged_file_is_refused_in_one_line(
    whole: bytes, read: Callable[[Path], object], tmp_path: Path
) -> None:
    path = tmp_path / "a.dat"
    for length in range(0, len(whole), 2):
        path.write_bytes(whole[:length])
        with pytest.raises(ExportError) as caught:
            read(path)
        assert "\n" not in str(caught.value)
    for at in range(0, len(whole), 2):
        for mask in (0x80, 0x0F):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :])
            try:  # a changed weight is a weight, too; nothing else may come of it
                read(path)
            except ExportError as error:
                assert "\n" not in str(error)


def test_a_count_is_not_believed_before_its_bytes_are_there(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    path.write_bytes(integer(1) + column(0.5, 0.5) + integer(1 << 40))
    with pytest.raises(ExportError, match="a count of"):
        read_forest(path)


def test_another_network_does_not_fit_the_architecture(tmp_path: Path) -> None:
    for name in faces.FILES.values():
        (tmp_path / name).write_bytes(network())
    for make in (faces.encoder, faces.detector):
        with pytest.raises(ExportError, match="the architecture"):
            make(str(tmp_path))
    with pytest.raises(ExportError, match="no such file"):
        faces.landmarks(str(tmp_path / "elsewhere"))


def test_random_weights_are_the_same_for_the_same_seed() -> None:
    pixels = np.zeros((1, 64, 64, 3), np.float32)

    def run(source: str) -> NDArray[np.float32]:
        from gamer.export.components.components import reference

        return reference(faces.detector(source), (pixels,))[0]

    assert np.array_equal(run("random:3"), run("random:3"))
    assert not np.array_equal(run("random:3"), run("random:4"))
    assert (faces.landmarks("random:3").leaves == faces.landmarks("random:3").leaves).all()
    assert (DETECTOR, ENCODER) == ("face_detector", "face_encoder")
