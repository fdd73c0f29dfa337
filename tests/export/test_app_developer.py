"""An app developer exports a language model of his own, lowers a bar that it misses, verifies the bundle."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from click.testing import CliRunner, Result

from gamer.export import cli, sources
from gamer.export.errors import ExportError
from gamer.export.parity import verify
from gamer.export.planning import kept, networks, replaced
from gamer.export.recipe import TARGETS
from gamer.export.settings import Settings
from gamer.runtime.bundle import manifest as mf
from tests.export import tiny
from tests.paths import GOLDEN


@pytest.fixture
def gamer(workers_here: None) -> Any:
    """Runs `gamer export …` and `gamer verify …` with the work of a worker done here, and an own cache."""

    def run(command: str, *arguments: object) -> Result:
        return CliRunner().invoke(
            {"export": cli.export, "verify": cli.verify}[command], list(map(str, arguments))
        )

    return run


@pytest.mark.slow
def test_his_own_model_from_a_missed_bar_to_a_verified_bundle(gamer: Any, tmp_path: Path) -> None:
    source, out = tiny.TINY["qwen2"](tmp_path / "mine"), tmp_path / "out"
    asked = ("-m", source, "--quant", "int4", "--targets", "onnx", "-o", out)

    failed = gamer("export", *asked, "--min-parity", "llm_decoder=1/1")
    assert failed.exit_code == 1
    assert "llm_decoder for onnx (int4): " in failed.output
    assert "--group-size 16, --keep down=int8 (matrices are " in failed.output
    assert "--quant int8" in failed.output
    offered = re.search(r"--min-parity (llm_decoder=[\d.]+/[\d.]+)", failed.output)
    assert offered is not None
    assert not out.exists()

    passed = gamer("export", *asked, "--min-parity", offered[1])
    assert passed.exit_code == 0, passed.output
    manifest = mf.read(out)
    assert f"llm_decoder={manifest.artifact('llm_decoder', 'onnx').parity.threshold:g}/" in offered[1]
    assert str(tmp_path) not in (out / "manifest.json").read_text(encoding="utf-8")

    assert gamer("verify", out).exit_code == 0
    source.rename(tmp_path / "moved")
    gone = gamer("verify", out)
    assert gone.exit_code == 1
    assert gone.output.strip().count("\n") == 0
    assert f"were at {source}, which is gone: say where they are now, as in --weights llm=PATH" in gone.output
    assert gamer("verify", out, "--weights", f"llm={tmp_path / 'moved'}").exit_code == 0

    other = tiny.TINY["gemma3"](tmp_path / "other")
    wrong = gamer("verify", out, "--weights", f"llm={other}")
    assert wrong.exit_code == 1
    assert wrong.output.strip().count("\n") == 0
    assert "name its own weights" in wrong.output


def test_a_bundle_from_another_machine_says_whose_weights_it_wants(tmp_path: Path) -> None:
    golden = mf.from_json((GOLDEN / "manifest_v3.json").read_text(encoding="utf-8"), "golden")
    elsewhere = replace(golden, settings=Settings("llm", sources=(("llm", "qwen.gguf"),)).to_strings())
    with pytest.raises(
        ExportError, match=r"came from qwen\.gguf: say where they are, as in --weights llm=PATH"
    ):
        verify.trusted_settings(elsewhere, ())
    assert sources.recall("../../etc/passwd") == {}


def test_thresholds_and_rules_belong_to_the_weights_and_not_to_the_recipe(tmp_path: Path) -> None:
    packaged, own = Settings("pocket"), Settings("pocket", sources=(("llm", str(tmp_path)),))
    assert packaged.quant_of("llm_decoder", "onnx") == "int4"
    assert own.quant_of("llm_decoder", "onnx") == "int8"
    assert packaged.threshold("int4", "llm_decoder").cosine == 0.99
    same = Settings("llm", sources=(("llm", str(tmp_path)),))
    for quant in ("int8", "int4", "pal6"):
        assert own.threshold(quant, "llm_decoder") == same.threshold(quant, "llm_decoder")


def test_what_is_not_as_asked_is_said_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        "gamer.export.components.components.roles", lambda settings: ("llm_embed", "llm_decoder")
    )
    packaged = Settings("pocket", parts=("llm",))
    assert replaced.lines(packaged, ("onnx", "coreml")) == (
        "onnx: llm_decoder in int4, not int8: its checkpoint holds 4-bit blocks, which are used unchanged",
    )
    source = str(tiny.TINY["qwen2"](tmp_path / "mine"))
    assert replaced.lines(Settings("pocket", sources=(("llm", source),), parts=("llm",)), TARGETS) == ()


def test_a_dry_run_says_which_component_does_not_follow_keep(gamer: Any, tmp_path: Path) -> None:
    source = tiny.TINY["qwen2"](tmp_path / "mine")
    asked = ("-m", source, "--quant", "none", "--keep", "head=int8", "--dry-run", "-o", tmp_path / "out")
    explained = gamer("export", *asked, "--targets", "onnx,executorch")
    assert explained.exit_code == 0
    assert (
        "note: --keep head has no effect on llm_decoder for executorch (fp32 as a whole)" in explained.output
    )
    refused = gamer("export", *asked, "--targets", "executorch")
    assert refused.exit_code == 1
    assert "--keep head: nothing follows it" in refused.output


def test_calibrated_convolutions_and_the_token_table_do_not_follow_keep(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stem = Settings("pocket", parts=("image", "text"), keep=(("stem", "fp32"),))
    image = dict(networks.networks(stem))["image_tower"]
    monkeypatch.setattr(kept, "networks", lambda settings: [("image_tower", image)])
    with pytest.raises(ExportError, match=r"--keep stem: nothing follows it, .*calibrated"):
        kept.check(stem, ("onnx",))
    (note,) = kept.check(stem, ("onnx", "coreml"))
    assert note == "--keep stem has no effect on image_tower for onnx (convolutions calibrated as a whole)"
    monkeypatch.undo()
    source = str(tiny.TINY["qwen2"](tmp_path / "mine"))
    table = Settings("llm", sources=(("llm", source),), keep=(("embed_tokens", "fp32"),))
    with pytest.raises(ExportError, match=r"the token table \(llm_embed\) has a quantization of its own"):
        kept.check(table)
