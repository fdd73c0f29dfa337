"""`--coreml-layout ane`: the same outputs, no reshape in attention, keys turned once a layer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("coremltools", reason="needs the export extra")
from torch import nn

from gamer.export.coreml import to_coreml
from gamer.export.coreml.mil.interpreter import Interpreter
from gamer.export.coreml.mil.program import read
from gamer.export.errors import ExportError
from gamer.export.networks.channels_first import channels_first
from gamer.export.parity.reference import cosines
from gamer.export.planning import limits
from gamer.export.settings import Settings
from gamer.export.target_options import TargetOptions
from tests.export.onnx.test_to_onnx import CLIP, NAMES, NO_LANGUAGE, SIGLIP, TOWERS, inputs, tower

ANE = TargetOptions(layout="ane")


@pytest.mark.parametrize(("config", "kind"), TOWERS, ids=NAMES)
def test_towers_compute_the_same_with_channels_first(config: dict[str, object], kind: str) -> None:
    item = tower(config, kind)
    given = tuple(torch.from_numpy(x) for x in inputs(item, 3).values())
    with torch.no_grad():
        want, got = (module(*given) for module in (item.module, channels_first(item.module)))
    for a, b in zip(*((x if isinstance(x, tuple) else (x,)) for x in (want, got)), strict=True):
        assert torch.allclose(a, b, atol=1e-5)


@pytest.mark.parametrize(("config", "kind", "layers"), [(CLIP, "image", 3), (SIGLIP, "text", 2)])
def test_a_program_with_channels_first_reshapes_nothing_in_attention(
    config: dict[str, object], kind: str, layers: int, tmp_path: Path
) -> None:
    item = tower(config, kind)
    given = tuple(torch.from_numpy(x) for x in inputs(item, 1).values())
    with torch.no_grad():
        want = item.module(*given)
    counts = {}
    for name, options in (("rows", TargetOptions()), ("ane", ANE)):
        path = tmp_path / f"{name}.mlpackage"
        specs, outputs = to_coreml.write(item, "fp16", NO_LANGUAGE, [], path, options)
        counts[name] = Counter(o.type for o in read(path).operations)
        fed = {t.name: x if x.is_floating_point() else x.int() for t, x in zip(specs, given, strict=True)}
        got = Interpreter(path).run(fed)[outputs[0].name].float().numpy()
        embedding = want[0] if isinstance(want, tuple) else want
        assert float(cosines(got, embedding.numpy()).min()) > 0.9999
    # Of the rest, an image tower cuts its patches; both turn the values before the layers and after them.
    patches = {"image": 2, "text": 0}[kind]
    assert (counts["rows"]["reshape"], counts["ane"]["reshape"]) == (patches + 4 * layers, patches)
    assert (counts["rows"]["transpose"], counts["ane"]["transpose"]) == (
        patches // 2 + 4 * layers,
        patches // 2 + 2 + layers,
    )
    assert counts["ane"]["layer_norm"] == counts["rows"]["layer_norm"]
    assert counts["ane"]["conv"] == 4 * layers


@pytest.mark.parametrize(
    ("targets", "text"), [(("coreml",), "has none: leave it out"), (("onnx",), "add coreml to --targets")]
)
def test_a_layout_that_changes_nothing_is_refused(targets: tuple[str, ...], text: str) -> None:
    with pytest.raises(ExportError, match=text):
        limits.check(Settings("pocket", coreml_layout="ane", parts=("image", "text")), targets)


def test_a_module_without_such_encoders_is_as_it_was() -> None:
    module = nn.Sequential(nn.Linear(4, 3), nn.GELU()).eval()
    x = torch.randn(2, 4)
    assert torch.equal(channels_first(module)(x), module(x))
