"""`--deployment-target`: programs for iOS 17 have its version and pass the parity that those for iOS 18 pass;
what iOS 17 cannot store is refused.
"""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("coremltools", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from gamer.export.bundle import write
from gamer.export.coreml.mil.program import MODEL
from gamer.export.errors import ExportError
from gamer.export.planning import limits
from gamer.export.recipe import TARGETS
from gamer.export.settings import Settings
from tests.export import tiny

VERSIONS = {"iOS17": 8, "iOS18": 9}  # of Core ML's specification


@pytest.mark.slow
@pytest.mark.parametrize("quant", ["fp16", "int8"])
@pytest.mark.parametrize(("name", "role"), [("clip", "image_tower"), ("qwen2", "llm_decoder")])
def test_a_program_for_ios_17_or_18_has_its_version_and_passes_parity(
    name: str, role: str, quant: str, tmp_path: Path
) -> None:
    from coremltools.proto import Model_pb2

    source = str(tiny.TINY[name](tmp_path / name))
    parts, recipe = (("image", "text"), "towers") if name == "clip" else (("llm",), "llm")
    for target, version in VERSIONS.items():
        folder = tmp_path / target
        (folder / "records").mkdir(parents=True)
        settings = Settings(recipe, quant, tuple((part, source) for part in parts), deployment_target=target)
        artifact = write.run_task(write.Task(settings, role, "coreml", quant, str(folder))).artifact
        assert artifact.parity.status == "passed"
        assert artifact.parity.minimum is not None
        assert artifact.parity.minimum >= settings.threshold(quant, role).cosine
        model = Model_pb2.Model()
        model.ParseFromString((folder / artifact.path / MODEL).read_bytes())
        assert model.specificationVersion == version


@pytest.mark.parametrize("quant", ["int4", "pal6", "pal4"])
def test_what_ios_17_cannot_store_is_refused(quant: str) -> None:
    sources = (("image", "random"), ("text", "random"))
    with pytest.raises(
        ExportError,
        match=rf"^image_tower for Core ML: {quant} needs iOS18: choose int8 or --quant none, or leave out",
    ):
        limits.check(Settings("clip-vit-b32", quant, sources, deployment_target="iOS17"), TARGETS)
    limits.check(Settings("clip-vit-b32", quant, sources), TARGETS)
    limits.check(Settings("clip-vit-b32", quant, sources, deployment_target="iOS17"), ("onnx",))
    with pytest.raises(ExportError, match=r"^--coreml-cache state: programs keep states from iOS18 on"):
        limits.check(
            Settings("clip-vit-b32", "int8", sources, coreml_cache="state", deployment_target="iOS17"),
            TARGETS,
        )
    with pytest.raises(ExportError, match="deployment target 'iOS9': choose one of: iOS17, iOS18"):
        Settings("pocket", deployment_target="iOS9")
